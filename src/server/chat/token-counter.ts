import { asObject } from '../../contract/objects.ts';
import type { Channel, ChannelDirectory } from '../channels/directory.ts';
import { AppError } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import { toAccountIds, toUpstreamModelName } from '../upstreams/upstream.ts';
import { withoutForeignParts } from './conversion/foreign-parts.ts';
import type { Dialect } from './dialects.ts';
import { applyOptionRules } from './options.ts';
import type { Relay } from './relay.ts';
import { type ChatRequest, estimateImageTokens, toUpstreamBody } from './request.ts';
import {
  parseUpstreamError,
  toConnectionFailure,
  toRequest,
  type UpstreamFailure,
  type UpstreamTimeouts,
} from './upstream.ts';
import { countTokens, extractPrompt, TOKENS_PER_MESSAGE } from './usage.ts';

interface TokenCounterDependencies {
  readonly relay: Pick<Relay, 'prepare'>;
  readonly outbound: OutboundClient;
  readonly channels: ChannelDirectory;
  readonly timeouts: UpstreamTimeouts;
}

interface TokenCount {
  readonly tokens: number;
  /** `estimate`: counted locally, with a tokenizer that is not the model's. */
  readonly source: 'upstream' | 'estimate';
}

/** Response header that says whether the upstream counted, or this service with a tokenizer that is not the model's. */
export const COUNT_SOURCE_HEADER = 'x-reelgate-token-count';

const MAX_ATTEMPTS = 3;
const MAX_WAIT_MS = 30_000;
/** Many upstreams of these dialects have no such endpoint, or have it only for some models (Bedrock, Bifrost). */
const NO_COUNT_STATUSES: ReadonlySet<number> = new Set([404, 405, 501]);
const NO_COUNT_MESSAGE = /(?:not|n't) support(?:ed)?\b.*\bcount|\bcount.*(?:not|n't) supported\b/is;

/**
 * Counts the tokens of a request: at the upstream if it speaks the caller's dialect and can count, otherwise locally.
 * Free of charge.
 */
export class TokenCounter {
  readonly #dependencies: TokenCounterDependencies;

  constructor(dependencies: TokenCounterDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError like the call itself */
  async count(caller: ModelCaller, request: ChatRequest): Promise<TokenCount> {
    const { model, candidates } = await this.#dependencies.relay.prepare(caller, request, 'quote');
    const { count } = request.dialect;
    if (count === undefined || model.vendor !== request.dialect.vendor) return estimate(request);
    let failure = new AppError('upstream_unavailable');
    for (const channel of candidates.slice(0, MAX_ATTEMPTS)) {
      const found = await this.#ask(channel, count, request, {
        id: model.id,
        target: model.target,
        userId: caller.userId,
      });
      if (!('outcome' in found)) return found;
      failure = found.error;
      if (!found.retryable) break;
    }
    throw failure;
  }

  async #ask(
    channel: Channel,
    count: NonNullable<Dialect['count']>,
    request: ChatRequest,
    { userId, ...model }: { readonly id: string; readonly target: string; readonly userId: number },
  ): Promise<TokenCount | UpstreamFailure> {
    const { outbound, channels, timeouts } = this.#dependencies;
    const { droppedTools } = applyOptionRules(request.governedOptions, channel);
    const upstreamModel = toUpstreamModelName(channel, model);
    const path = count.path(upstreamModel);
    const { request: own } = withoutForeignParts(request, upstreamModel);
    const body = toUpstreamBody(own, { model: upstreamModel, limit: undefined, droppedTools });
    const sent = toRequest(channel, { path, model: upstreamModel }, body, timeouts, request.forwardedHeaders);
    const startedAt = performance.now();
    const report = (outcome: UpstreamFailure['outcome'] | 'ok', message = '', code = ''): void =>
      channels.report({
        ...toAccountIds(channel),
        model: model.id,
        userId,
        operation: 'count',
        durationMs: performance.now() - startedAt,
        outcome,
        message,
        code,
      });
    try {
      const { status, headers, text, json } = await outbound.requestJson({ ...sent, totalTimeoutMs: MAX_WAIT_MS });
      const tokens = asObject(json)?.[count.key];
      if (status === 200 && typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) {
        report('ok');
        return { tokens, source: 'upstream' };
      }
      const failure = parseUpstreamError(channel, path, status, headers, text);
      if (NO_COUNT_STATUSES.has(status) || NO_COUNT_MESSAGE.test(failure.message)) {
        report('ok');
        return await estimate(request);
      }
      report(failure.outcome, failure.message, failure.code);
      return failure;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      const failure = toConnectionFailure(error);
      report(failure.outcome, failure.message, failure.code);
      return failure;
    }
  }
}

async function estimate({ body, dialect }: ChatRequest): Promise<TokenCount> {
  const { text, imageCount } = extractPrompt(body);
  const prompt = body[dialect.promptKey];
  const frames = (Array.isArray(prompt) ? prompt.length : 1) * TOKENS_PER_MESSAGE;
  return { tokens: (await countTokens(text)) + estimateImageTokens(imageCount) + frames, source: 'estimate' };
}
