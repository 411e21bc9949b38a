import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Locale } from '../../contract/messages/format-message.ts';
import { AppError } from '../platform/app-error.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { Log } from '../platform/log.ts';
import { ALL_ACCOUNTS } from './announcements.ts';
import { type InboxItem, type InboxService, type Reader, toNotification } from './inbox.ts';
import type { ChangeSignals, NotificationRow, NotificationStore } from './notification-store.ts';

/** Position of a stream: ids of the newest own row and the newest announcement it has sent. */
interface Cursor {
  readonly own: number;
  readonly announced: number;
}

/** Parses `12.7`, as returned by clients in Last-Event-ID; undefined for anything else. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text ?? '');
  return match === null ? undefined : { own: Number(match[1]), announced: Number(match[2]) };
}
const formatCursor = ({ own, announced }: Cursor): string => `${own}.${announced}`;

/** Destination of a stream's events; implemented by the route. */
export interface StreamSink {
  sendNotification(item: InboxItem, cursor: Cursor): void;
  sendUnreadCount(count: number, cursor: Cursor): void;
  sendHeartbeat(): void;
  /** Resolves when more may be written. */
  whenWritable(): Promise<void>;
  end(): void;
}

const HEARTBEAT_MS = 20_000;
/** Heartbeats between two reads without a signal, because signals can be lost. */
const POLL_EVERY_HEARTBEATS = 6;
/** Streams send heartbeats in groups, one after another, so that thousands never query the database at once. */
const HEARTBEAT_GROUPS = 40;
/** Number of streams processed before yielding to the event loop. */
const WAKE_BATCH_SIZE = 250;
const PAGE_SIZE = 100;
const MAX_STREAMS_PER_ACCOUNT = 32;

/** The part of the inbox a stream has to read next. */
type RefreshScope = 'announced' | 'own' | 'all';

interface OpenStream {
  readonly reader: Reader;
  readonly sink: StreamSink;
  readonly group: number;
  own: number;
  announced: number;
  accountCreatedAt: number;
  unread: number;
  /** The newest announcement that `unread` includes. */
  countedTo: number;
  pending: RefreshScope | undefined;
  isRefreshing: boolean;
  isOpen: boolean;
}

interface NotificationStreamsDependencies {
  readonly notifications: NotificationStore;
  readonly inboxService: InboxService;
  readonly changeSignals: Pick<ChangeSignals, 'subscribe'>;
  readonly log: Log;
  readonly heartbeatMs?: number;
}

/**
 * The open streams of this process. A stream sends the database rows after its cursor, so nothing is lost or sent twice
 * even if signals or connections fail: the ids of one account, and those of announcements, become visible in ascending
 * order.
 */
export class NotificationStreams {
  readonly #dependencies: NotificationStreamsDependencies;
  readonly #byUser = new Map<number, Set<OpenStream>>();
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  /** Nearly all streams have reached the same announcement, so they share one query. */
  #announcementQueries = new SingleFlight<NotificationRow[]>();
  #size = 0;
  #opened = 0;
  #heartbeats = 0;

  constructor(dependencies: NotificationStreamsDependencies) {
    this.#dependencies = dependencies;
    const { changeSignals, heartbeatMs = HEARTBEAT_MS } = dependencies;
    this.#timer = setInterval(() => this.#sendHeartbeats(), heartbeatMs / HEARTBEAT_GROUPS).unref();
    this.#unsubscribe = changeSignals.subscribe(
      (userId) => {
        if (userId === ALL_ACCOUNTS) void this.#refreshAll('announced');
        else for (const stream of this.#byUser.get(userId) ?? []) this.#refresh(stream, 'own');
      },
      () => void this.#refreshAll('all'),
    );
  }

  get size(): number {
    return this.#size;
  }

  /** @throws AppError `too_many_streams` if the account has reached its limit */
  assertCapacity(userId: number): void {
    if ((this.#byUser.get(userId)?.size ?? 0) >= MAX_STREAMS_PER_ACCOUNT)
      throw new AppError('too_many_streams', { retryAfterSeconds: 60 });
  }

  /**
   * Sends the notifications after the cursor, then every new one, until `ended` aborts.
   * @param from undefined: start with notifications written from now on
   */
  async open(reader: Reader, from: Cursor | undefined, sink: StreamSink, ended: AbortSignal): Promise<void> {
    const stream = this.#register(reader, sink);
    ended.addEventListener('abort', () => this.#close(stream), { once: true });
    const { notifications, inboxService } = this.#dependencies;
    try {
      const [own, announced, accountCreatedAt] = await Promise.all([
        notifications.newestId(reader.userId),
        notifications.newestId(ALL_ACCOUNTS),
        inboxService.accountCreatedAt(reader.userId),
      ]);
      // A cursor from before a restored backup can be beyond the newest row and would skip every row up to it.
      stream.own = Math.min(from?.own ?? own, own);
      stream.announced = Math.min(from?.announced ?? announced, announced);
      stream.accountCreatedAt = accountCreatedAt;
      if (ended.aborted) this.#close(stream);
    } catch (error) {
      this.#close(stream);
      throw error;
    } finally {
      stream.isRefreshing = false;
    }
    this.#refresh(stream, 'all');
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
    for (const stream of [...this.#all()]) this.#close(stream);
  }

  #register(reader: Reader, sink: StreamSink): OpenStream {
    const stream: OpenStream = {
      reader,
      sink,
      group: this.#opened % HEARTBEAT_GROUPS,
      own: 0,
      announced: 0,
      accountCreatedAt: 0,
      unread: -1,
      countedTo: 0,
      pending: undefined,
      // Delays signals until the stream's initial position is known.
      isRefreshing: true,
      isOpen: true,
    };
    const streams = this.#byUser.get(reader.userId) ?? new Set();
    this.#byUser.set(reader.userId, streams.add(stream));
    this.#opened += 1;
    this.#size += 1;
    return stream;
  }

  #close(stream: OpenStream): void {
    if (!stream.isOpen) return;
    stream.isOpen = false;
    this.#size -= 1;
    const streams = this.#byUser.get(stream.reader.userId);
    streams?.delete(stream);
    if (streams?.size === 0) this.#byUser.delete(stream.reader.userId);
    stream.sink.end();
  }

  *#all(): Generator<OpenStream> {
    for (const streams of this.#byUser.values()) yield* streams;
  }

  #sendHeartbeats(): void {
    this.#heartbeats += 1;
    const polls = Math.floor(this.#heartbeats / HEARTBEAT_GROUPS) % POLL_EVERY_HEARTBEATS === 0;
    for (const stream of this.#all()) {
      if (stream.group !== this.#heartbeats % HEARTBEAT_GROUPS) continue;
      stream.sink.sendHeartbeat();
      if (polls) this.#refresh(stream, 'all');
    }
  }

  async #refreshAll(scope: RefreshScope): Promise<void> {
    // A query in flight may have been sent before this change was committed.
    this.#announcementQueries = new SingleFlight();
    let woken = 0;
    for (const stream of [...this.#all()]) {
      if (stream.isOpen) this.#refresh(stream, scope);
      woken += 1;
      if (woken % WAKE_BATCH_SIZE === 0) await nextTurn();
    }
  }

  #refresh(stream: OpenStream, scope: RefreshScope): void {
    stream.pending = stream.pending === undefined || stream.pending === scope ? scope : 'all';
    void this.#sendPending(stream);
  }

  /** Runs once at a time per stream; a signal during a run is handled afterwards. */
  async #sendPending(stream: OpenStream): Promise<void> {
    if (stream.isRefreshing) return;
    stream.isRefreshing = true;
    try {
      while (stream.isOpen && stream.pending !== undefined) {
        const scope = stream.pending;
        stream.pending = undefined;
        if (await this.#sendPage(stream, scope)) this.#refresh(stream, scope);
      }
    } catch (error) {
      // The client reconnects with its cursor and loses nothing.
      this.#dependencies.log.warn({ err: error }, 'a notification stream failed');
      this.#close(stream);
    } finally {
      stream.isRefreshing = false;
    }
  }

  /** @returns whether there may be more rows */
  async #sendPage(stream: OpenStream, scope: RefreshScope): Promise<boolean> {
    const { notifications, inboxService } = this.#dependencies;
    const { userId, withAdmin } = stream.reader;
    const own =
      scope === 'announced'
        ? []
        : await notifications.listAfter({ user: userId, after: stream.own, withAdmin, limit: PAGE_SIZE });
    const announced = scope === 'own' ? [] : await this.#announcementsAfter(stream.announced);
    const visible = announced.filter((row) => row.created_at >= stream.accountCreatedAt);
    if (!stream.isOpen) return false;
    if (scope === 'announced' && visible.length > 0) {
      // Counting in memory saves a query per open stream for each announcement.
      for (const row of visible) this.#send(stream, { row, isRead: false });
      stream.unread += visible.filter(({ id }) => id > stream.countedTo).length;
      stream.sink.sendUnreadCount(stream.unread, stream);
    } else {
      const items =
        own.length + visible.length > 0 ? await inboxService.toItems(stream.reader, [...own, ...visible]) : [];
      for (const item of items) this.#send(stream, item);
      const { unread, newestAnnouncement } = await inboxService.countUnread(stream.reader);
      if (unread !== stream.unread) stream.sink.sendUnreadCount(unread, stream);
      stream.unread = unread;
      stream.countedTo = newestAnnouncement;
    }
    // Also past those from before the account: a full page of them would otherwise be read again without end.
    stream.announced = announced.at(-1)?.id ?? stream.announced;
    await stream.sink.whenWritable();
    return own.length === PAGE_SIZE || announced.length === PAGE_SIZE;
  }

  #send(stream: OpenStream, item: InboxItem): void {
    if (item.row.user_id === ALL_ACCOUNTS) stream.announced = item.row.id;
    else stream.own = item.row.id;
    stream.sink.sendNotification(item, stream);
  }

  #announcementsAfter(after: number): Promise<NotificationRow[]> {
    return this.#announcementQueries.run(String(after), () =>
      this.#dependencies.notifications.listAfter({ user: ALL_ACCOUNTS, after, withAdmin: false, limit: PAGE_SIZE }),
    );
  }
}

/** Delay before a browser reconnects, in milliseconds. */
const RETRY_MS = 3_000;
/** A reader that receives nothing for this long is disconnected, because its events would accumulate in memory. */
const STALLED_READER_TIMEOUT_MS = 60_000;

/** Writes the events of a stream as server-sent events (WHATWG HTML, section 9.2). */
export function openSseSink(response: ServerResponse, reader: Reader, locale: Locale): StreamSink {
  const event = (name: string, id: string, data: unknown) =>
    `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
  };
  write(`retry: ${RETRY_MS}\n\n`);
  return {
    sendNotification: (item, cursor) =>
      write(event('notification', formatCursor(cursor), toNotification(item, reader.userId, locale))),
    sendUnreadCount: (count, cursor) => write(event('unread', formatCursor(cursor), { unread_count: count })),
    sendHeartbeat: () => write(': keep-alive\n\n'),
    whenWritable: () => whenDrained(response),
    end: () => {
      response.end();
    },
  };
}

function whenDrained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), STALLED_READER_TIMEOUT_MS);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
