import { type Insertable, type Selectable, sql } from 'kysely';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';

/** A stored reading of a vendor's account. */
export type ReconciliationRow = Selectable<Tables['reconciliations']>;

/** A video that succeeded between two readings. */
export interface SettledVideo {
  readonly vendor: Tables['tasks']['vendor'];
  /** The vendor's latest response, JSON. */
  readonly data: string;
  readonly quota: number;
}

/** More videos than one account generates in an hour; any beyond this appear as a difference. */
const MAX_VIDEOS = 20_000;

/** SQL of reconciliations. */
export class ReconciliationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  newest(channelId: number): Promise<ReconciliationRow | undefined> {
    return this.#database.kysely
      .selectFrom('reconciliations')
      .selectAll()
      .where('channel_id', '=', channelId)
      .orderBy('to_time', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** Readings after a time, oldest first. */
  since(time: number): Promise<ReconciliationRow[]> {
    return this.#database.kysely
      .selectFrom('reconciliations')
      .selectAll()
      .where('to_time', '>', time)
      .orderBy('to_time')
      .execute();
  }

  accountReads() {
    return this.#database.kysely.selectFrom('account_reads').selectAll().execute();
  }

  /** @param error null if the account was read */
  async noteRead(channelId: number, time: number, error: string | null): Promise<void> {
    const row = error === null ? { read_at: time, failed_at: null, error: '' } : { failed_at: time, error };
    await this.#database.kysely
      .insertInto('account_reads')
      .values({ channel_id: channelId, read_at: null, ...row })
      .onConflict((conflict) => conflict.column('channel_id').doUpdateSet(row))
      .execute();
  }

  /** The newest reading of every channel. */
  newestOfAll(): Promise<ReconciliationRow[]> {
    const { kysely } = this.#database;
    const last = kysely
      .selectFrom('reconciliations')
      .select((eb) => ['channel_id', eb.fn.max('to_time').as('newest')])
      .groupBy('channel_id');
    return kysely
      .selectFrom('reconciliations')
      .innerJoin(last.as('last'), (join) =>
        join
          .onRef('last.channel_id', '=', 'reconciliations.channel_id')
          .onRef('last.newest', '=', 'reconciliations.to_time'),
      )
      .selectAll('reconciliations')
      .execute();
  }

  /** Videos of the channels that succeeded after `from` and until `to`, with the quota charged for them. */
  settledVideos(channelIds: readonly number[], from: number, to: number): Promise<SettledVideo[]> {
    return this.#database.kysely
      .selectFrom('tasks')
      .innerJoin('ledger', 'ledger.ref', 'tasks.id')
      .select(['tasks.vendor', 'tasks.data', 'ledger.charged as quota'])
      .where('ledger.kind', '=', 'settle')
      .where('tasks.channel_id', 'in', channelIds)
      .where('tasks.status', '=', 'SUCCESS')
      .where('tasks.finish_time', '>', from)
      .where('tasks.finish_time', '<=', to)
      .limit(MAX_VIDEOS)
      .execute();
  }

  add(row: Insertable<Tables['reconciliations']>): Promise<ReconciliationRow> {
    return this.#database.kysely.insertInto('reconciliations').values(row).returningAll().executeTakeFirstOrThrow();
  }

  /** Newest first. */
  async list(
    channelId: number | undefined,
    offset: number,
    limit: number,
  ): Promise<{
    readonly rows: (ReconciliationRow & { readonly channel_name: string | null })[];
    readonly total: number;
  }> {
    const { kysely } = this.#database;
    const filtered = kysely
      .selectFrom('reconciliations')
      .leftJoin('channels', 'channels.id', 'reconciliations.channel_id')
      .$if(channelId !== undefined, (query) => query.where('reconciliations.channel_id', '=', channelId ?? 0));
    const [rows, counted] = await Promise.all([
      filtered
        .selectAll('reconciliations')
        .select('channels.name as channel_name')
        .orderBy('reconciliations.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute(),
      filtered.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(counted.count) };
  }

  /** UTC days instead of single readings, newest first; settled units of readings without a figure are included. */
  async listDays(
    channelId: number | undefined,
    offset: number,
    limit: number,
  ): Promise<{
    readonly rows: (ReconciliationRow & { readonly channel_name: string | null })[];
    readonly total: number;
  }> {
    const { kysely } = this.#database;
    const day = sql<number>`reconciliations.to_time / ${sql.lit(DAY_MS)}`;
    const days = kysely
      .selectFrom('reconciliations')
      .$if(channelId !== undefined, (query) => query.where('channel_id', '=', channelId ?? 0))
      .select(({ fn }) => [
        'channel_id',
        'vendor',
        'unit',
        fn.max('id').as('id'),
        fn.min('from_time').as('from_time'),
        fn.max('to_time').as('to_time'),
        fn.max('counter').as('counter'),
        fn.sum<number>('videos').as('videos'),
        fn.sum<number>('settled_units').as('settled_units'),
        fn.sum<number>('settled_quota').as('settled_quota'),
        fn.sum<number | null>('billed_units').as('billed_units'),
      ])
      .groupBy(['channel_id', 'vendor', 'unit', day]);
    const [rows, counted] = await Promise.all([
      kysely
        .selectFrom(days.as('days'))
        .leftJoin('channels', 'channels.id', 'days.channel_id')
        .selectAll('days')
        .select('channels.name as channel_name')
        .orderBy('days.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute(),
      kysely
        .selectFrom(days.as('days'))
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow(),
    ]);
    // PostgreSQL sums bigints to a numeric, which arrives as a string.
    const whole = rows.map((row) => ({
      ...row,
      videos: Number(row.videos),
      settled_units: Number(row.settled_units),
      settled_quota: Number(row.settled_quota),
      billed_units: row.billed_units === null ? null : Number(row.billed_units),
    }));
    return { rows: whole, total: Number(counted.count) };
  }

  /** @returns the number of deleted rows */
  deleteBefore(before: number, limit: number): Promise<number> {
    const old = { table: 'reconciliations', key: 'id', time: 'to_time', keysAscendWithTime: true } as const;
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }
}
