import type { Selectable } from 'kysely';
import { ENABLED } from '../../../contract/account-fields.ts';
import type { Page } from '../../../contract/success-bodies-and-pagination.ts';
import type { Database } from '../../platform/db/database.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { SealContext, SealedColumn } from '../../platform/vault.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

export type ShareRow = Selectable<Tables['video_shares']>;
/** A link with the id its owner knows the video by. */
export type ShareOfVideo = ShareRow & { readonly public_id: string };

const BATCH = 500;

export const shareTokenCell = (tokenHash: string): SealContext => ({
  table: 'video_shares',
  row: tokenHash,
  column: 'token',
});

/** SQL of `video_shares`. */
export class ShareStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, share: Omit<ShareRow, 'id'>): Promise<number> {
    const { id } = await trx.insertInto('video_shares').values(share).returning('id').executeTakeFirstOrThrow();
    return id;
  }

  /** Those that work, of an account or of one of its videos. */
  async count(userId: number, now: number, taskId?: string, db: Executor = this.#database.kysely): Promise<number> {
    const row = await this.#ofUser(userId, now, taskId, db)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  /** Those that work, newest first. */
  list(userId: number, now: number, { taskId, page }: { taskId?: string; page?: Page } = {}): Promise<ShareOfVideo[]> {
    let query = this.#ofUser(userId, now, taskId).selectAll('video_shares').select('tasks.public_id');
    if (page !== undefined) query = query.limit(page.pageSize).offset(page.offset);
    return query.orderBy('video_shares.id', 'desc').execute();
  }

  /** @returns whether the account had it on this video */
  async delete(trx: Trx, userId: number, taskId: string, id: number): Promise<boolean> {
    const result = await trx
      .deleteFrom('video_shares')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .where('task_id', '=', taskId)
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** All links of a video, with the video. */
  async deleteOfTask(trx: Trx, taskId: string): Promise<void> {
    await trx.deleteFrom('video_shares').where('task_id', '=', taskId).execute();
  }

  /** The link of a token, while it, its video and its account last. */
  findLive(tokenHash: string, now: number): Promise<ShareRow | undefined> {
    return this.#live(now)
      .selectAll('video_shares')
      .where('video_shares.token_hash', '=', tokenHash)
      .executeTakeFirst();
  }

  /** Which of these links still work. */
  async findLiveIds(ids: readonly number[], now: number): Promise<Set<number>> {
    const live = new Set<number>();
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      const rows = await this.#live(now).select('video_shares.id').where('video_shares.id', 'in', batch).execute();
      for (const { id } of rows) live.add(id);
    }
    return live;
  }

  /** Deletes those that have expired, and those of removed accounts. */
  async deleteEnded(now: number): Promise<void> {
    const { kysely } = this.#database;
    await kysely.deleteFrom('video_shares').where('expires_at', '<=', now).execute();
    await kysely
      .deleteFrom('video_shares')
      .where('user_id', 'in', (from) => from.selectFrom('accounts').select('id').where('removed_at', 'is not', null))
      .execute();
  }

  #live(now: number, db: Executor = this.#database.kysely) {
    return db
      .selectFrom('video_shares')
      .innerJoin('tasks', 'tasks.id', 'video_shares.task_id')
      .innerJoin('accounts', 'accounts.id', 'video_shares.user_id')
      .where('tasks.deleted', '=', 0)
      .where('accounts.status', '=', ENABLED)
      .where('accounts.removed_at', 'is', null)
      .where(({ eb, or }) => or([eb('video_shares.expires_at', 'is', null), eb('video_shares.expires_at', '>', now)]));
  }

  #ofUser(userId: number, now: number, taskId?: string, db?: Executor) {
    const query = this.#live(now, db).where('video_shares.user_id', '=', userId);
    return taskId === undefined ? query : query.where('video_shares.task_id', '=', taskId);
  }
}

/** The tokens of all links. */
export function sealedShareTokens(kysely: Executor): SealedColumn {
  return {
    async readAfter(after) {
      const rows = await kysely
        .selectFrom('video_shares')
        .select(['id', 'token_hash', 'token'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(BATCH)
        .execute();
      return rows.map(({ id, token_hash, token }) => ({ id, context: shareTokenCell(token_hash), sealed: token }));
    },
    replace: ({ id, sealed }, token) =>
      kysely.updateTable('video_shares').set({ token }).where('id', '=', id).where('token', '=', sealed).execute(),
  };
}
