import { LRUCache } from 'lru-cache';
import { TASK_STATUS } from '../../contract/states.ts';
import type { Channel, Channels, ResolvedModel, VideoPrice } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid, modelNotAllowed } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import type { Log } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { Allowances, Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { type Attempts, toldOf } from './attempts.ts';
import type { VendorCalls } from './calls.ts';
import type { Endings } from './endings.ts';
import { readArguments } from './media-schema.ts';
import { priceOf } from './pricing.ts';
import { cutBase64 } from './raw.ts';
import { actionOf, toVideoRequest, type Wish } from './requests.ts';
import type { Task, TaskStore } from './store.ts';
import { NO_TOKEN } from './tables.ts';
import {
  type Json,
  type SubmitOutcome,
  type VendorError,
  VendorRefusal,
  type VideoRequest,
  type VideoVendor,
} from './vendor.ts';
import type { Vendors } from './vendors.ts';

export interface SubmitParts {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly quota: Quota;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly endings: Endings;
  readonly attempts: Attempts;
  readonly clock: Clock;
  readonly log: Log;
  readonly newTaskId: () => string;
  readonly syncPeriodMs: number;
  /** How long after it was made a task may still be without its vendor's confirmation. */
  readonly ambiguousTtlMs: number;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
  /** Named points of the money path; tests stop the process there. */
  readonly at: (point: FaultPoint) => void;
}

export type FaultPoint =
  | 'after-reserve'
  | 'before-send'
  | 'after-send'
  | 'after-answer'
  | 'before-settle'
  | 'mid-refund';

/** Whoever asks for a video: a token within its limits, or (without one) a person in the console. */
export type Asker = Pick<ModelCaller, 'userId' | 'models'> & { readonly tokenId?: number };

/** What the caller is told of a started task. `raw` is the vendor's answer; undefined when it was lost on the way. */
export interface Submitted {
  readonly task: Pick<Task, 'public_id' | 'vendor' | 'model' | 'status' | 'created_at' | 'handle'>;
  readonly raw: Json | undefined;
}

/** How often one submit may be sent, the first time counted. */
const MAX_TRIES = 3;

/** Extra work inside the transaction that reserves, such as noting an idempotency key. */
export type Alongside = (trx: Parameters<Quota['reserve']>[0], taskId: string) => Promise<void>;

/** Starts videos: checks, reserves, sends, and fails over, so that money and tasks survive a stop at any line. */
export class Submitter {
  readonly #parts: SubmitParts;
  /** Of the newest accepted submits: whose they are and when that was known, Unix milliseconds. */
  readonly #handles = new LRUCache<string, { readonly id: string; readonly attempt: number; readonly at: number }>({
    max: 10_000,
  });
  constructor(parts: SubmitParts) {
    this.#parts = parts;
  }

  /** Throws coded failures; nothing is charged then. */
  async submit(
    caller: Asker,
    wish: Wish,
    options: { readonly alongside?: Alongside; readonly remixOf?: Task } = {},
  ): Promise<Submitted> {
    const { channels, vendors, clock } = this.#parts;
    const model = await this.#modelFor(caller, wish.model);
    if (wish.officialOf !== undefined && wish.officialOf !== model.vendor)
      throw invalid(`${wish.model} is no model of this vendor; ask for it in another format.`, 'model');
    // An alias may have moved on to another vendor, which knows nothing of the original.
    if (options.remixOf !== undefined && options.remixOf.vendor !== model.vendor)
      throw new AppError('remix_unsupported');
    const vendor = vendors.get(model.vendor);
    const extra = readArguments(model.inputSchema, wish.body);
    const candidates = await this.#candidates(model, options.remixOf, channels);
    const first = candidates[0];
    if (first === undefined) throw new AppError('upstream_unavailable');

    const id = this.#parts.newTaskId();
    const request = toVideoRequest(wish, { taskId: id, model: model.target, extra });
    const price = this.#priceFor(model, vendor, request);
    const now = clock.now();
    const task = newTask({
      id,
      caller,
      model,
      wish,
      price,
      now,
      channelId: first.id,
      hint: hintOf(vendor, request),
      next: now + this.#parts.syncPeriodMs,
      remixedFrom: options.remixOf?.id ?? null,
    });

    await this.#parts.database.transaction(async (trx) => {
      await this.#parts.quota.reserve(trx, {
        ref: id,
        userId: caller.userId,
        ...(caller.tokenId === undefined ? {} : { tokenId: caller.tokenId }),
        model: model.id,
        amount: price,
      });
      await this.#parts.store.insert(trx, task);
      await options.alongside?.(trx, id);
    });
    this.#parts.at('after-reserve');
    return this.#send({
      task,
      request,
      vendor,
      model,
      candidates,
      ...(options.remixOf === undefined ? {} : { remixOf: options.remixOf }),
    });
  }

  /** What the wish would cost; throws what a submit would find before it reserves. */
  async quote(caller: Asker, wish: Wish): Promise<number> {
    const model = await this.#modelFor(caller, wish.model);
    const permitted = await this.#parts.allowances.permittedModels(caller.userId);
    if (permitted?.has(model.id) === false) throw modelNotAllowed(model.id);
    const vendor = this.#parts.vendors.get(model.vendor);
    const extra = readArguments(model.inputSchema, wish.body);
    return this.#priceFor(model, vendor, toVideoRequest(wish, { taskId: 'quote', model: model.target, extra }));
  }

  async #modelFor(caller: Asker, id: string): Promise<ResolvedModel> {
    const model = await this.#parts.channels.model(id);
    if (model === undefined || model.kind !== 'video')
      throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    if (caller.models.length > 0 && !caller.models.includes(id)) throw modelNotAllowed(id);
    return model;
  }

  /** A remix can only be served by the channel that holds the original. */
  async #candidates(model: ResolvedModel, remixOf: Task | undefined, channels: Channels): Promise<readonly Channel[]> {
    if (remixOf === undefined) return channels.candidates(model);
    const holder = remixOf.channel_id === null ? undefined : await channels.byId(remixOf.channel_id);
    return holder === undefined ? [] : [holder];
  }

  #priceFor(model: ResolvedModel, vendor: VideoVendor, request: VideoRequest): number {
    try {
      return priceOf(model.price as VideoPrice, vendor.meter(request));
    } catch (error) {
      if (error instanceof VendorRefusal) throw refusal(error);
      if (error instanceof RangeError) throw invalid('The request is too large to be priced.');
      throw error;
    }
  }

  async #send(job: Job): Promise<Submitted> {
    const { store, attempts, endings, clock, channels, at } = this.#parts;
    const { task, candidates } = job;
    let lastError: VendorError | undefined;
    for (const [index, channel] of candidates.slice(0, MAX_TRIES).entries()) {
      const attempt = index + 1;
      if (index > 0 && !(await store.nextAttempt(task.id, index, channel.id, task.hint, clock.now()))) break;
      const sentAt = clock.now();
      const outcome = await this.#try(job, channel);
      if (outcome.kind === 'accepted') return this.#accept(job, { attempt, channel, sentAt }, outcome);
      await attempts.note({ taskId: task.id, attempt, channelId: channel.id, ...toldOf(outcome) });
      if (outcome.kind === 'unknown') return { task, raw: undefined };
      at('after-answer');
      if (outcome.kind === 'refused') {
        lastError = outcome.error;
        channels.report({
          channelId: channel.id,
          model: job.model.id,
          outcome: outcome.error.reason,
          message: outcome.error.message,
          code: outcome.error.code,
          ...(outcome.error.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.error.retryAfterMs }),
        });
        if (!outcome.error.retryable) break;
      } else if (outcome.kind === 'unfit') {
        await endings.fail({ id: task.id, attempt }, outcome.refusal.message, '', { quiet: true });
        throw refusal(outcome.refusal);
      }
    }
    await endings.failAny(task.id, lastError?.message ?? 'no provider could be reached', lastError?.code ?? '', {
      quiet: true,
    });
    throw upstreamFailure(lastError);
  }

  /** One exchange with one channel; every way it can end is named. */
  async #try({ task, request, vendor, model, remixOf }: Job, channel: Channel): Promise<TryOutcome> {
    const { calls, channels, clock, stopping, log, at, ambiguousTtlMs } = this.#parts;
    const call = calls.make(channel, stopping);
    at('before-send');
    // A process that stood still must not begin what another has given up and refunded meanwhile.
    if (clock.now() >= task.created_at + ambiguousTtlMs) return { kind: 'unreachable' };
    try {
      const outcome =
        remixOf?.handle == null || vendor.remix === undefined
          ? await vendor.submit(request, call)
          : await vendor.remix(JSON.parse(remixOf.handle), request, call);
      at('after-send');
      return outcome;
    } catch (error) {
      if (error instanceof VendorRefusal) return { kind: 'unfit', refusal: error };
      if (error instanceof OutboundError) {
        if (error.phase !== 'aborted')
          channels.report({ channelId: channel.id, model: model.id, outcome: 'unreachable', message: error.message });
        log.warn(
          { err: error, taskId: task.id, channelId: channel.id },
          error.mayHaveArrived ? 'the answer to a submit was lost' : 'a channel could not be reached',
        );
        return { kind: error.mayHaveArrived ? 'unknown' : 'unreachable' };
      }
      throw error;
    }
  }

  async #accept(
    { task, vendor, model }: Job,
    { attempt, channel, sentAt }: { readonly attempt: number; readonly channel: Channel; readonly sentAt: number },
    outcome: Accepted,
  ): Promise<Submitted> {
    const { store, database, clock, channels, attempts, endings, log, at, syncPeriodMs } = this.#parts;
    at('after-answer');
    const handle = JSON.stringify(outcome.handle);
    const holder = this.#holderOf(`${channel.id} ${handle}`, { id: task.id, attempt, at: clock.now() });
    if (holder !== undefined) {
      // Both were under way at once, so it may be this task's job as well as that one's: nobody gets a stranger's video.
      if (holder.at >= sentAt)
        await endings.fail(holder, 'the provider answered two requests with one job', 'unconfirmed');
      log.warn({ taskId: task.id, upstreamId: outcome.upstreamId }, "a submit was answered with another task's id");
      return { task, raw: undefined };
    }
    channels.report({ channelId: channel.id, model: model.id, outcome: 'ok' });
    const now = clock.now();
    const passesThrough = vendor.passthrough === true && isPublicId(outcome.upstreamId);
    const public_id = await store.accept(database.kysely, {
      id: task.id,
      attempt,
      public_id: passesThrough ? outcome.upstreamId : task.id,
      handle,
      data: JSON.stringify(cutBase64(outcome.raw)),
      now,
      next: now + syncPeriodMs,
    });
    if (public_id === undefined) {
      log.warn({ taskId: task.id, upstreamId: outcome.upstreamId }, 'a submit was accepted after its task had ended');
      // It may be on the vendor's bill and on nobody's here.
      const message = `accepted as ${outcome.upstreamId} when the task had gone on without it`;
      await attempts.note({ taskId: task.id, attempt, channelId: channel.id, outcome: 'late', code: '', message });
    }
    return {
      task: {
        ...task,
        public_id: public_id ?? task.id,
        status: public_id === undefined ? task.status : TASK_STATUS.SUBMITTED,
        handle,
      },
      raw: outcome.raw,
    };
  }

  /** A cache on the way may give an earlier answer again; the job begun now, if any, is then as good as unanswered. */
  #holderOf(key: string, task: { readonly id: string; readonly attempt: number; readonly at: number }) {
    const holder = this.#handles.get(key);
    if (holder === undefined) this.#handles.set(key, task);
    return holder;
  }
}

interface Job {
  readonly task: NewTaskRow;
  readonly request: VideoRequest;
  readonly vendor: VideoVendor;
  readonly model: ResolvedModel;
  readonly candidates: readonly Channel[];
  readonly remixOf?: Task;
}

type Accepted = Extract<SubmitOutcome, { kind: 'accepted' }>;
export type TryOutcome =
  | SubmitOutcome
  /** Nothing arrived there: another channel may be asked. */
  | { readonly kind: 'unreachable' }
  /** It may have arrived: nobody else is asked, the synchronizer finds out. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unfit'; readonly refusal: VendorRefusal };

type NewTaskRow = Parameters<TaskStore['insert']>[1];

function newTask(from: {
  id: string;
  caller: Asker;
  model: ResolvedModel;
  wish: Wish;
  price: number;
  now: number;
  channelId: number;
  hint: string | null;
  next: number;
  remixedFrom: string | null;
}): NewTaskRow {
  return {
    id: from.id,
    public_id: from.id,
    user_id: from.caller.userId,
    token_id: from.caller.tokenId ?? NO_TOKEN,
    channel_id: from.channelId,
    vendor: from.model.vendor as NewTaskRow['vendor'],
    model: from.model.id,
    upstream_model: from.model.target,
    action: from.remixedFrom === null ? actionOf(from.wish) : 'remix',
    status: TASK_STATUS.NOT_START,
    progress: 0,
    attempt: 1,
    price: from.price,
    prompt: from.wish.prompt,
    request: JSON.stringify(cutBase64(from.wish.body as Json)),
    data: '{}',
    handle: null,
    hint: from.hint,
    artifact: null,
    fail_reason: '',
    error_code: '',
    remixed_from: from.remixedFrom,
    created_at: from.now,
    submit_time: from.now,
    start_time: 0,
    finish_time: 0,
    updated_at: from.now,
    next_poll_at: from.next,
  };
}

const hintOf = (vendor: VideoVendor, request: VideoRequest): string | null =>
  vendor.lookupHint === undefined ? null : JSON.stringify(vendor.lookupHint(request));

const isPublicId = (id: string): boolean => /^[A-Za-z0-9_.:-]{1,128}$/.test(id);

const refusal = (error: VendorRefusal): AppError => invalid(error.message, error.param);

/** What the caller hears when every channel said no. A fault of the channel's own account is ours, and is not told. */
function upstreamFailure(error: VendorError | undefined): AppError {
  if (error === undefined) return new AppError('upstream_unavailable');
  switch (error.reason) {
    case 'auth':
    case 'billing':
    case 'model':
      return new AppError('upstream_error', { log: { upstream: error } });
    case 'rate':
      return new AppError('upstream_unavailable', {
        log: { upstream: error },
        ...(error.retryAfterMs === undefined ? {} : { retryAfterSeconds: error.retryAfterMs / 1000 }),
      });
    case 'capacity':
      return new AppError('upstream_unavailable', { log: { upstream: error } });
    default:
      return error.retryable
        ? new AppError('upstream_error', { log: { upstream: error } })
        : new AppError('upstream_refused', {
            message: error.message,
            ...(error.code === '' ? {} : { publicCode: error.code }),
            ...(error.param === undefined ? {} : { param: error.param }),
          });
  }
}
