import { MAX_FAVOURITES } from '../../contract/own-videos.ts';
import { AppError } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Task } from './task-store.ts';

/** SQL of the favourites that accounts mark among their own videos. */
export class FavouriteStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Public ids, newest video first; deleted videos are excluded. */
  async listPublicIds(userId: number): Promise<string[]> {
    const rows = await this.#ofUser(userId)
      .select('tasks.public_id')
      .orderBy('task_seq', 'desc')
      .limit(MAX_FAVOURITES)
      .execute();
    return rows.map((row) => row.public_id);
  }

  /**
   * Marks a video as a favourite; marking it again has no effect.
   * @throws AppError `favourites_full`
   */
  async add({ user_id, seq }: Pick<Task, 'user_id' | 'seq'>): Promise<void> {
    const { kysely } = this.#database;
    const { numInsertedOrUpdatedRows } = await kysely
      .insertInto('favourite_videos')
      .columns(['user_id', 'task_seq'])
      .expression((eb) =>
        eb
          .selectFrom('tasks')
          .select(['user_id', 'seq'])
          .where('seq', '=', seq)
          .where(
            this.#ofUser(user_id).select(({ fn }) => fn.countAll<number>().as('count')),
            '<',
            MAX_FAVOURITES,
          ),
      )
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 1n || (await this.#has(user_id, seq))) return;
    throw new AppError('favourites_full', { params: { most: MAX_FAVOURITES } });
  }

  async remove({ user_id, seq }: Pick<Task, 'user_id' | 'seq'>): Promise<void> {
    await this.#database.kysely
      .deleteFrom('favourite_videos')
      .where('user_id', '=', user_id)
      .where('task_seq', '=', seq)
      .execute();
  }

  async #has(userId: number, seq: number): Promise<boolean> {
    const row = await this.#database.kysely
      .selectFrom('favourite_videos')
      .select('task_seq')
      .where('user_id', '=', userId)
      .where('task_seq', '=', seq)
      .executeTakeFirst();
    return row !== undefined;
  }

  #ofUser(userId: number) {
    return this.#database.kysely
      .selectFrom('favourite_videos')
      .innerJoin('tasks', 'tasks.seq', 'task_seq')
      .where('favourite_videos.user_id', '=', userId)
      .where('tasks.deleted', '=', 0);
  }
}
