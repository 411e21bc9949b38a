import { type Insertable, type Kysely, type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { RequestKind, RequestStatus } from '../../contract/request-kinds.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { defaultPartitionOf, MonthlyPartitions } from '../platform/db/monthly-partitions.ts';
import {
  deleteOldRows,
  hasConcurrentWriters,
  type KeyRange,
  type Period,
  prepareInsert,
  type TimedRows,
  toKeyRange,
} from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, ClosedCall } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';

/** A row of `requests`. */
export type RequestRow = Selectable<Tables['requests']>;
/** A listed row with the name of its token; null if the token was deleted or there is none. */
export type ListedRequest = RequestRow & {
  readonly token_name: string | null;
  /** The member who called for an organization. */
  readonly actor_name: string | null;
  /** Slug of the organization that owns the call. */
  readonly organization: string | null;
};

/** Filters of a list of requests. */
export interface RequestFilter {
  readonly userId?: number;
  /** Only calls of organizations. */
  readonly ofOrganizations?: boolean;
  readonly channelId?: number;
  readonly tokenId?: number;
  readonly model?: string;
  readonly status?: RequestStatus;
  readonly kind?: RequestKind;
  /** Unix milliseconds; `to` is exclusive. */
  readonly from?: number;
  readonly to?: number;
}

const insertRows = prepareInsert<Tables, NewRequestRow>('requests', [
  'ref',
  'user_id',
  'token_id',
  'channel_id',
  'kind',
  'model',
  'served_model',
  'status',
  'error_code',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'seconds',
  'quota',
  'reserved',
  'duration_ms',
  'first_token_ms',
  'stream',
  'client',
  'price',
  'facts',
  'actor_id',
  'created_at',
]);

/** Must match the index's own condition literally, or the index is not used. */
const NOTHING_RESERVED = sql<SqlBool>`reserved = 0`;

/** SQL of the request log. */
export class RequestStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  insert(trx: Trx, rows: readonly NewRequestRow[]): Promise<void> {
    return insertRows(trx, rows);
  }

  /** Newest first. */
  async list(filter: RequestFilter, after: RequestCursor | undefined, limit: number): Promise<ListedRequest[]> {
    const { kysely } = this.#database;
    const rows = this.#rows(filter, await keysOf(kysely, filter));
    const page = after === undefined ? rows : olderThan(kysely, rows, after);
    return (await newestFirst(kysely, page).limit(limit).execute()) as ListedRequest[];
  }

  /** Rows written after `seq`, in ascending order. */
  listWrittenAfter(seq: number, limit: number): Promise<ListedRequest[]> {
    return this.#rows({}, {}).where('requests.seq', '>', seq).orderBy('requests.seq').limit(limit).execute() as Promise<
      ListedRequest[]
    >;
  }

  /** 0 if there are no rows. */
  async newestSeq(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('requests')
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  /**
   * Finds a call by its ledger reference. On SQLite only calls without a reservation have an index on it, because the
   * index would slow down all other calls. Those have ledger entries, which are indexed by reference and carry the time
   * of the row.
   *
   * @param endedAt time of the entry that closed it, Unix milliseconds; undefined: there is none
   */
  async findByRef(ref: string, endedAt: number | undefined): Promise<RequestRow | undefined> {
    const { kysely } = this.#database;
    const rows = kysely.selectFrom('requests').selectAll().where('ref', '=', ref);
    if (hasConcurrentWriters(kysely)) return rows.executeTakeFirst();
    if (endedAt !== undefined) {
      const { first = 0, before = 0 } = await keysOf(kysely, { from: endedAt, to: endedAt + 1 });
      const row = await rows.where('seq', '>=', first).where('seq', '<', before).executeTakeFirst();
      if (row !== undefined) return row;
    }
    return rows.where(NOTHING_RESERVED).executeTakeFirst();
  }

  /**
   * Finds the newest call with a request id chosen by its caller: the reference is that id, a dot, and an id of ours.
   *
   * @param userId undefined: any account
   */
  async findByRequestId(id: string, userId: number | undefined): Promise<RequestRow | undefined> {
    const { kysely } = this.#database;
    const rows = kysely
      .selectFrom('requests')
      .selectAll()
      .where('ref', '>', `req_${id}.`)
      // The character after the dot.
      .where('ref', '<', `req_${id}/`)
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
      .orderBy('created_at', 'desc')
      .limit(1);
    if (hasConcurrentWriters(kysely)) return rows.executeTakeFirst();
    const entry = await kysely
      .selectFrom('ledger')
      .select(['ref', 'created_at'])
      .where('ref', '>', `req_${id}.`)
      .where('ref', '<', `req_${id}/`)
      .where('kind', 'in', ['settle', 'refund'])
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    const refused = await rows.where(NOTHING_RESERVED).executeTakeFirst();
    const closed = entry && (await this.findByRef(entry.ref, entry.created_at));
    return closed === undefined || (refused !== undefined && refused.seq > closed.seq) ? refused : closed;
  }

  /**
   * Deletes at most `limit` rows of calls that ended before a time. On PostgreSQL a month's partition is dropped once
   * all of it is older; single rows are deleted only if they belong to no partition.
   * @returns the number of rows
   */
  async deleteBefore(before: number, limit: number): Promise<number> {
    const { kysely } = this.#database;
    const isPartitioned = hasConcurrentWriters(kysely);
    if (!isPartitioned) return deleteOldRows(kysely, { ...REQUEST_ROWS, keysAscendWithTime: true }, before, limit);
    await new MonthlyPartitions(this.#database, 'requests').dropBefore(before);
    return deleteOldRows(kysely, { ...REQUEST_ROWS, table: defaultPartitionOf('requests') }, before, limit);
  }

  #rows(filter: RequestFilter, range: KeyRange) {
    const rows = this.#database.kysely
      .selectFrom('requests')
      .leftJoin('tokens', 'tokens.id', 'requests.token_id')
      .selectAll('requests')
      .select('tokens.name as token_name')
      .select((row) => [
        row
          .selectFrom('accounts')
          .select('username')
          .whereRef('accounts.id', '=', 'requests.actor_id')
          .as('actor_name'),
        row
          .selectFrom('organizations')
          .select('slug')
          .whereRef('organizations.id', '=', 'requests.user_id')
          .as('organization'),
      ]);
    return applyFilter(rows, filter, range);
  }
}

/**
 * Applies the filter; undefined members do not restrict the result.
 *
 * @param range key range of the filter's period
 */
function applyFilter<O>(
  query: SelectQueryBuilder<Tables & { tokens: Tables['tokens'] | null }, 'requests', O>,
  filter: RequestFilter,
  { first, before }: KeyRange,
) {
  const { userId, ofOrganizations, channelId, tokenId, model, status, kind, from, to } = filter;
  let filtered = query;
  if (ofOrganizations === true)
    filtered = filtered.where('requests.user_id', 'in', (row) =>
      row.selectFrom('accounts').select('accounts.id').where('accounts.kind', '=', 'organization'),
    );
  if (userId !== undefined) filtered = filtered.where('requests.user_id', '=', userId);
  if (channelId !== undefined) filtered = filtered.where('requests.channel_id', '=', channelId);
  if (tokenId !== undefined) filtered = filtered.where('requests.token_id', '=', tokenId);
  if (model !== undefined) filtered = filtered.where('requests.model', '=', model);
  if (status !== undefined) filtered = filtered.where('requests.status', '=', status);
  if (kind !== undefined) filtered = filtered.where('requests.kind', '=', kind);
  if (from !== undefined) filtered = filtered.where('requests.created_at', '>=', from);
  if (to !== undefined) filtered = filtered.where('requests.created_at', '<', to);
  if (first !== undefined) filtered = filtered.where('requests.seq', '>=', first);
  if (before !== undefined) filtered = filtered.where('requests.seq', '<', before);
  return filtered;
}

/** Position in a list: that of a page's last row. */
export interface RequestCursor {
  readonly createdAt: number;
  readonly seq: number;
}

const REQUEST_ROWS: TimedRows = { table: 'requests', key: 'seq', time: 'created_at' };

const keysOf = (kysely: Kysely<Tables>, period: Period): Promise<KeyRange> => toKeyRange(kysely, REQUEST_ROWS, period);

type Rows<O> = SelectQueryBuilder<Tables & { tokens: Tables['tokens'] | null }, 'requests', O>;

/** Newest first, in the order of the engine's index. */
const newestFirst = <O>(kysely: Kysely<Tables>, query: Rows<O>): Rows<O> =>
  hasConcurrentWriters(kysely)
    ? query.orderBy('requests.created_at', 'desc').orderBy('requests.seq', 'desc')
    : query.orderBy('requests.seq', 'desc');

/** Rows after the given one in that order. */
const olderThan = <O>(kysely: Kysely<Tables>, query: Rows<O>, { createdAt, seq }: RequestCursor): Rows<O> =>
  hasConcurrentWriters(kysely)
    ? query.where(sql<boolean>`(requests.created_at, requests.seq) < (${createdAt}, ${seq})`)
    : query.where('requests.seq', '<', seq);

type NewRequestRow = Required<Omit<Insertable<Tables['requests']>, 'seq'>>;

/** Prefix of video references; all others are model calls. */
const TASK_PREFIX = 'task_';

/** The row of a call that ended at `now` (Unix milliseconds), from its reservation and its closing. */
export const callToRequestRow = (closed: ClosedCall, now: number): NewRequestRow => {
  const { detail = abandonedDetail(closed, now), usage } = closed;
  return {
    ref: closed.ref,
    user_id: closed.userId,
    token_id: closed.tokenId ?? 0,
    channel_id: detail.channelId,
    kind: detail.kind,
    model: closed.model,
    served_model: detail.servedModel,
    status: detail.status,
    error_code: detail.errorCode,
    input_tokens: usage.promptTokens,
    cached_tokens: detail.cachedTokens,
    output_tokens: usage.completionTokens,
    seconds: detail.seconds,
    quota: closed.charged,
    reserved: closed.reserved,
    duration_ms: Math.round(detail.durationMs),
    first_token_ms: detail.firstTokenMs === null ? null : Math.round(detail.firstTokenMs),
    stream: detail.stream ? 1 : 0,
    client: detail.client,
    price: detail.price,
    facts: detail.facts,
    actor_id: closed.actorId,
    created_at: now,
  };
};

/** The call's process died, so only its reservation is known. */
const abandonedDetail = ({ ref, model, isSettled, reservedAt }: ClosedCall, now: number): CallDetail => ({
  kind: ref.startsWith(TASK_PREFIX) ? 'video' : 'chat',
  servedModel: model,
  channelId: 0,
  status: isSettled ? 'ok' : 'failed',
  errorCode: isSettled ? '' : 'interrupted',
  cachedTokens: 0,
  seconds: 0,
  durationMs: Math.max(0, now - reservedAt),
  firstTokenMs: null,
  stream: false,
  client: '',
  price: '',
  facts: '',
});

/** Columns of `requests` by which statistics can be grouped. */
export type StatisticsColumn = 'model' | 'token_id' | 'channel_id' | 'user_id';

/** Statistics of one group of requests. */
export interface GroupFigures {
  readonly key: string | number;
  /** Name of the token, channel or account; null if it was deleted. */
  readonly name: string | null;
  readonly requests: number;
  readonly succeeded: number;
  readonly cancelled: number;
  readonly quota: number;
  /** Milliseconds; null if nothing succeeded, or nothing was streamed. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly firstP50: number | null;
  readonly firstP95: number | null;
}

/**
 * Maximum number of rows read for one response: on SQLite the read blocks all other requests for some tens of
 * milliseconds.
 */
const MAX_ROWS = 20_000;
const MAX_GROUPS = 200;

/** Statistics over the request log. */
export class StatisticsStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Groups of the newest rows within the limit, most frequent first. Percentiles use the nearest-rank method. */
  async read(filter: RequestFilter, by: StatisticsColumn): Promise<GroupFigures[]> {
    const { kysely } = this.#database;
    const matching = applyFilter(
      kysely.selectFrom('requests').leftJoin('tokens', 'tokens.id', 'requests.token_id').select(['requests.status']),
      filter,
      await keysOf(kysely, filter),
    ).select([`requests.${by} as key`, 'requests.duration_ms', 'requests.first_token_ms', 'requests.quota']);
    const newest = newestFirst(kysely, matching).limit(MAX_ROWS);
    const ranked = kysely
      .selectFrom(newest.as('newest'))
      .select(['key', 'status', 'quota', 'duration_ms', 'first_token_ms'])
      .select([
        // Only successes are ranked by duration; the others follow and are excluded below.
        sql<number>`row_number() over (partition by key, status order by duration_ms)`.as('place'),
        sql<number>`count(*) over (partition by key, status)`.as('size'),
        sql<number>`row_number() over (partition by key, status, first_token_ms is null order by first_token_ms)`.as(
          'first_place',
        ),
        sql<number>`count(first_token_ms) over (partition by key, status)`.as('first_size'),
      ]);
    const at = (column: string, place: string, size: string, percent: number, also = sql<SqlBool>`true`) =>
      // The smallest rank with at least this percentage at or below it.
      sql<number | null>`max(case when status = 'ok' and ${also}
        and ${sql.ref(place)} = (${sql.ref(size)} * ${sql.lit(percent)} + 99) / 100 then ${sql.ref(column)} end)`;
    const streamed = sql<SqlBool>`first_token_ms is not null`;
    const groups = await kysely
      .selectFrom(ranked.as('ranked'))
      .groupBy('key')
      .select([
        'key',
        sql<number>`count(*)`.as('requests'),
        sql<number>`sum(case when status = 'ok' then 1 else 0 end)`.as('succeeded'),
        sql<number>`sum(case when status = 'cancelled' then 1 else 0 end)`.as('cancelled'),
        sql<number>`sum(quota)`.as('quota'),
        at('duration_ms', 'place', 'size', 50).as('p50'),
        at('duration_ms', 'place', 'size', 95).as('p95'),
        at('first_token_ms', 'first_place', 'first_size', 50, streamed).as('firstP50'),
        at('first_token_ms', 'first_place', 'first_size', 95, streamed).as('firstP95'),
      ])
      .orderBy('requests', 'desc')
      .limit(MAX_GROUPS)
      .execute();
    const names = await this.#names(
      by,
      groups.map(({ key }) => Number(key)),
    );
    // PostgreSQL sums bigints to a numeric, which arrives as a string.
    return groups.map((group) => ({
      ...group,
      name: names?.get(Number(group.key)) ?? null,
      quota: Number(group.quota),
      requests: Number(group.requests),
      succeeded: Number(group.succeeded),
      cancelled: Number(group.cancelled),
    }));
  }

  async #names(by: StatisticsColumn, ids: readonly number[]): Promise<ReadonlyMap<number, string | null> | undefined> {
    if (by === 'model' || ids.length === 0) return undefined;
    const { kysely } = this.#database;
    const rows =
      by === 'user_id'
        ? await kysely.selectFrom('accounts').select(['id', 'username as name']).where('id', 'in', ids).execute()
        : await kysely
            .selectFrom(by === 'token_id' ? 'tokens' : 'channels')
            .select(['id', 'name'])
            .where('id', 'in', ids)
            .execute();
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}

interface RequestLogDependencies {
  readonly database: Database<Tables>;
  readonly store: RequestStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** A call refused before any quota was reserved for it. */
type RefusedCall = Omit<ClosedCall, 'charged' | 'reserved' | 'isSettled' | 'usage' | 'reservedAt'>;

const FLUSH_MS = 1_000;
/**
 * A caller that is refused thousands of times a second must not fill the disk or delay others: further refusals are
 * only counted.
 */
const MAX_WAITING = 1_000;

/**
 * Writes the request log. Calls with a reservation are written in the transaction that settles them, so that row and
 * settlement exist together or not at all. Refused calls, on which nothing depends, are written in batches once a
 * second.
 */
export class RequestLog {
  readonly #dependencies: RequestLogDependencies;
  #waiting: ClosedCall[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: RequestLogDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called by the ledger with the calls it closes. */
  readonly addClosed = (trx: Trx, closed: readonly ClosedCall[], now: number): Promise<void> =>
    this.#dependencies.store.insert(
      trx,
      closed.map((each) => callToRequestRow(each, now)),
    );

  /** Queues the call and returns at once. */
  addRefused(call: RefusedCall): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    this.#waiting.push({ ...call, charged: 0, reserved: 0, isSettled: false, usage: NO_TOKENS, reservedAt: 0 });
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  /** Writes the queued refusals. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { database, log, clock } = this.#dependencies;
    const [waiting, dropped] = [this.#waiting, this.#dropped];
    this.#waiting = [];
    this.#dropped = 0;
    if (dropped > 0) log.warn({ dropped }, 'refused calls that the request log does not have');
    if (waiting.length === 0) return;
    await database
      .transaction((trx) => this.addClosed(trx, waiting, clock.now()))
      .catch((error: unknown) => log.warn({ err: error, calls: waiting.length }, 'refused calls could not be logged'));
  }
}

const NO_TOKENS = { promptTokens: 0, completionTokens: 0 };

/** An open live view. */
interface LiveRequestLogSubscriber {
  /** The account that opened it. */
  readonly userId: number;
  readonly filter: RequestFilter;
  /** Called with the matching rows, oldest first. */
  send(rows: readonly ListedRequest[]): void;
  /** Keeps proxies from closing an idle stream. */
  keepAlive(): void;
  end(): void;
}

const POLL_MS = 1_000;
const KEEP_ALIVE_POLLS = 15;
const PAGE_SIZE = 500;
/** On PostgreSQL a row with a lower number may be committed later; this many rows are read again to find such rows. */
const OVERLAP = 200;
/** Every row is compared with the filter of every view, so each view costs time every second. */
const MAX_VIEWS_PER_ACCOUNT = 32;

/**
 * The open live views of the request log in this process. One query a second serves all of them, whichever process
 * wrote the rows; without a view there is no query. A view misses no rows of a second with fewer rows than a page, and
 * skips the rest otherwise.
 */
export class LiveRequestLogSubscribers {
  readonly #store: RequestStore;
  readonly #log: Log;
  readonly #pollMs: number;
  readonly #listeners = new Set<LiveRequestLogSubscriber>();
  #timer: NodeJS.Timeout | undefined;
  /** Undefined: unknown, as while no view is open. */
  #position: number | undefined;
  #sent = new Set<number>();
  #polls = 0;
  #isReading = false;

  constructor(store: RequestStore, log: Log, pollMs = POLL_MS) {
    this.#store = store;
    this.#log = log;
    this.#pollMs = pollMs;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** @throws AppError `too_many_streams` if the account has reached its limit */
  assertCapacity(userId: number): void {
    let open = 0;
    for (const listener of this.#listeners) if (listener.userId === userId) open += 1;
    if (open >= MAX_VIEWS_PER_ACCOUNT) throw new AppError('too_many_streams', { retryAfterSeconds: 60 });
  }

  /**
   * Sends rows written from now on.
   * @returns a function that closes the view
   */
  async open(listener: LiveRequestLogSubscriber): Promise<() => void> {
    // Counted before any await, so that views opened concurrently cannot exceed the limit together.
    this.#listeners.add(listener);
    const close = (): void => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
    try {
      if (this.#position === undefined) await this.#begin();
    } catch (error) {
      close();
      throw error;
    }
    this.#timer ??= setInterval(() => void this.#poll(), this.#pollMs).unref();
    return close;
  }

  async #begin(): Promise<void> {
    const newest = await this.#store.newestSeq();
    const rows = await this.#read(newest);
    // A view opened at the same time may have begun meanwhile.
    if (this.#position !== undefined) return;
    this.#position = newest;
    // The rows of the overlap existed before the view was opened.
    this.#sent = new Set(rows.map(({ seq }) => seq).filter((seq) => seq <= newest));
  }

  close(): void {
    for (const listener of [...this.#listeners]) listener.end();
    this.#listeners.clear();
    this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#position = undefined;
    this.#sent = new Set();
  }

  #read(position: number): Promise<ListedRequest[]> {
    return this.#store.listWrittenAfter(Math.max(0, position - OVERLAP), PAGE_SIZE);
  }

  async #poll(): Promise<void> {
    const [position, sent] = [this.#position, this.#sent];
    if (this.#isReading || position === undefined) return;
    this.#isReading = true;
    try {
      const rows = await this.#read(position);
      // A full page is more than anyone can follow, so the remaining rows are skipped.
      const next = rows.length === PAGE_SIZE ? await this.#store.newestSeq() : (rows.at(-1)?.seq ?? 0);
      // The views this read was for have been closed; others may have been opened since.
      if (this.#sent !== sent) return;
      this.#sent = new Set(rows.map(({ seq }) => seq));
      this.#position = Math.max(position, next);
      this.#send(rows.filter(({ seq }) => !sent.has(seq)));
    } catch (error) {
      this.#log.warn({ err: error }, 'the live view of the request log could not be read');
    } finally {
      this.#isReading = false;
    }
  }

  #send(rows: readonly ListedRequest[]): void {
    const isKeptAlive = ++this.#polls % KEEP_ALIVE_POLLS === 0;
    for (const listener of this.#listeners) {
      const fitting = rows.filter((row) => fits(row, listener.filter));
      if (fitting.length > 0) listener.send(fitting);
      else if (isKeptAlive) listener.keepAlive();
    }
  }
}

const fits = (row: ListedRequest, { userId, channelId, tokenId, model, status, kind }: RequestFilter): boolean =>
  (userId ?? row.user_id) === row.user_id &&
  (channelId ?? row.channel_id) === row.channel_id &&
  (tokenId ?? row.token_id) === row.token_id &&
  (model ?? row.model) === row.model &&
  (status ?? row.status) === row.status &&
  (kind ?? row.kind) === row.kind;
