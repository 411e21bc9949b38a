import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { ANTHROPIC_MESSAGES_DIALECT, isBlank, listOf, textOf } from '../dialects.ts';
import type { Usage } from '../usage.ts';
import { CitedTexts, MAX_CITATIONS } from './citations.ts';
import { nameDropped, RESPONSE_MEMBERS } from './fields.ts';
import {
  type Citation,
  type ResponseEvent,
  readSignature,
  readStopReason,
  type StopReason,
  tagSignature,
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

const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  stop_sequence: 'stop_sequence',
  refused: 'refusal',
  failed: 'end_turn',
};
const READ_MEMBERS = RESPONSE_MEMBERS.messages;
const CITATIONS = 'response.content.citations';

/** An open block of the stream. */
interface OpenBlock {
  readonly type: 'text' | 'thinking' | 'call' | 'media' | 'other';
  readonly call?: DraftCall;
  /** Offset at which a text starts, and what it cites: streams send citations before the text. */
  readonly start?: number;
  readonly citations?: unknown[];
  /** Signature of reasoning; arrives in the start of its block, in one piece or in several. */
  signature: string;
}

/** Reads a message, complete or as a stream (docs.claude.com/en/docs/build-with-claude/streaming). */
export class AnthropicReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word: unknown;
  #sequence: unknown;
  readonly #blocks = new Map<unknown, OpenBlock>();
  #last: OpenBlock | undefined;

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
  }

  readComplete(body: UntrustedObject): ResponseEvent[] {
    this.#readMessage(body);
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
    // Its figures are read with the message.
    if (event.type !== 'message_start') builder.usage.add(ANTHROPIC_MESSAGES_DIALECT.findUsage(event));
    nameDropped(event, READ_MEMBERS.event, builder.dropped, 'response');
    switch (event.type) {
      case 'message_start':
        this.#readMessage(asObject(event.message) ?? {});
        break;
      case 'content_block_start':
        this.#begin(asObject(event.content_block) ?? {}, event.index);
        break;
      case 'content_block_delta':
        this.#readDelta(asObject(event.delta) ?? {}, this.#blocks.get(event.index) ?? this.#last);
        break;
      case 'content_block_stop':
        this.#stop(this.#blocks.get(event.index));
        break;
      case 'message_delta':
        this.#readStop(asObject(event.delta) ?? {});
        break;
      case 'message_stop':
        this.#end();
        break;
      case 'ping':
      case undefined:
        break;
      default:
        builder.dropped.drop('response.events');
    }
  }

  #end(): void {
    for (const block of this.#blocks.values()) this.#stop(block);
    const reason = readStopReason(this.#word);
    if (reason === 'failed') this.builder.fail(textOf(this.#word));
    this.builder.end(reason ?? 'end', typeof this.#sequence === 'string' ? this.#sequence : undefined);
  }

  /** Reads a complete message, or the initial one of a stream, which seldom has content. */
  #readMessage(message: UntrustedObject): void {
    const { builder } = this;
    builder.start(message.id);
    nameDropped(message, READ_MEMBERS.body, builder.dropped, 'response');
    builder.usage.add(ANTHROPIC_MESSAGES_DIALECT.findUsage(message));
    if (typeof message.content === 'string') builder.text(message.content);
    for (const block of listOf(message.content)) {
      const begun = this.#begin(asObject(block) ?? {}, undefined);
      this.#stop(begun);
    }
    this.#readStop(message);
  }

  #readStop({ stop_reason: reason, stop_sequence: sequence }: UntrustedObject): void {
    if (!isBlank(reason)) this.#word = reason;
    if (!isBlank(sequence)) this.#sequence = sequence;
  }

  /** Starts a block: one of a complete message, or the empty one at its start in a stream. */
  #begin(block: UntrustedObject, place: unknown): OpenBlock {
    const { builder } = this;
    const { type, text, thinking, signature, input } = block;
    const media = type === 'image' ? findMedia(block) : undefined;
    let begun: OpenBlock = { type: 'other', signature: '' };
    if (type === 'tool_use') {
      const call = builder.beginCall({ id: block.id, name: block.name });
      call.initialArgs = isBlank(input) ? '' : toArgumentsText(input);
      begun = { type: 'call', call, signature: '' };
    } else if (type === 'thinking') {
      builder.thinking(textOf(thinking));
      begun = { type: 'thinking', signature: textOf(signature) };
    } else if (type === 'redacted_thinking') builder.signature(readSignature(block.data, 'anthropic'), true);
    else if (type === 'text' || (type === undefined && typeof text === 'string')) {
      begun = { type: 'text', start: builder.said.length, citations: [], signature: '' };
      builder.text(textOf(text));
      for (const citation of listOf(block.citations)) this.#cite(citation, begun);
    } else if (media !== undefined) {
      builder.media(media);
      begun = { type: 'media', signature: '' };
    }
    if (begun.type === 'other' && type !== 'redacted_thinking')
      builder.dropped.drop(`response.content.${/^\w{1,40}$/.test(textOf(type)) ? textOf(type) : 'unnamed'}`);
    else nameDropped(block, READ_MEMBERS.block, builder.dropped, 'response.content');
    if (place !== undefined) this.#blocks.set(place, begun);
    this.#last = begun;
    return begun;
  }

  #readDelta(delta: UntrustedObject, block: OpenBlock | undefined): void {
    const { builder } = this;
    const { text, thinking, partial_json: json, signature } = delta;
    nameDropped(delta, READ_MEMBERS.delta, builder.dropped, 'response.delta');
    builder.text(textOf(text));
    if (!isBlank(delta.citation)) this.#cite(delta.citation, block);
    builder.thinking(textOf(thinking));
    if (textOf(signature) !== '') {
      const known = block?.type === 'thinking' ? block : this.#beginThought();
      // Some upstreams repeat the signature of the block's start in the delta.
      if (known.signature !== signature) known.signature += textOf(signature);
    }
    const args = toArgumentsText(json);
    if (args === '') return;
    // The input of a tool that the upstream runs itself is not part of a call to the caller.
    const call = block === undefined ? builder.lastCall() : block.call;
    if (call === undefined) builder.dropped.drop('response.content.input');
    else builder.args(call, args);
  }

  #beginThought(): OpenBlock {
    const begun: OpenBlock = { type: 'thinking', signature: '' };
    this.#blocks.set(begun, begun);
    return begun;
  }

  #cite(citation: unknown, block: OpenBlock | undefined): void {
    if (block?.citations !== undefined && block.citations.length < MAX_CITATIONS) block.citations.push(citation);
    else this.builder.dropped.drop(CITATIONS);
  }

  #stop(block: OpenBlock | undefined): void {
    if (block?.call !== undefined) this.builder.endCall(block.call);
    this.#endText(block);
    if (block === undefined || block.signature === '') return;
    this.builder.signature(readSignature(block.signature, 'anthropic'), false);
    block.signature = '';
  }

  /** Cites for the whole text of a block; Anthropic starts another block for each passage. */
  #endText(block: OpenBlock | undefined): void {
    const { start = 0, citations = [] } = block ?? {};
    const { length: end } = this.builder.said;
    for (const value of citations.splice(0)) {
      const { type, url, source, title, cited_text: citedText } = asObject(value) ?? {};
      const page = type === 'search_result_location' ? source : url;
      this.builder.cite({ url: page, title, citedText, range: start < end ? { start, end } : undefined }, CITATIONS);
    }
  }
}

/** Usage in Anthropic's form: the input excludes tokens read from or written to a cache. */
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

type End = Extract<ResponseEvent, { type: 'end' }>;

/** The reason of the end, and the stop sequence if it is one of the caller's; gateways name other things in its place. */
function toStop({ reason, stopSequence }: End, { asked }: ResponseContext): object {
  const isOwn = stopSequence !== undefined && listOf(asked.stop_sequences).includes(stopSequence);
  const word = isOwn && reason === 'end' ? WORDS.stop_sequence : WORDS[reason];
  return { stop_reason: word, stop_sequence: isOwn || reason === 'stop_sequence' ? (stopSequence ?? null) : null };
}

const toMessage = ({ id, model }: ResponseContext) => ({ id: `msg_${id}`, type: 'message', role: 'assistant', model });

/** A citation of a web page. Anthropic's index of the search result has no equivalent; clients require all members. */
const toCitation = ({ url, title, citedText }: Citation): object => ({
  type: 'web_search_result_location',
  url,
  title: title ?? url,
  cited_text: citedText ?? '',
  encrypted_index: '',
});

/** Writes a complete message from its events. */
export function writeAnthropicResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  return {
    ...toMessage(context),
    content: blocks.map((block) => {
      if (block.type === 'text') {
        const { text, citations } = block;
        return { type: 'text', text, citations: citations.length === 0 ? null : citations.map(toCitation) };
      }
      if (block.type === 'media') return { type: 'text', text: toMarkdown(block.media), citations: null };
      if (block.type === 'call') return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
      const signature = block.signature === undefined ? '' : toOwn(block.signature);
      return block.isRedacted
        ? { type: 'redacted_thinking', data: signature }
        : { type: 'thinking', thinking: block.text, signature };
    }),
    ...toStop(end, context),
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
  /** Texts by the index of their block. */
  readonly #texts = new CitedTexts<number>();

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start': {
        const message = { ...toMessage(this.#context), content: [], stop_reason: null, stop_sequence: null };
        return write('message_start', { message: { ...message, usage: toFigures(undefined) } });
      }
      case 'text': {
        const text = this.#say(event.text);
        this.#texts.add(this.#index, event.text);
        return text;
      }
      case 'citation':
        return this.#cite(event.citation);
      // Responses of this dialect cannot contain images.
      case 'media':
        return this.#say(toMarkdown(event.media));
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
        return text;
      }
      case 'args':
        return this.#delta({ type: 'input_json_delta', partial_json: event.text });
      case 'end': {
        const delta = toStop(event, this.#context);
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

  #say(text: string): string {
    return this.#begin('text', { type: 'text', text: '' }) + this.#delta({ type: 'text_delta', text });
  }

  /** Blocks that have ended cannot be changed. */
  #cite(citation: Citation): string {
    if (this.#open === 'text' && this.#texts.locate(citation)?.place === this.#index)
      return this.#delta({ type: 'citations_delta', citation: toCitation(citation) });
    this.#context.dropped?.drop(CITATIONS);
    return '';
  }

  #delta(delta: object): string {
    return write('content_block_delta', { index: this.#index, delta });
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
