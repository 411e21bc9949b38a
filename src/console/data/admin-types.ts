import type { adminGetUser, adminListAudit } from '../../contract/admin-accounts.ts';
import type { getTask } from '../../contract/admin-videos.ts';
import type { getChannel } from '../../contract/channels.ts';
import type { adminListDeviceClients } from '../../contract/device-clients.ts';
import type { getModelRow } from '../../contract/models.ts';
import type { adminListAnnouncements } from '../../contract/notifications.ts';
import type { adminGetPackageCard, adminListRedemptionCodes } from '../../contract/plans.ts';
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
