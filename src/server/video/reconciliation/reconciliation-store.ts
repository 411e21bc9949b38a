import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../../platform/db/database.ts';
import { deleteOldRows } from '../../platform/db/delete-old-rows.ts';
import type { Tables } from '../../tables.ts';

export type ReconciliationRow = Selectable<Tables['reconciliations']>;

/** A video that ended well between two readings. */
export interface SettledVideo {
  readonly vendor: Tables['tasks']['vendor'];
  /** The vendor's last answer, JSON. */
  readonly data: string;
  readonly quota: number;
}

/** More videos than one account makes in an hour; what is beyond shows as a difference. */
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

  /** The newest of every channel. */
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

  /** Videos of a channel that ended well after `from` and until `to`, with what was charged for them. */
  settledVideos(channelId: number, from: number, to: number): Promise<SettledVideo[]> {
    return this.#database.kysely
      .selectFrom('tasks')
      .innerJoin('requests', 'requests.ref', 'tasks.id')
      .select(['tasks.vendor', 'tasks.data', 'requests.quota'])
      .where('tasks.channel_id', '=', channelId)
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

  /** @returns how many were removed */
  deleteBefore(before: number, limit: number): Promise<number> {
    const old = { table: 'reconciliations', key: 'id', time: 'to_time', keysAscendWithTime: true } as const;
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }
}
