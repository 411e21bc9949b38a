import type { Static } from 'typebox';
import { leftOf } from '../../contract/amounts.ts';
import { waysOf } from '../../contract/generation-ways.ts';
import { defined } from '../../contract/objects.ts';
import type { Quote } from '../../contract/own-videos.ts';
import { priceCall, UnpricedError } from '../../contract/pricing.ts';
import { toReceiptLines } from '../../contract/request-log.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { IMAGE_FIELDS } from '../../contract/video.ts';
import type { Channel, ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import type { FindPlanTerms, PlanTerms } from '../plans/plan-store.ts';
import { AppError, invalidRequest, modelNotAllowedError, noPriceError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { ModelCaller, Owner, RequestContext } from '../platform/http/route-registry.ts';
import { type ApiKeyLimiter, tooManyTasksError, toQuotaHeaders } from '../platform/limits/rate-limits.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Allowances, Ledger } from '../quota/ledger.ts';
import type { SpendLimitState } from '../quota/spend-limits.ts';
import type { Tables, Trx } from '../tables.ts';
import { toUpstreamModelName, UnsupportedRequestError } from '../upstreams/upstream.ts';
import type { Json, ModelCapability, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { UrlCheck } from '../webhooks/endpoints.ts';
import {
  type AttemptRunner,
  type ChannelTaskLimitStore,
  servingChannels,
  type TaskLimitStore,
  type TaskLimits,
} from './attempts.ts';
import { toDroppedHeader, unknownPaths, unusedPaths, withUsedMetadata, withUsedSize } from './dropped-fields.ts';
import {
  actionOf,
  assertFiles,
  assertOffered,
  declaresArgument,
  type GenerationRequest,
  pickRequestArguments,
  toCallerError,
  toPriceFacts,
  toVideoRequest,
} from './generation-request.ts';
import {
  type ClaimKeyInTransaction,
  type Idempotency,
  type IdempotencyClaim,
  toIdempotencyClaim,
} from './idempotency.ts';
import { findDraft, type InputResolver, withUploads } from './input-resolver.ts';
import { type Lane, toHeldRequest } from './queue-store.ts';
import type { MediaUse } from './request-media.ts';
import { NO_TOKEN } from './tables.ts';
import type { OnFaultPoint } from './task-completion.ts';
import { channelsKey, laneOf, type TaskQueue } from './task-queue.ts';
import {
  formatTerms,
  type NewTask,
  newTaskRow,
  type SubmitResult,
  type Task,
  type TaskStore,
  type TaskTerms,
  toSubmitResult,
  truncateBase64,
} from './task-store.ts';
import type { ModelChoice } from './video-models.ts';

interface SubmitServiceDependencies {
  readonly tracing: Tracing;
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly quota: Ledger;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly channels: Pick<ChannelDirectory, 'model' | 'candidates' | 'abandonTrial' | 'prospects' | 'byId'>;
  readonly vendors: VendorRegistry;
  readonly idempotency: Idempotency;
  readonly inputs: Pick<InputResolver, 'resolve' | 'download'>;
  readonly modelChoice: Pick<ModelChoice, 'assertOffers'>;
  readonly attempts: AttemptRunner;
  readonly slots: ChannelTaskLimitStore;
  readonly limits: TaskLimitStore;
  readonly queue: TaskQueue;
  readonly keyLimiter: Pick<ApiKeyLimiter, 'admit'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly findPlanLevel: (userId: number) => Promise<number>;
  readonly checkCallbackUrl: UrlCheck;
  readonly clock: Clock;
  readonly newTaskId: () => string;
  readonly syncPeriodMs: number;
  readonly faultPoint: OnFaultPoint;
}

/** Arguments of the transaction that stores a task. */
interface Reservation {
  readonly caller: SubmitCaller;
  /** Without a channel. */
  readonly task: NewTask;
  readonly limits: TaskLimits;
  readonly claimKey: ClaimKeyInTransaction | undefined;
  readonly addHeaders: AddHeaders | undefined;
}

/** A submit for which a limit leaves no slot. */
interface WaitingSubmit {
  readonly prepared: PreparedSubmit;
  readonly candidates: readonly Channel[];
  readonly remixOf: Task | undefined;
}

type AddHeaders = (headers: Readonly<Record<string, string>>) => void;

/** The caller of a submit: a token with its limits, or, without a token, a person in the console. */
type SubmitCaller = Pick<ModelCaller, 'userId' | 'actorId' | 'models' | 'limits'> & { readonly tokenId?: number };

interface SubmitOptions {
  /** The claim of the request's Idempotency-Key, if any. */
  readonly idempotency?: IdempotencyClaim;
  /** Runs in the transaction that reserves the quota, in place of an Idempotency-Key; may throw to refuse the submit. */
  readonly claim?: ClaimKeyInTransaction;
  readonly remixOf?: Task;
  /** User-Agent of the request. */
  readonly client?: string;
  /** Adds response headers: the remaining limits of the key, and the parts of the request that reach no vendor. */
  readonly addHeaders?: AddHeaders;
}

/** A validated and priced request, ready to be submitted. */
interface PreparedSubmit {
  readonly model: ResolvedModel;
  readonly adapter: VendorAdapter;
  readonly capability: ModelCapability | undefined;
  readonly request: VideoRequest;
  readonly price: number;
  /** The terms behind the price. */
  readonly terms: TaskTerms;
  /** Paths of the body that reach no vendor, whatever the channel. */
  readonly dropped: readonly string[];
  readonly plan: PlanTerms | undefined;
  /** The video that is edited or extended, where it was made here; the draft of a final video. */
  readonly source: Task | undefined;
}

/** Characters kept of the caller's User-Agent. */
const MAX_CLIENT_LENGTH = 64;

/** Starts videos: validates and prices the request, reserves the quota, stores the task and sends it. */
export class SubmitService {
  readonly #dependencies: SubmitServiceDependencies;
  constructor(dependencies: SubmitServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError if the video was not started; nothing is charged then */
  async submit(
    caller: SubmitCaller,
    request: GenerationRequest,
    { idempotency, claim, ...origin }: SubmitOptions = {},
  ): Promise<SubmitResult> {
    const start = (claimKey?: ClaimKeyInTransaction) => this.#start(caller, request, origin, claimKey);
    const result = await (idempotency === undefined
      ? start(claim)
      : this.#dependencies.idempotency.runOnce(idempotency, start));
    origin.addHeaders?.(toDroppedHeader(result.dropped ?? []));
    return result;
  }

  /**
   * The cost of the request, in quota, and the price it is based on.
   * @throws AppError for every reason a submit would refuse before it reserves
   */
  async quote(
    caller: SubmitCaller,
    request: GenerationRequest,
    addHeaders?: AddHeaders,
  ): Promise<{ readonly price: number; readonly terms: TaskTerms; readonly model: string }> {
    const { id } = await this.#modelFor(caller, request.model);
    const permitted = await this.#dependencies.allowances.permittedModels(caller.userId);
    if (permitted?.has(id) === false) throw modelNotAllowedError(id);
    const prepared = await this.#prepare(caller, request, 'quote');
    const { price, terms } = prepared;
    const channels = await this.#prospects(prepared);
    const sendable = channels.length > 0 ? assertSendable(prepared, channels) : [];
    addHeaders?.(toDroppedHeader(droppedOver(sendable, prepared)));
    return { price, terms, model: id };
  }

  async #start(
    caller: SubmitCaller,
    generation: GenerationRequest,
    { remixOf, client = '', addHeaders }: Omit<SubmitOptions, 'idempotency' | 'claim'>,
    claimKey?: ClaimKeyInTransaction,
  ): Promise<SubmitResult> {
    const { attempts, channels, newTaskId, faultPoint, limits } = this.#dependencies;
    const id = newTaskId();
    const prepared = await this.#prepare(caller, generation, id, remixOf);
    const { model, adapter, plan } = prepared;
    const serving = await this.#serving(prepared, remixOf);
    if (serving.length === 0) throw new AppError('upstream_unavailable');
    let isTried = false;
    try {
      const all = remixOf === undefined ? assertSendable(prepared, serving) : serving;
      const task: NewTask = {
        ...this.#newTask(caller, generation, prepared, remixOf),
        client: client.slice(0, MAX_CLIENT_LENGTH),
      };
      addHeaders?.(toDroppedHeader(prepared.dropped));
      await this.#admit(caller, addHeaders);
      const request = await this.#download(prepared);
      const bounds = await limits.limitsOf(caller, plan);
      const reservation = { caller, task, limits: bounds, claimKey, addHeaders };
      const lane = await this.#findWaiting(task, all, bounds);
      const begun = lane === undefined ? await this.#begin(reservation, all) : { lane };
      if ('lane' in begun) {
        if (generation.queue === false) throw refusalOf(begun.lane, bounds);
        const waiting = { prepared: { ...prepared, request }, candidates: all, remixOf };
        const queued = await this.#wait(reservation, waiting, begun.lane);
        return { ...queued, dropped: droppedOver(all, prepared) };
      }
      faultPoint('after-reserve');
      isTried = begun.candidates[0] === serving[0];
      const { candidates } = begun;
      const result = await attempts.run({ task: begun.task, request, adapter, model, candidates, remixOf });
      const used = candidates.filter(({ id }) => id === result.channelId);
      return { ...result, dropped: droppedOver(used, prepared) };
    } finally {
      if (!isTried) channels.abandonTrial(serving);
    }
  }

  /** The lane in which earlier videos already wait, which a new one must not overtake. */
  async #findWaiting(task: NewTask, candidates: readonly Channel[], { account, key }: TaskLimits) {
    const isBounded =
      account.concurrent !== undefined ||
      key.concurrent !== undefined ||
      candidates.some(({ maxConcurrentTasks }) => maxConcurrentTasks !== undefined);
    return isBounded ? this.#dependencies.queue.findWaiting(task) : undefined;
  }

  /** Starts the task on the first channel with room. @returns the lane to wait in if there is none */
  async #begin(
    reservation: Reservation,
    all: readonly Channel[],
  ): Promise<{ readonly task: NewTask; readonly candidates: readonly Channel[] } | { readonly lane: Lane }> {
    const { clock, syncPeriodMs, slots } = this.#dependencies;
    const candidates = await slots.withRoom(all);
    for (const [index, channel] of candidates.entries()) {
      const assigned = { channel_id: channel.id, credential_id: channel.credentialId };
      const task = { ...reservation.task, ...assigned, next_poll_at: clock.now() + syncPeriodMs };
      const exceeded = await this.#reserve({ ...reservation, task }, channel);
      if (exceeded === undefined) return { task, candidates: candidates.slice(index) };
      if (exceeded !== 'vendor') return { lane: laneOf(exceeded, task) };
    }
    return { lane: laneOf('vendor', reservation.task) };
  }

  /**
   * Reserves the quota and stores the task.
   * @returns the limit that has been reached; nothing has changed then
   */
  #reserve(reservation: Reservation, channel: Channel): Promise<'vendor' | 'account' | 'key' | undefined> {
    const { database, slots, limits: counts } = this.#dependencies;
    const { caller, limits } = reservation;
    return database.transaction(async (trx) => {
      if (!(await slots.take(trx, channel))) return 'vendor';
      const exceeded = await counts.findExceeded(trx, caller, limits);
      if (exceeded === undefined) await this.#store(trx, reservation);
      return exceeded;
    });
  }

  async #store(
    trx: Trx,
    { caller: { userId, actorId, tokenId }, task, claimKey, addHeaders }: Reservation,
  ): Promise<void> {
    const { quota, store, clock } = this.#dependencies;
    const onSpendLimits = (limits: readonly SpendLimitState[]): void =>
      addHeaders?.(toQuotaHeaders('openai', limits, clock.now()));
    const payer = { userId, actorId, tokenId };
    await quota.reserve(trx, { ref: task.id, ...payer, model: task.model, amount: task.price, onSpendLimits });
    if (!(await store.insert(trx, task)))
      throw invalidRequest('external_task_id is taken by another task.', 'external_task_id');
    await claimKey?.(trx, task.id);
  }

  /**
   * Reserves the quota and lets the task wait.
   * @throws AppError `queue_full`
   */
  async #wait(
    reservation: Reservation,
    { prepared, candidates, remixOf }: WaitingSubmit,
    lane: Lane,
  ): Promise<SubmitResult> {
    const { database, queue, findPlanLevel, faultPoint } = this.#dependencies;
    const { caller, task, limits } = reservation;
    const { request, adapter, source } = prepared;
    const isHolder = remixOf !== undefined || (request.sourceHandle !== undefined && source !== undefined);
    const queued = {
      task_id: task.id,
      user_id: task.user_id,
      token_id: task.token_id,
      vendor: adapter.name,
      model: task.model,
      lane,
      channels: channelsKey(candidates, isHolder),
      level: await findPlanLevel(caller.userId),
      created_at: task.created_at,
    };
    const held = await toHeldRequest(request);
    await database.transaction(async (trx) => {
      await queue.hold(trx, queued, held, limits);
      await this.#store(trx, reservation);
    });
    faultPoint('after-reserve');
    queue.wake(task);
    const position = await queue.positionOf(task);
    return defined({ ...toSubmitResult(task, null), queue: position });
  }

  /** Inputs that the vendor takes only by value are loaded before anything is reserved, because that may fail. */
  async #download({ request, adapter, capability }: PreparedSubmit): Promise<VideoRequest> {
    const loaded = await this.#dependencies.inputs.download(request, adapter, capability);
    if (capability !== undefined && loaded !== request) assertFiles(loaded, capability);
    return loaded;
  }

  async #admit({ tokenId, limits }: SubmitCaller, addHeaders: SubmitOptions['addHeaders']): Promise<void> {
    if (tokenId === undefined || limits === undefined) return;
    const use = { format: 'openai', tokens: undefined } as const;
    addHeaders?.((await this.#dependencies.keyLimiter.admit({ tokenId, limits }, use)).headers);
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
      throw invalidRequest(`${generation.model} is not a model of this vendor; request it in another format.`, 'model');
    // An alias may have been pointed to another vendor, which does not have the original.
    if (remixOf !== undefined && remixOf.vendor !== model.vendor) throw new AppError('remix_unsupported');
    const adapter = this.#dependencies.vendors.get(model.vendor);
    const { operation = 'generate', metadata } = generation;
    const { store, clock } = this.#dependencies;
    const search = { metadata, owner: caller, adapter, model: model.id, now: clock.now() };
    const draft = await findDraft(store, search);
    // The final video has the prompt of its draft.
    const isPromptOptional = draft !== undefined || generation.isPromptOptional === true;
    const extraFields = pickRequestArguments(model.inputSchema, { ...generation, isPromptOptional });
    const use = toMediaUse(model, adapter);
    if (operation !== 'generate') await this.#dependencies.modelChoice.assertOffers(operation, use);
    // Files that the model has no place for are not measured.
    const named = { taskId, model: model.target, prompt: '', images: [], metadata, extraFields, operation };
    const inputs = await this.#dependencies.inputs.resolve(
      { ...generation, metadata: withUsedMetadata(named, adapter).metadata },
      caller,
      { model: model.id, operation, capability: use.capability },
      { adapter, price: model.price },
    );
    const typed = toVideoRequest(
      generation,
      { taskId, model: model.target, extraFields },
      use,
      inputs,
      adapter.promptName,
    );
    const held = draft === undefined ? withSourceHandle(typed, inputs.source, adapter) : { ...typed, ...draft.request };
    const offered = withUsedMetadata(withUploads(held, adapter), adapter);
    translate(offered, () => assertOffered(offered, adapter, use.listed));
    const request = withUsedSize(offered, adapter, use.listed);
    const plan = await this.#dependencies.findPlanTerms(caller.userId, model);
    const dropped = [
      ...(draft !== undefined && generation.prompt !== '' ? ['prompt'] : []),
      ...unknownPaths(generation, model.inputSchema, adapter),
      ...unusedPaths(held, adapter),
      ...(request.size === offered.size ? [] : ['size']),
    ];
    const priced = priceOf(model, adapter, request, plan?.factor);
    const source = draft?.task ?? inputs.source;
    return { model, adapter, capability: use.listed, request, dropped, plan, source, ...priced };
  }

  async #modelFor(caller: SubmitCaller, id: string): Promise<ResolvedModel> {
    const model = await this.#dependencies.channels.model(id);
    if (model === undefined || model.kind !== 'video')
      throw new AppError('model_not_found', { params: { model: id }, param: 'model' });
    if (caller.models.length > 0 && !caller.models.includes(id)) throw modelNotAllowedError(id);
    return model;
  }

  /**
   * A remix, and a change of a video by its id at the vendor, can only be served by the account that holds the original.
   */
  async #serving(
    { model, plan, request, source }: PreparedSubmit,
    remixOf: Task | undefined,
  ): Promise<readonly Channel[]> {
    const original = remixOf ?? (request.sourceHandle === undefined ? undefined : source);
    return servingChannels(this.#dependencies.channels, model, plan?.channels, original);
  }

  /** The channels that could serve the request, for its price: as `#serving`, but none is about to be called. */
  async #prospects({ model, plan, request, source }: PreparedSubmit): Promise<readonly Channel[]> {
    const { channels } = this.#dependencies;
    const original = request.sourceHandle === undefined ? undefined : source;
    return original === undefined
      ? channels.prospects(model, plan?.channels)
      : servingChannels(channels, model, plan?.channels, original);
  }

  #newTask(
    caller: SubmitCaller,
    generation: GenerationRequest,
    { model, adapter, request, price, terms, source }: PreparedSubmit,
    remixOf: Task | undefined,
  ): NewTask {
    const { clock } = this.#dependencies;
    const now = clock.now();
    const hint = translate(request, () => adapter.findTaskHint?.(request));
    return newTaskRow({
      id: request.taskId,
      user_id: caller.userId,
      actor_id: caller.actorId ?? null,
      token_id: caller.tokenId ?? NO_TOKEN,
      channel_id: null,
      vendor: adapter.name,
      model: model.id,
      upstream_model: model.target,
      action: remixOf === undefined ? actionOf(request) : 'remix',
      price,
      pricing: formatTerms(terms),
      prompt: generation.prompt || (request.draft === undefined ? '' : (source?.prompt ?? '')),
      request: JSON.stringify(truncateBase64(generation.body as Json)),
      find_task_hint: hint === undefined ? null : JSON.stringify(hint),
      remixed_from: remixOf?.id ?? source?.id ?? null,
      external_id: generation.externalId ?? null,
      callback_url: generation.callbackUrl ?? null,
      traceparent: this.#dependencies.tracing.current() ?? null,
      created_at: now,
      next_poll_at: null,
    });
  }
}

/** Seconds until a caller may retry; by then some task has usually ended. */
const FULL_RETRY_SECONDS = 10;

/** Every account that serves the model has reached its channel's limit on unfinished tasks. */
const channelsFullError = (): AppError =>
  new AppError('upstream_unavailable', { messageKey: 'channels_full', retryAfterSeconds: FULL_RETRY_SECONDS });

/** The error for a submit that must not wait. */
const refusalOf = (lane: Lane, { account, key }: TaskLimits): AppError =>
  lane.startsWith('vendor:')
    ? channelsFullError()
    : tooManyTasksError((lane.startsWith('key:') ? key.concurrent : account.concurrent) ?? 0);

/** An unlisted model has the ways inferred from its name; only the vendor checks the rest. */
function toMediaUse(
  { id, target, inputSchema }: ResolvedModel,
  adapter: VendorAdapter,
): MediaUse & { readonly listed: ModelCapability | undefined } {
  const listed = adapter.models.find((each) => each.id === target);
  return {
    model: id,
    listed,
    capability: listed ?? waysOf(adapter.unlistedWays(target)),
    isDeclared: (field) => declaresArgument(inputSchema, field),
    passthrough: adapter.passthrough === true,
  };
}

/** A vendor that returns its own objects keeps the videos it generated, so that a change can name one by its id. */
function withSourceHandle(request: VideoRequest, source: Task | undefined, adapter: VendorAdapter): VideoRequest {
  const isHeld = source?.vendor === adapter.name && adapter.passthrough === true && source.handle !== null;
  return isHeld ? { ...request, sourceHandle: JSON.parse(source.handle ?? 'null') as Json } : request;
}

/** Maps an adapter's error for a video its vendor does not support to a caller error. */
const toRefusal = (error: unknown, request: VideoRequest): unknown =>
  error instanceof UnsupportedRequestError ? toCallerError(error, request) : error;

/** @throws AppError if the vendor does not support such a video */
function translate<T>(request: VideoRequest, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toRefusal(error, request);
  }
}

/**
 * The channels over which the request can be sent.
 * @throws AppError if there is none
 */
function assertSendable(
  { adapter, model, request }: Pick<PreparedSubmit, 'adapter' | 'model' | 'request'>,
  channels: readonly Channel[],
): readonly Channel[] {
  let refusal: UnsupportedRequestError | undefined;
  const sendable = channels.filter((channel) => {
    try {
      adapter.assertSendable?.({ ...request, model: toUpstreamModelName(channel, model) }, channel);
      return true;
    } catch (error) {
      if (!(error instanceof UnsupportedRequestError)) throw error;
      refusal ??= error;
      return false;
    }
  });
  if (sendable.length === 0 && refusal !== undefined) throw toRefusal(refusal, request);
  return sendable;
}

/** Paths of the body that reach no vendor over at least one of the channels. */
const droppedOver = (
  channels: readonly Channel[],
  { adapter, model, request, dropped }: PreparedSubmit,
): readonly string[] => {
  const unused = channels.flatMap((channel) =>
    unusedPaths({ ...request, model: toUpstreamModelName(channel, model) }, adapter, channel),
  );
  return [...new Set([...dropped, ...unused])];
};

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
    throw toRefusal(error, request);
  }
}

const isImageField = (field: string): boolean => (IMAGE_FIELDS as readonly string[]).includes(field);

/** An edit and an extension may have the same body. */
const changeOf = ({ operation = 'generate' }: GenerationRequest): readonly string[] =>
  operation === 'generate' ? [] : [operation];

/**
 * Submits for a token, once per Idempotency-Key if the request has one. Two requests are the same when they remix the
 * same video, call the same operation of the same vendor, and have the same body, byte for byte, or the same form.
 */
export function submitForToken(
  submitter: SubmitService,
  caller: ModelCaller,
  generation: GenerationRequest,
  request: RequestContext,
  remixOf?: Task,
): Promise<SubmitResult> {
  const idempotency = toIdempotencyClaim(caller.tokenId, request.headers['idempotency-key'], () => [
    JSON.stringify([
      remixOf?.public_id,
      generation.officialVendor,
      generation.officialOperation,
      ...changeOf(generation),
    ]),
    request.rawBody ?? JSON.stringify(generation.body),
    // The field names of the other parts determine their meaning, so the names are hashed too.
    ...request.files.flatMap(({ field, bytes }) => (isImageField(field) ? [bytes] : [field, bytes])),
  ]);
  return submitter.submit(caller, generation, {
    idempotency,
    remixOf,
    client: request.headers['user-agent'],
    addHeaders: (headers) => request.setResponseHeaders(headers),
  });
}

/** Submits for a person in the console, on the account itself, without a token and its limits. */
export function submitForAccount(
  submitter: Pick<SubmitService, 'submit'>,
  owner: Owner,
  generation: GenerationRequest,
  request: Pick<RequestContext, 'headers' | 'rawBody' | 'setResponseHeaders'>,
): Promise<SubmitResult> {
  const { userId, actorId } = owner;
  // Tokens have positive ids, so the negated account id is a scope of its own.
  const claim = toIdempotencyClaim(-userId, request.headers['idempotency-key'], () => [
    request.rawBody ?? JSON.stringify(generation.body),
  ]);
  // Keys sent by clients contain no space, so members of an organization never share one.
  const idempotency = claim && (actorId === undefined ? claim : { ...claim, key: `${actorId} ${claim.key}` });
  const client = request.headers['user-agent'];
  return submitter.submit({ ...owner, models: [] }, generation, {
    idempotency,
    client,
    addHeaders: (headers) => request.setResponseHeaders(headers),
  });
}

/** Quotes the price of a video without submitting it. */
export class PriceQuoteService {
  readonly #submitter: Pick<SubmitService, 'quote'>;
  readonly #outlook: Pick<AffordableCallCounts, 'of'>;
  constructor(submitter: Pick<SubmitService, 'quote'>, outlook: Pick<AffordableCallCounts, 'of'>) {
    this.#submitter = submitter;
    this.#outlook = outlook;
  }

  /** @throws AppError for every reason a submit would refuse before it reserves */
  async quote(
    caller: SubmitCaller,
    request: GenerationRequest,
    addHeaders?: AddHeaders,
  ): Promise<Static<typeof Quote>> {
    const { price, terms, model } = await this.#submitter.quote(caller, request, addHeaders);
    const outlook = await this.#outlook.of(caller, price);
    return {
      quota: price,
      model,
      facts: terms.facts,
      lines: toReceiptLines(terms.price, terms.facts, price),
      affordable: outlook.now === undefined || outlook.now > 0,
      from_allowance: outlook.fromAllowance,
      from_wallet: price - outlook.fromAllowance,
      how_many_now: outlook.now ?? null,
      how_many_today: outlook.today ?? null,
      balance: outlook.balance,
      windows: outlook.windows.map(({ kind, limit, left, endsAt, howMany }) => ({
        kind,
        limit,
        left,
        full_again: toSeconds(endsAt),
        how_many: howMany ?? null,
      })),
      key_left: outlook.keyLeft ?? null,
      spend_limits: outlook.spendLimits.map((limit) => ({
        of: limit.of,
        amount: limit.amount,
        period: limit.period,
        spent: limit.spent,
        left: leftOf(limit),
        renews_at: toSeconds(limit.renewsAt),
      })),
    };
  }
}
