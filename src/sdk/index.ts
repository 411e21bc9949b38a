import { Account } from './account.ts';
import { Channels, Reconciliations, SiteSettings } from './admin.ts';
import { Chat } from './chat.ts';
import { DeviceAuth, type DeviceClient } from './device-auth.ts';
import { Mailbox } from './mailbox.ts';
import { Notifications } from './notifications.ts';
import { Budgets, Plans } from './plans.ts';
import { Requests } from './requests.ts';
import { BetaApplications, Tickets } from './support.ts';
import { type Credentials, Transport, type TransportOptions } from './transport.ts';
import { Shares, Videos } from './videos.ts';
import { Webhooks } from './webhooks.ts';

export { formatWebhookSecret, signWebhook } from '../contract/webhooks.ts';
export type {
  AccountInfo,
  ApiToken,
  CreateTokenRequest,
  Device,
  EmailInfo,
  OwnVideo,
  OwnVideoDetail,
  UsableModel,
  VideoDuration,
} from './account.ts';
export type {
  AddedModels,
  ChannelPresetInfo,
  ChannelTestResult,
  ReconciledAccountInfo,
  ReconciliationInfo,
  SiteSettingInfo,
} from './admin.ts';
export type {
  ChatEvent,
  ChatMessage,
  ChatRequest,
  ChatResult,
  ChatUsage,
  TokenCount,
  TokenCountRequest,
} from './chat.ts';
export type { DeviceClient, DeviceCode, DeviceTokens, PollOptions, RefreshedTokens } from './device-auth.ts';
export { DeviceAuth } from './device-auth.ts';
export { ReelgateError } from './errors.ts';
export type { AppPasswordInfo, MailboxInfo } from './mailbox.ts';
export type {
  Audience,
  LiveNotification,
  MailSettings,
  MailSettingsChange,
  NotificationInfo,
  NotificationPage,
  NotificationQuery,
  Preference,
} from './notifications.ts';
export type { BudgetInfo, PlanInfo, RedemptionResult, SubscriptionInfo } from './plans.ts';
export type { ReceiptInfo, RequestInfo, RequestQuery, RequestStatistics } from './requests.ts';
export type { BetaApplicationInfo, NewReply, NewTicket, TicketInfo, TicketWithReplies } from './support.ts';
export type { CredentialPurpose, Credentials, TransportOptions } from './transport.ts';
export { sleep, Transport } from './transport.ts';
export type {
  CreatedShare,
  CreateVideoRequest,
  NewShare,
  ShareInfo,
  Video,
  VideoQuote,
  WaitOptions,
} from './videos.ts';
export type {
  CreateWebhookRequest,
  DeliveryInfo,
  EventInfo,
  UpdateWebhookRequest,
  WebhookInfo,
} from './webhooks.ts';

/** Client of the service: one object for each part of the API. */
export class Reelgate {
  readonly transport: Transport;
  readonly videos: Videos;
  readonly channels: Channels;
  readonly chat: Chat;
  readonly account: Account;
  readonly mailbox: Mailbox;
  readonly plans: Plans;
  readonly shares: Shares;
  readonly notifications: Notifications;
  readonly tickets: Tickets;
  readonly siteSettings: SiteSettings;
  readonly webhooks: Webhooks;
  readonly reconciliations: Reconciliations;
  readonly requests: Requests;
  readonly budgets: Budgets;
  readonly betaApplications: BetaApplications;
  readonly deviceAuth: DeviceAuth;

  constructor(
    options: Omit<TransportOptions, 'credentials'> & {
      readonly credentials?: Credentials | TransportOptions['credentials'];
      /** The OAuth client of device sign-ins; default: the command line's. */
      readonly client?: DeviceClient;
    },
  ) {
    const { credentials, client, ...rest } = options;
    const read = typeof credentials === 'function' ? credentials : () => credentials ?? {};
    this.transport = new Transport({ ...rest, baseUrl: options.baseUrl.replace(/\/+$/, ''), credentials: read });
    this.videos = new Videos(this.transport);
    this.channels = new Channels(this.transport);
    this.chat = new Chat(this.transport);
    this.account = new Account(this.transport);
    this.mailbox = new Mailbox(this.transport);
    this.plans = new Plans(this.transport);
    this.shares = new Shares(this.transport);
    this.notifications = new Notifications(this.transport);
    this.tickets = new Tickets(this.transport);
    this.siteSettings = new SiteSettings(this.transport);
    this.reconciliations = new Reconciliations(this.transport);
    this.requests = new Requests(this.transport);
    this.budgets = new Budgets(this.transport);
    this.webhooks = new Webhooks(this.transport);
    this.betaApplications = new BetaApplications(this.transport);
    this.deviceAuth = new DeviceAuth(this.transport, client);
  }
}
