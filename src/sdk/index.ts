import { Account } from './account.ts';
import { Channels, Reconciliations, SiteSettings } from './admin.ts';
import { Batches, Files } from './batches.ts';
import { Chat } from './chat.ts';
import { DeviceAuth, type DeviceClient } from './device-auth.ts';
import { Mailbox } from './mailbox.ts';
import { Notifications } from './notifications.ts';
import { Organizations } from './organizations.ts';
import { Budgets, Plans } from './plans.ts';
import { Requests } from './requests.ts';
import { BetaApplications, Tickets } from './support.ts';
import { type Credentials, Transport, type TransportOptions } from './transport.ts';
import { Collections, Shares, Videos } from './videos.ts';
import { Webhooks } from './webhooks.ts';

export type {
  Account,
  AccountInfo,
  ApiToken,
  CreatedToken,
  CreateTokenRequest,
  Device,
  EmailInfo,
  IdentityInfo,
  LoginAttempt,
  LoginQuery,
  ModelKindName,
  OwnVideo,
  OwnVideoDetail,
  OwnVideoQuery,
  PageQuery,
  RotatedToken,
  StorageInfo,
  UpdateTokenRequest,
  UsableModel,
  VideoDuration,
} from './account.ts';
export type {
  AddedModels,
  ChannelPresetInfo,
  Channels,
  ChannelTestResult,
  NewChannel,
  ReconciledAccountInfo,
  ReconciliationInfo,
  ReconciliationQuery,
  Reconciliations,
  SiteSettingInfo,
  SiteSettings,
} from './admin.ts';
export type {
  Batches,
  BatchInfo,
  BatchLineInfo,
  BatchLinePage,
  BatchListOptions,
  BatchPage,
  BatchWaitOptions,
  FileInfo,
  FilePage,
  FilePurpose,
  FileQuery,
  Files,
  NewBatch,
  NewFile,
  NewSheet,
  SheetInfo,
} from './batches.ts';
export type {
  Chat,
  ChatEvent,
  ChatMessage,
  ChatOptions,
  ChatRequest,
  ChatResult,
  ChatUsage,
  TokenCount,
  TokenCountRequest,
} from './chat.ts';
export type {
  DeviceClient,
  DeviceCode,
  DeviceDescription,
  DeviceTokens,
  PollOptions,
  RefreshedTokens,
} from './device-auth.ts';
export { DeviceAuth } from './device-auth.ts';
export type { ClientErrorCode, ReelgateErrorCode, ReelgateErrorDetails, ServiceErrorCode } from './errors.ts';
export { ReelgateError } from './errors.ts';
export type { StreamOptions } from './event-stream.ts';
export type { AppliedMailbox, AppPasswordInfo, Mailbox, MailboxInfo } from './mailbox.ts';
export type {
  Audience,
  FollowOptions,
  LiveNotification,
  MailSettings,
  MailSettingsChange,
  NotificationInfo,
  NotificationPage,
  NotificationQuery,
  Notifications,
  Preference,
} from './notifications.ts';
export type {
  CreatedInvitation,
  MemberChange,
  MemberSpendLimit,
  NewInvitation,
  NewTransfer,
  Organization,
  OrganizationChange,
  OrganizationInvitation,
  OrganizationMember,
  OrganizationRole,
  Organizations,
  OrganizationTransfer,
  TransferredThing,
} from './organizations.ts';
export type { BudgetInfo, Budgets, NewBudget, PlanInfo, Plans, RedemptionResult, SubscriptionInfo } from './plans.ts';
export type {
  CursorPage,
  FollowRequestsOptions,
  ReceiptInfo,
  RequestInfo,
  RequestQuery,
  RequestStatistics,
  Requests,
} from './requests.ts';
export type {
  BetaApplicationInfo,
  BetaApplications,
  BetaFeatureInfo,
  NewReply,
  NewTicket,
  TicketInfo,
  Tickets,
  TicketWithReplies,
} from './support.ts';
export type {
  CallOptions,
  CredentialPurpose,
  Credentials,
  CursorResult,
  PageResult,
  TransportOptions,
} from './transport.ts';
/** @internal */
export { sleep, Transport } from './transport.ts';
export type {
  ChangeOptions,
  CollectionInfo,
  Collections,
  ContentOptions,
  CreatedShare,
  CreateOptions,
  CreateVideoRequest,
  NewShare,
  ShareInfo,
  Shares,
  StartedVideo,
  Video,
  VideoModelInfo,
  VideoPage,
  VideoQuery,
  VideoQueuePosition,
  VideoQuote,
  Videos,
  WaitOptions,
} from './videos.ts';
export type {
  CreatedWebhook,
  CreateWebhookRequest,
  DeliveryInfo,
  DeliveryPage,
  DeliveryQuery,
  EventInfo,
  EventPage,
  EventQuery,
  ReplayRange,
  SignedDelivery,
  UpdateWebhookRequest,
  WebhookInfo,
  WebhookSignature,
  Webhooks,
} from './webhooks.ts';
export { signWebhook } from './webhooks.ts';

/** Options of the client. */
export interface ReelgateOptions extends Omit<TransportOptions, 'credentials'> {
  /** Credentials, or a function called before every request, so that refreshed tokens are used immediately. */
  readonly credentials?: Credentials | TransportOptions['credentials'];
  /** The OAuth client of device sign-ins; default: the command line's. */
  readonly client?: DeviceClient;
}

/**
 * Client of the service: one object per part of the API. Methods throw a {@link ReelgateError} if the service refuses a
 * request or cannot be reached.
 */
export class Reelgate {
  /** @internal */
  readonly transport: Transport;
  /** Video generation. */
  readonly videos: Videos;
  /** Named groups of the account's videos. */
  readonly collections: Collections;
  /** Uploaded files, as inputs of videos. */
  readonly files: Files;
  /** Many requests from one file. */
  readonly batches: Batches;
  /** Channels to providers; requires an administrator. */
  readonly channels: Channels;
  /** Language models. */
  readonly chat: Chat;
  /** The account the credentials belong to. */
  readonly account: Account;
  /** The account's mailbox. */
  readonly mailbox: Mailbox;
  /** Plans, the account's subscription, redemption codes. */
  readonly plans: Plans;
  /** Links with which anyone can watch a video. */
  readonly shares: Shares;
  /** Notifications of the account. */
  readonly notifications: Notifications;
  /** Support tickets. */
  readonly tickets: Tickets;
  /** Settings of the site; requires the role `root`. */
  readonly siteSettings: SiteSettings;
  /** Endpoints that receive events. */
  readonly webhooks: Webhooks;
  /** Settled consumption compared with vendors' bills; requires an administrator. */
  readonly reconciliations: Reconciliations;
  /** Finished calls and videos with their cost. */
  readonly requests: Requests;
  /** Monthly budgets. */
  readonly budgets: Budgets;
  /** Organizations of the account. */
  readonly organizations: Organizations;
  /** Applications for beta features. */
  readonly betaApplications: BetaApplications;
  /** Device sign-in with a code (RFC 8628). */
  readonly deviceAuth: DeviceAuth;

  /** Sends nothing; requests start with the first method call. */
  constructor(options: ReelgateOptions) {
    const { credentials, client, ...rest } = options;
    const read = typeof credentials === 'function' ? credentials : () => credentials ?? {};
    this.transport = new Transport({ ...rest, baseUrl: options.baseUrl.replace(/\/+$/, ''), credentials: read });
    this.videos = new Videos(this.transport);
    this.collections = new Collections(this.transport);
    this.files = new Files(this.transport);
    this.batches = new Batches(this.transport);
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
    this.organizations = new Organizations(this.transport);
    this.webhooks = new Webhooks(this.transport);
    this.betaApplications = new BetaApplications(this.transport);
    this.deviceAuth = new DeviceAuth(this.transport, client);
  }
}
