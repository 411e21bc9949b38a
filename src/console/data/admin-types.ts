import type { adminGetUser, adminListAudit } from '../../contract/admin-accounts.ts';
import type { adminListDeviceClients } from '../../contract/admin-device-clients.ts';
import type { getModelRow } from '../../contract/admin-models-and-usable-models.ts';
import type { getTask } from '../../contract/admin-video-tasks.ts';
import type { getChannel } from '../../contract/channels.ts';
import type { adminListAnnouncements } from '../../contract/notifications-preferences-and-announcements.ts';
import type { adminGetPackageCard, adminListRedemptionCodes } from '../../contract/plans-and-redemption-codes.ts';
import type { adminGetTicket } from '../../contract/tickets.ts';
import type { ListItem, ResponseData } from './query-any-admin-endpoint.ts';

/** What several files of one administration page show, as the contract types it. */
export type AdminTicket = ResponseData<typeof adminGetTicket>;
export type Announcement = ListItem<typeof adminListAnnouncements>;
export type AuditEntry = ListItem<typeof adminListAudit>;
export type ChannelDetail = ResponseData<typeof getChannel>;
export type CodeListItem = ListItem<typeof adminListRedemptionCodes>;
export type DeviceClient = ListItem<typeof adminListDeviceClients>;
export type Model = ResponseData<typeof getModelRow>;
export type Plan = ResponseData<typeof adminGetPackageCard>;
export type Task = ResponseData<typeof getTask>;
export type User = ResponseData<typeof adminGetUser>;
