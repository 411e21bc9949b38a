import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';

export interface Usage {
  /** Of videos and posters. */
  readonly bytes: number;
  /** Videos. */
  readonly files: number;
}

type Counted = Pick<Selectable<Tables['artifacts']>, 'user_id' | 'variant' | 'bytes'>;

/** Rows that share the sums over all accounts, so that copies that end at once seldom wait for one another. */
const SHARDS = 16;

/** What must hold of the sums; a query gives the keys of the rows that break a rule. */
export const USAGE_RULES = [
  {
    rule: 'the stored space of an account is that of its copies',
    table: 'artifact_usage',
    query: sql`select user_id as at from (
        select user_id, bytes, files from artifact_usage
        union all
        select user_id, -bytes, case variant when 'video' then -1 else 0 end from artifacts where state = 'stored'
      ) parts group by user_id having sum(bytes) <> 0 or sum(files) <> 0`,
  },
  {
    rule: 'the stored space of all accounts is the sum of theirs',
    table: 'artifact_totals',
    query: sql`select shard as at from (
        select shard, bytes, files from artifact_totals
        union all
        select user_id % ${sql.lit(SHARDS)}, -bytes, -files from artifact_usage
      ) parts group by shard having sum(bytes) <> 0 or sum(files) <> 0`,
  },
] as const;

/** SQL of `artifact_usage` and `artifact_totals`: sums over the stored copies, which never have to be added up. */
export class StorageUsageStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async of(userId: number): Promise<Usage> {
    const row = await this.#database.kysely
      .selectFrom('artifact_usage')
      .select(['bytes', 'files'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
    return row ?? { bytes: 0, files: 0 };
  }

  async ofAll(): Promise<Usage> {
    const { bytes, files } = await this.#database.kysely
      .selectFrom('artifact_totals')
      .select(({ fn }) => [fn.sum<number | null>('bytes').as('bytes'), fn.sum<number | null>('files').as('files')])
      .executeTakeFirstOrThrow();
    return { bytes: Number(bytes ?? 0), files: Number(files ?? 0) };
  }

  /** Adds up every stored copy. @returns how many sums differ */
  async countWrong(): Promise<number> {
    let wrong = 0;
    for (const { query } of USAGE_RULES) {
      const { rows } = await sql<{ at: number }>`${query}`.execute(this.#database.kysely);
      wrong += rows.length;
    }
    return wrong;
  }
}

/**
 * Adds copies to the sums or takes them off, in the transaction that changes their rows.
 * @param sign 1: they are stored from now on; -1: they no longer are
 */
export async function countCopies(trx: Trx, copies: readonly Counted[], sign: 1 | -1): Promise<void> {
  const byUser = Map.groupBy(copies, ({ user_id }) => user_id);
  // Every transaction takes the rows in the same order, so that two of them never wait for each other.
  for (const user of [...byUser.keys()].sort(ascending)) {
    const { bytes, files } = sumOf(byUser.get(user) ?? [], sign);
    await sql`insert into artifact_usage (user_id, bytes, files) values (${user}, ${bytes}, ${files})
      on conflict (user_id) do update
      set bytes = artifact_usage.bytes + excluded.bytes, files = artifact_usage.files + excluded.files`.execute(trx);
  }
  const byShard = Map.groupBy(copies, ({ user_id }) => user_id % SHARDS);
  for (const shard of [...byShard.keys()].sort(ascending)) {
    const { bytes, files } = sumOf(byShard.get(shard) ?? [], sign);
    await sql`insert into artifact_totals (shard, bytes, files) values (${shard}, ${bytes}, ${files})
      on conflict (shard) do update
      set bytes = artifact_totals.bytes + excluded.bytes, files = artifact_totals.files + excluded.files`.execute(trx);
  }
}

const ascending = (one: number, other: number): number => one - other;

const sumOf = (copies: readonly Counted[], sign: 1 | -1): Usage => ({
  bytes: sign * copies.reduce((sum, { bytes }) => sum + bytes, 0),
  files: sign * copies.filter(({ variant }) => variant === 'video').length,
});
