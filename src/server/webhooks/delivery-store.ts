import { type QueryCreator, type Selectable, sql } from 'kysely';
import type { DeliveryStatus, EventType } from '../../contract/webhooks.ts';
import type { EventRow } from '../event-log/event-log.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, evaluatedOnce, wasChanged } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';
import { CALLBACK } from './tables.ts';

/** A row of `webhook_deliveries`. */
export type DeliveryRow = Selectable<Tables['webhook_deliveries']>;

/** The endpoint or callback that an event is delivered to. */
export interface DeliveryTarget {
  readonly endpointId: number;
  readonly userId: number;
  readonly lane: string;
  readonly url: string;
}

/** The outcome of an attempt, as it is stored. */
export interface AttemptResult {
  readonly status: DeliveryStatus;
  readonly tries: number;
  readonly next_try_at: number | null;
  readonly last_try_at: number;
  readonly last_url: string;
  readonly last_request: string;
  readonly last_status: number | null;
  readonly last_response: string;
  readonly last_error: string;
  readonly last_duration_ms: number;
}

/** Filter of an endpoint's deliveries. */
export interface DeliveryFilter {
  readonly endpointId: number;
  readonly userId: number;
  readonly status: DeliveryStatus | undefined;
  /** Only ids below this one; undefined: from the newest. */
  readonly before: number | undefined;
  readonly limit: number;
}

const NEVER_TRIED = {
  tries: 0,
  last_try_at: null,
  last_url: '',
  last_request: '',
  last_status: null,
  last_response: '',
  last_error: '',
  last_duration_ms: 0,
} as const;

/** The lane of an endpoint's deliveries. */
export const endpointLane = (id: number): string => `endpoint:${id}`;

/** The id of the endpoint; undefined for a lane of callbacks. */
export const parseEndpointLane = (lane: string): number | undefined =>
  lane.startsWith('endpoint:') ? Number(lane.slice('endpoint:'.length)) : undefined;

/** SQL of `webhook_deliveries`. */
export class DeliveryStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Queues events for their targets; an event already queued for a target stays unchanged. */
  async insert(
    trx: Trx,
    deliveries: readonly { readonly event: EventRow; readonly target: DeliveryTarget }[],
    now: number,
  ): Promise<void> {
    for (let start = 0; start < deliveries.length; start += 100)
      await trx
        .insertInto('webhook_deliveries')
        .values(deliveries.slice(start, start + 100).map(({ event, target }) => toRow(event, target, now)))
        .onConflict((conflict) => conflict.columns(['endpoint_id', 'event_seq']).doNothing())
        .execute();
  }

  /** Queues one event and returns the id of its delivery. */
  async insertOne(trx: Trx, event: EventRow, target: DeliveryTarget, now: number): Promise<number> {
    const row = await trx
      .insertInto('webhook_deliveries')
      .values(toRow(event, target, now))
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  /**
   * Queues the next events of an account that happened from `since` to `until` again.
   * @param range.after the number of the last event queued; 0: from the first
   * @returns the numbers of the queued events, ascending
   */
  async replay(
    trx: Trx,
    target: DeliveryTarget,
    range: {
      readonly since: number;
      readonly until: number;
      readonly types: readonly EventType[];
      readonly after: number;
      readonly limit: number;
    },
    userIds: readonly number[],
    now: number,
  ): Promise<number[]> {
    const events = await trx
      .selectFrom('events')
      .selectAll()
      .where('user_id', 'in', [...userIds])
      .where('type', 'in', [...range.types])
      .where('seq', '>', range.after)
      .where('created_at', '>=', range.since)
      .where('created_at', '<=', range.until)
      .orderBy('seq')
      .limit(range.limit)
      .execute();
    if (events.length > 0)
      await trx
        .insertInto('webhook_deliveries')
        .values(events.map((event) => toRow(event, target, now)))
        .onConflict((conflict) =>
          conflict
            .columns(['endpoint_id', 'event_seq'])
            .doUpdateSet({ status: 'pending', tries: 0, next_try_at: unlessInFlight(now) }),
        )
        .execute();
    return events.map(({ seq }) => seq);
  }

  /**
   * Lanes with a due delivery. Skips from lane to lane in the index, so the cost does not depend on the number of
   * deliveries per lane.
   */
  async listDueLanes(now: number): Promise<string[]> {
    const { rows } = await sql<{ lane: string }>`
      with recursive lanes(lane) as (
        select min(lane) from webhook_deliveries where next_try_at is not null
        union all
        select (select min(d.lane) from webhook_deliveries d where d.next_try_at is not null and d.lane > lanes.lane)
        from lanes where lanes.lane is not null
      )
      select lane from lanes where lane is not null and exists (
        select 1 from webhook_deliveries d
        where d.lane = lanes.lane and d.next_try_at is not null and d.next_try_at <= ${now}
      )`.execute(this.#database.kysely);
    return rows.map(({ lane }) => lane);
  }

  /**
   * Claims due deliveries until `leaseUntil`: the given number per lane, oldest first, and none before an earlier one
   * of its subject has ended.
   */
  claim(
    lanes: readonly { readonly lane: string; readonly count: number }[],
    now: number,
    leaseUntil: number,
  ): Promise<DeliveryRow[]> {
    return this.#database.transaction(async (trx) => {
      const claimed: DeliveryRow[] = [];
      for (const { lane, count } of lanes) {
        const rows = await trx
          .with(evaluatedOnce('claimable'), (from) => fromDue(from, lane, now).limit(count).forUpdate().skipLocked())
          .updateTable('webhook_deliveries')
          .set({ next_try_at: leaseUntil, claimed_until: leaseUntil })
          .where('id', 'in', ({ selectFrom }) => selectFrom('claimable').select('claimable.id'))
          .returningAll()
          .execute();
        claimed.push(...rows);
      }
      return claimed;
    });
  }

  /**
   * Locks a claimed delivery. Its owner may have requested a retry during the attempt, which then counts as the first.
   * @returns the attempts before this one; undefined if the claim has ended
   */
  async lockClaimed(
    trx: Trx,
    { id, next_try_at }: Pick<DeliveryRow, 'id' | 'next_try_at'>,
  ): Promise<number | undefined> {
    const row = await trx
      .selectFrom('webhook_deliveries')
      .select('tries')
      .where('id', '=', id)
      .where('next_try_at', '=', next_try_at)
      .forUpdate()
      .executeTakeFirst();
    return row?.tries;
  }

  /**
   * Stores the result of an attempt if its claim is still valid.
   * @returns false if the claim has ended
   */
  async finish(
    trx: Trx,
    { id, next_try_at }: Pick<DeliveryRow, 'id' | 'next_try_at'>,
    result: AttemptResult,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('webhook_deliveries')
        .set(result)
        .where('id', '=', id)
        .where('next_try_at', '=', next_try_at)
        .executeTakeFirst(),
    );
  }

  /** Fails all pending deliveries of an endpoint. */
  async failPending(trx: Trx, endpointId: number, error: string): Promise<void> {
    await trx
      .updateTable('webhook_deliveries')
      .set({ status: 'failed', next_try_at: null, last_error: error })
      .where('lane', '=', endpointLane(endpointId))
      .where('next_try_at', 'is not', null)
      .execute();
  }

  /**
   * Makes a delivery due now, with all of its attempts. An attempt in flight is the first of them.
   * @returns whether the endpoint has this delivery
   */
  async retry(trx: Trx, endpointId: number, userId: number, id: number, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('webhook_deliveries')
        .set({ status: 'pending', tries: 0, next_try_at: unlessInFlight(now) })
        .where('id', '=', id)
        .where('endpoint_id', '=', endpointId)
        .where('user_id', '=', userId)
        .executeTakeFirst(),
    );
  }

  /** Newest first. */
  list({ endpointId, userId, status, before, limit }: DeliveryFilter): Promise<DeliveryRow[]> {
    let query = this.#database.kysely
      .selectFrom('webhook_deliveries')
      .selectAll()
      .where('endpoint_id', '=', endpointId)
      .where('user_id', '=', userId);
    if (status !== undefined) query = query.where('status', '=', status);
    if (before !== undefined) query = query.where('id', '<', before);
    return query.orderBy('id', 'desc').limit(limit).execute();
  }

  /** Pending deliveries, counted up to `most`; optionally of one lane, or queued before a time (Unix milliseconds). */
  async countPending(most: number, { lane, before }: { lane?: string; before?: number } = {}): Promise<number> {
    const { kysely } = this.#database;
    let waiting = kysely.selectFrom('webhook_deliveries').select('id').where('next_try_at', 'is not', null).limit(most);
    if (lane !== undefined) waiting = waiting.where('lane', '=', lane);
    if (before !== undefined) waiting = waiting.where('created_at', '<', before);
    const row = await kysely
      .selectFrom(waiting.as('waiting'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  async deleteOfEndpoint(trx: Trx, endpointId: number): Promise<void> {
    if (endpointId !== CALLBACK)
      await trx.deleteFrom('webhook_deliveries').where('endpoint_id', '=', endpointId).execute();
  }

  /**
   * Deletes at most `limit` ended deliveries created before `before`.
   * @returns the number of deleted deliveries
   */
  deleteBefore(before: number, limit: number): Promise<number> {
    const only = sql<boolean>`next_try_at is null`;
    const old = { table: 'webhook_deliveries', key: 'id', time: 'created_at', only };
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }
}

/** A delivery in flight keeps its claim, so that it is not sent a second time. */
const unlessInFlight = (now: number) =>
  sql<number>`case when webhook_deliveries.next_try_at = webhook_deliveries.claimed_until
    and webhook_deliveries.claimed_until > ${now} then webhook_deliveries.next_try_at else ${now} end`;

/** The due deliveries of a lane, without those that wait for an earlier one of their subject. */
const fromDue = (from: QueryCreator<Tables>, lane: string, now: number) =>
  from
    .selectFrom('webhook_deliveries as due')
    .select('due.id')
    .where('due.lane', '=', lane)
    .where('due.next_try_at', 'is not', null)
    .where('due.next_try_at', '<=', now)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('webhook_deliveries as earlier')
            .select('earlier.id')
            .whereRef('earlier.lane', '=', 'due.lane')
            .whereRef('earlier.subject', '=', 'due.subject')
            .whereRef('earlier.event_seq', '<', 'due.event_seq')
            .where('earlier.next_try_at', 'is not', null),
        ),
      ),
    )
    .orderBy('due.next_try_at');

const toRow = (event: EventRow, { endpointId, userId, lane, url }: DeliveryTarget, now: number) => ({
  endpoint_id: endpointId,
  user_id: userId,
  lane,
  event_seq: event.seq,
  event_id: event.id,
  event_type: event.type,
  event_at: event.created_at,
  subject: event.subject,
  data: event.data,
  url,
  status: 'pending' as const,
  next_try_at: now,
  created_at: now,
  ...NEVER_TRIED,
});
