import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { defined } from '../../contract/objects.ts';
import { TASK_STATUS } from '../../contract/task-states.ts';
import type { CallOutcome, Channel, ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { PlanTerms } from '../plans/plan-store.ts';
import { AppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { type Database, retryDuringOutage } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { KeyLimits } from '../platform/limits/rate-limits.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { toWellFormedText, truncateCodePoints } from '../platform/text.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import {
  type AdapterContext,
  toAccountIds,
  toUpstreamModelName,
  UnsupportedRequestError,
  type UpstreamCalls,
  type VendorError,
} from '../upstreams/upstream.ts';
import type {
  PendingUpload,
  RequestInput,
  SubmitOutcome,
  VendorAdapter,
  VendorUpload,
  VideoRequest,
} from '../vendors/adapter.ts';
import { toCallerError } from './generation-request.ts';
import { inputsOf, mapInputs } from './request-media.ts';
import { NO_TOKEN } from './tables.ts';
import type { OnFaultPoint, TaskCompletion } from './task-completion.ts';
import type { FailedAttempt, TaskAdminStore } from './task-reports.ts';
import {
  type Acceptance,
  type Failure,
  type NewTask,
  type SubmitResult,
  type Task,
  type TaskStore,
  toFailure,
  toSubmitResult,
  truncateBase64,
  videoSpanOptions,
} from './task-store.ts';

interface AttemptRunnerDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly channels: Pick<ChannelDirectory, 'report'>;
  readonly upstreamCalls: UpstreamCalls;
  readonly completion: TaskCompletion;
  readonly failedAttemptRecorder: FailedAttemptRecorder;
  readonly slots: Pick<ChannelTaskLimitStore, 'take'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly syncPeriodMs: number;
  /** Longest time after its submit that a task may wait for its vendor's confirmation. */
  readonly ambiguousTtlMs: number;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  readonly faultPoint: OnFaultPoint;
}

/** A task that is reserved, stored and ready to be sent. */
export interface SubmitJob {
  readonly task: NewTask;
  readonly request: VideoRequest;
  readonly adapter: VendorAdapter;
  readonly model: ResolvedModel;
  /** In order of preference. */
  readonly candidates: readonly Channel[];
  readonly remixOf: Task | undefined;
  /**
   * Lets the task wait again because no vendor had room for it; only for a task that has waited.
   * @returns false if the task has ended or moved on
   */
  readonly putBack?: (attempt: number, retryAfterMs: number | undefined) => Promise<boolean>;
}

interface Attempt {
  readonly number: number;
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly sentAt: number;
  /** From sending the request to its outcome. */
  readonly durationMs: number;
}

type Accepted = Extract<SubmitOutcome, { kind: 'accepted' }>;

/** Maximum number of attempts per submit, including the first. */
const MAX_ATTEMPTS = 3;
const UNREACHABLE: Failure = { cause: 'unreachable', message: 'no provider could be reached', code: '' };

/**
 * Sends a stored task to its vendor, fails over to the next channel where the refusal concerns the channel only, and
 * stores the outcome.
 */
export class AttemptRunner {
  readonly #dependencies: AttemptRunnerDependencies;
  readonly #handleOwners = new HandleOwners();
  constructor(dependencies: AttemptRunnerDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError after the task has been failed and refunded */
  async run(job: SubmitJob): Promise<SubmitResult> {
    const { failedAttemptRecorder, completion, clock, faultPoint } = this.#dependencies;
    const { task, candidates, putBack } = job;
    // No caller waits for the response of a task that has waited for a slot.
    const options = { suppressNotification: putBack === undefined };
    const first = task.attempt;
    let lastError: VendorError | undefined;
    let number = first - 1;
    for (const channel of candidates) {
      if (number - first === MAX_ATTEMPTS - 1) break;
      const next = number < first ? 'moved' : await this.#moveTo(channel, task, number);
      if (next === 'full') continue;
      if (next === 'ended') break;
      number += 1;
      const sentAt = clock.now();
      const startedAt = performance.now();
      const outcome = await this.#send(job, channel);
      const durationMs = performance.now() - startedAt;
      const channelId = channel.id;
      if (outcome.kind === 'accepted')
        return { ...(await this.#accept(job, { number, channel, sentAt, durationMs }, outcome)), channelId };
      await failedAttemptRecorder.record({
        taskId: task.id,
        attempt: number,
        channelId,
        credentialId: channel.credentialId,
        ...describeOutcome(outcome),
      });
      if (outcome.kind === 'unknown') return { ...toSubmitResult(task, null), channelId };
      faultPoint('after-answer');
      if (outcome.kind === 'unfit') {
        const { message } = outcome.error;
        const failure = { cause: 'request_invalid', message, code: '' } as const;
        await completion.fail({ id: task.id, attempt: number }, failure, options);
        throw toCallerError(outcome.error, job.request);
      }
      if (outcome.kind === 'refused') {
        const { reason, message, code, retryAfterMs } = outcome.error;
        lastError = outcome.error;
        this.#report(job, channel, { outcome: reason, message, code, retryAfterMs, durationMs });
        if (!outcome.error.retryable) break;
      }
    }
    if (isForLackOfRoom(lastError) && (await putBack?.(number, lastError?.retryAfterMs)) === true)
      return toSubmitResult(task, null);
    const failure = lastError === undefined ? UNREACHABLE : toFailure(lastError);
    // Another process may have sent the task again in the meantime, if this one was paused.
    await completion.fail({ id: task.id, attempt: Math.max(number, first) }, failure, options);
    throw toUpstreamFailure(lastError);
  }

  /** Feeds the channel's circuit breakers. */
  #report(
    { task, model }: SubmitJob,
    channel: Channel,
    result: Pick<CallOutcome, 'outcome' | 'message' | 'code' | 'retryAfterMs' | 'durationMs'>,
  ): void {
    this.#dependencies.channels.report({
      ...toAccountIds(channel),
      model: model.id,
      userId: task.user_id,
      ...result,
    });
  }

  /**
   * Moves the task to another channel after a failed attempt, unless that channel is full or the task has already
   * ended.
   */
  #moveTo(channel: Channel, task: NewTask, attempt: number): Promise<'moved' | 'full' | 'ended'> {
    const { database, store, slots, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      if (!(await slots.take(trx, channel))) return 'full';
      const hint = task.find_task_hint;
      return (await store.startNextAttempt(trx, task.id, attempt, channel, hint, clock.now())) ? 'moved' : 'ended';
    });
  }

  /** Sends one request over one channel. Every outcome is returned as a value; errors are not thrown. */
  async #send(job: SubmitJob, channel: Channel): Promise<AttemptOutcome> {
    const { upstreamCalls, clock, stopping, log, faultPoint, ambiguousTtlMs, tracing } = this.#dependencies;
    const { task, request, adapter, model, remixOf } = job;
    const context = upstreamCalls.contextFor(channel, stopping);
    const sent = { ...request, model: toUpstreamModelName(channel, model) };
    faultPoint('before-send');
    // A process that was paused, or whose uploads took minutes, must not submit a task that has been failed and
    // refunded in the meantime.
    const isTooLate = (): boolean => clock.now() >= task.submit_time + ambiguousTtlMs;
    if (isTooLate()) return { kind: 'unreachable' };
    const startedAt = performance.now();
    try {
      const outcome = await tracing.trace(videoSpanOptions('submit', task), () =>
        remixOf?.handle == null || adapter.remix === undefined
          ? submitWithUploads(sent, adapter, context, isTooLate)
          : adapter.remix(JSON.parse(remixOf.handle), sent, context),
      );
      faultPoint('after-send');
      return outcome;
    } catch (error) {
      if (error instanceof UnsupportedRequestError) return { kind: 'unfit', error };
      if (!(error instanceof OutboundError)) throw error;
      if (error.phase !== 'aborted')
        this.#report(job, channel, {
          // An unreadable response still proves that the account is reachable.
          outcome: error.phase === 'body' ? 'capacity' : 'unreachable',
          message: error.message,
          durationMs: performance.now() - startedAt,
        });
      log.warn(
        { err: error, taskId: task.id, channelId: channel.id },
        error.mayHaveArrived ? 'the response to a submit was lost' : 'a channel could not be reached',
      );
      return { kind: error.mayHaveArrived ? 'unknown' : 'unreachable' };
    }
  }

  async #accept(job: SubmitJob, attempt: Attempt, outcome: Accepted): Promise<SubmitResult> {
    const { clock, log, faultPoint, syncPeriodMs } = this.#dependencies;
    const { task, adapter, putBack } = job;
    faultPoint('after-answer');
    const handle = JSON.stringify(outcome.handle);
    if (await this.#isHandleOfAnother(job, attempt, handle)) {
      log.warn({ taskId: task.id, upstreamId: outcome.upstreamId }, "a submit was answered with another task's id");
      return toSubmitResult(task, null);
    }
    this.#report(job, attempt.channel, { outcome: 'ok', durationMs: attempt.durationMs });
    const now = clock.now();
    // The caller of a task that has waited already knows it by its own id.
    const takesOver = adapter.passthrough === true && putBack === undefined && isPublicId(outcome.upstreamId);
    const publicId = await this.#storeAcceptance({
      id: task.id,
      attempt: attempt.number,
      public_id: takesOver ? outcome.upstreamId : task.public_id,
      handle,
      data: JSON.stringify(truncateBase64(outcome.raw)),
      now,
      next: now + syncPeriodMs,
    });
    if (publicId === undefined) {
      await this.#recordLateAcceptance(task, attempt, outcome.upstreamId);
      return toSubmitResult({ ...task, handle }, outcome.raw);
    }
    return toSubmitResult({ ...task, public_id: publicId, status: TASK_STATUS.SUBMITTED, handle }, outcome.raw);
  }

  /**
   * Stores a vendor's acceptance, retrying while the database is unavailable. The vendor has started the job and cannot
   * cancel it; without the write the task would fail because no confirmation was ever recorded.
   * @returns the public id; undefined when the task has moved past this attempt
   */
  #storeAcceptance(acceptance: Acceptance): Promise<string | undefined> {
    const { store, database, stopping } = this.#dependencies;
    return retryDuringOutage(async () => {
      const publicId = await store.markAccepted(database.kysely, acceptance);
      if (publicId !== undefined) return publicId;
      // A write whose response was lost may have been committed, and polls may have changed the status since.
      const stored = await store.findById(acceptance.id);
      const isStored = stored?.attempt === acceptance.attempt && stored.handle === acceptance.handle;
      return isStored ? stored.public_id : undefined;
    }, stopping);
  }

  /**
   * Whether the vendor's job already belongs to another task: an intermediate cache may replay an earlier response. The
   * job started now, if any, is then treated as if its response was lost. Where both submits were in flight at once,
   * the job may belong to either, so the other task is failed too: no caller may receive another caller's video.
   */
  async #isHandleOfAnother({ task }: SubmitJob, attempt: Attempt, handle: string): Promise<boolean> {
    const { clock, completion } = this.#dependencies;
    const claim = { id: task.id, attempt: attempt.number, at: clock.now() };
    const owner = this.#handleOwners.claim(attempt.channel.id, handle, claim);
    if (owner === undefined) return false;
    if (owner.at >= attempt.sentAt)
      await completion.fail(owner, {
        cause: 'unconfirmed',
        message: 'the provider answered two requests with one job',
        code: 'unconfirmed',
      });
    return true;
  }

  /**
   * The vendor may bill the operator for a job that no caller pays for; administrators find it among the task's
   * attempts.
   */
  async #recordLateAcceptance(task: NewTask, { number, channel }: Attempt, upstreamId: string): Promise<void> {
    const { log, failedAttemptRecorder } = this.#dependencies;
    log.warn({ taskId: task.id, upstreamId }, 'a submit was accepted after its task had ended');
    const message = `accepted as ${upstreamId} after the task had moved on`;
    await failedAttemptRecorder.record({
      taskId: task.id,
      attempt: number,
      channelId: channel.id,
      credentialId: channel.credentialId,
      outcome: 'late',
      code: '',
      message,
    });
  }
}

/** Whether the vendors lacked capacity, so that the task may succeed later; undefined: no channel could be reached. */
const isForLackOfRoom = (error: VendorError | undefined): boolean =>
  error === undefined || error.reason === 'rate' || error.reason === 'capacity';

const isPublicId = (id: string): boolean => /^[A-Za-z0-9_.:-]{1,128}$/.test(id);

const MAX_MESSAGE = 500;

/** The outcome of one submit attempt. */
type AttemptOutcome =
  | SubmitOutcome
  /** The request did not reach the vendor: another channel may be tried. */
  | { readonly kind: 'unreachable' }
  /** The request may have reached the vendor: no other channel is tried, and polling decides. */
  | { readonly kind: 'unknown' }
  /** The vendor does not support this request; nothing was sent. */
  | { readonly kind: 'unfit'; readonly error: UnsupportedRequestError };

/** The outcome of an attempt, described for administrators. */
function describeOutcome(
  outcome: Exclude<AttemptOutcome, { kind: 'accepted' }>,
): Pick<FailedAttempt, 'outcome' | 'code' | 'message'> {
  if (outcome.kind === 'refused') {
    const { reason, code, message } = outcome.error;
    return { outcome: reason, code: sanitizeText(code), message: sanitizeText(message) };
  }
  return {
    outcome: outcome.kind,
    code: '',
    message: outcome.kind === 'unfit' ? sanitizeText(outcome.error.message) : '',
  };
}

const sanitizeText = (text: string): string => truncateCodePoints(maskSecrets(toWellFormedText(text)), MAX_MESSAGE);

/** The attempt whose submit the vendor answered with a handle. */
interface VendorHandleAttempt {
  /** `id` of the task. */
  readonly id: string;
  readonly attempt: number;
  /** When the handle became known, Unix milliseconds. */
  readonly at: number;
}

const MAX_HANDLE_OWNERS = 10_000;

/** Owners of the most recently accepted handles, by channel and handle. Hashed, because a handle may be long. */
export class HandleOwners {
  readonly #owners = new LRUCache<string, VendorHandleAttempt>(upToEntries(MAX_HANDLE_OWNERS));

  /**
   * Claims a handle for `owner` unless another attempt already has it.
   * @returns the existing owner; undefined when the handle now belongs to `owner`
   */
  claim(channelId: number, handle: string, owner: VendorHandleAttempt): VendorHandleAttempt | undefined {
    const key = hash('sha256', `${channelId} ${handle}`, 'base64url');
    const found = this.#owners.get(key);
    if (found === undefined) this.#owners.set(key, owner);
    return found;
  }
}

/** Records failed submit attempts, so that administrators see which channels a task was tried on. */
export class FailedAttemptRecorder {
  readonly #store: TaskAdminStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stopping: AbortSignal;

  constructor(store: TaskAdminStore, clock: Clock, log: Log, stopping: AbortSignal) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#stopping = stopping;
  }

  /**
   * Stores one failed attempt, retrying while the database is unavailable: this is the only record of a job that the
   * vendor may bill. Never throws, because the task and its quota must not depend on the record.
   */
  async record(attempt: Omit<FailedAttempt, 'createdAt'>): Promise<void> {
    try {
      const row = { ...attempt, createdAt: this.#clock.now() };
      await retryDuringOutage(() => this.#store.insertFailedAttempt(row), this.#stopping);
    } catch (error) {
      this.#log.warn({ err: error, taskId: attempt.taskId }, 'a failed attempt could not be recorded');
    }
  }
}

type BoundedChannel = Pick<Channel, 'id' | 'credentialId' | 'maxConcurrentTasks'>;

/**
 * Enforces a channel's limit on unfinished tasks across all processes. A vendor refuses tasks beyond its own limit, and
 * some vendors count the refused ones too.
 */
export class ChannelTaskLimitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Pre-selects the channels that currently have room, without locking; {@link take} makes the binding decision. */
  async withRoom<T extends BoundedChannel>(channels: readonly T[]): Promise<readonly T[]> {
    if (channels.every((channel) => channel.maxConcurrentTasks === undefined)) return channels;
    const hasRoom = await Promise.all(channels.map((channel) => this.#hasRoom(this.#database.kysely, channel)));
    return channels.filter((_, index) => hasRoom[index]);
  }

  /**
   * Takes one slot of the channel. Must be the first statement of the transaction that assigns the task to the
   * channel: the channel's row stays locked until the commit, which serializes submits over it across all processes.
   *
   * @returns false when the channel is full
   */
  async take(trx: Trx, channel: BoundedChannel): Promise<boolean> {
    if (channel.maxConcurrentTasks === undefined) return true;
    await trx.selectFrom('channels').select('id').where('id', '=', channel.id).forUpdate().execute();
    return this.#hasRoom(trx, channel);
  }

  /** Reads at most as many rows as the channel's limit. */
  async #hasRoom(executor: Executor, { id, credentialId, maxConcurrentTasks: most }: BoundedChannel): Promise<boolean> {
    if (most === undefined) return true;
    const last = await executor
      .selectFrom('tasks')
      .select('channel_id')
      .where('channel_id', '=', id)
      .where('credential_id', '=', credentialId)
      .where('next_poll_at', 'is not', null)
      .offset(most - 1)
      .limit(1)
      .executeTakeFirst();
    return last === undefined;
  }
}

/**
 * The error returned to the caller when every attempt was refused. Faults of the channel's own account concern the
 * operator, so their details are only logged. An undefined `error` means that no channel was reachable.
 */
function toUpstreamFailure(error: VendorError | undefined): AppError {
  if (error === undefined) return new AppError('upstream_unavailable');
  const log = { upstream: error };
  switch (error.reason) {
    case 'auth':
    case 'billing':
    case 'model':
      return new AppError('upstream_error', { log });
    case 'rate':
      return new AppError(
        'upstream_unavailable',
        defined({ log, retryAfterSeconds: error.retryAfterMs === undefined ? undefined : error.retryAfterMs / 1000 }),
      );
    case 'capacity':
      return new AppError('upstream_unavailable', { log });
    default:
      if (error.retryable) return new AppError('upstream_error', { log });
      return new AppError(
        'upstream_refused',
        defined({ message: error.message, publicCode: error.code || undefined, param: error.param }),
      );
  }
}

/** The vendor refused to take a file. */
class UploadRefused extends Error {
  readonly error: VendorError;
  constructor(error: VendorError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * Submits a request whose large files are first uploaded to the vendor. Its URIs are cached by file and account; one
 * that the vendor has forgotten is replaced once.
 *
 * @param isTooLate whether the request may no longer be sent once its files are uploaded
 * @returns `unreachable` if it was too late; nothing but files was sent then
 * @throws OutboundError as `submit` does; `mayHaveArrived` only of the submit itself, because an upload starts no job
 */
export async function submitWithUploads(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'submit' | 'upload'>,
  context: AdapterContext,
  isTooLate: () => boolean = () => false,
): Promise<SubmitOutcome | { readonly kind: 'unreachable' }> {
  const { upload } = adapter;
  const pending = inputsOf(request).some(isPending);
  if (upload === undefined || !pending) return adapter.submit(request, context);
  const uris = new Map<string, string>();
  const send = async (rejected?: ReadonlyMap<string, string>): ReturnType<typeof submitWithUploads> => {
    for (const input of inputsOf(request))
      if (isPending(input)) {
        const { key } = input.upload;
        uris.set(key, await uriOf(input.upload, { upload, context, rejected: rejected?.get(key) }));
      }
    return isTooLate() ? { kind: 'unreachable' } : adapter.submit(withUris(request, uris), context);
  };
  try {
    const outcome = await send();
    if (outcome.kind !== 'refused' || !upload.isForgotten(outcome.error)) return outcome;
    return await send(new Map(uris));
  } catch (error) {
    if (error instanceof UploadRefused) return { kind: 'refused', error: error.error, raw: null };
    throw error;
  }
}

type Pending = Extract<RequestInput, { readonly url: string }> & { readonly upload: PendingUpload };

const isPending = (input: RequestInput): input is Pending => 'url' in input && input.upload !== undefined;

async function uriOf(
  { key, mediaType, load }: PendingUpload,
  {
    upload,
    context,
    rejected,
  }: { readonly upload: VendorUpload; readonly context: AdapterContext; readonly rejected: string | undefined },
): Promise<string> {
  const make = async () => {
    const filename = `input.${mediaType.split('/')[1] ?? 'bin'}`;
    const sent = await upload.send({ bytes: await load(), mediaType, filename }, context);
    if ('error' in sent) throw new UploadRefused(sent.error);
    return { value: sent.uri, expiresAtMs: sent.expiresAtMs };
  };
  try {
    return await context.cachedSecret(`upload ${key}`, make, rejected);
  } catch (error) {
    if (error instanceof OutboundError && error.mayHaveArrived)
      throw new OutboundError(error.phase, `an upload failed: ${error.message}`, { mayHaveArrived: false });
    throw error;
  }
}

const withUris = (request: VideoRequest, uris: ReadonlyMap<string, string>): VideoRequest =>
  mapInputs(request, (input) => {
    if (!isPending(input)) return input;
    const { upload, ...rest } = input;
    return { ...rest, url: uris.get(upload.key) ?? rest.url };
  });

/** How many videos may be in progress at once, and how many may wait. Undefined: any number. */
interface Bounds {
  readonly concurrent: number | undefined;
  readonly queued: number | undefined;
}

/** The limits on the videos of a caller: of the account or its plan, and of the key. */
export interface TaskLimits {
  readonly account: Bounds;
  readonly key: Bounds;
}

/** Videos of an account that may wait where neither account nor plan says otherwise. */
export const DEFAULT_QUEUED_TASKS = 10_000;

const accountBounds = prepareQuery<Tables, { id: number }>()((db, p) =>
  db.selectFrom('accounts').select(['concurrent_tasks', 'queued_tasks']).where('id', '=', p('id')),
);

/** Reads the limits on unfinished and waiting videos, and counts the unfinished ones. */
export class TaskLimitStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** A limit of the account takes precedence over the one of its plan. */
  async limitsOf(
    { userId, limits }: { readonly userId: number; readonly limits?: KeyLimits | undefined },
    plan: Pick<PlanTerms, 'concurrentTasks' | 'queuedTasks'> | undefined,
  ): Promise<TaskLimits> {
    const own = await accountBounds.first(this.#database.kysely, { id: userId });
    return {
      account: {
        concurrent: own?.concurrent_tasks ?? plan?.concurrentTasks,
        queued: own?.queued_tasks ?? plan?.queuedTasks,
      },
      key: { concurrent: limits?.concurrentTasks, queued: limits?.queuedTasks },
    };
  }

  /** The limits of a key, for a video whose request has ended. */
  async keyLimits(tokenId: number): Promise<KeyLimits | undefined> {
    if (tokenId === NO_TOKEN) return undefined;
    const row = await this.#database.kysely
      .selectFrom('tokens')
      .select(['concurrent_tasks', 'queued_tasks'])
      .where('id', '=', tokenId)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return { concurrentTasks: row.concurrent_tasks ?? undefined, queuedTasks: row.queued_tasks ?? undefined };
  }

  /**
   * Which limit one more video would exceed. Locks the row of the account or the key first, so that concurrent submits
   * on any process are counted one after the other.
   */
  async findExceeded(
    trx: Trx,
    { userId, tokenId = NO_TOKEN }: { readonly userId: number; readonly tokenId?: number | undefined },
    { account, key }: TaskLimits,
  ): Promise<'account' | 'key' | undefined> {
    if (account.concurrent !== undefined) {
      await trx.selectFrom('accounts').select('id').where('id', '=', userId).forUpdate().execute();
      if ((await countOpen(trx, 'user_id', userId)) >= account.concurrent) return 'account';
    }
    if (key.concurrent !== undefined && tokenId !== NO_TOKEN) {
      await trx.selectFrom('tokens').select('id').where('id', '=', tokenId).forUpdate().execute();
      if ((await countOpen(trx, 'token_id', tokenId)) >= key.concurrent) return 'key';
    }
    return undefined;
  }
}

async function countOpen(trx: Trx, column: 'user_id' | 'token_id', id: number): Promise<number> {
  const { open } = await trx
    .selectFrom('tasks')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where(column, '=', id)
    .where('next_poll_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return Number(open);
}

/**
 * The channels that can serve a video, in order of preference.
 * @param holder the original of a remix or a change, which only the account that made it can serve
 */
export async function servingChannels(
  channels: Pick<ChannelDirectory, 'candidates' | 'byId'>,
  model: ResolvedModel,
  permitted: ReadonlySet<number> | undefined,
  holder: Task | undefined,
): Promise<readonly Channel[]> {
  if (holder === undefined) return channels.candidates(model, permitted);
  const account = holder.channel_id === null ? undefined : await channels.byId(holder.channel_id, holder.credential_id);
  return account === undefined ? [] : [account];
}
