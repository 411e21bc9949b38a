import { sql } from 'kysely';
import { defined } from '../../contract/objects.ts';
import * as endpoints from '../../contract/own-videos.ts';
import { type Collection, MAX_COLLECTIONS, MAX_FAVOURITES } from '../../contract/own-videos.ts';
import { done, ok } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { isUniqueViolation, wasChanged } from '../platform/db/sql.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Tables } from '../tables.ts';
import type { Task } from './task-store.ts';

/** SQL of an account's collections of its own videos. */
export class CollectionStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** By name. @param taskId a video whose membership is reported */
  async list(userId: number, taskId: string | undefined): Promise<Collection[]> {
    const rows = await this.#database.kysely
      .selectFrom('collections')
      .select(['id', 'name', 'created_at'])
      .select((eb) => {
        const videos = eb
          .selectFrom('collection_videos')
          .innerJoin('tasks', 'tasks.seq', 'collection_videos.task_seq')
          .whereRef('collection_videos.collection_id', '=', 'collections.id')
          .whereRef('tasks.user_id', '=', 'collections.user_id')
          .where('tasks.deleted', '=', 0)
          .select(({ fn }) => fn.countAll<number>().as('count'));
        return [videos.as('videos'), videos.where('tasks.public_id', '=', taskId ?? '').as('contained')];
      })
      .where('user_id', '=', userId)
      .orderBy('name')
      .orderBy('id')
      .limit(MAX_COLLECTIONS)
      .execute();
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      videos: Number(row.videos),
      ...defined({ contains: taskId === undefined ? undefined : Number(row.contained) > 0 }),
      created_at: toSeconds(row.created_at),
    }));
  }

  /** @throws AppError `collections_full`, `already_exists` */
  async create(userId: number, name: string, now: number): Promise<number> {
    const row = await this.#database.kysely
      .insertInto('collections')
      .columns(['user_id', 'name', 'created_at'])
      .expression((eb) =>
        eb
          .selectFrom('accounts')
          .select(['id', sql<string>`cast(${name} as text)`.as('name'), sql<number>`cast(${now} as bigint)`.as('at')])
          .where('id', '=', userId)
          .where(
            eb
              .selectFrom('collections')
              .select(({ fn }) => fn.countAll<number>().as('count'))
              .where('user_id', '=', userId),
            '<',
            MAX_COLLECTIONS,
          ),
      )
      .returning('id')
      .executeTakeFirst()
      .catch(rethrowTakenName);
    if (row === undefined) throw new AppError('collections_full', { params: { most: MAX_COLLECTIONS } });
    return row.id;
  }

  /** @throws AppError `not_exist`, `already_exists` */
  async rename(userId: number, id: number, name: string): Promise<void> {
    const result = await this.#database.kysely
      .updateTable('collections')
      .set({ name })
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst()
      .catch(rethrowTakenName);
    if (!wasChanged(result)) throw notExistError('collection');
  }

  /** Deletes a collection, not its videos. @throws AppError `not_exist` */
  async delete(userId: number, id: number): Promise<void> {
    await this.#database.transaction(async (trx) => {
      const result = await trx
        .deleteFrom('collections')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst();
      if (!wasChanged(result)) throw notExistError('collection');
      await trx.deleteFrom('collection_videos').where('collection_id', '=', id).execute();
    });
  }

  /** Adds own videos, all or none. @throws AppError `not_exist` */
  async add(userId: number, id: number, taskIds: readonly string[]): Promise<void> {
    await this.#database.transaction(async (trx) => {
      // The lock keeps a concurrent deletion from leaving rows without a collection.
      const collection = await trx
        .selectFrom('collections')
        .select('id')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .forUpdate()
        .executeTakeFirst();
      if (collection === undefined) throw notExistError('collection');
      const tasks = await trx
        .selectFrom('tasks')
        .select('seq')
        .where('public_id', 'in', taskIds)
        .where('user_id', '=', userId)
        .where('deleted', '=', 0)
        .execute();
      if (tasks.length !== new Set(taskIds).size) throw notExistError('task');
      await trx
        .insertInto('collection_videos')
        .values(tasks.map(({ seq }) => ({ collection_id: id, task_seq: seq })))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
  }

  /** Removes videos from a collection; those not in it are ignored. @throws AppError `not_exist` */
  async remove(userId: number, id: number, taskIds: readonly string[]): Promise<void> {
    const { kysely } = this.#database;
    const collection = await kysely
      .selectFrom('collections')
      .select('id')
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .executeTakeFirst();
    if (collection === undefined) throw notExistError('collection');
    await kysely
      .deleteFrom('collection_videos')
      .where('collection_id', '=', id)
      .where('task_seq', 'in', (from) =>
        from.selectFrom('tasks').select('seq').where('public_id', 'in', taskIds).where('user_id', '=', userId),
      )
      .execute();
  }
}

function rethrowTakenName(error: unknown): never {
  if (isUniqueViolation(error)) throw new AppError('already_exists', { params: { what: 'collection' } });
  throw error;
}

/** Registers the endpoints for an account's collections of its own videos. */
export function addCollectionRoutes(
  routes: RouteRegistry,
  { collections, clock }: { readonly collections: CollectionStore; readonly clock: Clock },
): void {
  routes.add(endpoints.listCollections, async ({ query, caller }) =>
    ok(await collections.list(caller.userId, query.task_id)),
  );
  routes.add(endpoints.createCollection, async ({ body, caller }) =>
    ok({ id: await collections.create(caller.userId, body.name.trim(), clock.now()) }),
  );
  routes.add(endpoints.renameCollection, async ({ params, body, caller }) => {
    await collections.rename(caller.userId, Number(params.id), body.name.trim());
    return done();
  });
  routes.add(endpoints.deleteCollection, async ({ params, caller }) => {
    await collections.delete(caller.userId, Number(params.id));
    return done();
  });
  routes.add(endpoints.addToCollection, async ({ params, body, caller }) => {
    await collections.add(caller.userId, Number(params.id), body.task_ids);
    return done();
  });
  routes.add(endpoints.removeFromCollection, async ({ params, body, caller }) => {
    await collections.remove(caller.userId, Number(params.id), body.task_ids);
    return done();
  });
}

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
