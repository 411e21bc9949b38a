import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { listOf, textOf } from '../dialect.ts';
import { RESPONSES_DIALECT } from '../openai-endpoint-dialects.ts';
import { parseUsage, type Usage } from '../parse-usage.ts';
import type { ResponseEvent, StopReason } from './neutral-form.ts';
import { toFreeformArguments } from './openai-responses-tools.ts';
import type { ResponseReader } from './response-reader-and-writer.ts';
import { readSignature } from './thinking-signatures.ts';

const REASONS: Readonly<Record<string, StopReason>> = { max_output_tokens: 'length', content_filter: 'refused' };
const PARAGRAPH = '\n\n';

/** Reads a response, complete or as a stream (platform.openai.com/docs/api-reference/responses-streaming). */
export class ResponsesReader implements ResponseReader {
  #reason: StopReason = 'end';
  #usage: Usage | undefined;
  #hasEnded = false;
  /** Calls by the index of their item. */
  readonly #calls = new Map<unknown, number>();
  /** Whether a thought has begun that no signature has ended. */
  #hasThought = false;

  readComplete(body: UntrustedObject): ResponseEvent[] {
    this.#readEnd(body);
    const items = listOf(body.output).map((item) => asObject(item) ?? {});
    const said = items.flatMap((item, index) => this.#readItem(item, index));
    return [{ type: 'start', id: textOf(body.id) }, ...said, ...this.finish()];
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    const { type, delta, output_index: place } = event;
    const item = asObject(event.item) ?? {};
    switch (type) {
      case 'response.created':
        return [{ type: 'start', id: textOf(asObject(event.response)?.id) }];
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return [{ type: 'text', text: textOf(delta) }];
      case 'response.reasoning_summary_part.added':
        return this.#hasThought ? this.#think(PARAGRAPH) : [];
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#think(textOf(delta));
      case 'response.output_item.added':
        return item.type === 'function_call' || item.type === 'custom_tool_call' ? [this.#beginCall(item, place)] : [];
      case 'response.function_call_arguments.delta':
        return [{ type: 'args', index: this.#calls.get(place) ?? 0, text: textOf(delta) }];
      case 'response.output_item.done':
        if (item.type === 'reasoning') return this.#endThought(item);
        return item.type === 'custom_tool_call' ? this.#readInput(item, place) : [];
      case 'response.completed':
      case 'response.incomplete':
        this.#readEnd(asObject(event.response) ?? {});
        return this.finish();
      default:
        return [];
    }
  }

  finish(): ResponseEvent[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const reason = this.#reason === 'end' && this.#calls.size > 0 ? 'calls' : this.#reason;
    return [{ type: 'end', reason, stopSequence: undefined, usage: this.#usage }];
  }

  #readEnd(response: UntrustedObject): void {
    this.#usage = parseUsage(RESPONSES_DIALECT.findUsage(response));
    this.#reason = REASONS[textOf(asObject(response.incomplete_details)?.reason)] ?? 'end';
  }

  #readItem(item: UntrustedObject, place: number): ResponseEvent[] {
    switch (item.type) {
      case 'message':
        return listOf(item.content).flatMap((part) => {
          const { text, refusal } = asObject(part) ?? {};
          const said = textOf(text) + textOf(refusal);
          return said === '' ? [] : [{ type: 'text' as const, text: said }];
        });
      case 'reasoning': {
        const texts = [...listOf(item.summary), ...listOf(item.content)].map((part) => textOf(asObject(part)?.text));
        return [...this.#think(texts.join(PARAGRAPH)), ...this.#endThought(item)];
      }
      case 'function_call': {
        const call = this.#beginCall(item, place);
        return [call, { type: 'args', index: call.index, text: textOf(item.arguments) }];
      }
      case 'custom_tool_call':
        return [this.#beginCall(item, place), ...this.#readInput(item, place)];
      default:
        return [];
    }
  }

  #think(text: string): ResponseEvent[] {
    if (text === '') return [];
    this.#hasThought = true;
    return [{ type: 'thinking', text }];
  }

  #endThought(item: UntrustedObject): ResponseEvent[] {
    const signature = readSignature(item.encrypted_content, 'openai');
    const isRedacted = !this.#hasThought;
    this.#hasThought = false;
    return signature === undefined ? [] : [{ type: 'signature', signature, isRedacted }];
  }

  #beginCall(item: UntrustedObject, place: unknown): Extract<ResponseEvent, { type: 'call' }> {
    const index = this.#calls.size;
    this.#calls.set(place, index);
    return { type: 'call', index, id: textOf(item.call_id), name: textOf(item.name) };
  }

  #readInput(item: UntrustedObject, place: unknown): ResponseEvent[] {
    return [{ type: 'args', index: this.#calls.get(place) ?? 0, text: toFreeformArguments(textOf(item.input)) }];
  }
}
