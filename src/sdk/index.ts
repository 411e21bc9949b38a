import { Account } from './account.ts';
import { BetaApplications } from './beta-applications.ts';
import { Chat } from './chat.ts';
import { DeviceAuth, type DeviceClient } from './device-auth.ts';
import { Mailbox } from './mailbox.ts';
import { Notifications } from './notifications.ts';
import { Packages } from './packages.ts';
import { Tickets } from './tickets.ts';
import { type Credentials, Transport, type TransportOptions } from './transport.ts';
import { Videos } from './videos.ts';

export type { ApiToken, Device, NewToken, Self } from './account.ts';
export type { BetaApplicationInfo } from './beta-applications.ts';
export type { ChatAnswer, ChatEvent, ChatMessage, ChatRequest, ChatUsage } from './chat.ts';
export type { DeviceClient, DeviceCode, DevicePair, DeviceTokens, PollOptions } from './device-auth.ts';
export { DeviceAuth } from './device-auth.ts';
export { ReelgateError } from './errors.ts';
export type { AppPasswordInfo, MailboxInfo } from './mailbox.ts';
export type {
  Audience,
  LiveNotification,
  NotificationInfo,
  NotificationPage,
  NotificationQuery,
  Preference,
} from './notifications.ts';
export type { OwnPackage, PackageCardInfo, Redeemed } from './packages.ts';
export type { NewReply, NewTicket, TicketInfo, TicketWithReplies } from './tickets.ts';
export type { Credentials, Purpose, TransportOptions } from './transport.ts';
export { pause, Transport } from './transport.ts';
export type { CreateVideo, Video, WaitOptions } from './videos.ts';

/** The service as code calls it. */
export class Reelgate {
  readonly transport: Transport;
  readonly videos: Videos;
  readonly chat: Chat;
  readonly account: Account;
  readonly mailbox: Mailbox;
  readonly packages: Packages;
  readonly notifications: Notifications;
  readonly tickets: Tickets;
  readonly betaApplications: BetaApplications;
  readonly deviceAuth: DeviceAuth;

  constructor(
    options: Omit<TransportOptions, 'credentials'> & {
      readonly credentials?: Credentials | TransportOptions['credentials'];
      /** Who asks when people sign in by device authorization; default: the command line. */
      readonly client?: DeviceClient;
    },
  ) {
    const { credentials, client, ...rest } = options;
    const read = typeof credentials === 'function' ? credentials : () => credentials ?? {};
    this.transport = new Transport({ ...rest, baseUrl: options.baseUrl.replace(/\/+$/, ''), credentials: read });
    this.videos = new Videos(this.transport);
    this.chat = new Chat(this.transport);
    this.account = new Account(this.transport);
    this.mailbox = new Mailbox(this.transport);
    this.packages = new Packages(this.transport);
    this.notifications = new Notifications(this.transport);
    this.tickets = new Tickets(this.transport);
    this.betaApplications = new BetaApplications(this.transport);
    this.deviceAuth = new DeviceAuth(this.transport, client);
  }
}
