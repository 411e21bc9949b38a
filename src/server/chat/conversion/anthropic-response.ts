import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { ANTHROPIC_MESSAGES_DIALECT } from '../anthropic-dialect.ts';
import { listOf, textOf } from '../dialect.ts';
import { mergeFigures } from '../find-and-merge-usage.ts';
import { parseUsage, type Usage } from '../parse-usage.ts';
import type { ResponseEvent, StopReason } from './neutral-form.ts';
import { collectResponse } from './response-collector.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';
import { readSignature, tagSignature } from './thinking-signatures.ts';

const REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  pause_turn: 'end',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'calls',
  stop_sequence: 'stop_sequence',
  refusal: 'refused',
};
const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  stop_sequence: 'stop_sequence',
  refused: 'refusal',
};

const toReason = (word: unknown): StopReason => REASONS[textOf(word)] ?? 'end';

/** Reads a message, complete or as a stream (docs.claude.com/en/docs/build-with-claude/streaming). */
export class AnthropicReader implements ResponseReader {
  #figures: UntrustedObject | undefined;
  #stop: UntrustedObject = {};
  /** Calls begun, and the number of the block each stands in. */
  readonly #calls = new Map<unknown, number>();
  #hasEnded = false;

  readComplete(body: UntrustedObject): ResponseEvent[] {
    const blocks = listOf(body.content).map((block) => asObject(block) ?? {});
    const events = blocks.flatMap((block, index) => this.#readBlock(block, index));
    this.#figures = ANTHROPIC_MESSAGES_DIALECT.findUsage(body);
    this.#stop = body;
    return [{ type: 'start', id: textOf(body.id) }, ...events, this.#end()];
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    const figures = ANTHROPIC_MESSAGES_DIALECT.findUsage(event);
    if (figures !== undefined) this.#figures = mergeFigures(this.#figures, figures);
    switch (event.type) {
      case 'message_start':
        return [{ type: 'start', id: textOf(asObject(event.message)?.id) }];
      case 'content_block_start':
        return this.#readBlock(asObject(event.content_block) ?? {}, event.index);
      case 'content_block_delta':
        return this.#readDelta(asObject(event.delta) ?? {}, event.index);
      case 'message_delta':
        this.#stop = asObject(event.delta) ?? {};
        return [];
      case 'message_stop':
        return [this.#end()];
      default:
        return [];
    }
  }

  finish(): ResponseEvent[] {
    return this.#hasEnded ? [] : [this.#end()];
  }

  /** A block of a complete message, or one that begins empty in a stream. */
  #readBlock(block: UntrustedObject, place: unknown): ResponseEvent[] {
    const { type, text, thinking, input } = block;
    if (type === 'text') return text === '' ? [] : [{ type: 'text', text: textOf(text) }];
    if (type === 'thinking') {
      const events: ResponseEvent[] = thinking === '' ? [] : [{ type: 'thinking', text: textOf(thinking) }];
      return [...events, ...this.#readSignature(block.signature, false)];
    }
    if (type === 'redacted_thinking') return this.#readSignature(block.data, true);
    if (type !== 'tool_use') return [];
    const index = this.#calls.size;
    this.#calls.set(place, index);
    const call: ResponseEvent = { type: 'call', index, id: textOf(block.id), name: textOf(block.name) };
    const args = asObject(input) ?? {};
    return Object.keys(args).length === 0 ? [call] : [call, { type: 'args', index, text: JSON.stringify(args) }];
  }

  #readDelta(
    { type, text, thinking, partial_json: json, signature }: UntrustedObject,
    place: unknown,
  ): ResponseEvent[] {
    if (type === 'text_delta') return [{ type: 'text', text: textOf(text) }];
    if (type === 'thinking_delta') return [{ type: 'thinking', text: textOf(thinking) }];
    if (type === 'signature_delta') return this.#readSignature(signature, false);
    if (type !== 'input_json_delta' || json === '') return [];
    return [{ type: 'args', index: this.#calls.get(place) ?? 0, text: textOf(json) }];
  }

  #readSignature(text: unknown, isRedacted: boolean): ResponseEvent[] {
    const signature = readSignature(text, 'anthropic');
    return signature === undefined ? [] : [{ type: 'signature', signature, isRedacted }];
  }

  #end(): ResponseEvent {
    this.#hasEnded = true;
    const { stop_reason: reason, stop_sequence: sequence } = this.#stop;
    const stopSequence = typeof sequence === 'string' ? sequence : undefined;
    return { type: 'end', reason: toReason(reason), stopSequence, usage: parseUsage(this.#figures) };
  }
}

/** Figures as Anthropic gives them: the input without what was read from or written to a cache. */
function toFigures(usage: Usage | undefined): object {
  const { cached_input: read = 0, cache_write: short = 0, cache_write_1h: long = 0 } = usage?.parts ?? {};
  return {
    input_tokens: (usage?.promptTokens ?? 0) - read - short - long,
    cache_creation_input_tokens: short + long,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    output_tokens: usage?.completionTokens ?? 0,
    output_tokens_details: { thinking_tokens: usage?.reasoningTokens ?? 0 },
    service_tier: 'standard',
  };
}

const toMessage = ({ id, model }: ResponseContext) => ({ id: `msg_${id}`, type: 'message', role: 'assistant', model });

/** A complete message from its events. */
export function writeAnthropicResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  return {
    ...toMessage(context),
    content: blocks.map((block) => {
      if (block.type === 'text') return { type: 'text', text: block.text, citations: null };
      if (block.type === 'call') return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
      const signature = block.signature === undefined ? '' : toOwn(block.signature);
      return block.isRedacted
        ? { type: 'redacted_thinking', data: signature }
        : { type: 'thinking', thinking: block.text, signature };
    }),
    stop_reason: WORDS[end.reason],
    stop_sequence: end.stopSequence ?? null,
    usage: toFigures(end.usage),
  };
}

const toOwn = (signature: Parameters<typeof tagSignature>[0]): string =>
  signature.vendor === 'anthropic' ? signature.value : tagSignature(signature);

const write = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** Writes the events of a stream; one block is open at a time. */
export class AnthropicStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  #index = -1;
  #open: 'text' | 'thinking' | 'call' | undefined;
  /** Blocks of the calls, by the index of the call. */
  readonly #calls: number[] = [];

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start': {
        const message = { ...toMessage(this.#context), content: [], stop_reason: null, stop_sequence: null };
        return write('message_start', { message: { ...message, usage: toFigures(undefined) } });
      }
      case 'text':
        return this.#begin('text', { type: 'text', text: '' }) + this.#delta({ type: 'text_delta', text: event.text });
      case 'thinking':
        return this.#beginThinking() + this.#delta({ type: 'thinking_delta', thinking: event.text });
      case 'signature':
        if (event.isRedacted)
          return (
            this.#close() + this.#start({ type: 'redacted_thinking', data: toOwn(event.signature) }) + this.#stop()
          );
        return (
          this.#beginThinking() +
          this.#delta({ type: 'signature_delta', signature: toOwn(event.signature) }) +
          this.#close()
        );
      case 'call': {
        const { id, name } = event;
        const text = this.#close() + this.#start({ type: 'tool_use', id, name, input: {} });
        this.#open = 'call';
        this.#calls[event.index] = this.#index;
        return text;
      }
      case 'args':
        return this.#delta({ type: 'input_json_delta', partial_json: event.text }, this.#calls[event.index]);
      case 'end': {
        const delta = { stop_reason: WORDS[event.reason], stop_sequence: event.stopSequence ?? null };
        return (
          this.#close() + write('message_delta', { delta, usage: toFigures(event.usage) }) + write('message_stop', {})
        );
      }
    }
  }

  #begin(kind: 'text' | 'thinking', block: object): string {
    if (this.#open === kind) return '';
    const text = this.#close() + this.#start(block);
    this.#open = kind;
    return text;
  }

  #beginThinking(): string {
    return this.#begin('thinking', { type: 'thinking', thinking: '', signature: '' });
  }

  #start(block: object): string {
    this.#index++;
    return write('content_block_start', { index: this.#index, content_block: block });
  }

  #delta(delta: object, index = this.#index): string {
    return write('content_block_delta', { index, delta });
  }

  #stop(): string {
    return write('content_block_stop', { index: this.#index });
  }

  #close(): string {
    const text = this.#open === undefined ? '' : this.#stop();
    this.#open = undefined;
    return text;
  }
}
