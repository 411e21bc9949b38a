import type { Locale } from '../../contract/messages/format-message.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { EventWriter } from '../event-log/event-log.ts';
import type { Mailer } from '../mail/mail-queue.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Log } from '../platform/log.ts';
import type { Tables, Trx } from '../tables.ts';
import { AnnouncementService, AnnouncementStore } from './announcements.ts';
import { InboxService, PreferenceStore, ReadStateStore } from './inbox.ts';
import { MailEnqueuer, type MailEnqueuerDependencies, MailSettingsService, NotificationMailStore } from './mails.ts';
import { ChangeSignals, NotificationStore } from './notification-store.ts';
import { type AdminNotifier, NotificationWriter, type Notifier, type Recipients } from './notifier.ts';
import { NotificationStreams } from './streams.ts';

interface NotificationsDependencies {
  readonly database: Database<Tables>;
  readonly pubSub: PubSub;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventWriter;
  readonly auditLog: AuditLog;
  readonly access: Pick<AccountAccess, 'findEnabled' | 'listAdministrators'>;
  readonly recipientsOf: (trx: Trx, userId: number) => Promise<Recipients>;
  readonly mailer: Mailer;
  readonly findMailRecipient: MailEnqueuerDependencies['findRecipient'];
  readonly config: { readonly baseUrl: string; readonly defaultLocale: Locale };
  /** Milliseconds between two heartbeats of an open stream; tests shorten it. */
  readonly heartbeatMs?: number;
}

/** The part of this capability that its own routes, other capabilities and app.ts use. */
export interface Notifications {
  readonly notifier: Notifier & AdminNotifier;
  readonly inboxes: InboxService;
  readonly mailSettings: MailSettingsService;
  readonly announcements: AnnouncementService;
  readonly streams: NotificationStreams;
  /** Ends the open streams. */
  close(): void;
}

type NotifierDependencies = Pick<NotificationsDependencies, 'database' | 'clock' | 'access' | 'events' | keyof Mailing>;

/** Constructs notifications without streams, for a command that works on the database beside the service. */
export function makeNotifier(dependencies: NotifierDependencies): Notifier & AdminNotifier {
  const { database } = dependencies;
  return new NotificationWriter({
    ...dependencies,
    notifications: new NotificationStore(database),
    readStates: new ReadStateStore(database),
    preferences: new PreferenceStore(database),
    mails: new MailEnqueuer(toMailing(dependencies)),
    // Streams of running processes find the change with their next periodic read.
    changeSignals: { notifyChanged: () => {} },
  });
}

type Mailing = Pick<NotificationsDependencies, 'mailer' | 'findMailRecipient' | 'config'>;

const toMailing = ({
  database,
  clock,
  mailer,
  findMailRecipient,
  config: { baseUrl, defaultLocale },
}: Pick<NotifierDependencies, 'database' | 'clock' | keyof Mailing>) => ({
  store: new NotificationMailStore(database),
  mailer,
  findRecipient: findMailRecipient,
  clock,
  baseUrl,
  defaultLocale,
});

/** Constructs the notifications capability. */
export function makeNotifications(dependencies: NotificationsDependencies): Notifications {
  const { database, clock, auditLog, access, recipientsOf, log, events, heartbeatMs } = dependencies;
  const changeSignals = new ChangeSignals(dependencies.pubSub);
  const stores = {
    notifications: new NotificationStore(database),
    readStates: new ReadStateStore(database),
    preferences: new PreferenceStore(database),
    announcements: new AnnouncementStore(database),
  };
  const mailing = toMailing(dependencies);
  const mails = new MailEnqueuer(mailing);
  const inboxService = new InboxService({ ...stores, database, access, changeSignals });
  const streams = new NotificationStreams({ ...stores, inboxService, changeSignals, log, heartbeatMs });
  return {
    notifier: new NotificationWriter({ ...stores, mails, access, recipientsOf, changeSignals, events, clock }),
    inboxes: inboxService,
    mailSettings: new MailSettingsService(mailing),
    announcements: new AnnouncementService({ ...stores, database, clock, auditLog, changeSignals }),
    streams,
    close: () => streams.close(),
  };
}
