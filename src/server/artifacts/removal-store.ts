import { HOUR_MS } from '../../contract/time-units.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';
import type { ArtifactRow } from './artifact-store.ts';
import { countCopies } from './storage-usage-store.ts';

/** A poster that was not put by then never will be: its process has ended. */
const INTERRUPTED_MS = HOUR_MS;

/** SQL of the end of copies: a row is marked, its file removed, and then the row. */
export class RemovalStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** From now on it is served no more. */
  async markTaskRemoved(trx: Trx, taskId: string): Promise<void> {
    const rows = await lockable(trx).where('task_id', '=', taskId).execute();
    await markRemoving(trx, rows);
  }

  async markRemoved(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#database.transaction(async (trx) => {
      const rows = await lockable(trx)
        .where('id', 'in', [...ids])
        .execute();
      await markRemoving(trx, rows);
    });
  }

  /** Marks what has passed its time, posters whose put was interrupted, and what belongs to removed accounts. */
  async markEnded(now: number, limit: number): Promise<number> {
    const { kysely } = this.#database;
    const expired = await kysely
      .selectFrom('artifacts')
      .select('id')
      .where('state', '=', 'stored')
      .where('expires_at', '<=', now)
      .limit(limit)
      .execute();
    const ofRemoved = await kysely
      .selectFrom('artifacts')
      .innerJoin('accounts', 'accounts.id', 'artifacts.user_id')
      .select('artifacts.id')
      .where('accounts.removed_at', 'is not', null)
      .where('artifacts.state', '<>', 'removing')
      .limit(limit)
      .execute();
    const interrupted = await kysely
      .selectFrom('artifacts')
      .select('id')
      .where('state', '=', 'pending')
      .where('next_try_at', 'is', null)
      .where('created_at', '<', now - INTERRUPTED_MS)
      .limit(limit)
      .execute();
    const ids = [...expired, ...ofRemoved, ...interrupted].map(({ id }) => id);
    await this.markRemoved(ids);
    return ids.length;
  }

  async listRemoving(limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('artifacts')
      .select('id')
      .where('state', '=', 'removing')
      .limit(limit)
      .execute();
    return rows.map(({ id }) => id);
  }

  async delete(id: string): Promise<void> {
    await this.#database.kysely.deleteFrom('artifacts').where('id', '=', id).where('state', '=', 'removing').execute();
  }

  /** The videos stored longest ago, of one account or of all; after `after`, where that is given. */
  listOldest(userId: number | undefined, limit: number, after?: OldestCopy): Promise<OldestCopy[]> {
    let query = this.#database.kysely
      .selectFrom('artifacts')
      .select(['id', 'bytes', 'stored_at'])
      .where('state', '=', 'stored')
      .where('variant', '=', 'video');
    if (userId !== undefined) query = query.where('user_id', '=', userId);
    if (after !== undefined)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('stored_at', 'id'), '>', tuple(after.stored_at, after.id)),
      );
    return query.orderBy('stored_at').orderBy('id').limit(limit).execute();
  }
}

export type OldestCopy = Pick<ArtifactRow, 'id' | 'bytes' | 'stored_at'>;

type LockedRow = Pick<ArtifactRow, 'id' | 'user_id' | 'variant' | 'state' | 'bytes'>;

/** Locked before they are changed, since a copy that is stored meanwhile must be taken off the sums. */
const lockable = (trx: Trx) =>
  trx
    .selectFrom('artifacts')
    .select(['id', 'user_id', 'variant', 'state', 'bytes'])
    .where('state', '<>', 'removing')
    .orderBy('id')
    .forUpdate();

async function markRemoving(trx: Trx, rows: readonly LockedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await trx.updateTable('artifacts').set({ state: 'removing', next_try_at: null }).where('id', 'in', ids).execute();
  await countCopies(
    trx,
    rows.filter(({ state }) => state === 'stored'),
    -1,
  );
}
