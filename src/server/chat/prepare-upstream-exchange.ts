import type { ChatVendor } from '../../contract/channels.ts';
import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import type { Channel, ResolvedModel } from '../channels/directory.ts';
import type { StreamedRequest } from '../platform/outbound/outbound.ts';
import { toUpstreamModelName } from '../upstreams/upstream.ts';
import { ANTHROPIC_MESSAGES_DIALECT } from './anthropic-dialect.ts';
import { type ChatRequest, toUpstreamBody } from './chat-request.ts';
import { findCodec } from './conversion/dialect-codecs.ts';
import type { ToolOrigin } from './conversion/neutral-form.ts';
import { convertRequest } from './conversion/request-conversion.ts';
import { ResponseConversion } from './conversion/response-conversion.ts';
import type { Dialect } from './dialect.ts';
import { GEMINI_DIALECT } from './gemini-dialect.ts';
import { CHAT_DIALECT, RESPONSES_DIALECT } from './openai-endpoint-dialects.ts';
import { outputLimitFor } from './output-limit.ts';
import { applyOptionRules } from './refuse-or-charge-request-options.ts';
import { toRequest, type UpstreamTimeouts } from './upstream-request.ts';

/** One attempt of a call at one channel: what is sent, and in which dialect the response comes. */
export interface UpstreamExchange {
  /** Of the upstream. */
  readonly dialect: Dialect;
  readonly request: StreamedRequest;
  /** Turns the response into the caller's dialect; undefined where both speak the same. */
  readonly conversion: ResponseConversion | undefined;
  /** Paths of the request that the upstream's dialect cannot say and that change nothing. */
  readonly dropped: readonly string[];
}

/** What an attempt needs to know beside the request. */
export interface ExchangeContext {
  readonly timeouts: UpstreamTimeouts;
  /** Of the request. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Turns a response into the other form, stream or body, of the caller's own dialect; undefined where it is not converted. */
export function prepareFormConversion(
  { dialect, model, wantsUsage, body }: ChatRequest,
  { id, nowMs }: Pick<ExchangeContext, 'id' | 'nowMs'>,
): ResponseConversion | undefined {
  const codec = findCodec(dialect);
  if (codec === undefined) return undefined;
  const created = Math.floor(nowMs / 1_000);
  return new ResponseConversion(codec, codec, {
    id,
    model,
    created,
    wantsUsage,
    asked: body,
    origins: freeformTools(body),
  });
}

/** Tools that take one text, which only the Responses have. */
function freeformTools({ tools }: UntrustedObject): ReadonlyMap<string, ToolOrigin> {
  const names = (Array.isArray(tools) ? tools : [])
    .map(asObject)
    .flatMap((tool) => (tool?.type === 'custom' && typeof tool.name === 'string' ? [tool.name] : []));
  return new Map(names.map((name) => [name, { isFreeform: true, namespace: undefined, name }]));
}

/** The dialect that conversions to each kind of upstream go to. */
const UPSTREAM_DIALECTS: Readonly<Record<ChatVendor, Dialect>> = {
  openai: CHAT_DIALECT,
  anthropic: ANTHROPIC_MESSAGES_DIALECT,
  gemini: GEMINI_DIALECT,
};

/**
 * The dialect in which an upstream of a vendor is called for a call in a dialect; undefined where it cannot serve such a call. An OpenAI
 * channel says by its option `responses` whether its upstream has the Responses (true, the default), has not (false), or has nothing else (`only`).
 */
export function upstreamDialect(
  asked: Dialect,
  vendor: string,
  { responses }: { readonly responses?: unknown } = {},
): Dialect | undefined {
  if (asked === RESPONSES_DIALECT && vendor === 'openai' && responses === false) return CHAT_DIALECT;
  if (vendor === 'openai' && responses === 'only' && findCodec(asked) !== undefined) return RESPONSES_DIALECT;
  if (asked.vendor === vendor) return asked;
  const spoken = Object.hasOwn(UPSTREAM_DIALECTS, vendor) ? UPSTREAM_DIALECTS[vendor as ChatVendor] : undefined;
  return spoken === undefined || findCodec(asked) === undefined ? undefined : spoken;
}

/**
 * Prepares an attempt. In one dialect the caller's bytes pass as they are but for the few members that must differ; between two the request
 * is written anew.
 *
 * @throws AppError `invalid_request` for what the upstream's dialect cannot say
 */
export function prepareExchange(
  request: ChatRequest,
  model: ResolvedModel,
  channel: Channel,
  { timeouts, id, nowMs }: ExchangeContext,
): UpstreamExchange {
  const { dialect: asked, forwardedHeaders, wantsUsage } = request;
  const dialect = upstreamDialect(asked, channel.vendor, channel.options) ?? asked;
  const { droppedTools } = applyOptionRules(request.governedOptions, channel);
  const limit = outputLimitFor(request, model.target, channel);
  const upstreamModel = toUpstreamModelName(channel, model);
  const target = {
    path: dialect.upstreamPath?.(upstreamModel, request.stream) ?? dialect.path,
    model: upstreamModel,
  };
  const source = findCodec(dialect);
  const askedCodec = findCodec(asked);
  if (dialect === asked || source === undefined || askedCodec === undefined) {
    const body = toUpstreamBody(request, { model: upstreamModel, limit, droppedTools });
    const sent = toRequest(channel, target, body, timeouts, forwardedHeaders);
    return { dialect, request: sent, conversion: undefined, dropped: [] };
  }
  const codecs = { source: askedCodec, target: source };
  const { body, dropped, origins } = convertRequest(request, codecs, {
    dialect,
    model: upstreamModel,
    channel,
    limit,
    droppedTools,
  });
  const context = {
    id,
    model: request.model,
    created: Math.floor(nowMs / 1_000),
    wantsUsage,
    asked: request.body,
    origins,
  };
  return {
    dialect,
    request: toRequest(channel, target, body, timeouts),
    conversion: new ResponseConversion(source, askedCodec, context),
    dropped,
  };
}
