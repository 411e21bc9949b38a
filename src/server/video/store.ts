import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { TaskStatus } from '../../contract/states.ts';
import { containing } from '../platform/db/containing.ts';
import type { Database } from '../platform/db/database.ts';
import { forUpdateSkipLocked } from '../platform/db/dialect.ts';
import { toWellFormedText } from '../platform/json.ts';
import type { Tables } from '../tables.ts';
import { rankOf } from './states.ts';
import { type Acceptance, accept, insertTask, type NewTask, ownByPublicId } from './submit-store.ts';

export type Task = Selectable<Tables['tasks']>;
type Trx = Transaction<Tables>;
/** What one look at the vendor changed. */
export interface TaskChange {
  readonly status: TaskStatus;
  readonly progress: number;
  readonly data: string;
  readonly handle?: string;
  readonly artifact?: string;
  /** In the vendor's words, of which what cannot be stored is left out. */
  readonly failReason?: string;
  readonly errorCode?: string;
}

export interface TaskFilter {
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly from?: number;
  readonly to?: number;
  readonly userId?: number;
  /** With `userId`: all of these are in the prompt, of which only the newest {@link MOST_SEARCHED} are looked at. */
  readonly words?: readonly string[];
  /** With `userId`: only those given a star. */
  readonly favourite?: boolean;
  readonly channelId?: number;
  readonly unfinished?: boolean;
}

/** Prompts one search reads: no index holds them, and a search must not cost a walk over all of them. */
export const MOST_SEARCHED = 5_000;

/** When claimed tasks are looked at next, Unix milliseconds. */
export interface NextLook {
  readonly at: number;
  /** Until when they were claimed: the claim is told by it. */
  readonly lease: number;
  /** They were not looked at, since their channel rests. */
  readonly rested: boolean;
}

/** SQL of video tasks. */
export class TaskStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, task: Required<NewTask>): Promise<void> {
    await insertTask.changes(trx, task);
  }

  /**
   * NOT_START → SUBMITTED for this attempt. Answers with the task's name: the one wished for, or its own where another task
   * has that; undefined when somebody else decided first.
   */
  async accept(trx: Kysely<Tables>, acceptance: Acceptance): Promise<string | undefined> {
    return (await accept.first(trx, { ...acceptance }))?.public_id;
  }

  /** Moves an unanswered task on to its next channel; false when it has ended meanwhile. */
  async nextAttempt(
    id: string,
    attempt: number,
    channelId: number,
    hint: string | null,
    now: number,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('tasks')
      .set({ attempt: attempt + 1, channel_id: channelId, hint, updated_at: now })
      .where('id', '=', id)
      .where('attempt', '=', attempt)
      .where('status', '=', 'NOT_START')
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /**
   * Applies a look. States only move forward and a terminal one never changes; false when this look came too late. The
   * attempt is part of the condition, so that news of an abandoned attempt never lands on the present one.
   */
  async change(trx: Trx, task: Pick<Task, 'id' | 'attempt'>, change: TaskChange, now: number): Promise<boolean> {
    const ended = change.status === 'SUCCESS' || change.status === 'FAILURE';
    const { numUpdatedRows } = await trx
      .updateTable('tasks')
      .set({
        status: change.status,
        progress: change.progress,
        data: change.data,
        updated_at: now,
        poll_failures: 0,
        ...(change.handle === undefined ? {} : { handle: change.handle }),
        ...(change.artifact === undefined ? {} : { artifact: change.artifact }),
        ...(change.failReason === undefined ? {} : { fail_reason: toWellFormedText(change.failReason) }),
        ...(change.errorCode === undefined ? {} : { error_code: toWellFormedText(change.errorCode) }),
        ...(change.status === 'IN_PROGRESS'
          ? { start_time: sql<number>`case when start_time = 0 then ${now} else start_time end` }
          : {}),
        ...(ended ? { finish_time: now, next_poll_at: null } : {}),
      })
      .where('id', '=', task.id)
      .where('attempt', '=', task.attempt)
      .where('status', 'in', statesUpTo(change.status))
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  own(publicId: string, tokenId: number): Promise<Task | undefined> {
    return ownByPublicId.first(this.#database.kysely, { id: publicId, token: tokenId });
  }

  byId(id: string): Promise<Task | undefined> {
    return this.#database.kysely.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
  }

  ofUser(publicId: string, userId: number): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('public_id', '=', publicId)
      .where('user_id', '=', userId)
      .where('deleted', '=', 0)
      .executeTakeFirst();
  }

  byPublicId(publicId: string): Promise<Task | undefined> {
    return this.#database.kysely.selectFrom('tasks').selectAll().where('public_id', '=', publicId).executeTakeFirst();
  }

  /** Newest first (or oldest), after a task of the same token; one more than `limit`, to tell whether more follow. */
  async listOfToken(tokenId: number, after: string | undefined, limit: number, order: 'asc' | 'desc'): Promise<Task[]> {
    const { kysely } = this.#database;
    const start = after === undefined ? undefined : await this.own(after, tokenId);
    if (after !== undefined && start === undefined) return [];
    let query = kysely.selectFrom('tasks').selectAll().where('token_id', '=', tokenId).where('deleted', '=', 0);
    if (start !== undefined) query = query.where('seq', order === 'desc' ? '<' : '>', start.seq);
    return query
      .orderBy('seq', order)
      .limit(limit + 1)
      .execute();
  }

  async page(filter: TaskFilter, offset: number, limit: number): Promise<{ rows: Task[]; total: number }> {
    let query = this.#database.kysely.selectFrom('tasks').where('deleted', '=', 0);
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.channelId !== undefined) query = query.where('channel_id', '=', filter.channelId);
    if (filter.status !== undefined) query = query.where('status', '=', filter.status);
    if (filter.model !== undefined) query = query.where('model', '=', filter.model);
    if (filter.from !== undefined) query = query.where('created_at', '>=', filter.from);
    if (filter.to !== undefined) query = query.where('created_at', '<', filter.to);
    if (filter.userId !== undefined && filter.words !== undefined) {
      query = query.where('seq', '>=', await this.#oldestSearched(filter.userId));
      for (const word of filter.words) query = query.where(containing('prompt', word));
    }
    if (filter.userId !== undefined && filter.favourite === true) {
      const { userId } = filter;
      query = query.where('seq', 'in', (from) =>
        from.selectFrom('favourite_videos').select('task_seq').where('user_id', '=', userId),
      );
    }
    if (filter.unfinished === true) query = query.where('next_poll_at', 'is not', null);
    const [rows, count] = await Promise.all([
      query.selectAll().orderBy('seq', 'desc').offset(offset).limit(limit).execute(),
      query.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  async #oldestSearched(userId: number): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('seq')
      .where('user_id', '=', userId)
      .orderBy('seq', 'desc')
      .offset(MOST_SEARCHED - 1)
      .limit(1)
      .executeTakeFirst();
    return row?.seq ?? 0;
  }

  /**
   * Takes due tasks for this process by moving their next look one lease ahead; a row is taken by exactly one process. A
   * process that dies with them loses nothing: they are due again when the lease ends, which is their `next_poll_at`.
   */
  async claimDue(now: number, leaseMs: number, limit: number): Promise<Task[]> {
    const { dialect } = this.#database;
    return this.#database.transaction(async (trx) => {
      const due = trx
        .selectFrom('tasks')
        .select('seq')
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit)
        .$call(forUpdateSkipLocked(dialect));
      return trx
        .updateTable('tasks')
        .set({ next_poll_at: now + leaseMs })
        .where('seq', 'in', due)
        .returningAll()
        .execute();
    });
  }

  /**
   * Sets the next look of tasks claimed until `lease`, many in one write. A task whose lease has ended meanwhile is somebody
   * else's: its next look stays as it is.
   */
  async schedule(seqs: readonly number[], { at, lease, rested }: NextLook): Promise<void> {
    for (let start = 0; start < seqs.length; start += 500) {
      await this.#database.kysely
        .updateTable('tasks')
        .set({ next_poll_at: at, ...(rested ? { poll_failures: sql<number>`poll_failures + 1` } : {}) })
        .where('seq', 'in', seqs.slice(start, start + 500))
        .where('next_poll_at', '=', lease)
        .execute();
    }
  }

  /** Puts the next look at an unfinished task off, never forward. */
  async postpone(seq: number, until: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: until })
      .where('seq', '=', seq)
      .where('next_poll_at', '<', until)
      .execute();
  }

  /** Makes due what would be looked at after `latest`: later than anything is put off, so the clock has been set back. */
  async hasten(now: number, latest: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: now })
      .where('next_poll_at', '>', latest)
      .execute();
  }

  /** Where a finished video is by now; its state, its times and its money stay as they are. */
  async renew(id: string, fresh: { artifact: string; data: string; handle: string }): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set(fresh)
      .where('id', '=', id)
      .where('status', '=', 'SUCCESS')
      .execute();
  }

  async markDeleted(id: string, now: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('tasks')
      .set({ deleted: 1, updated_at: now })
      .where('id', '=', id)
      .where('deleted', '=', 0)
      .where('status', 'in', ['SUCCESS', 'FAILURE'])
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }
}

const ALL: readonly TaskStatus[] = ['NOT_START', 'UNKNOWN', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS'];
const UP_TO = new Map<TaskStatus, readonly TaskStatus[]>();

/** Unfinished states a task may be in to take this one; precomputed, as every look asks. */
function statesUpTo(status: TaskStatus): readonly TaskStatus[] {
  const known = UP_TO.get(status);
  if (known !== undefined) return known;
  const states = ALL.filter((each) => rankOf(each) <= rankOf(status));
  UP_TO.set(status, states);
  return states;
}
