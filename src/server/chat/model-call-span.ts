import type { Channel, ResolvedModel } from '../channels/directory.ts';
import type { SpanAttributes, SpanOptions } from '../platform/tracing/tracing.ts';
import type { ChatRequest } from './chat-request.ts';
import { EMBEDDINGS_DIALECT, IMAGES_DIALECT } from './openai-endpoint-dialects.ts';
import type { Usage } from './parse-usage.ts';

/** The span of one attempt at an upstream, named as OpenTelemetry's conventions for generative AI have it. No prompt is in it. */
export function modelCallSpan(
  { dialect }: ChatRequest,
  { id, target }: ResolvedModel,
  channel: Channel,
  parent: string | undefined,
): SpanOptions {
  const operation =
    dialect === EMBEDDINGS_DIALECT ? 'embeddings' : dialect === IMAGES_DIALECT ? 'generate_content' : 'chat';
  return {
    name: `${operation} ${target}`,
    kind: 'client',
    parent,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': channel.vendor,
      'gen_ai.request.model': target,
      'server.address': new URL(channel.baseUrl).hostname,
      'reelgate.channel.id': channel.id,
      ...(id === target ? {} : { 'reelgate.model': id }),
    },
  };
}

export const usageAttributes = ({ promptTokens, completionTokens }: Usage): SpanAttributes => ({
  'gen_ai.usage.input_tokens': promptTokens,
  'gen_ai.usage.output_tokens': completionTokens,
});
