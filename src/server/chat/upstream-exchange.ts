import type { Channel, ResolvedModel } from '../channels/channel-directory.ts';
import type { ConfiguredRequest } from '../platform/outbound/outbound.ts';
import { upstreamModelOf } from '../upstreams/model-name.ts';
import { type ChatRequest, toUpstreamBody } from './chat-request.ts';
import { toRequest, type UpstreamTimeouts } from './chat-upstream.ts';
import type { Dialect } from './dialect.ts';
import { applyOptionRules } from './option-rules.ts';
import { outputLimitFor } from './output-limit.ts';

/** One attempt of a call at one channel: what is sent, and in which dialect the response comes. */
export interface UpstreamExchange {
  readonly dialect: Dialect;
  readonly request: ConfiguredRequest;
}

/** Prepares an attempt; the caller's bytes pass as they are but for the few members that must differ. */
export function prepareExchange(
  request: ChatRequest,
  model: ResolvedModel,
  channel: Channel,
  timeouts: UpstreamTimeouts,
): UpstreamExchange {
  const body = toUpstreamBody(request, {
    model: upstreamModelOf(channel, model),
    limit: outputLimitFor(request, model.target, channel),
    droppedTools: applyOptionRules(request.governedOptions, channel).droppedTools,
  });
  const { dialect, passedHeaders } = request;
  return { dialect, request: toRequest(channel, dialect.path, body, timeouts, passedHeaders) };
}
