import { type Selectable, sql } from 'kysely';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { Database } from '../platform/db/database.ts';
import { evaluatedOnce, prepareQuery, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** A row of `artifacts`. */
export type ArtifactRow = Selectable<Tables['artifacts']>;
type Variant = ArtifactRow['variant'];

/** A row claimed by a process for copying. Its `tries` is part of every write's condition. */
export type Claim = Pick<ArtifactRow, 'id' | 'task_id' | 'user_id' | 'tries' | 'created_at'>;

interface StoredCopy {
  readonly bytes: number;
  readonly sha256: string;
  readonly mimeType: string;
  readonly storedAt: number;
  /** Unix milliseconds; null: never. */
  readonly expiresAt: number | null;
}

const insertArtifact = prepareQuery<
  Tables,
  { id: string; task_id: string; user_id: number; variant: Variant; now: number; next_try_at: number | null }
>()((db, p) =>
  db
    .insertInto('artifacts')
    .values({
      id: p('id'),
      task_id: p('task_id'),
      user_id: p('user_id'),
      variant: p('variant'),
      state: 'pending',
      bytes: 0,
      sha256: '',
      mime_type: '',
      tries: 0,
      next_try_at: p('next_try_at'),
      last_error: '',
      created_at: p('now'),
      stored_at: 0,
      expires_at: null,
    })
    .onConflict((conflict) => conflict.columns(['task_id', 'variant']).doNothing()),
);

const selectByTask = prepareQuery<Tables, { task_id: string; variant: Variant }>()((db, p) =>
  db.selectFrom('artifacts').selectAll().where('task_id', '=', p('task_id')).where('variant', '=', p('variant')),
);

/** SQL of `artifacts`. */
export class ArtifactStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, artifact: { id: string; taskId: string; userId: number }, now: number): Promise<void> {
    const { id, taskId, userId } = artifact;
    await insertArtifact.changes(trx, {
      id,
      task_id: taskId,
      user_id: userId,
      variant: 'video',
      now,
      next_try_at: now,
    });
  }

  /**
   * Inserts the row of a poster or an uploaded file before its bytes are stored; a row may remain from an interrupted
   * attempt.
   */
  async insertReceived(
    variant: 'thumbnail' | 'upload',
    file: { id: string; taskId: string; userId: number },
    now: number,
  ): Promise<ArtifactRow | undefined> {
    const { id, taskId, userId } = file;
    await insertArtifact.changes(this.#database.kysely, {
      id,
      task_id: taskId,
      user_id: userId,
      variant,
      now,
      next_try_at: null,
    });
    return this.findByTask(taskId, variant);
  }

  /**
   * Gives the row of an interrupted attempt to a new one, under a new id.
   * @returns false if the row has changed meanwhile
   */
  async takeOver({ id: before }: Pick<ArtifactRow, 'id'>, id: string, now: number): Promise<boolean> {
    const result = await this.#database.kysely
      .updateTable('artifacts')
      .set({ id, created_at: now })
      .where('id', '=', before)
      .where('state', '=', 'pending')
      .executeTakeFirst();
    return wasChanged(result);
  }

  findByTask(taskId: string, variant: Variant = 'video'): Promise<ArtifactRow | undefined> {
    return selectByTask.first(this.#database.kysely, { task_id: taskId, variant });
  }

  /** The given tasks that have a stored poster. */
  async findWithPoster(taskIds: readonly string[]): Promise<Set<string>> {
    if (taskIds.length === 0) return new Set();
    const rows = await this.#database.kysely
      .selectFrom('artifacts')
      .select('task_id')
      .where('task_id', 'in', [...taskIds])
      .where('variant', '=', 'thumbnail')
      .where('state', '=', 'stored')
      .execute();
    return new Set(rows.map(({ task_id }) => task_id));
  }

  /** Claims due copies until `now + leaseMs`; each copy is claimed by one process. */
  claimDue(now: number, leaseMs: number, limit: number): Promise<Claim[]> {
    return this.#database.transaction((trx) =>
      trx
        .with(evaluatedOnce('due'), (from) =>
          from
            .selectFrom('artifacts')
            .select('id')
            .where('next_try_at', '<=', now)
            .orderBy('next_try_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
        .updateTable('artifacts')
        .set({ tries: sql<number>`tries + 1`, next_try_at: now + leaseMs })
        .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
        .returning(['id', 'task_id', 'user_id', 'tries', 'created_at'])
        .execute(),
    );
  }

  /** @returns false if another process has claimed it, or it is marked for removal */
  async renew(claim: Claim, until: number): Promise<boolean> {
    const result = await pending(this.#database.kysely, claim).set({ next_try_at: until }).executeTakeFirst();
    return wasChanged(result);
  }

  /**
   * Marks the copy as complete.
   * @param alongside further writes of the same transaction
   * @returns false if the claim was lost
   */
  confirm(
    claim: Pick<Claim, 'id' | 'tries'>,
    copy: StoredCopy,
    alongside?: (trx: Trx) => Promise<void>,
  ): Promise<boolean> {
    return this.#database.transaction(async (trx) => {
      const row = await pending(trx, claim)
        .set({
          state: 'stored',
          bytes: copy.bytes,
          sha256: copy.sha256,
          mime_type: copy.mimeType,
          next_try_at: null,
          last_error: '',
          stored_at: copy.storedAt,
          expires_at: copy.expiresAt,
          is_announced: 0,
          provenance: null,
        })
        .returning(['user_id', 'variant', 'bytes'])
        .executeTakeFirst();
      if (row === undefined) return false;
      await countCopies(trx, [row], 1);
      await alongside?.(trx);
      return true;
    });
  }

  /** @param at time of the next attempt; null: no further attempt */
  async defer(claim: Claim, at: number | null, lastError: string): Promise<void> {
    await pending(this.#database.kysely, claim)
      .set({ next_try_at: at, last_error: lastError, state: at === null ? 'failed' : undefined })
      .execute();
  }

  /** Gives copies and uploaded files to another account, with their part of the sums. */
  async changeOwner(trx: Trx, taskIds: readonly string[], userId: number): Promise<void> {
    if (taskIds.length === 0) return;
    const rows = await trx
      .selectFrom('artifacts')
      .select(['id', 'user_id', 'variant', 'state', 'bytes'])
      .where('task_id', 'in', taskIds)
      .orderBy('id')
      .forUpdate()
      .execute();
    const stored = rows.filter(({ state }) => state === 'stored');
    await trx.updateTable('artifacts').set({ user_id: userId }).where('task_id', 'in', taskIds).execute();
    await countCopies(trx, stored, -1);
    await countCopies(
      trx,
      stored.map((row) => ({ ...row, user_id: userId })),
      1,
    );
  }

  /** Records that the file is lost; a video is copied again, for as long as a new one. */
  async markLost(row: Pick<ArtifactRow, 'id' | 'variant' | 'user_id' | 'bytes'>, now: number): Promise<void> {
    await this.#database.transaction(async (trx) => {
      const result = await trx
        .updateTable('artifacts')
        .set({
          state: 'pending',
          bytes: 0,
          next_try_at: row.variant === 'video' ? 0 : null,
          expires_at: null,
          created_at: now,
        })
        .where('id', '=', row.id)
        .where('state', '=', 'stored')
        // The size that is subtracted from the sums.
        .where('bytes', '=', row.bytes)
        .where('user_id', '=', row.user_id)
        .executeTakeFirst();
      if (wasChanged(result)) await countCopies(trx, [row], -1);
    });
  }

  /** Keeps what the file says about its origin, unless the file was replaced meanwhile. */
  async keepProvenance({ id, sha256 }: Pick<ArtifactRow, 'id' | 'sha256'>, provenance: string): Promise<void> {
    await this.#database.kysely
      .updateTable('artifacts')
      .set({ provenance })
      .where('id', '=', id)
      .where('sha256', '=', sha256)
      .execute();
  }

  /** Stored copies in the order of their ids. */
  listStored(afterId: string, limit: number): Promise<ArtifactRow[]> {
    return this.#database.kysely
      .selectFrom('artifacts')
      .selectAll()
      .where('state', '=', 'stored')
      .where('id', '>', afterId)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** The given files that have a row. */
  async findKnown(ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.#database.kysely
      .selectFrom('artifacts')
      .select('id')
      .where('id', 'in', [...ids])
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async countPending(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('artifacts')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_try_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }
}

const pending = (executor: Executor, { id, tries }: Pick<Claim, 'id' | 'tries'>) =>
  executor.updateTable('artifacts').where('id', '=', id).where('state', '=', 'pending').where('tries', '=', tries);

/** Stored space of an account, or of all accounts. */
export interface Usage {
  /** Videos, posters and uploaded files. */
  readonly bytes: number;
  /** Videos only. */
  readonly files: number;
}

type Counted = Pick<Selectable<Tables['artifacts']>, 'user_id' | 'variant' | 'bytes'>;

/** Rows over which the totals are spread, so that copies that complete at once rarely wait for each other. */
const SHARDS = 16;

/** Invariants of the sums; each query returns the keys of the rows that violate one. */
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

/**
 * SQL of `artifact_usage` and `artifact_totals`: running sums over the stored copies, so that reading them needs no
 * aggregation.
 */
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

  /**
   * Recomputes the sums from all stored copies.
   * @returns the number of sums that differ
   */
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
 * Adds copies to the sums or subtracts them, in the transaction that changes their rows.
 * @param sign 1: the copies become stored; -1: they stop being stored
 */
export async function countCopies(trx: Trx, copies: readonly Counted[], sign: 1 | -1): Promise<void> {
  const byUser = Map.groupBy(copies, ({ user_id }) => user_id);
  // Every transaction locks the rows in the same order, which prevents deadlocks.
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

/** A poster or an uploaded file that was not stored within this time never will be: its process has died. */
const INTERRUPTED_MS = HOUR_MS;

/** SQL of removals: a row is marked, its file removed, and then the row deleted. */
export class RemovalStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Marks the copies of a task, which are no longer served from then on. */
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

  /** Marks expired copies, received files whose storing was interrupted, and copies of removed accounts. */
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

  /** Marked copies whose removal is due, in the order of their ids. */
  listRemoving(now: number, afterId: string, limit: number): Promise<RemovingCopy[]> {
    return this.#database.kysely
      .selectFrom('artifacts')
      .select(['id', 'removal_tries'])
      .where('state', '=', 'removing')
      .where(({ or, eb }) => or([eb('next_removal_at', 'is', null), eb('next_removal_at', '<=', now)]))
      .where('id', '>', afterId)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** Records a failed removal. Of concurrent attempts one counts. */
  async postpone({ id, removal_tries }: RemovingCopy, at: number, lastError: string): Promise<void> {
    await this.#database.kysely
      .updateTable('artifacts')
      .set({ removal_tries: removal_tries + 1, next_removal_at: at, last_error: lastError })
      .where('id', '=', id)
      .where('state', '=', 'removing')
      .where('removal_tries', '=', removal_tries)
      .execute();
  }

  /** The marked copies whose files could not be removed, and their size. */
  async countFailed(): Promise<Usage> {
    const { files, bytes } = await this.#database.kysely
      .selectFrom('artifacts')
      .select(({ fn }) => [fn.countAll<number>().as('files'), fn.sum<number | null>('bytes').as('bytes')])
      .where('state', '=', 'removing')
      .where('next_removal_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return { files: Number(files), bytes: Number(bytes ?? 0) };
  }

  async delete(id: string): Promise<void> {
    await this.#database.kysely.deleteFrom('artifacts').where('id', '=', id).where('state', '=', 'removing').execute();
  }

  /** The videos stored longest ago, of one account or of all accounts, optionally after `after`. */
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

/** A marked copy and the number of failed attempts to remove its file. */
export type RemovingCopy = Pick<ArtifactRow, 'id' | 'removal_tries'>;

/** A stored copy in the order of its age. */
export type OldestCopy = Pick<ArtifactRow, 'id' | 'bytes' | 'stored_at'>;

type LockedRow = Pick<ArtifactRow, 'id' | 'user_id' | 'variant' | 'state' | 'bytes'>;

/** Locked before the change, because a copy that is confirmed concurrently must also be subtracted from the sums. */
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

/** A file that no row names. */
type OrphanFile = Pick<Selectable<Tables['orphan_files']>, 'id' | 'found_at'>;

/** SQL of `orphan_files`. */
export class OrphanFileStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Records files without a row.
   * @param seenAt start of the look through the storage
   * @returns the files, with the time each was first found
   */
  async record(ids: readonly string[], seenAt: number): Promise<readonly OrphanFile[]> {
    if (ids.length === 0) return [];
    return this.#database.kysely
      .insertInto('orphan_files')
      .values(ids.map((id) => ({ id, found_at: seenAt, seen_at: seenAt })))
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: seenAt }))
      .returning(['id', 'found_at'])
      .execute();
  }

  /** Forgets the files that a whole look through the storage did not find, or found to have a row. */
  async forgetUnseen(seenAt: number): Promise<void> {
    await this.#database.kysely.deleteFrom('orphan_files').where('seen_at', '<', seenAt).execute();
  }
}

/** A stored video that expires soon. */
export type EndingCopy = Pick<ArtifactRow, 'id' | 'task_id' | 'user_id' | 'expires_at'>;

/** SQL that finds stored videos whose owners have to be notified of their expiry. */
export class ExpiryNoticeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Stored videos not announced yet that expire within `noticeMs`, or that have passed half of their lifetime if it was
   * shorter than twice that.
   */
  listEnding(now: number, noticeMs: number, limit: number): Promise<EndingCopy[]> {
    return this.#database.kysely
      .selectFrom('artifacts')
      .select(['id', 'task_id', 'user_id', 'expires_at'])
      .where('state', '=', 'stored')
      .where('variant', '=', 'video')
      .where('is_announced', '=', 0)
      .where('expires_at', '<=', now + noticeMs)
      .where(sql<boolean>`(expires_at - ${now}) * 2 <= expires_at - stored_at`)
      .orderBy('expires_at')
      .limit(limit)
      .execute();
  }

  /** @returns the copies that had not been announced before */
  markAnnounced(trx: Trx, ids: readonly string[]): Promise<EndingCopy[]> {
    return trx
      .updateTable('artifacts')
      .set({ is_announced: 1 })
      .where('id', 'in', [...ids])
      .where('is_announced', '=', 0)
      .where('state', '=', 'stored')
      .returning(['id', 'task_id', 'user_id', 'expires_at'])
      .execute();
  }
}
