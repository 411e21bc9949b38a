import { setImmediate as turn } from 'node:timers/promises';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { EVERYBODY } from './announcement-store.ts';
import type { Inboxes, Reader, Shown } from './inbox.ts';
import type { News } from './news.ts';
import { listAfter, type NotificationRow, newestOf } from './store.ts';

/** How far a stream has come: the newest own row and the newest announcement it has sent. */
export interface Cursor {
  readonly own: number;
  readonly announced: number;
}

/** `12.7`, as Last-Event-ID carries it back; undefined for anything else. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text ?? '');
  return match === null ? undefined : { own: Number(match[1]), announced: Number(match[2]) };
}
export const toCursorText = ({ own, announced }: Cursor): string => `${own}.${announced}`;

/** Where a stream's events go; implemented by the route. */
export interface Sink {
  notification(shown: Shown, cursor: Cursor): void;
  unread(count: number, cursor: Cursor): void;
  beat(): void;
  /** Resolves when more may be written. */
  ready(): Promise<void>;
  /** Whether the reader may still read; asked now and then. */
  isAllowed(): Promise<boolean>;
  end(): void;
}

export interface Streams {
  /** @throws too_many_streams when the account has no room for another one */
  assertRoom(userId: number): void;
  /** Sends what came after the cursor (without one: from now on), then everything that comes, until `gone`. */
  open(reader: Reader, from: Cursor | undefined, sink: Sink, gone: AbortSignal): Promise<void>;
  readonly size: number;
  close(): void;
}

export const BEAT_MS = 20_000;
/** Signals are hints: every so many beats a stream looks by itself. */
const LOOK_EVERY_BEATS = 6;
/** Streams beat in groups, one after another, so that thousands of them never ask the database at the same moment. */
const BEAT_GROUPS = 40;
/** Streams that are woken without a turn of the event loop between. */
const WAKE_AT_ONCE = 250;
const PAGE = 100;
const MOST_PER_ACCOUNT = 32;

type Wish = 'announced' | 'own' | 'all';

interface Stream {
  readonly reader: Reader;
  readonly sink: Sink;
  readonly group: number;
  own: number;
  announced: number;
  since: number;
  unread: number;
  /** The newest announcement that is counted in `unread`. */
  countedTo: number;
  /** What is to be looked at next; undefined: nothing. */
  wish: Wish | undefined;
  working: boolean;
  open: boolean;
}

export interface StreamParts {
  readonly database: Database<Tables>;
  readonly inboxes: Inboxes;
  readonly news: Pick<News, 'listen'>;
  readonly log: Log;
  readonly beatMs?: number;
}

/**
 * The open streams of this process. What a stream sends is read from the database after its cursor, so nothing is lost or
 * sent twice whatever happens to signals and connections: ids of one account, and those of announcements, are committed in
 * their order.
 */
export function makeStreams({ database, inboxes, news, log, beatMs = BEAT_MS }: StreamParts): Streams {
  const { kysely } = database;
  const byUser = new Map<number, Set<Stream>>();
  let size = 0;
  let beats = 0;
  let opened = 0;

  // All streams stand at the same announcement nearly always: they share one query.
  const flights = new Map<number, Promise<NotificationRow[]>>();
  const announcedAfter = (after: number): Promise<NotificationRow[]> => {
    const known = flights.get(after);
    if (known !== undefined) return known;
    const flight = listAfter(kysely, { user: EVERYBODY, after, withAdmin: false, limit: PAGE }).finally(() => {
      if (flights.get(after) === flight) flights.delete(after);
    });
    flights.set(after, flight);
    return flight;
  };

  const each = function* (): Generator<Stream> {
    for (const streams of byUser.values()) yield* streams;
  };

  const drop = (stream: Stream): void => {
    if (!stream.open) return;
    stream.open = false;
    size -= 1;
    const streams = byUser.get(stream.reader.userId);
    streams?.delete(stream);
    if (streams?.size === 0) byUser.delete(stream.reader.userId);
    stream.sink.end();
  };

  const send = (stream: Stream, shown: readonly Shown[]): void => {
    for (const one of shown) {
      if (one.row.user_id === EVERYBODY) stream.announced = one.row.id;
      else stream.own = one.row.id;
      stream.sink.notification(one, stream);
    }
  };

  /** One look; answers whether there is more. */
  const look = async (stream: Stream, wish: Wish): Promise<boolean> => {
    const { userId, withAdmin } = stream.reader;
    const own =
      wish === 'announced' ? [] : await listAfter(kysely, { user: userId, after: stream.own, withAdmin, limit: PAGE });
    const announced = wish === 'own' ? [] : await announcedAfter(stream.announced);
    const visible = announced.filter((row) => row.created_at >= stream.since);
    if (!stream.open) return false;
    if (wish === 'announced' && visible.length > 0) {
      send(
        stream,
        visible.map((row) => ({ row, isRead: false })),
      );
      stream.unread += visible.filter(({ id }) => id > stream.countedTo).length;
      stream.sink.unread(stream.unread, stream);
    } else {
      if (own.length + visible.length > 0) send(stream, await inboxes.show(stream.reader, [...own, ...visible]));
      const { unread, announcedTo } = await inboxes.unread(stream.reader);
      if (unread !== stream.unread) stream.sink.unread(unread, stream);
      stream.unread = unread;
      stream.countedTo = announcedTo;
    }
    await stream.sink.ready();
    return own.length === PAGE || announced.length === PAGE;
  };

  const work = async (stream: Stream): Promise<void> => {
    if (stream.working) return;
    stream.working = true;
    try {
      while (stream.open && stream.wish !== undefined) {
        const { wish } = stream;
        stream.wish = undefined;
        if (await look(stream, wish)) wake(stream, wish);
      }
    } catch (error) {
      // The client comes back with its cursor and loses nothing.
      log.warn({ err: error }, 'a notification stream failed');
      drop(stream);
    } finally {
      stream.working = false;
    }
  };

  const wake = (stream: Stream, wish: Wish): void => {
    stream.wish = stream.wish === undefined || stream.wish === wish ? wish : 'all';
    void work(stream);
  };

  const beat = (): void => {
    beats += 1;
    for (const stream of each()) {
      if (stream.group !== beats % BEAT_GROUPS) continue;
      stream.sink.beat();
      stream.sink.isAllowed().then(
        (allowed) => {
          if (!allowed) drop(stream);
          else if (Math.floor(beats / BEAT_GROUPS) % LOOK_EVERY_BEATS === 0) wake(stream, 'all');
        },
        // The database is away: nothing could be read either.
        () => {},
      );
    }
  };
  const wakeAll = async (wish: Wish): Promise<void> => {
    // A question on its way may have been asked before what this is about.
    flights.clear();
    let woken = 0;
    for (const stream of [...each()]) {
      if (stream.open) wake(stream, wish);
      woken += 1;
      if (woken % WAKE_AT_ONCE === 0) await turn();
    }
  };
  const timer = setInterval(beat, beatMs / BEAT_GROUPS).unref();
  const stopListening = news.listen(
    (userId) => {
      if (userId === EVERYBODY) void wakeAll('announced');
      else for (const stream of byUser.get(userId) ?? []) wake(stream, 'own');
    },
    () => void wakeAll('all'),
  );

  return {
    get size() {
      return size;
    },
    assertRoom(userId) {
      if ((byUser.get(userId)?.size ?? 0) >= MOST_PER_ACCOUNT)
        throw new AppError('too_many_streams', { retryAfterSeconds: 60 });
    },
    async open(reader, from, sink, gone) {
      const streams = byUser.get(reader.userId) ?? new Set();
      const stream: Stream = {
        reader,
        sink,
        group: opened % BEAT_GROUPS,
        own: 0,
        announced: 0,
        since: 0,
        unread: -1,
        countedTo: 0,
        wish: undefined,
        // Woken meanwhile, it waits until it knows where to begin.
        working: true,
        open: true,
      };
      byUser.set(reader.userId, streams.add(stream));
      opened += 1;
      size += 1;
      gone.addEventListener('abort', () => drop(stream), { once: true });
      try {
        const [own, announced, since] = await Promise.all([
          newestOf(kysely, reader.userId),
          newestOf(kysely, EVERYBODY),
          inboxes.joinedAt(reader.userId),
        ]);
        // A cursor of another database, from before a restore, lies beyond the end.
        stream.own = Math.min(from?.own ?? own, own);
        stream.announced = Math.min(from?.announced ?? announced, announced);
        stream.since = since;
        if (gone.aborted) drop(stream);
      } catch (error) {
        drop(stream);
        throw error;
      } finally {
        stream.working = false;
      }
      wake(stream, 'all');
    },
    close() {
      clearInterval(timer);
      stopListening();
      for (const stream of [...each()]) drop(stream);
    },
  };
}
