import type { UntrustedObject } from '../../../contract/is-object.ts';
import { asObject } from '../../../contract/is-object.ts';
import type { Usage } from '../parse-usage.ts';
import { toMarkdown } from './generated-media.ts';
import type { GeneratedMedia, Signature, StopReason } from './neutral-form.ts';
import { readFreeformArguments, toCallItem } from './openai-responses-tools.ts';
import type { ResponseContext } from './response-reader-and-writer.ts';
import { tagSignature } from './thinking-signatures.ts';

/** What a response holds, in the form of its items (platform.openai.com/docs/api-reference/responses/object). */

/** An item, or one that has begun. */
export type Item = Readonly<Record<string, unknown>>;

const toItemId = (prefix: string, { id }: ResponseContext, index: number): string => `${prefix}_${id}_${index}`;

export const toTextPart = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });

export const toMessageItem = (context: ResponseContext, index: number, text: string | undefined): Item => ({
  id: toItemId('msg', context, index),
  type: 'message',
  role: 'assistant',
  status: text === undefined ? 'in_progress' : 'completed',
  content: text === undefined ? [] : [toTextPart(text)],
});

export const toSummaryPart = (text: string): object => ({ type: 'summary_text', text });

/** The signature is the vendor's own, or tagged with its vendor; an empty one of OpenAI's says that the reasoning was sent as plain text. */
const toEncryptedContent = (signature: Signature): string =>
  signature.vendor === 'openai' && signature.value !== '' ? signature.value : tagSignature(signature);

export const toReasoningItem = (
  context: ResponseContext,
  index: number,
  text: string,
  signature: Signature | undefined,
): Item => ({
  id: toItemId('rs', context, index),
  type: 'reasoning',
  summary: text === '' ? [] : [toSummaryPart(text)],
  encrypted_content: signature === undefined ? undefined : toEncryptedContent(signature),
});

/** An image as the tool that generates them gives it; other media, and URLs, stand in a message. */
export const toMediaItem = (context: ResponseContext, index: number, media: GeneratedMedia): Item =>
  media.data !== undefined && media.mediaType.startsWith('image/')
    ? {
        id: toItemId('ig', context, index),
        type: 'image_generation_call',
        status: 'completed',
        result: media.data,
        output_format: media.mediaType.slice('image/'.length),
      }
    : toMessageItem(context, index, toMarkdown(media));

/** @param args undefined: they are still to come */
export function toFunctionItem(
  context: ResponseContext,
  index: number,
  { id, name }: { readonly id: string; readonly name: string },
  args: string | undefined,
): Item {
  const origin = context.origins.get(name);
  const isFreeform = origin?.isFreeform === true;
  const input = isFreeform ? { input: readFreeformArguments(args ?? '') } : { arguments: args ?? '' };
  return {
    id: toItemId(isFreeform ? 'ctc' : 'fc', context, index),
    status: args === undefined ? 'in_progress' : 'completed',
    ...toCallItem(origin, name),
    call_id: id,
    ...input,
  };
}

/** The members of a response that do not change while it is made; typed clients read all of them. */
export function toBase({ id, model, created, asked }: ResponseContext): object {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    model,
    background: false,
    completed_at: null,
    error: null,
    frequency_penalty: 0,
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: asked.max_tool_calls ?? null,
    metadata: asked.metadata ?? {},
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...asObject(asked.reasoning) },
    safety_identifier: asked.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: asked.temperature ?? 1,
    text: asked.text ?? { format: { type: 'text' } },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_logprobs: 0,
    top_p: asked.top_p ?? 1,
    truncation: 'disabled',
    user: asked.user ?? null,
  };
}

const INCOMPLETE: Readonly<Partial<Record<StopReason, string>>> = {
  length: 'max_output_tokens',
  refused: 'content_filter',
};

/** How a response ended. */
export function toEnd(reason: StopReason, output: readonly Item[], usage: Usage | undefined): UntrustedObject {
  const why = INCOMPLETE[reason];
  return {
    status: why === undefined ? 'completed' : 'incomplete',
    incomplete_details: why === undefined ? null : { reason: why },
    output,
    usage: toFigures(usage),
  };
}

function toFigures(usage: Usage | undefined): object {
  const { promptTokens = 0, completionTokens = 0, reasoningTokens = 0, parts = {} } = usage ?? {};
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      cached_tokens: parts.cached_input ?? 0,
      cache_write_tokens: (parts.cache_write ?? 0) + (parts.cache_write_1h ?? 0),
    },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}
