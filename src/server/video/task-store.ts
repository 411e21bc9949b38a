import { type Insertable, type Selectable, sql } from 'kysely';
import { VENDORS, type VendorId } from '../../contract/model-kinds.ts';
import { type CallFacts, isChatPrice, type Price, priceCall } from '../../contract/pricing.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import {
  COARSE_PROGRESS,
  type FailureCause,
  isTerminal,
  OPENAI_STATUS,
  type TaskStatus,
} from '../../contract/task-states.ts';
import type { Channel } from '../channels/directory.ts';
import type { Database } from '../platform/db/database.ts';
import { containsText, prepareInsert, prepareQuery, readLargeListPage, wasChanged } from '../platform/db/sql.ts';
import { cutText, toWellFormedText } from '../platform/text.ts';
import type { SpanOptions } from '../platform/tracing/tracing.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { ErrorReason, TaskUpstream, TaskUpstreams, VendorError } from '../upstreams/upstream.ts';
import type { Artifact, Json, VendorAdapter } from '../vendors/adapter.ts';
import { UNFINISHED } from './tables.ts';

/** A row of `tasks`. */
export type Task = Selectable<Tables['tasks']>;
/** Changes found by one poll of the vendor; undefined keeps the stored value. */
export interface TaskChange {
  readonly status: TaskStatus;
  readonly progress: number;
  readonly data: string;
  readonly handle?: string;
  readonly artifact?: string;
  /** The charged quota; set with SUCCESS. */
  readonly charged?: number;
  /** Set with FAILURE; ill-formed Unicode in it is replaced. */
  readonly failure?: Failure;
  /** Applies only while the task waits for a slot: a start that comes first wins. */
  readonly whileWaiting?: boolean;
  /** Applies only while no vendor has confirmed the task: a confirmation that comes first wins. */
  readonly whileUnconfirmed?: boolean;
}

/** Filters of a list of tasks. */
export interface TaskFilter {
  readonly status?: TaskStatus;
  readonly model?: string;
  /** Unix milliseconds, `from` included, `to` not. */
  readonly from?: number;
  readonly to?: number;
  readonly userId?: number;
  /** With `userId`: the prompt contains every term; only the newest {@link MAX_SEARCHED_TASKS} tasks are searched. */
  readonly searchTerms?: readonly string[];
  /** The member whose prompts alone are searched. */
  readonly searchedActorId?: number;
  /** With `userId`: favourites only. */
  readonly favourite?: boolean;
  /** With `userId`: those of this collection of the account. */
  readonly collectionId?: number;
}

/** Maximum number of prompts one search reads: prompts have no index. */
export const MAX_SEARCHED_TASKS = 5_000;
/** Further terms of a search are ignored. */
const MAX_SEARCH_TERMS = 8;

/** Words of a search; a prompt must contain each. */
export const toSearchTerms = (text: string): string[] =>
  text
    .split(/\s+/)
    .filter((term) => term !== '')
    .slice(0, MAX_SEARCH_TERMS);

const MAX_CHILDREN = 50;

/** SQL of video tasks. */
export class TaskStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns false if the token has another task with this external id */
  insert(trx: Trx, task: NewTask): Promise<boolean> {
    return insertTask(trx, task);
  }

  /**
   * NOT_START → SUBMITTED for this attempt.
   * @returns the task's public id: the requested one, or its own if another task has that; undefined if the task has
   *   moved to another attempt or has ended
   */
  async markAccepted(executor: Executor, acceptance: Acceptance): Promise<string | undefined> {
    return (await acceptTaskQuery.first(executor, { ...acceptance }))?.public_id;
  }

  /**
   * Moves an unconfirmed task to its next channel.
   * @returns false if it has already ended
   */
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
   * Applies the result of a poll. States only move forward, and a terminal state never changes. The attempt is part of
   * the condition, so that a result for an abandoned attempt never changes the current one.
   * @returns false if the result came too late
   */
  async applyChange(
    executor: Executor,
    task: Pick<Task, 'id' | 'attempt'>,
    change: TaskChange,
    now: number,
  ): Promise<boolean> {
    const ended = isTerminal(change.status);
    const result = await executor
      .updateTable('tasks')
      .set({
        status: change.status,
        progress: change.progress,
        data: change.data,
        updated_at: now,
        // An unknown status counts as an odd poll itself.
        poll_failures: change.status === 'UNKNOWN' ? undefined : 0,
        // Kysely omits undefined values.
        handle: change.handle,
        artifact: change.artifact,
        price: change.charged,
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
      .$if(change.whileWaiting === true, (query) => query.where('next_poll_at', 'is', null))
      .$if(change.whileUnconfirmed === true, (query) => query.where('handle', 'is', null))
      .executeTakeFirst();
    return wasChanged(result);
  }

  /**
   * Counts a poll whose response decided nothing. Polls by readers and other processes in close succession count once.
   * @returns the number in a row; undefined if this poll does not count
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

  /** Resets the count after the vendor has answered about the task again. */
  async clearOddPolls(id: string): Promise<void> {
    await this.#database.kysely.updateTable('tasks').set({ poll_failures: 0 }).where('id', '=', id).execute();
  }

  findForToken(publicId: string, tokenId: number): Promise<Task | undefined> {
    return findForTokenQuery.first(this.#database.kysely, { id: publicId, token: tokenId });
  }

  /** Finds a task by the caller's own id for it. */
  findByExternalId(externalId: string, tokenId: number): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('token_id', '=', tokenId)
      .where('external_id', '=', externalId)
      .where('deleted', '=', 0)
      .executeTakeFirst();
  }

  /** Tasks of one token at one vendor, newest first: either those generated from text alone, or all others. */
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

  /** Without duplicates, in no order. */
  async findMany(ids: readonly string[]): Promise<Task[]> {
    if (ids.length === 0) return [];
    return this.#database.kysely.selectFrom('tasks').selectAll().where('id', 'in', ids).execute();
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

  /** Videos made from this one, newest first; among the newest of the account, as a search. */
  async findChildren({ id, seq, user_id: userId }: Pick<Task, 'id' | 'seq' | 'user_id'>): Promise<Task[]> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where('user_id', '=', userId)
      .where('seq', '>', Math.max(seq, await this.#oldestSearched(userId)))
      .where('remixed_from', '=', id)
      .where('deleted', '=', 0)
      .orderBy('seq', 'desc')
      .limit(MAX_CHILDREN)
      .execute();
  }

  findByPublicId(publicId: string): Promise<Task | undefined> {
    return this.#database.kysely.selectFrom('tasks').selectAll().where('public_id', '=', publicId).executeTakeFirst();
  }

  /** Tasks of one token after `after` (a public id); one more than `limit`, to show whether there is another page. */
  async listForToken(
    tokenId: number,
    after: string | undefined,
    limit: number,
    order: 'asc' | 'desc',
  ): Promise<Task[]> {
    const { kysely } = this.#database;
    // Programs list videos in order to delete them, so that the last video of a page may be deleted.
    const start =
      after === undefined
        ? undefined
        : await kysely
            .selectFrom('tasks')
            .select('seq')
            .where('public_id', '=', after)
            .where('token_id', '=', tokenId)
            .executeTakeFirst();
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
    if (filter.status !== undefined) query = query.where(hasStatus(filter.status));
    if (filter.model !== undefined) query = query.where('model', '=', filter.model);
    if (filter.from !== undefined) query = query.where('created_at', '>=', filter.from);
    if (filter.to !== undefined) query = query.where('created_at', '<', filter.to);
    if (filter.userId !== undefined && filter.searchTerms !== undefined) {
      query = query.where('seq', '>=', await this.#oldestSearched(filter.userId));
      for (const word of filter.searchTerms) query = query.where(containsText('prompt', word));
      if (filter.searchedActorId !== undefined) query = query.where('actor_id', '=', filter.searchedActorId);
    }
    if (filter.userId !== undefined && filter.favourite === true) {
      const { userId } = filter;
      query = query.where('seq', 'in', (from) =>
        from.selectFrom('favourite_videos').select('task_seq').where('user_id', '=', userId),
      );
    }
    if (filter.userId !== undefined && filter.collectionId !== undefined) {
      const { userId, collectionId } = filter;
      query = query.where('seq', 'in', (from) =>
        from
          .selectFrom('collection_videos')
          .innerJoin('collections', 'collections.id', 'collection_id')
          .select('task_seq')
          .where('collection_id', '=', collectionId)
          .where('collections.user_id', '=', userId),
      );
    }
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

  /** Defers the next poll of an unfinished task; never moves it earlier. */
  async defer(seq: number, until: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: until })
      .where('seq', '=', seq)
      .where('next_poll_at', '<', until)
      .execute();
  }

  /** Replaces the URL of a finished video; its state, times and quota stay unchanged. */
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

/** Whether a task is being sent or polled, or waits for a slot; worded like the index. */
export const isUnfinished = sql<boolean>`(${sql.raw(UNFINISHED)})`;

/**
 * A literal in the SQL instead of a parameter, so that the planner can use the partial indexes of failed and unfinished
 * tasks.
 */
export function hasStatus(status: TaskStatus) {
  if (isTerminal(status)) return sql<boolean>`status = ${sql.lit(status)}`;
  if (status === 'NOT_START') return sql<boolean>`status = 'NOT_START'`;
  return sql<boolean>`status = ${sql.lit(status)} and next_poll_at is not null`;
}

/** A task as its owner reads it. */
export type ShownTask = Task & { readonly queue?: QueuePosition };

/**
 * The status of the OpenAI-style object. A video that waits, or has waited and is being sent, is queued; one whose
 * submit was never answered is unknown.
 */
export const openAiStatusOf = ({
  status,
  next_poll_at: next,
  created_at: created,
  submit_time: sent,
}: StatusColumns) => (status === 'NOT_START' && (next === null || sent > created) ? 'queued' : OPENAI_STATUS[status]);
type StatusColumns = Pick<Task, 'status' | 'next_poll_at' | 'created_at' | 'submit_time'>;

/** Whether a task waits for a slot and has not been sent to any vendor. */
export const isWaiting = ({ status, next_poll_at: next }: Pick<Task, 'status' | 'next_poll_at'>): boolean =>
  status === 'NOT_START' && next === null;

const toStorableText = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : toWellFormedText(text);

/** A row of `tasks` to insert: every column except the database's own `seq`. */
export type NewTask = Required<Omit<Insertable<Tables['tasks']>, 'seq' | 'has_detail'>>;

/** The columns that differ between new tasks; every other column starts with the same value. */
type NewTaskFields = Pick<
  NewTask,
  | 'id'
  | 'user_id'
  | 'token_id'
  | 'channel_id'
  | 'vendor'
  | 'model'
  | 'upstream_model'
  | 'action'
  | 'price'
  | 'created_at'
> &
  Partial<NewTask>;

/**
 * The row of a new task. Its public id is its own until replaced by a vendor's; its times are those of its creation.
 */
export const newTaskRow = (fields: NewTaskFields): NewTask => ({
  public_id: fields.id,
  actor_id: null,
  credential_id: null,
  status: 'NOT_START',
  progress: 0,
  attempt: 1,
  pricing: '',
  client: '',
  prompt: '',
  request: '{}',
  data: '{}',
  handle: null,
  find_task_hint: null,
  artifact: null,
  fail_cause: '',
  fail_reason: '',
  error_code: '',
  remixed_from: null,
  external_id: null,
  callback_url: null,
  traceparent: null,
  submit_time: fields.created_at,
  start_time: 0,
  finish_time: 0,
  updated_at: fields.created_at,
  next_poll_at: fields.created_at,
  poll_failures: 0,
  deleted: 0,
  ...fields,
});

/** All columns of {@link NewTask}, for the insert statement. */
const NEW_TASK_COLUMNS = Object.keys(
  newTaskRow({
    id: '',
    user_id: 0,
    token_id: 0,
    channel_id: null,
    vendor: VENDORS[0],
    model: '',
    upstream_model: '',
    action: '',
    price: 0,
    created_at: 0,
  }),
) as (keyof NewTask)[];

const insertTasks = prepareInsert<Tables, NewTask>('tasks', NEW_TASK_COLUMNS);

/** @returns false if the token has another task with this external id; of several concurrent inserts, one succeeds */
async function insertTask(executor: Executor, task: NewTask): Promise<boolean> {
  if (task.external_id === null) {
    await insertTasks(executor, [task]);
    return true;
  }
  return wasChanged(
    await executor
      .insertInto('tasks')
      .values(task)
      .onConflict((conflict) =>
        conflict.columns(['token_id', 'external_id']).where('external_id', 'is not', null).doNothing(),
      )
      .executeTakeFirst(),
  );
}

/** A vendor's confirmation of a submit. */
export interface Acceptance {
  readonly id: string;
  readonly attempt: number;
  /** The requested public id, taken unless another task has it. */
  readonly public_id: string;
  readonly handle: string;
  readonly data: string;
  readonly now: number;
  /** Time of the first poll, Unix milliseconds. */
  readonly next: number;
}

/** Only the latest attempt can be accepted: a late response to an earlier one changes nothing. */
const acceptTaskQuery = prepareQuery<Tables, { [K in keyof Acceptance]: Acceptance[K] }>()((db, p) =>
  db
    .updateTable('tasks')
    .set({
      status: 'SUBMITTED',
      progress: 10,
      // An upstream must not be able to take over another task's public id by responding with it.
      public_id: (eb) =>
        eb
          .case()
          .when(
            eb.exists(
              eb.selectFrom('tasks as other').select('other.seq').where('other.public_id', '=', p('public_id')),
            ),
          )
          .then(eb.ref('tasks.public_id'))
          .else(p('public_id'))
          .end(),
      handle: p('handle'),
      data: p('data'),
      submit_time: p('now'),
      updated_at: p('now'),
      next_poll_at: p('next'),
    })
    .where('id', '=', p('id'))
    .where('attempt', '=', p('attempt'))
    .where('status', '=', 'NOT_START')
    .returning('public_id'),
);

/** A task by its public id, for the token that submitted it. */
const findForTokenQuery = prepareQuery<Tables, { id: string; token: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('public_id', '=', p('id'))
    .where('token_id', '=', p('token'))
    .where('deleted', '=', 0),
);

/**
 * Order of the states: a result with a lower rank than the current state is outdated and ignored. UNKNOWN ranks lowest
 * of the submitted ones: an unknown vendor status never replaces a known state.
 */
const RANK: Readonly<Record<TaskStatus, number>> = {
  NOT_START: 0,
  UNKNOWN: 1,
  SUBMITTED: 2,
  QUEUED: 3,
  IN_PROGRESS: 4,
  FAILURE: 5,
  SUCCESS: 5,
};

/** The rank of a state; see `RANK`. */
export const rankOf = (status: TaskStatus): number => RANK[status];

/** The unfinished states from which a task may enter this state. */
const allowedPreviousStates = (status: TaskStatus): readonly TaskStatus[] =>
  (Object.keys(RANK) as TaskStatus[]).filter((each) => !isTerminal(each) && RANK[each] <= RANK[status]);

/** Whole percent to display: 100 once ended, below 100 before, the vendor's own figure if there is one. */
export function progressOf(status: TaskStatus, vendorPercent: number | undefined): number {
  if (isTerminal(status) || vendorPercent === undefined || !Number.isFinite(vendorPercent))
    return COARSE_PROGRESS[status];
  return Math.max(0, Math.min(99, Math.round(vendorPercent)));
}

/** The reason a task ended without a video: a `cause` for users, and the message of the vendor or this service. */
export interface Failure {
  readonly cause: FailureCause;
  readonly message: string;
  /** Empty if there is no code. */
  readonly code: string;
}

/** Cause shown to the user if the vendor's code gives no more than a reason. */
const CAUSE_BY_REASON: Readonly<Record<ErrorReason, FailureCause>> = {
  user: 'request_invalid',
  policy: 'content_refused',
  rate: 'vendor_busy',
  capacity: 'vendor_trouble',
  auth: 'account_trouble',
  billing: 'account_trouble',
  model: 'model_unavailable',
  missing: 'expired',
  other: 'unknown',
};

/** The cause of a vendor error for users. */
export const causeOf = ({ cause, reason }: Pick<VendorError, 'cause' | 'reason'>): FailureCause =>
  cause ?? CAUSE_BY_REASON[reason];

/** Converts an error reported by the vendor to a failure. */
export const toFailure = (error: VendorError | undefined): Failure =>
  error === undefined
    ? { cause: 'unknown', message: 'the vendor gave no reason', code: '' }
    : { cause: causeOf(error), message: error.message || error.code || 'the vendor gave no reason', code: error.code };

/** The location of a task's finished video; undefined until the task has finished. */
export const parseTaskArtifact = (task: Pick<Task, 'artifact'>): Artifact | undefined =>
  task.artifact === null ? undefined : JSON.parse(task.artifact);

/** Longest Base64 text kept of a request or of a vendor's response. */
const MAX_KEPT_LENGTH = 1024;
const BASE64 = /^[A-Za-z0-9+/=_-]+$/;

/**
 * A request or vendor response as stored and displayed: Base64 texts of more than 1,024 characters are truncated and
 * marked. Works level by level instead of recursively, because the sender controls the depth.
 */
export function truncateBase64(value: Json): Json {
  const root: { value: unknown } = { value: truncateText(value) };
  const open: object[] = [];
  const enter = (holder: object, key: string, child: unknown): void => {
    if (typeof child !== 'object' || child === null) return;
    const copy: object = Array.isArray(child) ? [...child] : { ...child };
    (holder as Record<string, unknown>)[key] = copy;
    open.push(copy);
  };
  enter(root, 'value', root.value);
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    for (const [key, child] of Object.entries(holder)) {
      if (typeof child === 'string') (holder as Record<string, unknown>)[key] = truncateText(child);
      else enter(holder, key, child);
    }
  }
  return root.value as Json;
}

function truncateText(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_KEPT_LENGTH) return value;
  const start = value.startsWith('data:') ? value.indexOf(',') + 1 : 0;
  if (!BASE64.test(value.slice(start, start + MAX_KEPT_LENGTH))) return value;
  return cutText(value.slice(0, MAX_KEPT_LENGTH), value.length);
}

/** Upstreams of video tasks: the vendors' adapters, called through channels. */
export type VideoUpstreams = TaskUpstreams<VendorId, VendorAdapter, Channel>;
/** The upstream of one video task. */
export type VideoUpstream = TaskUpstream<VendorAdapter, Channel>;

/**
 * The result of a submit: the task and the vendor's response, which each format renders in its own way. Can be stored
 * as JSON.
 */
export interface SubmitResult {
  readonly task: Pick<Task, 'public_id' | 'vendor' | 'model' | 'status' | 'created_at' | 'handle' | 'external_id'>;
  /** The vendor's response; null if it was lost. */
  readonly raw: Json;
  /** The position of a video that waits. */
  readonly queue?: QueuePosition;
  /** The channel that was sent the request; undefined for a video that waits or that an earlier request started. */
  readonly channelId?: number;
  /** Paths of the body that reach no vendor; undefined if the process that started the video died meanwhile. */
  readonly dropped?: readonly string[];
}

/** The position of a waiting video in its queue; `queue` of the video object. */
export interface QueuePosition {
  /** 1 starts next. */
  readonly position: number;
  /** Half of such videos start within `p50`, nine in ten within `p90`. */
  readonly starts_in_seconds: { readonly p50: number; readonly p90: number };
}

/** The result of submitting a task, with the vendor's response. */
export const toSubmitResult = (
  { public_id, vendor, model, status, created_at, handle, external_id }: SubmitResult['task'],
  raw: Json,
): SubmitResult => ({ task: { public_id, vendor, model, status, created_at, handle, external_id }, raw });

/** The price terms of a task, frozen at submission. */
export interface TaskTerms {
  readonly price: Price;
  readonly facts: CallFacts;
}

/** Serializes the terms for `tasks.pricing`. */
export const formatTerms = (terms: TaskTerms): string => JSON.stringify(terms);

/** Undefined for a task older than stored terms. */
export const parseTerms = (text: string): TaskTerms | undefined =>
  text === '' ? undefined : (JSON.parse(text) as TaskTerms);

/** The quota a task reserved; its charge is lower if the vendor reported less than the estimate. */
export function reservedQuota({ price, pricing, status }: Pick<Task, 'price' | 'pricing' | 'status'>): number {
  const terms = status === 'SUCCESS' ? parseTerms(pricing) : undefined;
  if (terms === undefined || isChatPrice(terms.price) || terms.price.settle_by !== 'vendor') return price;
  return priceCall(terms.price, terms.facts).quota;
}

type TracedTask = Pick<NewTask, 'id' | 'vendor' | 'model' | 'traceparent'>;

/**
 * Options of a video's span. Whichever process records it and whenever, the span belongs to the trace of the submit.
 */
export function videoSpanOptions(step: 'submit' | 'poll' | 'settle', task: TracedTask): SpanOptions {
  return {
    name: step === 'submit' ? `generate_content ${task.model}` : `${step} ${task.model}`,
    kind: step === 'settle' ? 'internal' : 'client',
    ...(task.traceparent === null ? {} : { parent: task.traceparent }),
    attributes: {
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.provider.name': task.vendor,
      'gen_ai.request.model': task.model,
      'gen_ai.output.type': 'video',
      'reelgate.task.id': task.id,
    },
  };
}
