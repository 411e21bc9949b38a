import { type Selectable, sql } from 'kysely';
import type { LongListPage, LongPage } from '../../contract/large-list-pagination.ts';
import { isTerminal, type TaskStatus } from '../../contract/task-states.ts';
import type { VendorId } from '../../contract/vendor-ids.ts';
import type { Database } from '../platform/db/database.ts';
import { containsText, readLargeListPage, wasChanged } from '../platform/db/sql.ts';
import { toWellFormedText } from '../platform/text.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { NewTask } from './new-task-row.ts';
import { allowedPreviousStates } from './states.ts';
import {
  type Acceptance,
  acceptTaskQuery,
  countOpenTasks,
  findForTokenQuery,
  insertTask,
} from './submit/submit-store.ts';
import type { Failure } from './vendor-error-to-task-failure.ts';

export type Task = Selectable<Tables['tasks']>;
/** What one poll of the vendor changed; undefined keeps the stored value. */
export interface TaskChange {
  readonly status: TaskStatus;
  readonly progress: number;
  readonly data: string;
  readonly handle?: string | undefined;
  readonly artifact?: string | undefined;
  /** With FAILURE; ill-formed text in it is replaced. */
  readonly failure?: Failure | undefined;
}

export interface TaskFilter {
  readonly status?: TaskStatus | undefined;
  readonly model?: string | undefined;
  /** Unix milliseconds, `from` included, `to` not. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly userId?: number | undefined;
  /** With `userId`: the prompt contains all of these; only the newest {@link MAX_SEARCHED_TASKS} tasks are searched. */
  readonly searchTerms?: readonly string[] | undefined;
  /** With `userId`: favourites only. */
  readonly favourite?: boolean | undefined;
  readonly channelId?: number | undefined;
  readonly unfinished?: boolean | undefined;
}

/** Prompts one search reads: they have no index, and a search must not read all of them. */
export const MAX_SEARCHED_TASKS = 5_000;

/** SQL of video tasks. */
export class TaskStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Of a token; others of it wait until this transaction has ended. */
  countOpen(trx: Trx, tokenId: number): Promise<number> {
    return countOpenTasks(trx, tokenId);
  }

  /** @returns false when the token has another task with this external id */
  insert(trx: Trx, task: NewTask): Promise<boolean> {
    return insertTask(trx, task);
  }

  /**
   * NOT_START → SUBMITTED for this attempt.
   * @returns the task's public id: the requested one, or its own where another task has that; undefined when the task has
   * gone on to another attempt or has ended
   */
  async markAccepted(executor: Executor, acceptance: Acceptance): Promise<string | undefined> {
    return (await acceptTaskQuery.first(executor, { ...acceptance }))?.public_id;
  }

  /** Moves an unconfirmed task to its next channel. @returns false when it has ended meanwhile */
  async startNextAttempt(
    trx: Trx,
    id: string,
    attempt: number,
    { id: channelId, credentialId }: { readonly id: number; readonly credentialId: number },
    findTaskHint: string | null,
    now: number,
  ): Promise<boolean> {
    const result = await trx
      .updateTable('tasks')
      .set({
        attempt: attempt + 1,
        channel_id: channelId,
        credential_id: credentialId,
        find_task_hint: findTaskHint,
        updated_at: now,
      })
      .where('id', '=', id)
      .where('attempt', '=', attempt)
      .where('status', '=', 'NOT_START')
      .executeTakeFirst();
    return wasChanged(result);
  }

  /**
   * Applies the result of a poll. States only move forward and a terminal one never changes. The attempt is part of the
   * condition, so that a result of an abandoned attempt never changes the current one.
   * @returns false when the result came too late
   */
  async applyChange(
    executor: Executor,
    task: Pick<Task, 'id' | 'attempt'>,
    change: TaskChange,
    now: number,
  ): Promise<boolean> {
    const ended = change.status === 'SUCCESS' || change.status === 'FAILURE';
    const result = await executor
      .updateTable('tasks')
      .set({
        status: change.status,
        progress: change.progress,
        data: change.data,
        updated_at: now,
        // An unknown status is odd itself.
        poll_failures: change.status === 'UNKNOWN' ? undefined : 0,
        // Kysely leaves out what is undefined.
        handle: change.handle,
        artifact: change.artifact,
        fail_reason: toStorableText(change.failure?.message),
        error_code: toStorableText(change.failure?.code),
        fail_cause: change.failure?.cause,
        start_time:
          change.status === 'IN_PROGRESS'
            ? sql<number>`case when start_time = 0 then ${now} else start_time end`
            : undefined,
        finish_time: ended ? now : undefined,
        next_poll_at: ended ? null : undefined,
      })
      .where('id', '=', task.id)
      .where('attempt', '=', task.attempt)
      .where('status', 'in', allowedPreviousStates(change.status))
      .executeTakeFirst();
    return wasChanged(result);
  }

  /**
   * Counts a poll whose answer decided nothing. Polls of readers and of other processes that follow too closely count once.
   * @returns how many there were in a row; undefined where this one does not count
   */
  async countOddPoll(
    { id, attempt }: Pick<Task, 'id' | 'attempt'>,
    now: number,
    minGapMs: number,
  ): Promise<number | undefined> {
    const row = await this.#database.kysely
      .updateTable('tasks')
      .set({ poll_failures: sql<number>`poll_failures + 1`, updated_at: now })
      .where('id', '=', id)
      .where('attempt', '=', attempt)
      .where('next_poll_at', 'is not', null)
      .where((eb) => eb.or([eb('poll_failures', '=', 0), eb('updated_at', '<=', now - minGapMs)]))
      .returning('poll_failures')
      .executeTakeFirst();
    return row?.poll_failures;
  }

  /** The vendor has answered about the task again. */
  async clearOddPolls(id: string): Promise<void> {
    await this.#database.kysely.updateTable('tasks').set({ poll_failures: 0 }).where('id', '=', id).execute();
  }

  findForToken(publicId: string, tokenId: number): Promise<Task | undefined> {
    return findForTokenQuery.first(this.#database.kysely, { id: publicId, token: tokenId });
  }

  /** A task by the caller's own id of it. */
  findByExternalId(externalId: string, tokenId: number): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('token_id', '=', tokenId)
      .where('external_id', '=', externalId)
      .where('deleted', '=', 0)
      .executeTakeFirst();
  }

  /** Tasks of one token at one vendor, newest first, either those made from text alone or all others. */
  listForVendorFormat(
    filter: { readonly tokenId: number; readonly vendor: VendorId; readonly isFromText: boolean },
    offset: number,
    limit: number,
  ): Promise<Task[]> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('token_id', '=', filter.tokenId)
      .where('vendor', '=', filter.vendor)
      .where('action', filter.isFromText ? '=' : '<>', 'textGenerate')
      .where('deleted', '=', 0)
      .orderBy('seq', 'desc')
      .offset(offset)
      .limit(limit)
      .execute();
  }

  findById(id: string): Promise<Task | undefined> {
    return this.#database.kysely.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
  }

  findForUser(publicId: string, userId: number): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('public_id', '=', publicId)
      .where('user_id', '=', userId)
      .where('deleted', '=', 0)
      .executeTakeFirst();
  }

  findByPublicId(publicId: string): Promise<Task | undefined> {
    return this.#database.kysely.selectFrom('tasks').selectAll().where('public_id', '=', publicId).executeTakeFirst();
  }

  /** Tasks of one token after `after` (a public id); one more than `limit`, which shows whether there is a further page. */
  async listForToken(
    tokenId: number,
    after: string | undefined,
    limit: number,
    order: 'asc' | 'desc',
  ): Promise<Task[]> {
    const { kysely } = this.#database;
    const start = after === undefined ? undefined : await this.findForToken(after, tokenId);
    if (after !== undefined && start === undefined) return [];
    let query = kysely.selectFrom('tasks').selectAll().where('token_id', '=', tokenId).where('deleted', '=', 0);
    if (start !== undefined) query = query.where('seq', order === 'desc' ? '<' : '>', start.seq);
    return query
      .orderBy('seq', order)
      .limit(limit + 1)
      .execute();
  }

  /** Newest first. */
  async page(filter: TaskFilter, page: LongPage): Promise<LongListPage<Task>> {
    const { kysely } = this.#database;
    let query = kysely.selectFrom('tasks').where('deleted', '=', 0);
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.channelId !== undefined) query = query.where('channel_id', '=', filter.channelId);
    if (filter.status !== undefined) query = query.where(hasStatus(filter.status));
    if (filter.model !== undefined) query = query.where('model', '=', filter.model);
    if (filter.from !== undefined) query = query.where('created_at', '>=', filter.from);
    if (filter.to !== undefined) query = query.where('created_at', '<', filter.to);
    if (filter.userId !== undefined && filter.searchTerms !== undefined) {
      query = query.where('seq', '>=', await this.#oldestSearched(filter.userId));
      for (const word of filter.searchTerms) query = query.where(containsText('prompt', word));
    }
    if (filter.userId !== undefined && filter.favourite === true) {
      const { userId } = filter;
      query = query.where('seq', 'in', (from) =>
        from.selectFrom('favourite_videos').select('task_seq').where('user_id', '=', userId),
      );
    }
    if (filter.unfinished === true) query = query.where('next_poll_at', 'is not', null);
    return readLargeListPage(kysely, query, 'seq', page, (each) => each.selectAll());
  }

  async #oldestSearched(userId: number): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('seq')
      .where('user_id', '=', userId)
      .orderBy('seq', 'desc')
      .offset(MAX_SEARCHED_TASKS - 1)
      .limit(1)
      .executeTakeFirst();
    return row?.seq ?? Number.MIN_SAFE_INTEGER;
  }

  /** Defers the next poll of an unfinished task; never makes it earlier. */
  async defer(seq: number, until: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: until })
      .where('seq', '=', seq)
      .where('next_poll_at', '<', until)
      .execute();
  }

  /** Replaces the URL of a finished video; its state, times and quota stay as they are. */
  async updateArtifact(id: string, fresh: { artifact: string; data: string; handle: string }): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set(fresh)
      .where('id', '=', id)
      .where('status', '=', 'SUCCESS')
      .execute();
  }

  async markDeleted(trx: Trx, id: string, now: number): Promise<boolean> {
    const result = await trx
      .updateTable('tasks')
      .set({ deleted: 1, updated_at: now })
      .where('id', '=', id)
      .where('deleted', '=', 0)
      .where('status', 'in', ['SUCCESS', 'FAILURE'])
      .executeTakeFirst();
    return wasChanged(result);
  }
}

/** Written into the SQL instead of a parameter, so that the indexes of failed and of unfinished tasks are known to fit. */
export const hasStatus = (status: TaskStatus) =>
  isTerminal(status)
    ? sql<boolean>`status = ${sql.lit(status)}`
    : sql<boolean>`status = ${sql.lit(status)} and next_poll_at is not null`;

const toStorableText = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : toWellFormedText(text);
