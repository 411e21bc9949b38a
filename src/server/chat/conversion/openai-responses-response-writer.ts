import {
  type Item,
  toBase,
  toEnd,
  toFunctionItem,
  toMediaItem,
  toMessageItem,
  toReasoningItem,
  toSummaryPart,
  toTextPart,
} from './build-openai-responses-output-items.ts';
import type { ResponseEvent, Signature } from './neutral-form.ts';
import { collectResponse } from './response-collector.ts';
import type { ResponseContext, StreamWriter } from './response-reader-and-writer.ts';

/** A complete response of OpenAI's Responses from its events. */
export function writeResponsesResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  const output = blocks.map((block, index) => {
    if (block.type === 'text') return toMessageItem(context, index, block.text);
    if (block.type === 'call') return toFunctionItem(context, index, block, block.args);
    if (block.type === 'media') return toMediaItem(context, index, block.media);
    return toReasoningItem(context, index, block.text, block.signature);
  });
  return { ...toBase(context), ...toEnd(end.reason, output, end.usage) };
}

interface OpenItem {
  readonly kind: 'text' | 'thinking';
  readonly index: number;
  readonly id: unknown;
  text: string;
}

interface OpenCall {
  readonly index: number;
  readonly call: { readonly id: string; readonly name: string };
  args: string;
}

/**
 * Writes the events of a stream, all those that OpenAI's own clients insist on. Calls end with the response, as their arguments may come
 * in turns.
 */
export class ResponsesStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  readonly #base: string;
  #sequence = 0;
  readonly #items: Item[] = [];
  #open: OpenItem | undefined;
  readonly #calls: OpenCall[] = [];

  constructor(context: ResponseContext) {
    this.#context = context;
    this.#base = JSON.stringify(toBase(context)).slice(0, -1);
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start': {
        const begun = { status: 'in_progress', incomplete_details: null, output: [], usage: null };
        return this.#response('response.created', begun) + this.#response('response.in_progress', begun);
      }
      case 'text':
        return this.#begin('text') + this.#say('response.output_text.delta', event.text);
      case 'thinking':
        return this.#begin('thinking') + this.#say('response.reasoning_summary_text.delta', event.text);
      case 'signature':
        return this.#sign(event.signature, event.isRedacted);
      case 'media': {
        const index = this.#items.length;
        const item = toMediaItem(this.#context, index, event.media);
        return this.#close() + this.#add(item) + this.#done(this.#items.length - 1, item);
      }
      case 'call':
        return this.#close() + this.#call(event.index, { id: event.id, name: event.name });
      case 'args': {
        const open = this.#calls[event.index];
        if (open === undefined) return '';
        open.args += event.text;
        // The text of a freeform call is inside of a JSON string until it is whole.
        return this.#isFreeform(open)
          ? ''
          : this.#event('response.function_call_arguments.delta', { ...this.#placeOf(open), delta: event.text });
      }
      case 'end': {
        const text = this.#close() + this.#calls.map((open) => this.#endCall(open)).join('');
        const end = toEnd(event.reason, this.#items, event.usage);
        return (
          text + this.#response(end.status === 'completed' ? 'response.completed' : 'response.incomplete', { ...end })
        );
      }
    }
  }

  #event(type: string, fields: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`;
  }

  #response(type: string, fields: object): string {
    const response = `${this.#base},${JSON.stringify(fields).slice(1)}`;
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${response}}\n\n`;
  }

  #add(item: Item): string {
    const index = this.#items.push(item) - 1;
    return this.#event('response.output_item.added', { output_index: index, item });
  }

  #done(index: number, item: Item): string {
    this.#items[index] = item;
    return this.#event('response.output_item.done', { output_index: index, item });
  }

  #begin(kind: OpenItem['kind']): string {
    if (this.#open?.kind === kind) return '';
    const before = this.#close();
    const index = this.#items.length;
    const item =
      kind === 'text'
        ? toMessageItem(this.#context, index, undefined)
        : toReasoningItem(this.#context, index, '', undefined);
    const added = this.#add(item);
    this.#open = { kind, index, id: item.id, text: '' };
    const begun = this.#event(
      kind === 'text' ? 'response.content_part.added' : 'response.reasoning_summary_part.added',
      { ...this.#place(this.#open), part: kind === 'text' ? toTextPart('') : toSummaryPart('') },
    );
    return before + added + begun;
  }

  #place({ kind, index, id }: OpenItem): object {
    const place = { item_id: id, output_index: index };
    return kind === 'text' ? { ...place, content_index: 0 } : { ...place, summary_index: 0 };
  }

  #say(type: string, delta: string): string {
    const open = this.#open;
    if (open === undefined) return '';
    open.text += delta;
    const logprobs = open.kind === 'text' ? [] : undefined;
    return this.#event(type, { ...this.#place(open), delta, logprobs });
  }

  /** Ends the thought that is open, or is one of its own without a text. */
  #sign(signature: Signature, isRedacted: boolean): string {
    if (!isRedacted && this.#open?.kind === 'thinking') return this.#close(signature);
    const before = this.#close();
    const index = this.#items.length;
    return (
      before +
      this.#add(toReasoningItem(this.#context, index, '', undefined)) +
      this.#done(index, toReasoningItem(this.#context, index, '', signature))
    );
  }

  #close(signature?: Signature): string {
    const open = this.#open;
    if (open === undefined) return '';
    this.#open = undefined;
    const { kind, index, text } = open;
    const place = this.#place(open);
    if (kind === 'text')
      return (
        this.#event('response.output_text.done', { ...place, text, logprobs: [] }) +
        this.#event('response.content_part.done', { ...place, part: toTextPart(text) }) +
        this.#done(index, toMessageItem(this.#context, index, text))
      );
    return (
      this.#event('response.reasoning_summary_text.done', { ...place, text }) +
      this.#event('response.reasoning_summary_part.done', { ...place, part: toSummaryPart(text) }) +
      this.#done(index, toReasoningItem(this.#context, index, text, signature))
    );
  }

  #call(number: number, call: OpenCall['call']): string {
    const index = this.#items.length;
    this.#calls[number] = { index, call, args: '' };
    return this.#add(toFunctionItem(this.#context, index, call, undefined));
  }

  #isFreeform({ call }: OpenCall): boolean {
    return this.#context.origins.get(call.name)?.isFreeform === true;
  }

  #placeOf({ index }: OpenCall): object {
    return { item_id: this.#items[index]?.id, output_index: index };
  }

  #endCall(open: OpenCall): string {
    const { index, call, args } = open;
    const place = this.#placeOf(open);
    const item = toFunctionItem(this.#context, index, call, args === '' ? '{}' : args);
    const ended = this.#isFreeform(open)
      ? this.#event('response.custom_tool_call_input.delta', { ...place, delta: item.input }) +
        this.#event('response.custom_tool_call_input.done', { ...place, input: item.input })
      : this.#event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
    return ended + this.#done(index, item);
  }
}
