import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { listOf, textOf } from '../dialect.ts';
import { CHAT_DIALECT } from '../openai-endpoint-dialects.ts';
import { parseUsage, type Usage } from '../parse-usage.ts';
import type { ResponseEvent, Signature, StopReason } from './neutral-form.ts';
import { collectResponse } from './response-collector.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';
import { tagSignature } from './thinking-signatures.ts';

const REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refused',
};
const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  calls: 'tool_calls',
  stop_sequence: 'stop',
  refused: 'content_filter',
};
/** Reasoning that is sent as plain text has no signature; an empty one says that it may go back to upstreams of this dialect. */
const UNSIGNED_REASONING: Signature = { vendor: 'openai', value: '' };

/** Reads a completion, complete or as a stream (platform.openai.com/docs/api-reference/chat-streaming). */
export class OpenAiChatReader implements ResponseReader {
  #hasStarted = false;
  #reason: StopReason | undefined;
  #usage: Usage | undefined;
  #isThinking = false;
  #hasEnded = false;
  /** Calls of the upstream by its index; upstreams that name none number them as they come. */
  readonly #calls = new Map<unknown, number>();

  readComplete(body: UntrustedObject): ResponseEvent[] {
    const [choice] = listOf(body.choices).map(asObject);
    this.#usage = parseUsage(CHAT_DIALECT.findUsage(body));
    return [
      { type: 'start', id: textOf(body.id) },
      ...this.#readMessage(asObject(choice?.message) ?? {}),
      ...this.#readReason(choice),
      ...this.finish(),
    ];
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    this.#usage = parseUsage(CHAT_DIALECT.findUsage(event)) ?? this.#usage;
    const [choice] = listOf(event.choices).map(asObject);
    const events: ResponseEvent[] = this.#hasStarted ? [] : [{ type: 'start', id: textOf(event.id) }];
    this.#hasStarted = true;
    if (choice !== undefined)
      events.push(...this.#readMessage(asObject(choice.delta) ?? {}), ...this.#readReason(choice));
    return events;
  }

  finish(): ResponseEvent[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const reason = this.#reason === 'end' && this.#calls.size > 0 ? 'calls' : (this.#reason ?? 'end');
    return [...this.#endThought(), { type: 'end', reason, stopSequence: undefined, usage: this.#usage }];
  }

  #readReason(choice: UntrustedObject | undefined): ResponseEvent[] {
    const word = textOf(choice?.finish_reason);
    if (word !== '') this.#reason = REASONS[word] ?? 'end';
    return [];
  }

  #readMessage(message: UntrustedObject): ResponseEvent[] {
    const { content, refusal, tool_calls: calls } = message;
    const thought = textOf(message.reasoning_content) || textOf(message.reasoning);
    const events: ResponseEvent[] = [];
    if (thought !== '') {
      this.#isThinking = true;
      events.push({ type: 'thinking', text: thought });
    }
    const text = textOf(content) + textOf(refusal);
    if (text !== '') events.push(...this.#endThought(), { type: 'text', text });
    for (const call of listOf(calls)) events.push(...this.#readCall(asObject(call) ?? {}));
    return events;
  }

  #readCall(call: UntrustedObject): ResponseEvent[] {
    const { name, arguments: args } = asObject(call.function) ?? {};
    const place = call.index ?? call.id;
    const known = this.#calls.get(place);
    const index = known ?? this.#calls.size;
    const events: ResponseEvent[] = known === undefined ? this.#endThought() : [];
    if (known === undefined) {
      this.#calls.set(place, index);
      events.push({ type: 'call', index, id: textOf(call.id), name: textOf(name) });
    }
    if (textOf(args) !== '') events.push({ type: 'args', index, text: textOf(args) });
    return events;
  }

  #endThought(): ResponseEvent[] {
    if (!this.#isThinking) return [];
    this.#isThinking = false;
    return [{ type: 'signature', signature: UNSIGNED_REASONING, isRedacted: false }];
  }
}

function toFigures(usage: Usage | undefined): object {
  const { promptTokens = 0, completionTokens = 0, reasoningTokens = 0, parts = {} } = usage ?? {};
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: parts.cached_input ?? 0,
      cache_write_tokens: (parts.cache_write ?? 0) + (parts.cache_write_1h ?? 0),
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** A thought with its signature, in the form OpenRouter has for it. */
const toDetail = (text: string, signature: Signature, isRedacted: boolean, index: number): object =>
  isRedacted
    ? { type: 'reasoning.encrypted', data: tagSignature(signature), index }
    : { type: 'reasoning.text', text, signature: tagSignature(signature), index };

/** A complete completion from its events. */
export function writeOpenAiChatResponse(
  events: readonly ResponseEvent[],
  { id, model, created }: ResponseContext,
): object {
  const { blocks, end } = collectResponse(events);
  const thoughts = blocks.filter((block) => block.type === 'thinking');
  const calls = blocks.filter((block) => block.type === 'call');
  const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const details = thoughts.flatMap(({ text: thought, signature, isRedacted }, index) =>
    signature === undefined || signature.value === '' ? [] : [toDetail(thought, signature, isRedacted, index)],
  );
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    reasoning_content: thoughts.length === 0 ? undefined : thoughts.map((thought) => thought.text).join(''),
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.args } })),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: WORDS[end.reason] };
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created,
    model,
    choices: [choice],
    usage: toFigures(end.usage),
    system_fingerprint: null,
  };
}

/** Writes the chunks of a stream. */
export class OpenAiChatStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  #thought = '';
  #thoughts = 0;

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start':
        return this.#delta({ role: 'assistant', content: '' });
      case 'text':
        return this.#delta({ content: event.text });
      case 'thinking':
        this.#thought += event.text;
        return this.#delta({ reasoning_content: event.text });
      case 'signature': {
        const text = this.#thought;
        this.#thought = '';
        if (event.signature.value === '') return '';
        return this.#delta({
          reasoning_details: [toDetail(text, event.signature, event.isRedacted, this.#thoughts++)],
        });
      }
      case 'call': {
        const { index, id, name } = event;
        return this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      }
      case 'args':
        return this.#delta({ tool_calls: [{ index: event.index, function: { arguments: event.text } }] });
      case 'end': {
        const usage = this.#context.wantsUsage ? this.#chunk([], { usage: toFigures(event.usage) }) : '';
        return `${this.#delta({}, WORDS[event.reason])}${usage}data: [DONE]\n\n`;
      }
    }
  }

  #delta(delta: object, reason: string | null = null): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }]);
  }

  #chunk(choices: readonly object[], more: object = {}): string {
    const { id, model, created } = this.#context;
    const base = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model, system_fingerprint: null };
    const chunk = { ...base, choices, ...more };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}
