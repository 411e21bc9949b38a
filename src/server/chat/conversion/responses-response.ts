import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { listOf, RESPONSES_DIALECT, textOf } from '../dialects.ts';
import type { Usage } from '../usage.ts';
import { AnnotationReader, toUrlCitation } from './annotations.ts';
import { CitedTexts, CountedText } from './citations.ts';
import { nameDropped, RESPONSE_MEMBERS } from './fields.ts';
import {
  type Citation,
  type GeneratedMedia,
  type ResponseEvent,
  readSignature,
  readStopReason,
  type Signature,
  type StopReason,
  tagSignature,
  UNSIGNED,
} from './neutral-form.ts';
import {
  collectResponse,
  type DraftCall,
  findMedia,
  ResponseBuilder,
  type ResponseContext,
  type ResponseReader,
  type StreamWriter,
  toArgumentsText,
  toMarkdown,
} from './response-builder.ts';
import { readFreeformArguments, toCallItem, toFreeformArguments } from './responses-request.ts';

const PARAGRAPH = '\n\n';
const MEMBERS = RESPONSE_MEMBERS.responses;
/** Events about the progress of an item, whose content arrives in other events. */
const PROGRESS_EVENT =
  /^(?:response\.(?:queued|in_progress|reasoning_summary_part\.done|image_generation_call\.\w+)|ping|keepalive)$/;

/** An item of the output, as far as it was delivered. */
interface OpenItem {
  /** Text of the message or of the reasoning. */
  text: string;
  /** Offsets at which the parts of the text start, by their index. */
  readonly starts: Map<unknown, number>;
  call: DraftCall | undefined;
  isFreeform: boolean;
  /** Input of a freeform call. */
  input: string;
  isOver: boolean;
}

const createItem = (): OpenItem => ({
  text: '',
  starts: new Map(),
  call: undefined,
  isFreeform: false,
  input: '',
  isOver: false,
});
const NO_ITEM = createItem();

/**
 * Reads a response, complete or as a stream (platform.openai.com/docs/api-reference/responses-streaming). The same
 * content arrives in deltas, in the event that ends its part, in the one that ends its item and in the final one; any
 * of them may be missing.
 */
export class ResponsesReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word = '';
  #isIncomplete = false;
  /** Items by their index and by their id. */
  readonly #items = new Map<unknown, OpenItem>();
  /** Whether reasoning has started that no signature has ended. */
  #hasThought = false;
  readonly #annotations: AnnotationReader;

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
    this.#annotations = new AnnotationReader(this.builder);
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
        this.#say(this.#itemOf(event), textOf(event.delta), event.content_index);
        return;
      case 'response.output_text.annotation.added':
        this.#annotate([event.annotation], this.#itemOf(event), event.content_index);
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
    this.#annotations.finish();
    this.builder.end(reason);
  }

  #readReason(): StopReason {
    const reason = readStopReason(this.#word);
    if (reason !== undefined) return reason;
    return this.#isIncomplete ? 'length' : 'end';
  }

  /** Reads a complete response, or the one at the end of a stream. */
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
    // Deltas that name no item belong to the first text.
    const loose = this.#items.get(undefined);
    const taken = new Set<OpenItem>();
    for (const [index, item] of items.entries()) {
      // Another item with the same id is a separate item.
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
    if (part.type !== 'output_text' && part.type !== 'refusal') return;
    this.#finishText(this.#itemOf(event), said);
    this.#annotate(part.annotations, this.#itemOf(event), event.content_index);
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

  /** Emits the content of an item that has not arrived before. */
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
    const parts = listOf(content).map((value) => asObject(value) ?? {});
    for (const part of parts) nameDropped(part, MEMBERS.part, this.builder.dropped, 'response.content');
    const texts = parts.map((part) => textOf(part.text) + textOf(part.refusal));
    this.#finishText(open, textOf(content) + texts.join(''));
    let start = open.starts.get(0) ?? this.builder.said.length;
    for (const [index, part] of parts.entries()) {
      this.#annotations.read(part.annotations, start);
      start += texts[index]?.length ?? 0;
    }
    for (const part of parts) {
      const media = textOf(part.type).includes('image') ? findMedia(part) : undefined;
      if (media !== undefined) this.builder.media(media);
    }
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

  #annotate(annotations: unknown, { starts }: OpenItem, part: unknown = 0): void {
    this.#annotations.read(annotations, starts.get(part) ?? starts.get(0) ?? this.builder.said.length);
  }

  #say(item: OpenItem, text: string, part: unknown = 0): void {
    if (item.text === '') item.starts.set(0, this.builder.said.length);
    if (!item.starts.has(part)) item.starts.set(part, this.builder.said.length);
    item.text += text;
    this.builder.text(text);
  }

  /** Emits the rest of a text whose start was delivered. */
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

/** Writes a complete response of OpenAI's Responses from its events. */
export function writeResponsesResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  const output = blocks.map((block, index) => {
    if (block.type === 'text')
      return toMessageItem(context, index, block.text, toAnnotations(block.text, block.citations, context));
    if (block.type === 'call') return toFunctionItem(context, index, block, block.args);
    if (block.type === 'media') return toMediaItem(context, index, block.media);
    return toReasoningItem(context, index, block.text, block.signature ?? 'none');
  });
  return { ...toBase(context), ...toEnd(end.reason, output, end.usage) };
}

interface WrittenItem {
  readonly kind: 'text' | 'thinking';
  readonly index: number;
  readonly id: unknown;
  readonly text: CountedText;
  readonly annotations: object[];
}

interface OpenCall {
  readonly index: number;
  readonly call: { readonly id: string; readonly name: string };
  args: string;
}

/**
 * Writes the events of a stream, including every event OpenAI's own clients require. Calls end with the response
 * because their arguments may be interleaved.
 */
export class ResponsesStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  readonly #base: string;
  #sequence = 0;
  readonly #items: Item[] = [];
  #open: WrittenItem | undefined;
  readonly #calls: OpenCall[] = [];
  readonly #texts = new CitedTexts<WrittenItem>();

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
      case 'citation':
        return this.#cite(event.citation);
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
        // The text of a freeform call is inside a JSON string until that string is complete.
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

  #begin(kind: WrittenItem['kind']): string {
    if (this.#open?.kind === kind) return '';
    const before = this.#close();
    const index = this.#items.length;
    const item =
      kind === 'text'
        ? toMessageItem(this.#context, index, undefined)
        : toReasoningItem(this.#context, index, '', undefined);
    const added = this.#add(item);
    this.#open = { kind, index, id: item.id, text: new CountedText(), annotations: [] };
    const begun = this.#event(
      kind === 'text' ? 'response.content_part.added' : 'response.reasoning_summary_part.added',
      { ...this.#place(this.#open), part: kind === 'text' ? toTextPart('') : toSummaryPart('') },
    );
    return before + added + begun;
  }

  #place({ kind, index, id }: WrittenItem): object {
    const place = { item_id: id, output_index: index };
    return kind === 'text' ? { ...place, content_index: 0 } : { ...place, summary_index: 0 };
  }

  #say(type: string, delta: string): string {
    const open = this.#open;
    if (open === undefined) return '';
    open.text.add(delta);
    if (open.kind === 'text') this.#texts.add(open, delta);
    const logprobs = open.kind === 'text' ? [] : undefined;
    return this.#event(type, { ...this.#place(open), delta, logprobs });
  }

  /** Adds an annotation to a text, also to one that has ended: the response at the end contains it. */
  #cite(citation: Citation): string {
    const located = this.#texts.locate(citation);
    if (located === undefined) return '';
    const { place: item, span } = located;
    const annotation = toAnnotation(item.text, { ...citation, range: span }, this.#context);
    const annotationIndex = item.annotations.push(annotation) - 1;
    if (item !== this.#open)
      this.#items[item.index] = toMessageItem(this.#context, item.index, item.text.whole, item.annotations);
    return this.#event('response.output_text.annotation.added', {
      ...this.#place(item),
      annotation_index: annotationIndex,
      annotation,
    });
  }

  /** Ends the open reasoning item, or emits one without text. */
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
    const { kind, index, annotations } = open;
    const text = open.text.whole;
    const place = this.#place(open);
    if (kind === 'text')
      return (
        this.#event('response.output_text.done', { ...place, text, logprobs: [] }) +
        this.#event('response.content_part.done', { ...place, part: toTextPart(text, annotations) }) +
        this.#done(index, toMessageItem(this.#context, index, text, annotations))
      );
    return (
      this.#event('response.reasoning_summary_text.done', { ...place, text }) +
      this.#event('response.reasoning_summary_part.done', { ...place, part: toSummaryPart(text) }) +
      this.#done(index, toReasoningItem(this.#context, index, text, signature ?? 'none'))
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

/** Items of a response (platform.openai.com/docs/api-reference/responses/object). */

/** An output item, complete or in progress. */
type Item = Readonly<Record<string, unknown>>;

const toItemId = (prefix: string, { id }: ResponseContext, index: number): string => `${prefix}_${id}_${index}`;

/** An annotation of a text, from whose start its citation counts; it has no words of the page. */
function toAnnotation(text: CountedText, citation: Citation, { dropped }: ResponseContext): object {
  if (citation.citedText !== undefined) dropped?.drop('response.citations.cited_text');
  const { range = { start: 0, end: text.length } } = citation;
  return { type: 'url_citation', ...toUrlCitation(citation, text.toUnits(range, 'character')) };
}

function toAnnotations(text: string, citations: readonly Citation[], context: ResponseContext): object[] {
  const counted = new CountedText();
  counted.add(text);
  return citations.map((citation) => toAnnotation(counted, citation, context));
}

const toTextPart = (text: string, annotations: readonly object[] = []): object => ({
  type: 'output_text',
  text,
  annotations,
  logprobs: [],
});

const toMessageItem = (
  context: ResponseContext,
  index: number,
  text: string | undefined,
  annotations: readonly object[] = [],
): Item => ({
  id: toItemId('msg', context, index),
  type: 'message',
  role: 'assistant',
  status: text === undefined ? 'in_progress' : 'completed',
  content: text === undefined ? [] : [toTextPart(text, annotations)],
});

const toSummaryPart = (text: string): object => ({ type: 'summary_text', text });

/**
 * The signature is the vendor's own, or tagged with its vendor; an empty one from OpenAI means that the reasoning was
 * sent as plain text.
 */
const toEncryptedContent = (signature: Signature): string =>
  signature.vendor === 'openai' && signature.value !== '' ? signature.value : tagSignature(signature);

/** @param signature undefined while the item is incomplete; OpenAI looks up the id of an item without content */
const toReasoningItem = (
  context: ResponseContext,
  index: number,
  text: string,
  signature: Signature | 'none' | undefined,
): Item => ({
  id: toItemId('rs', context, index),
  type: 'reasoning',
  summary: text === '' ? [] : [toSummaryPart(text)],
  encrypted_content:
    signature === undefined ? undefined : signature === 'none' ? UNSIGNED : toEncryptedContent(signature),
});

/** An image in the form of OpenAI's image generation tool; other media, and URLs, become a message. */
const toMediaItem = (context: ResponseContext, index: number, media: GeneratedMedia): Item =>
  media.data !== undefined && media.mediaType.startsWith('image/')
    ? {
        id: toItemId('ig', context, index),
        type: 'image_generation_call',
        status: 'completed',
        result: media.data,
        output_format: media.mediaType.slice('image/'.length),
      }
    : toMessageItem(context, index, toMarkdown(media));

/** @param args undefined: the arguments have not arrived yet */
function toFunctionItem(
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

/** Members of a response that stay constant while it is generated; typed clients read all of them. */
function toBase({ id, model, created, asked }: ResponseContext): object {
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

/** Status, output and usage at the end of a response. */
function toEnd(reason: StopReason, output: readonly Item[], usage: Usage | undefined): UntrustedObject {
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
