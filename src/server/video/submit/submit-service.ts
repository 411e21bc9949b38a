import { priceCall } from '../../../contract/price-calls-and-videos.ts';
import { UnpricedError } from '../../../contract/pricing.ts';
import type { Channel, ChannelDirectory, ResolvedModel } from '../../channels/directory.ts';
import type { FindPlanTerms } from '../../plans/catalog.ts';
import { AppError, invalidRequest, modelNotAllowedError, noPriceError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { ModelCaller } from '../../platform/http/request-context.ts';
import { type ApiKeyLimiter, tooManyTasksError } from '../../platform/limits/key-limiter.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import type { Allowances, Ledger } from '../../quota/ledger.ts';
import type { Tables, Trx } from '../../tables.ts';
import { UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { Json, VendorAdapter, VideoRequest } from '../../vendors/adapter.ts';
import type { VendorRegistry } from '../../vendors/registry.ts';
import type { UrlCheck } from '../../webhooks/url-check.ts';
import type { OnFaultPoint } from '../fault-points.ts';
import type { ClaimKeyInTransaction } from '../idempotency/claim-key-in-transaction-type.ts';
import type { IdempotencyClaim } from '../idempotency/idempotency-key-and-request-hash.ts';
import type { Idempotency } from '../idempotency/run-submit-once.ts';
import { type NewTask, newTaskRow } from '../new-task-row.ts';
import { NO_TOKEN } from '../tables.ts';
import { formatTerms, type TaskTerms } from '../task-charge-and-log-detail.ts';
import type { Task, TaskStore } from '../task-store.ts';
import { truncateBase64 } from '../truncate-base64.ts';
import type { AttemptRunner } from './attempt-runner.ts';
import type { ChannelTaskLimitStore } from './channel-task-limit-store.ts';
import { droppedPaths, toDroppedHeader } from './dropped-fields.ts';
import { actionOf, type GenerationRequest, toVideoRequest } from './generation-request.ts';
import { declaresArgument, pickRequestArguments } from './pick-request-arguments-by-media-schema.ts';
import { toPriceFacts } from './price-facts.ts';
import type { MediaUse } from './request-pictures.ts';
import type { SubmitResult } from './submitted-task-and-vendor-response.ts';

export interface SubmitServiceDependencies {
  readonly tracing: Tracing;
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly quota: Ledger;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly channels: Pick<ChannelDirectory, 'model' | 'candidates' | 'byId'>;
  readonly vendors: VendorRegistry;
  readonly idempotency: Idempotency;
  readonly attempts: AttemptRunner;
  readonly places: ChannelTaskLimitStore;
  readonly keyLimiter: Pick<ApiKeyLimiter, 'admit'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly checkCallbackUrl: UrlCheck;
  readonly clock: Clock;
  readonly newTaskId: () => string;
  readonly syncPeriodMs: number;
  readonly faultPoint: OnFaultPoint;
}

export type AddHeaders = (headers: Readonly<Record<string, string>>) => void;

/** Who submits: a token with its limits, or, without one, a person in the console. */
export type SubmitCaller = Pick<ModelCaller, 'userId' | 'models' | 'limits'> & { readonly tokenId?: number };

export interface SubmitOptions {
  /** The Idempotency-Key of the request, if any. */
  readonly idempotency?: IdempotencyClaim | undefined;
  readonly remixOf?: Task | undefined;
  /** User-Agent of the request. */
  readonly client?: string | undefined;
  /** Takes headers of the response: what is left of the key's limits, and what of the request reaches no vendor. */
  readonly addHeaders?: AddHeaders | undefined;
}

/** A request that was checked and priced, and can be submitted. */
interface PreparedSubmit {
  readonly model: ResolvedModel;
  readonly adapter: VendorAdapter;
  readonly request: VideoRequest;
  readonly price: number;
  /** What the price came from. */
  readonly terms: TaskTerms;
  /** Paths of the body that reach no vendor. */
  readonly dropped: readonly string[];
  /** Ids of the channels the account's plan permits; undefined: all. */
  readonly permitted: ReadonlySet<number> | undefined;
}

/** What is kept of the name a caller gives itself. */
const MAX_CLIENT_LENGTH = 64;

/** Starts videos: checks and prices the request, reserves the quota, stores the task, and has it sent. */
export class SubmitService {
  readonly #dependencies: SubmitServiceDependencies;
  constructor(dependencies: SubmitServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError when the video was not started; nothing is charged then */
  async submit(
    caller: SubmitCaller,
    request: GenerationRequest,
    { idempotency, ...origin }: SubmitOptions = {},
  ): Promise<SubmitResult> {
    if (idempotency === undefined) return this.#start(caller, request, origin);
    return this.#dependencies.idempotency.runOnce(idempotency, (claimKey) =>
      this.#start(caller, request, origin, claimKey),
    );
  }

  /**
   * What the request would cost, in quota, and why.
   * @throws AppError for whatever a submit would refuse before it reserves
   */
  async quote(
    caller: SubmitCaller,
    request: GenerationRequest,
    addHeaders?: AddHeaders,
  ): Promise<{ readonly price: number; readonly terms: TaskTerms; readonly model: string }> {
    const { id } = await this.#modelFor(caller, request.model);
    const permitted = await this.#dependencies.allowances.permittedModels(caller.userId);
    if (permitted?.has(id) === false) throw modelNotAllowedError(id);
    const { price, terms, dropped } = await this.#prepare(caller, request, 'quote');
    addHeaders?.(toDroppedHeader(dropped));
    return { price, terms, model: id };
  }

  async #start(
    caller: SubmitCaller,
    generation: GenerationRequest,
    { remixOf, client = '', addHeaders }: Omit<SubmitOptions, 'idempotency'>,
    claimKey?: ClaimKeyInTransaction,
  ): Promise<SubmitResult> {
    const { attempts, newTaskId, faultPoint } = this.#dependencies;
    const id = newTaskId();
    const prepared = await this.#prepare(caller, generation, id, remixOf);
    const { model, adapter, request } = prepared;
    const candidates = await this.#candidates(prepared, remixOf);
    const toTask = (channel: Channel): NewTask => ({
      ...this.#newTask(caller, generation, prepared, channel, remixOf),
      client: client.slice(0, MAX_CLIENT_LENGTH),
    });
    addHeaders?.(toDroppedHeader(prepared.dropped));
    await this.#admit(caller, addHeaders);
    for (const [index, channel] of candidates.entries()) {
      const task = toTask(channel);
      if (!(await this.#begin(caller, task, channel, claimKey))) continue;
      faultPoint('after-reserve');
      return attempts.run({ task, request, adapter, model, candidates: candidates.slice(index), remixOf });
    }
    throw channelsFullError();
  }

  /** Reserves the quota and stores the task. @returns false where the channel has become full; nothing has changed then */
  #begin(caller: SubmitCaller, task: NewTask, channel: Channel, claimKey?: ClaimKeyInTransaction): Promise<boolean> {
    const { database, quota, store, places } = this.#dependencies;
    return database.transaction(async (trx) => {
      if (!(await places.take(trx, channel))) return false;
      const { userId, tokenId } = caller;
      await this.#assertMayBegin(trx, caller);
      await quota.reserve(trx, { ref: task.id, userId, tokenId, model: task.model, amount: task.price });
      if (!(await store.insert(trx, task)))
        throw invalidRequest('external_task_id is taken by another task.', 'external_task_id');
      await claimKey?.(trx, task.id);
      return true;
    });
  }

  async #admit({ tokenId, limits }: SubmitCaller, addHeaders: SubmitOptions['addHeaders']): Promise<void> {
    if (tokenId === undefined || limits === undefined) return;
    const use = { format: 'openai', tokens: undefined } as const;
    addHeaders?.((await this.#dependencies.keyLimiter.admit({ tokenId, limits }, use)).headers);
  }

  /** Counts the unfinished tasks in the transaction that adds one. */
  async #assertMayBegin(trx: Trx, { tokenId, limits }: SubmitCaller): Promise<void> {
    const limit = limits?.concurrentTasks;
    if (tokenId === undefined || limit === undefined) return;
    if ((await this.#dependencies.store.countOpen(trx, tokenId)) >= limit) throw tooManyTasksError(limit);
  }

  async #prepare(
    caller: SubmitCaller,
    generation: GenerationRequest,
    taskId: string,
    remixOf?: Task,
  ): Promise<PreparedSubmit> {
    const { callbackUrl } = generation;
    if (callbackUrl !== undefined) this.#dependencies.checkCallbackUrl(callbackUrl, 'callback_url');
    const model = await this.#modelFor(caller, generation.model);
    if (generation.officialVendor !== undefined && generation.officialVendor !== model.vendor)
      throw invalidRequest(`${generation.model} is no model of this vendor; ask for it in another format.`, 'model');
    // An alias may point to another vendor by now, which does not have the original.
    if (remixOf !== undefined && remixOf.vendor !== model.vendor) throw new AppError('remix_unsupported');
    const adapter = this.#dependencies.vendors.get(model.vendor);
    const extraFields = pickRequestArguments(model.inputSchema, generation);
    const request = toVideoRequest(
      generation,
      { taskId, model: model.target, extraFields },
      toMediaUse(model, adapter),
    );
    const plan = await this.#dependencies.findPlanTerms(caller.userId);
    const dropped = droppedPaths(generation, model.inputSchema, adapter);
    const priced = priceOf(model, adapter, request, plan?.factor);
    return { model, adapter, request, dropped, permitted: plan?.channels, ...priced };
  }

  async #modelFor(caller: SubmitCaller, id: string): Promise<ResolvedModel> {
    const model = await this.#dependencies.channels.model(id);
    if (model === undefined || model.kind !== 'video')
      throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    if (caller.models.length > 0 && !caller.models.includes(id)) throw modelNotAllowedError(id);
    return model;
  }

  /** @throws AppError `upstream_unavailable` where there is none, or all are full */
  async #candidates(prepared: PreparedSubmit, remixOf: Task | undefined): Promise<readonly Channel[]> {
    const all = await this.#serving(prepared, remixOf);
    if (all.length === 0) throw new AppError('upstream_unavailable');
    const candidates = await this.#dependencies.places.withRoom(all);
    if (candidates.length === 0) throw channelsFullError();
    return candidates;
  }

  /** A remix can only be served by the account that holds the original. */
  async #serving({ model, permitted }: PreparedSubmit, remixOf: Task | undefined): Promise<readonly Channel[]> {
    const { channels } = this.#dependencies;
    if (remixOf === undefined) return channels.candidates(model, permitted);
    const holder =
      remixOf.channel_id === null ? undefined : await channels.byId(remixOf.channel_id, remixOf.credential_id);
    return holder === undefined ? [] : [holder];
  }

  #newTask(
    caller: SubmitCaller,
    generation: GenerationRequest,
    { model, adapter, request, price, terms }: PreparedSubmit,
    channel: Channel,
    remixOf: Task | undefined,
  ): NewTask {
    const { clock, syncPeriodMs } = this.#dependencies;
    const now = clock.now();
    const hint = findTaskHint(adapter, request);
    return newTaskRow({
      id: request.taskId,
      user_id: caller.userId,
      token_id: caller.tokenId ?? NO_TOKEN,
      channel_id: channel.id,
      credential_id: channel.credentialId,
      vendor: adapter.name,
      model: model.id,
      upstream_model: model.target,
      action: remixOf === undefined ? actionOf(request) : 'remix',
      price,
      pricing: formatTerms(terms),
      prompt: generation.prompt,
      request: JSON.stringify(truncateBase64(generation.body as Json)),
      find_task_hint: hint === undefined ? null : JSON.stringify(hint),
      remixed_from: remixOf?.id ?? null,
      external_id: generation.externalId ?? null,
      callback_url: generation.callbackUrl ?? null,
      traceparent: this.#dependencies.tracing.current() ?? null,
      created_at: now,
      next_poll_at: now + syncPeriodMs,
    });
  }
}

/** Seconds after which a caller may ask again: some task has ended by then, as a rule. */
const FULL_RETRY_SECONDS = 10;

/** Every account that serves the model has as many unfinished tasks as its channel permits. */
const channelsFullError = (): AppError =>
  new AppError('upstream_unavailable', { messageKey: 'channels_full', retryAfterSeconds: FULL_RETRY_SECONDS });

function toMediaUse({ id, target, inputSchema }: ResolvedModel, adapter: VendorAdapter): MediaUse {
  return {
    model: id,
    capability: adapter.models.find((each) => each.id === target),
    isDeclared: (field) => declaresArgument(inputSchema, field),
    passthrough: adapter.passthrough === true,
  };
}

/** What an adapter throws for a video its vendor does not make is the caller's mistake. */
const toRefusal = (error: unknown): unknown =>
  error instanceof UnsupportedRequestError ? invalidRequest(error.message, error.param) : error;

/** @throws AppError where the vendor has no such video */
function findTaskHint(adapter: VendorAdapter, request: VideoRequest): Json | undefined {
  try {
    return adapter.findTaskHint?.(request);
  } catch (error) {
    throw toRefusal(error);
  }
}

function priceOf(
  { price }: ResolvedModel,
  adapter: VendorAdapter,
  request: VideoRequest,
  planFactor = 1,
): { price: number; terms: TaskTerms } {
  try {
    const own = toPriceFacts(price, adapter, request);
    const facts = planFactor === 1 ? own : { ...own, plan_factor: planFactor };
    return { price: priceCall(price, facts).quota, terms: { price, facts } };
  } catch (error) {
    if (error instanceof UnpricedError) throw noPriceError();
    if (error instanceof RangeError) throw invalidRequest('The request is too large to be priced.');
    throw toRefusal(error);
  }
}
