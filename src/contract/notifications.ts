import type { TSchema } from 'typebox';
import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { LOCALES } from './messages/locales.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** Types shown to ordinary accounts. */
export const USER_NOTIFICATION_TYPES = ['system', 'ticket_reply', 'ticket_status', 'beta_result'] as const;
/** Type of a notification to an ordinary account. */
export type UserNotificationType = (typeof USER_NOTIFICATION_TYPES)[number];
/** To-dos of administrators, never shown to other accounts. */
export const ADMIN_NOTIFICATION_TYPES = ['admin_ticket', 'admin_beta'] as const;
/** Type of a to-do of administrators. */
export type AdminNotificationType = (typeof ADMIN_NOTIFICATION_TYPES)[number];

/** Delivery rules of one topic. */
export interface TopicRule {
  /** Users cannot switch the topic off. */
  readonly locked: boolean;
  /** Default for e-mail delivery when the account has no preference. */
  readonly mail: boolean;
  /** E-mailed immediately, regardless of the account's preference. */
  readonly urgent?: true;
  /** Sent to administrators only. */
  readonly administratorsOnly?: true;
}

/** Topics that a preference can switch. */
export const TOPICS = {
  'device.new': { locked: true, mail: true, urgent: true },
  security: { locked: true, mail: true, urgent: true },
  system: { locked: true, mail: true },
  'task.failed': { locked: false, mail: false },
  'task.finished': { locked: false, mail: false },
  'video.expiring': { locked: false, mail: true },
  'batch.ended': { locked: false, mail: false },
  'package.expiring': { locked: false, mail: true },
  'quota.low': { locked: false, mail: true },
  budget: { locked: false, mail: true },
  ticket: { locked: false, mail: true },
  beta: { locked: false, mail: true },
  webhook: { locked: true, mail: true },
  'channel.resting': { locked: false, mail: true, administratorsOnly: true },
  'billing.difference': { locked: false, mail: true, administratorsOnly: true },
  'storage.full': { locked: false, mail: true, administratorsOnly: true },
} as const satisfies Record<string, TopicRule>;
/** Topic of a notification. */
export type Topic = keyof typeof TOPICS;

export const Notification = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer(),
  type: Type.String({
    description: `${USER_NOTIFICATION_TYPES.join(', ')}; administrators also ${ADMIN_NOTIFICATION_TYPES.join(', ')}`,
  }),
  title: Type.String(),
  content: Type.String(),
  target_url: Type.String({ description: 'A path of the console; empty: leads nowhere.' }),
  is_read: Type.Boolean(),
  related_id: Type.Integer({ description: '0: none. target_url goes first.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
});

const accountEndpoint = { tag: 'notifications', policy: 'account', envelope: 'api' } as const;

/** Invalid values are treated as absent, like invalid page parameters. */
const Audience = Type.Optional(
  Type.String({ maxLength: 64, description: '`user`: the four user-facing types only; default: all you may see.' }),
);

const listing = {
  ...accountEndpoint,
  method: 'GET',
  summary: 'Notifications of the account, newest first',
  query: Type.Object({
    ...PageQuery,
    status: Type.Optional(Type.String({ maxLength: 64, description: '`unread`: only unread ones; default: all.' })),
    audience: Audience,
  }),
  response: Type.Object({
    success: Type.Literal(true),
    data: Type.Array(Notification),
    total: Type.Integer(),
    unread_count: Type.Integer({ description: 'Of this audience.' }),
    has_more: Type.Boolean(),
  }),
} as const;

export const listNotifications = endpoint({ ...listing, path: '/api/notifications/' });
/** The path without a trailing slash. */
export const listNotificationsAlias = endpoint({ ...listing, path: '/api/notifications' });

const Count = Type.Object({ success: Type.Literal(true), data: Type.Integer() });

export const countUnread = endpoint({
  ...accountEndpoint,
  method: 'GET',
  path: '/api/notifications/unread-count',
  summary: 'Number of unread notifications',
  query: Type.Object({ audience: Audience }),
  response: Count,
});

export const countPending = endpoint({
  ...accountEndpoint,
  method: 'GET',
  path: '/api/notifications/pending-count',
  summary: 'Unanswered tickets and beta applications, for administrators; 0 for all others',
  response: Count,
});

export const markAllRead = endpoint({
  ...accountEndpoint,
  method: 'POST',
  path: '/api/notifications/mark-read',
  summary: 'Mark all notifications, or those of one audience, as read',
  query: Type.Object({ audience: Audience }),
  response: Done,
});

export const markRead = endpoint({
  ...accountEndpoint,
  method: 'POST',
  path: '/api/notifications/:id/read',
  summary: 'Mark a notification as read',
  // Accepts any string: the handler rejects an id that is not one of the caller's notifications with
  // `notification_invalid`.
  params: Type.Object({ id: Type.String() }),
  response: Done,
});

export const streamNotifications = endpoint({
  ...accountEndpoint,
  method: 'GET',
  responseTypes: ['text/event-stream'],
  path: '/api/notifications/stream',
  summary:
    'New notifications as server-sent events: `notification` with one, `unread` with {unread_count}. Last-Event-ID resumes without loss',
  query: Type.Object({
    audience: Audience,
    last_event_id: Type.Optional(
      Type.String({ maxLength: 64, description: 'For clients that cannot send the header Last-Event-ID.' }),
    ),
  }),
});

const Preference = Type.Object({
  topic: Type.String(),
  in_app: Type.Boolean(),
  locked: Type.Boolean({ description: '`in_app` cannot be switched off.' }),
  mail: Type.Boolean({ description: 'Counts where the account has a confirmed e-mail.' }),
  mail_locked: Type.Boolean({ description: '`mail` cannot be switched off.' }),
});

export const getPreferences = endpoint({
  ...accountEndpoint,
  method: 'GET',
  path: '/api/notifications/preferences',
  summary: 'Notification topics of this account',
  response: Ok(Type.Array(Preference)),
});

const TopicSwitches = Type.Record(Type.String({ maxLength: 64 }), Type.Boolean(), {
  maxProperties: 32,
  description: `${Object.keys(TOPICS).join(', ')}`,
});

export const putPreferences = endpoint({
  ...accountEndpoint,
  method: 'PUT',
  path: '/api/notifications/preferences',
  summary: 'Switch topics on or off, in the console and by e-mail; only the named ones change',
  body: Type.Object({
    topics: Type.Optional(TopicSwitches),
    mail: Type.Optional(TopicSwitches),
  }),
  response: Ok(Type.Array(Preference)),
});

const TimeOfDay = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'in the time zone of the account',
});
const OrNull = <S extends TSchema>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const MailFields = {
  digest_at: OrNull(TimeOfDay, 'one e-mail a day, then; null: each notification soon after it was written'),
  quiet_hours: OrNull(
    Type.Object({ from: TimeOfDay, to: TimeOfDay }),
    'no e-mail then except about security; null: none',
  ),
  language: Type.Enum([...LOCALES]),
};
const MailSettings = Type.Object({
  available: Type.Boolean({ description: 'whether this service sends mail' }),
  email: OrNull(Type.String(), 'where it goes; null: the account has confirmed no e-mail'),
  time_zone: OrNull(Type.String(), 'IANA name; null where `email` is'),
  ...MailFields,
});

export const getMailSettings = endpoint({
  ...accountEndpoint,
  method: 'GET',
  path: '/api/notifications/mail',
  summary: 'When notifications are e-mailed to this account',
  response: Ok(MailSettings),
});

export const putMailSettings = endpoint({
  ...accountEndpoint,
  method: 'PUT',
  path: '/api/notifications/mail',
  summary: 'Change when notifications are e-mailed; only the named keys change',
  body: Type.Partial(Type.Object(MailFields)),
  response: Ok(MailSettings),
});

const Title = Type.String({ minLength: 1, maxLength: 200 });
const Content = Type.String({ minLength: 1, maxLength: 10_000 });
const TargetUrl = Type.String({
  maxLength: 500,
  description: 'A path of the console such as `/packages`; empty: leads nowhere.',
});
const InChinese = Type.Object({ title: Title, content: Content });
const Announcement = {
  title: Title,
  content: Content,
  zh_cn: Type.Optional(
    Type.Union([InChinese, Type.Null()], { description: 'Shown to readers of Chinese in place of the other.' }),
  ),
  target_url: Type.Optional(TargetUrl),
};
const AnnouncementRow = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  content: Type.String(),
  zh_cn: Type.Union([InChinese, Type.Null()]),
  target_url: Type.String(),
  created_time: Type.Integer(),
});

const admin = { tag: 'admin', policy: 'admin', envelope: 'api' } as const;

export const adminListAnnouncements = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/announcements',
  summary: 'Announcements',
  query: Type.Object({ ...PageQuery, sort: SortBy(['created'], 'Default -created: the newest first.') }),
  response: ListOf(AnnouncementRow),
});
export const adminCreateAnnouncement = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/announcements',
  summary: 'Publish an announcement to all accounts',
  body: Type.Object(Announcement),
  response: Ok(Type.Object({ id: Type.Integer() })),
});
export const adminGetAnnouncement = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/announcements/:id',
  summary: 'One announcement',
  params: IdParam,
  response: Ok(AnnouncementRow),
});
export const adminUpdateAnnouncement = endpoint({
  ...admin,
  method: 'PUT',
  path: '/api/admin/announcements/:id',
  summary: 'Correct an announcement; only the named keys change, and it does not become unread again',
  params: IdParam,
  body: Type.Partial(Type.Object(Announcement)),
  response: Done,
});
export const adminDeleteAnnouncement = endpoint({
  ...admin,
  method: 'DELETE',
  path: '/api/admin/announcements/:id',
  summary: 'Delete an announcement for all accounts',
  params: IdParam,
  response: Done,
});
