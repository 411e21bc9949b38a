import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { listOf, textOf } from '../dialect.ts';
import { RESPONSES_DIALECT } from '../openai-endpoint-dialects.ts';
import type { ResponseEvent, StopReason } from './neutral-form.ts';
import { toFreeformArguments } from './openai-responses-tools.ts';
import { type DraftCall, ResponseBuilder, toArgumentsText } from './response-builder.ts';
import { nameDropped, RESPONSE_MEMBERS } from './response-members.ts';
import type { ResponseReader } from './response-reader-and-writer.ts';
import { readStopReason } from './stop-reasons.ts';
import { readSignature } from './thinking-signatures.ts';

const PARAGRAPH = '\n\n';
const MEMBERS = RESPONSE_MEMBERS.responses;
/** Events of the progress of an item, whose content comes in others. */
const PROGRESS_EVENT =
  /^(?:response\.(?:queued|in_progress|reasoning_summary_part\.done|image_generation_call\.\w+|output_text\.annotation\.added)|ping|keepalive)$/;

/** An item of the output, as far as it was delivered. */
interface OpenItem {
  /** Text of its message or its thought. */
  text: string;
  call: DraftCall | undefined;
  isFreeform: boolean;
  /** Input of a freeform call. */
  input: string;
  isOver: boolean;
}

const createItem = (): OpenItem => ({ text: '', call: undefined, isFreeform: false, input: '', isOver: false });
const NO_ITEM = createItem();

/**
 * Reads a response, complete or as a stream (platform.openai.com/docs/api-reference/responses-streaming). The same content comes in deltas, in the
 * event that ends its part, in the one that ends its item and in the last of all; any of them may be missing.
 */
export class ResponsesReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word = '';
  #isIncomplete = false;
  /** Items by their index and by their id. */
  readonly #items = new Map<unknown, OpenItem>();
  /** Whether a thought has begun that no signature has ended. */
  #hasThought = false;

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
  }

  readComplete(body: UntrustedObject): ResponseEvent[] {
    this.#readResponse(body);
    return this.finish();
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    this.#read(event);
    return this.builder.take();
  }

  finish(): ResponseEvent[] {
    this.#end();
    return this.builder.take();
  }

  #read(event: UntrustedObject): void {
    const { builder } = this;
    nameDropped(event, MEMBERS.event, builder.dropped, 'response');
    const type = textOf(event.type);
    switch (type) {
      case 'response.created':
        builder.start(asObject(event.response)?.id);
        return;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#say(this.#itemOf(event), textOf(event.delta));
        return;
      case 'response.output_text.done':
      case 'response.refusal.done':
        this.#finishText(this.#itemOf(event), textOf(event.text) || textOf(event.refusal));
        return;
      case 'response.content_part.added':
      case 'response.content_part.done':
        this.#readPart(event);
        return;
      case 'response.reasoning_summary_part.added':
        if (this.#hasThought) this.#think(this.#itemOf(event), PARAGRAPH);
        return;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary.delta':
        this.#think(this.#itemOf(event), textOf(event.delta) || textOf(asObject(event.delta)?.text));
        return;
      case 'response.reasoning_summary_text.done':
      case 'response.reasoning_text.done': {
        const item = this.#itemOf(event);
        if (item.text === '') this.#think(item, textOf(event.text));
        return;
      }
      case 'response.output_item.added':
        this.#beginItem(asObject(event.item) ?? {}, event.output_index);
        return;
      case 'response.function_call_arguments.delta':
        this.#readArgs(event, toArgumentsText(event.delta));
        return;
      case 'response.function_call_arguments.done': {
        const call = this.#callOf(event);
        const args = toArgumentsText(event.arguments);
        if (call.args === '') builder.args(call, args);
        builder.endCall(call);
        return;
      }
      case 'response.custom_tool_call_input.delta':
        this.#itemOf(event).input += textOf(event.delta);
        return;
      case 'response.custom_tool_call_input.done':
        this.#itemOf(event).input = textOf(event.input) || this.#itemOf(event).input;
        return;
      case 'response.output_item.done':
        this.#finishItem(asObject(event.item) ?? {}, event.output_index);
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        this.#readResponse(asObject(event.response) ?? {});
        this.#isIncomplete ||= type === 'response.incomplete';
        this.#end();
        return;
      default:
        if (!PROGRESS_EVENT.test(type)) builder.dropped.drop('response.events');
    }
  }

  #end(): void {
    for (const item of this.#items.values()) this.#finishInput(item, '');
    const reason = this.#readReason();
    if (reason === 'failed') this.builder.fail(this.#word);
    this.builder.end(reason);
  }

  #readReason(): StopReason {
    const reason = readStopReason(this.#word);
    if (reason !== undefined) return reason;
    return this.#isIncomplete ? 'length' : 'end';
  }

  /** A complete response, or the one at the end of a stream. */
  #readResponse(response: UntrustedObject): void {
    const { builder } = this;
    builder.start(response.id);
    nameDropped(response, MEMBERS.body, builder.dropped, 'response');
    builder.usage.add(RESPONSES_DIALECT.findUsage(response));
    const { status, incomplete_details: details } = response;
    this.#isIncomplete ||= status === 'incomplete';
    this.#word = textOf(asObject(details)?.reason);
    if (status === 'failed' || status === 'cancelled') this.#word = status;
    const items = listOf(response.output).map((item) => asObject(item) ?? {});
    // Deltas that name no item are the first of the text.
    const loose = this.#items.get(undefined);
    const taken = new Set<OpenItem>();
    for (const [index, item] of items.entries()) {
      // Another item of the same id is one of its own.
      if (taken.has(this.#items.get(textOf(item.id)) ?? NO_ITEM)) this.#items.delete(item.id);
      if (loose !== undefined && item.type === 'message' && !this.#items.has(index)) this.#items.set(index, loose);
      taken.add(this.#finishItem(item, index));
    }
    if (items.length === 0 && this.#items.size === 0) builder.text(textOf(response.output_text));
  }

  #itemOf({ item_id: id, output_index: index }: UntrustedObject): OpenItem {
    const known = this.#items.get(index ?? id) ?? this.#items.get(textOf(id) || index);
    if (known !== undefined) return known;
    const item = createItem();
    this.#remember(item, id, index);
    return item;
  }

  #remember(item: OpenItem, id: unknown, index: unknown): void {
    if (textOf(id) !== '') this.#items.set(id, item);
    if (index !== undefined || textOf(id) === '') this.#items.set(index, item);
  }

  #callOf(event: UntrustedObject): DraftCall {
    const item = this.#itemOf(event);
    item.call ??= this.builder.callOf({
      id: event.call_id,
      name: event.name,
      args: toArgumentsText(event.delta ?? event.arguments),
    });
    return item.call;
  }

  #readArgs(event: UntrustedObject, args: string): void {
    this.builder.args(this.#callOf(event), args);
  }

  #readPart(event: UntrustedObject): void {
    const part = asObject(event.part) ?? {};
    nameDropped(part, MEMBERS.part, this.builder.dropped, 'response.content');
    const said = textOf(part.text) || textOf(part.refusal);
    if (part.type === 'output_text' || part.type === 'refusal') this.#finishText(this.#itemOf(event), said);
  }

  #beginItem(item: UntrustedObject, index: unknown): OpenItem {
    const known = (index === undefined ? undefined : this.#items.get(index)) ?? this.#items.get(textOf(item.id) || NaN);
    const open = known ?? createItem();
    if (known === undefined) this.#remember(open, item.id, index);
    const { type } = item;
    if ((type === 'function_call' || type === 'custom_tool_call') && open.call === undefined) {
      open.call = this.builder.beginCall({ id: textOf(item.call_id) || item.id, name: item.name });
      open.call.initialArgs = type === 'function_call' ? toArgumentsText(item.arguments) : '';
      open.isFreeform = type === 'custom_tool_call';
    }
    return open;
  }

  /** What of an item has not come before. */
  #finishItem(item: UntrustedObject, index: unknown): OpenItem {
    const { builder } = this;
    const open = this.#beginItem(item, index);
    if (open.isOver) return open;
    open.isOver = true;
    const { type } = item;
    if (type === 'message' || type === 'reasoning' || type === 'function_call' || type === 'custom_tool_call')
      nameDropped(item, MEMBERS.item, builder.dropped, 'response.output');
    if (type === 'message') this.#finishMessage(item, open);
    else if (type === 'reasoning') this.#finishThought(item, open);
    else if (type === 'function_call' && open.call !== undefined) {
      if (open.call.args === '') builder.args(open.call, toArgumentsText(item.arguments));
      builder.endCall(open.call);
    } else if (type === 'custom_tool_call') this.#finishInput(open, textOf(item.input));
    else if (type === 'image_generation_call' && textOf(item.result) !== '')
      builder.media({ mediaType: `image/${textOf(item.output_format) || 'png'}`, data: textOf(item.result) });
    else builder.dropped.drop(`response.output.${/^\w{1,40}$/.test(textOf(type)) ? textOf(type) : 'unnamed'}`);
    return open;
  }

  #finishMessage({ content }: UntrustedObject, open: OpenItem): void {
    let whole = textOf(content);
    for (const value of listOf(content)) {
      const part = asObject(value) ?? {};
      nameDropped(part, MEMBERS.part, this.builder.dropped, 'response.content');
      whole += textOf(part.text) + textOf(part.refusal);
    }
    this.#finishText(open, whole);
  }

  #finishThought(item: UntrustedObject, open: OpenItem): void {
    const texts = [...listOf(item.summary), ...listOf(item.content)].map((part) => textOf(asObject(part)?.text));
    if (open.text === '') this.#think(open, texts.filter((text) => text !== '').join(PARAGRAPH));
    this.builder.signature(readSignature(item.encrypted_content, 'openai'), !this.#hasThought);
    this.#hasThought = false;
  }

  #finishInput(open: OpenItem, input: string): void {
    if (!open.isFreeform || open.call === undefined || open.call.isComplete) return;
    this.builder.args(open.call, toFreeformArguments(input || open.input));
    this.builder.endCall(open.call);
  }

  #say(item: OpenItem, text: string): void {
    item.text += text;
    this.builder.text(text);
  }

  /** The rest of a text whose beginning was delivered. */
  #finishText(item: OpenItem, whole: string): void {
    if (whole.length > item.text.length && whole.startsWith(item.text)) this.#say(item, whole.slice(item.text.length));
  }

  #think(item: OpenItem, text: string): void {
    if (text === '') return;
    this.#hasThought = true;
    item.text += text;
    this.builder.thinking(text);
  }
}
