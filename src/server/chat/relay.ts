import { defined } from '../../contract/objects.ts';
import { type ChatPrice, findPricedSize, isChatPrice, UnpricedError } from '../../contract/pricing.ts';
import type { Channel, ResolvedModel } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import { AppError, isAppError, modelNotAllowedError, noPriceError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { type Admission, type ApiKeyLimiter, type LimitedKey, toQuotaHeaders } from '../platform/limits/rate-limits.ts';
import { toSunsetHeaders } from '../platform/sunset-headers.ts';
import type { RequestLog } from '../request-log/request-log.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  CallCharge,
  type ChargeBatcher,
  type PerImagePrice,
  perImageQuota,
  toCallDetail,
  USUAL_BYTES_PER_TOKEN,
} from './charge.ts';
import type { ClientResponse } from './client-response.ts';
import { CHAT_DIALECT, EMBEDDINGS_DIALECT, IMAGES_DIALECT } from './dialects.ts';
import type { ImageTaskRelay } from './image-tasks.ts';
import { ModelCall, type ModelCallDependencies } from './model-call.ts';
import { applyOptionRules, NO_VERDICT, refusedOption } from './options.ts';
import { type ChatRequest, cacheAffinityKey, reservedOutputTokens, wrongModelKind } from './request.ts';
import { prepareExchange, type UpstreamExchange, upstreamDialect } from './upstream.ts';

interface RelayDependencies extends Omit<ModelCallDependencies, 'streams' | 'loggedReasons'> {
  readonly batcher: ChargeBatcher;
  readonly imageRelay: ImageTaskRelay;
  readonly vendors: Pick<VendorRegistry, 'find' | 'isChat'>;
  readonly clock: Clock;
  readonly keyLimiter: Pick<ApiKeyLimiter, 'admit'>;
  readonly findPlanTerms: FindPlanTerms;
  readonly requestLog: Pick<RequestLog, 'addRefused'>;
}

const TICK_MS = 1_000;
/** Maximum length of a model's name. */
const MAX_LOGGED_MODEL_LENGTH = 200;

/** Serves model calls: checks permission, determines the price and chooses the channels. */
export class Relay {
  readonly #dependencies: RelayDependencies;
  readonly #callDependencies: ModelCallDependencies;
  readonly #streams = new Set<ModelCall>();
  readonly #ticker: NodeJS.Timeout;

  constructor(dependencies: RelayDependencies) {
    this.#dependencies = dependencies;
    this.#callDependencies = {
      ...dependencies,
      loggedReasons: new Set(),
      streams: this.#streams,
    };
    this.#ticker = setInterval(
      () => {
        const now = performance.now();
        for (const call of this.#streams) call.tick(now);
      },
      Math.min(TICK_MS, dependencies.keepAliveMs),
    );
    this.#ticker.unref();
  }

  /**
   * Resolves when the call is in progress; its response is sent through `clientResponse`.
   *
   * @throws AppError `model_not_found`, `model_not_allowed`, `quota_not_enough`, `upstream_unavailable` …: nothing is
   * reserved
   */
  async serve(caller: ModelCaller, request: ChatRequest, clientResponse: ClientResponse): Promise<void> {
    try {
      await this.#begin(caller, request, clientResponse);
    } catch (error) {
      this.#logRefusal(caller, request, clientResponse, error);
      throw error;
    }
  }

  async #begin(caller: ModelCaller, request: ChatRequest, clientResponse: ClientResponse): Promise<void> {
    const prepared = await this.prepare(caller, request);
    const { channels } = this.#dependencies;
    try {
      const call = await this.#start(caller, request, clientResponse, prepared);
      if (call?.wasSent === false) channels.abandonTrial(prepared.serving);
    } catch (error) {
      channels.abandonTrial(prepared.serving);
      throw error;
    }
  }

  /** @returns undefined for an image of a video vendor, which has no `ModelCall` */
  async #start(
    caller: ModelCaller,
    request: ChatRequest,
    clientResponse: ClientResponse,
    { model, candidates, surcharge, droppedTools, planFactor, serving }: PreparedCall,
  ): Promise<ModelCall | undefined> {
    const { batcher, imageRelay, vendors, clock, channels } = this.#dependencies;
    if (candidates.length === 0) throw new AppError('upstream_unavailable');
    if (model.retirement !== undefined) clientResponse.setHeaders(toSunsetHeaders(model.retirement));
    const price = this.#determinePrice(model, request, planFactor);
    const { ref, client, begunAt } = clientResponse;
    const outputTokens = reservedOutputTokens(request, model.target, candidates);
    const admission = caller.limits && (await this.#admit({ ...caller, limits: caller.limits }, request, outputTokens));
    if (admission !== undefined) clientResponse.setHeaders(admission.headers);
    const charge = new CallCharge({
      batcher,
      request,
      ref,
      price,
      surcharge,
      planFactor,
      admission,
      onSpendLimits: (limits) => clientResponse.setHeaders(toQuotaHeaders(request.dialect.vendor, limits, clock.now())),
      model,
      client,
      begunAt,
      log: this.#dependencies.log,
    });
    try {
      const images = vendors.find(model.vendor)?.images;
      if (images !== undefined) {
        clientResponse.setDropped(droppedTools.map((index) => `tools.${index}`));
        await imageRelay.serve(caller, { request, clientResponse, charge, model, candidates }, images);
        return undefined;
      }
      // Anything the upstream's dialect cannot express is refused before quota is reserved.
      const { firstExchange, candidates: able } = this.#prepareFirst(request, clientResponse, model, candidates);
      if (able[0] !== serving[0]) channels.abandonTrial(serving);
      await charge.reserve(caller, model.id, outputTokens);
      const context = { request, clientResponse, charge, model, candidates: able, firstExchange };
      const call = new ModelCall(this.#callDependencies, context);
      call.start();
      return call;
    } catch (error) {
      admission?.end(0);
      throw error;
    }
  }

  /**
   * Prepares the call for the first channel whose dialect can express it: those of one model may differ.
   *
   * @returns the exchange, and the channels from that one on
   * @throws AppError `invalid_request` if none can, for the first one
   */
  #prepareFirst(
    request: ChatRequest,
    { id }: ClientResponse,
    model: ResolvedModel,
    candidates: readonly Channel[],
  ): { readonly firstExchange: UpstreamExchange; readonly candidates: readonly Channel[] } {
    const { timeouts, clock } = this.#dependencies;
    let refusal: unknown;
    for (const [index, channel] of candidates.entries())
      try {
        const firstExchange = prepareExchange(request, model, channel, { timeouts, id, nowMs: clock.now() });
        return { firstExchange, candidates: candidates.slice(index) };
      } catch (error) {
        if (!isAppError(error, 'invalid_request')) throw error;
        refusal ??= error;
      }
    throw refusal;
  }

  /**
   * Admits a call by a key with limits; calls by other keys are not even counted.
   * @throws AppError `rate_limit_exceeded`
   */
  #admit(key: LimitedKey, { estimatedPromptTokens, dialect }: ChatRequest, outputTokens: number): Promise<Admission> {
    const promptTokens = Math.ceil(estimatedPromptTokens / USUAL_BYTES_PER_TOKEN);
    const use = { format: dialect.vendor, tokens: Math.max(1, promptTokens + outputTokens) };
    return this.#dependencies.keyLimiter.admit(key, use);
  }

  /**
   * The most that a call can cost, in quota; nothing is reserved or sent.
   *
   * @throws AppError for every reason a call is refused before it reserves
   */
  async quote(caller: ModelCaller, request: ChatRequest): Promise<number> {
    const { batcher, log } = this.#dependencies;
    const { model, candidates, surcharge, planFactor } = await this.prepare(caller, request, 'quote');
    const price = this.#determinePrice(model, request, planFactor);
    const terms = { batcher, request, ref: '', price, surcharge, planFactor, admission: undefined, model, log };
    const charge = new CallCharge({ ...terms, client: '', begunAt: 0, onSpendLimits: () => {} });
    return charge.maximum(reservedOutputTokens(request, model.target, candidates));
  }

  /**
   * Determines which channels may serve a call; nothing is reserved or sent.
   *
   * @param purpose a call may become the trial of a half-open circuit, a quote never does
   * @throws AppError `model_not_found`, `model_not_allowed`, `upstream_unavailable`, `invalid_request`
   */
  async prepare(caller: ModelCaller, request: ChatRequest, purpose: 'call' | 'quote' = 'call'): Promise<PreparedCall> {
    const { channels, findPlanTerms } = this.#dependencies;
    const model = await channels.model(request.model);
    if (model === undefined)
      throw new AppError('model_not_found', { params: { model: request.model }, param: 'model' });
    this.#assertServes(model, caller, request);
    const terms = await findPlanTerms(caller.userId, model);
    const serving = await (purpose === 'call'
      ? channels.candidates(model, terms?.channels, () => cacheAffinityKey(request))
      : channels.prospects(model, terms?.channels));
    if (serving.length === 0) throw await this.#noChannelError(model, terms?.channels);
    try {
      const permitting = permittingChannels(request, serving);
      if (permitting.candidates[0] !== serving[0]) channels.abandonTrial(serving);
      return { model, planFactor: terms?.factor ?? 1, serving, ...permitting };
    } catch (error) {
      channels.abandonTrial(serving);
      throw error;
    }
  }

  /** The error if no channel can be used: the plan excludes the channels of the model, or the model has none. */
  async #noChannelError(model: ResolvedModel, permitted: ReadonlySet<number> | undefined): Promise<AppError> {
    const all = permitted === undefined ? [] : await this.#dependencies.channels.listModels();
    return all.some(({ id }) => id === model.id)
      ? modelNotAllowedError(model.id)
      : new AppError('upstream_unavailable');
  }

  /** Logs a refusal. A model that does not exist is logged as chat because its kind is unknown. */
  #logRefusal(
    { userId, actorId, tokenId }: ModelCaller,
    request: ChatRequest,
    { ref, client, begunAt }: ClientResponse,
    error: unknown,
  ): void {
    const model = request.model.slice(0, MAX_LOGGED_MODEL_LENGTH);
    const errorCode = error instanceof AppError ? error.code : 'internal_error';
    const origin = { model: { target: '', kind: 'chat' as const }, client, begunAt };
    const detail = toCallDetail(request, origin, { status: 'failed', errorCode, channelId: 0 });
    this.#dependencies.requestLog.addRefused({ ref, userId, actorId: actorId ?? null, tokenId, model, detail });
  }

  /** Number of responses being streamed to their callers. */
  get openStreams(): number {
    return [...this.#streams].filter((call) => call.isStreaming).length;
  }

  /** Stops calls that still wait for an upstream's usage; all callers have disconnected by now. */
  close(): void {
    clearInterval(this.#ticker);
    for (const call of this.#streams) call.disconnected(false);
  }

  /** @throws AppError `model_not_allowed` or, for a model of another kind, `invalid_request` */
  #assertServes(model: ResolvedModel, caller: ModelCaller, { model: id, dialect }: ChatRequest): void {
    const { vendors } = this.#dependencies;
    if (caller.models.length > 0 && !caller.models.includes(id)) throw modelNotAllowedError(id);
    const makesImages =
      vendors.find(model.vendor)?.images !== undefined &&
      model.kind === 'image' &&
      (dialect === CHAT_DIALECT || dialect === IMAGES_DIALECT);
    const isChat =
      dialect.vendor === model.vendor
        ? model.kind !== 'video' && !(model.kind === 'image' && dialect === EMBEDDINGS_DIALECT)
        : model.kind === 'chat' && upstreamDialect(dialect, model.vendor) !== undefined;
    if (!makesImages && !isChat) throw wrongModelKind(id, model.kind);
  }

  /** Models with a token price are charged by tokens, images by the piece. */
  #determinePrice(
    { price }: ResolvedModel,
    { body, dialect }: ChatRequest,
    planFactor: number,
  ): ChatPrice | PerImagePrice {
    if (isChatPrice(price)) return price;
    const { quality, n } = body;
    const size = findPricedSize(price, body.size);
    const factors = defined({ size, quality: typeof quality === 'string' ? quality : undefined });
    const count = dialect.hasChoiceCount && typeof n === 'number' ? n : 1;
    const pieces = { price, factors, count, planFactor };
    assertPriced(pieces);
    return pieces;
  }
}

/**
 * Checks that the price covers the requested images.
 * @throws AppError `invalid_request` where the price has no line for these images
 */
function assertPriced(pieces: PerImagePrice): void {
  try {
    perImageQuota(pieces, pieces.count);
  } catch (error) {
    throw error instanceof UnpricedError ? noPriceError() : error;
  }
}

/** The model and the channels of a call that nothing was reserved for yet. */
interface PreparedCall extends ChannelsPermittingOptions {
  readonly model: ResolvedModel;
  readonly planFactor: number;
  /** All channels that serve the model, as the directory returned them. */
  readonly serving: readonly Channel[];
}

/** The channels that may serve a request, with the effects of their option rules. */
interface ChannelsPermittingOptions {
  readonly candidates: readonly Channel[];
  /** The largest surcharge of any of these channels, in whole quota; the one that serves the call may ask for less. */
  readonly surcharge: number;
  /** Indexes of the tools the first channel leaves out. */
  readonly droppedTools: readonly number[];
}

/**
 * The channels whose rules permit the request, with the surcharge and the omissions of those rules.
 *
 * @throws AppError `invalid_request` that names the option, where no channel permits it
 */
export function permittingChannels(
  { governedOptions }: ChatRequest,
  serving: readonly Channel[],
): ChannelsPermittingOptions {
  if (governedOptions.length === 0) return { candidates: serving, ...NO_VERDICT };
  const verdicts = serving.map((channel) => ({ channel, verdict: applyOptionRules(governedOptions, channel) }));
  const permitted = verdicts.filter(({ verdict }) => verdict.refused === undefined);
  const [first] = verdicts;
  if (permitted.length === 0 && first?.verdict.refused !== undefined) throw refusedOption(first.verdict.refused);
  return {
    candidates: permitted.map(({ channel }) => channel),
    surcharge: Math.max(0, ...permitted.map(({ verdict }) => verdict.surcharge)),
    droppedTools: permitted[0]?.verdict.droppedTools ?? [],
  };
}
