import type { Audit } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Signals } from '../platform/db/listen.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { type Announcements, makeAnnouncements } from './announcements.ts';
import { type Inboxes, makeInboxes } from './inbox.ts';
import { makeNews } from './news.ts';
import type { AdminNotifier, Notifier } from './notifier.ts';
import { makeStreams, type Streams } from './stream.ts';
import { makeWriter } from './writer.ts';

export interface NotificationParts {
  readonly database: Database<Tables>;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly standing: Pick<Standing, 'find' | 'administrators'>;
}

/** What notifications offer their own routes, the other capabilities and app.ts. */
export interface Notifications {
  readonly notifier: Notifier & AdminNotifier;
  readonly inboxes: Inboxes;
  readonly announcements: Announcements;
  readonly streams: Streams;
  /** Ends the open streams. */
  close(): void;
}

/** Puts the parts of this capability together. */
export function makeNotifications(parts: NotificationParts): Notifications {
  const { database, clock, audit, standing, log } = parts;
  const news = makeNews(parts.signals);
  const inboxes = makeInboxes(database, standing, news);
  const streams = makeStreams({ database, inboxes, news, log });
  return {
    notifier: makeWriter(clock, news, standing),
    inboxes,
    announcements: makeAnnouncements({ database, clock, audit, news }),
    streams,
    close: () => streams.close(),
  };
}
