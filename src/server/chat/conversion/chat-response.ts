import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { CHAT_DIALECT, isBlank, listOf, textOf } from '../dialects.ts';
import type { Usage } from '../usage.ts';
import { AnnotationReader, ChatAnnotations } from './annotations.ts';
import { CALL_EXTRAS, MESSAGE_EXTRAS, pickFilled } from './chat-request.ts';
import { nameDropped, RESPONSE_MEMBERS } from './fields.ts';
import {
  type GeneratedMedia,
  packOpaque,
  type ResponseEvent,
  readStopReason,
  type Signature,
  type StopReason,
  tagSignature,
} from './neutral-form.ts';
import {
  type Block,
  collectResponse,
  type DraftCall,
  findMedia,
  isImage,
  ResponseBuilder,
  type ResponseContext,
  type ResponseReader,
  type StreamWriter,
  toArgumentsText,
  toMarkdown,
  toUrl,
} from './response-builder.ts';
import { readFreeformArguments, toFreeformArguments } from './responses-request.ts';

const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  calls: 'tool_calls',
  stop_sequence: 'stop',
  refused: 'content_filter',
  failed: 'stop',
};
/**
 * Reasoning that is sent as plain text has no signature; an
 * empty one marks it as acceptable to upstreams of this dialect.
 */
const UNSIGNED_REASONING: Signature = { vendor: 'openai', value: '' };
const READ_MEMBERS = RESPONSE_MEMBERS.chat;

/** Reads a completion, complete or as a stream (platform.openai.com/docs/api-reference/chat-streaming). */
export class OpenAiChatReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word = '';
  /** The stop sequence that ended the text, which vLLM and SGLang name. */
  #matched: string | undefined;
  /** Text of the thought that nothing has ended. */
  #openThought = '';
  /** Index of the one choice that is read. */
  #choice: unknown;
  /** Text so far; some upstreams repeat the whole message in their last event. */
  #said = '';
  #thought = '';
  #details = new Map<unknown, Record<string, unknown>>();
  #extras: Record<string, unknown> = {};
  readonly #annotations: AnnotationReader;

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
    this.#annotations = new AnnotationReader(this.builder);
  }

  readComplete(body: UntrustedObject): ResponseEvent[] {
    this.#read(body, true);
    return this.finish();
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    this.#read(event, false);
    return this.builder.take();
  }

  finish(): ResponseEvent[] {
    this.#endThought();
    const reason = readStopReason(this.#word);
    if (reason === 'failed') this.builder.fail(this.#word);
    this.#annotations.finish();
    this.builder.end(reason ?? 'end', this.#matched);
    return this.builder.take();
  }

  #read(body: UntrustedObject, isComplete: boolean): void {
    const { builder } = this;
    builder.start(body.id);
    nameDropped(body, READ_MEMBERS.body, builder.dropped, 'response');
    builder.usage.add(CHAT_DIALECT.findUsage(body));
    this.#annotations.keepSources(body);
    for (const [position, value] of listOf(body.choices).entries()) {
      const choice = asObject(value) ?? {};
      const number = typeof choice.index === 'number' && !isComplete ? choice.index : position;
      this.#choice ??= number;
      if (number === this.#choice) this.#readChoice(choice, isComplete);
      else builder.dropped.drop(`response.choices.${Math.trunc(number)}`);
    }
  }

  #readChoice(choice: UntrustedObject, isComplete: boolean): void {
    nameDropped(choice, READ_MEMBERS.choice, this.builder.dropped, 'response.choices');
    const { delta, message, text, error } = choice;
    const [partial, whole] = [asObject(delta), asObject(message)];
    if (isComplete) this.#readMessage(whole ?? partial ?? {}, true);
    else if (partial !== undefined && !isBlank({ ...partial, role: undefined })) this.#readMessage(partial, false);
    else if (whole !== undefined) this.#readRest(whole);
    if (textOf(text) !== '') this.#readMessage({ content: text }, isComplete);
    this.#annotations.read(choice.annotations);
    const word = textOf(choice.finish_reason);
    if (word !== '') this.#word = word;
    this.#matched = textOf(choice.stop_reason) || textOf(choice.matched_stop) || this.#matched;
    if (asObject(error) !== undefined) this.#word = 'error';
  }

  /** Reads a whole message in an event; only content that has not arrived before is emitted. */
  #readRest(message: UntrustedObject): void {
    const text = textOfContent(message.content);
    const thought = thoughtOf(message);
    const hasCalls = this.builder.callCount > 0;
    this.#readMessage(
      {
        ...message,
        content: this.#said === '' ? message.content : text.startsWith(this.#said) ? text.slice(this.#said.length) : '',
        reasoning: this.#thought === '' ? thought : '',
        reasoning_content: undefined,
        reasoning_text: undefined,
        thinking: undefined,
        thought: undefined,
        reasoning_details: this.#thought === '' ? message.reasoning_details : undefined,
        thinking_blocks: this.#thought === '' ? message.thinking_blocks : undefined,
        tool_calls: hasCalls ? undefined : message.tool_calls,
        function_call: hasCalls ? undefined : message.function_call,
      },
      true,
    );
  }

  #readMessage(message: UntrustedObject, isWhole: boolean): void {
    const { builder } = this;
    nameDropped(message, READ_MEMBERS.message, builder.dropped, 'response.message');
    const details = listOf(message.reasoning_details);
    const blocks = listOf(message.thinking_blocks).map((block) => asObject(block) ?? {});
    this.#think(thoughtOf(message) || this.#thoughtIn(details, blocks));
    this.#keepExtras(pickFilled(message, MESSAGE_EXTRAS), blocks);
    for (const [position, detail] of details.entries()) this.#readDetail(asObject(detail) ?? {}, position);
    this.#readContent(message.content);
    this.#say(textOf(message.refusal));
    this.#annotations.read(message.annotations);
    for (const image of listOf(message.images)) this.#readImage(image);
    if (asObject(message.audio) !== undefined) this.#readAudio(asObject(message.audio) ?? {});
    for (const [position, value] of toCalls(message.tool_calls).entries()) {
      const call = asObject(value) ?? {};
      // Calls without index and id within one list are separate calls.
      const isOwn = position > 0 && isBlank(call.index) && isBlank(call.id) && !isBlank(asObject(call.function)?.name);
      this.#readCall(call, isWhole || isOwn);
    }
    const old = asObject(message.function_call);
    if (old !== undefined) this.#readCall({ function: old }, isWhole);
  }

  #readContent(content: unknown): void {
    if (typeof content !== 'object') {
      this.#say(textOfContent(content));
      return;
    }
    for (const value of asObject(content) === undefined ? listOf(content) : [content]) {
      if (typeof value === 'string') this.#say(value);
      const part = asObject(value);
      if (part === undefined) continue;
      nameDropped(part, READ_MEMBERS.part, this.builder.dropped, 'response.content');
      const { type, text } = part;
      const isThought = type === 'thinking' || type === 'reasoning';
      const said = textOfContent(text) || textOf(part.refusal) || textOfContent(part.content);
      if (isThought) this.#think(textOfContent(part.thinking ?? part.reasoning ?? part.text ?? part.content));
      else if (said !== '') this.#say(said);
      else if (findMedia(part) !== undefined || IMAGE_TYPE.test(textOf(type))) this.#readImage(part);
    }
  }

  #readImage(image: unknown): void {
    const media = findMedia(image);
    if (media === undefined) this.builder.dropped.drop('response.images');
    else this.#show(media);
  }

  #readAudio({ data, transcript }: UntrustedObject): void {
    this.#say(textOf(transcript));
    if (textOf(data) !== '') this.#show({ mediaType: 'audio/mpeg', data: textOf(data) });
  }

  #show(media: GeneratedMedia): void {
    this.#endThought();
    this.builder.media(media);
  }

  #say(text: string): void {
    if (text === '') return;
    this.#endThought();
    this.#said += text;
    this.builder.text(text);
  }

  #think(text: string): void {
    if (text === '') return;
    this.#openThought += text;
    this.#thought += text;
    this.builder.thinking(text);
  }

  /** The new text of details or blocks: one that signs a streamed thought may repeat the thought's whole text. */
  #thoughtIn(details: readonly unknown[], blocks: readonly UntrustedObject[]): string {
    const text = details.map(textOfDetail).join('') || blocks.map(({ thinking }) => textOf(thinking)).join('');
    const isSigned = [...details, ...blocks].some((each) => !isBlank(asObject(each)?.signature));
    return isSigned && text === this.#openThought ? '' : text;
  }

  /** Reads a piece of reasoning details, whose texts are appended and whose other members are complete. */
  #readDetail(detail: UntrustedObject, position: number): void {
    const { index, id } = detail;
    const place = index ?? (textOf(id) || position);
    const known = this.#details.get(place);
    if (known === undefined) this.#details.set(place, { ...detail });
    else
      for (const [key, value] of Object.entries(detail)) {
        const isText = (key === 'text' || key === 'summary') && typeof known[key] === 'string';
        const isContinued = isText && (isBlank(detail.signature) || value !== known[key]);
        if (value !== null && value !== '') known[key] = isContinued ? String(known[key]) + textOf(value) : value;
      }
  }

  /** Keeps members that the upstream requires back; the blocks of LiteLLM arrive in pieces until they are signed. */
  #keepExtras(extras: UntrustedObject, blocks: readonly UntrustedObject[]): void {
    const known = listOf(this.#extras.thinking_blocks) as UntrustedObject[];
    for (const block of blocks) {
      const last = known.at(-1);
      const isPiece = last !== undefined && last.type === block.type && isBlank(last.signature) && isBlank(last.data);
      const joined = isPiece ? { ...last, ...block, thinking: textOf(last.thinking) + textOf(block.thinking) } : block;
      known.splice(isPiece ? -1 : known.length, 1, joined);
    }
    this.#extras = { ...this.#extras, ...extras };
    if (known.length > 0) this.#extras = { ...this.#extras, thinking_blocks: known };
  }

  #readCall(call: UntrustedObject, isWhole: boolean): void {
    const { builder } = this;
    nameDropped(call, READ_MEMBERS.call, builder.dropped, 'response.tool_calls');
    const custom = asObject(call.custom);
    const called = custom ?? asObject(call.function) ?? call;
    if (called !== call)
      nameDropped(
        called,
        custom ? READ_MEMBERS.custom : READ_MEMBERS.function,
        builder.dropped,
        'response.tool_calls.function',
      );
    const args =
      custom === undefined
        ? toArgumentsText(called.arguments ?? called.parameters ?? called.input)
        : toFreeformArguments(textOf(custom.input));
    const identity = { index: call.index, id: call.id, name: called.name, args };
    const extras = pickFilled(call, CALL_EXTRAS);
    if (isBlank(extras) && Object.values({ ...identity, index: undefined }).every(isBlank)) return;
    this.#endThought();
    if (!isBlank(extras))
      builder.signature(packOpaque('call_extras', { id: textOf(call.id) || undefined, ...extras }), true);
    const begun: DraftCall = isWhole ? builder.beginCall(identity) : builder.callOf(identity);
    builder.args(begun, args);
    if (isWhole || custom !== undefined) builder.endCall(begun);
  }

  #endThought(): void {
    const details = [...this.#details.values()];
    const isOpaque = details.some(({ signature, data, id }) => !isBlank(signature) || !isBlank(data) || !isBlank(id));
    const signatures = [
      ...(isOpaque ? [packOpaque('reasoning_details', details)] : []),
      ...(isBlank(this.#extras) ? [] : [packOpaque('message_extras', this.#extras)]),
    ];
    for (const [index, signature] of signatures.entries())
      this.builder.signature(signature, this.#openThought === '' || index > 0);
    if (signatures.length === 0 && this.#openThought !== '') this.builder.signature(UNSIGNED_REASONING, false);
    this.#openThought = '';
    this.#details = new Map();
    this.#extras = {};
  }
}

const textOfDetail = (detail: unknown): string => {
  const { text, summary } = asObject(detail) ?? {};
  return textOf(text) || textOf(summary);
};

/** The text of a string, of a number, of an object that holds a text, or of a list of those. */
function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (typeof content === 'number') return String(content);
  if (Array.isArray(content)) return content.map(textOfContent).join('');
  const { text, value } = asObject(content) ?? {};
  return textOf(text) || textOf(value);
}

/** Types of parts that hold an image. */
const IMAGE_TYPE = /image/;

/** The calls in a list, alone, or in an object whose keys are their indexes. */
function toCalls(calls: unknown): readonly unknown[] {
  const object = asObject(calls);
  if (object === undefined) return listOf(calls);
  const values = Object.values(object);
  return values.every((value) => asObject(value)?.function !== undefined) ? values : [object];
}

/** Reasoning text under every name this dialect has for it; an upstream that uses two names repeats the same text. */
function thoughtOf(message: UntrustedObject): string {
  const { reasoning_content: content, reasoning, reasoning_text: reasoningText, thinking, thought } = message;
  for (const value of [content, reasoning, reasoningText, thinking, thought]) {
    const { content: inner, text } = asObject(value) ?? {};
    const said = textOfContent(value) || textOfContent(inner) || textOfContent(text);
    if (said !== '') return said;
  }
  return '';
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

/** Reasoning with its signature, in OpenRouter's form. */
const toDetail = (text: string, signature: Signature, isRedacted: boolean, index: number): object =>
  isRedacted
    ? { type: 'reasoning.encrypted', data: tagSignature(signature), index }
    : { type: 'reasoning.text', text, signature: tagSignature(signature), index };

/** An image in OpenRouter's form; OpenAI's own completions have none. */
const toImage = (media: GeneratedMedia, index: number): object => ({
  type: 'image_url',
  image_url: { url: toUrl(media) },
  index,
});

/** Media other than images can only be written as text. */
const toText = (block: Block): string =>
  block.type === 'text' ? block.text : block.type === 'media' && !isImage(block.media) ? toMarkdown(block.media) : '';

/**
 * Whether a call is of a freeform tool. Only Cursor declares such tools and reads chat completions: it expects a call
 * of a function whose arguments are the text itself.
 */
const isFreeform = ({ origins }: ResponseContext, name: string): boolean => origins.get(name)?.isFreeform === true;

/** Writes a complete completion from its events. */
export function writeOpenAiChatResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { id, model, created } = context;
  const { blocks, end } = collectResponse(events);
  const thoughts = blocks.filter((block) => block.type === 'thinking');
  const calls = blocks.filter((block) => block.type === 'call');
  const text = blocks.map(toText).join('');
  const details = thoughts.flatMap(({ text: thought, signature, isRedacted }, index) =>
    signature === undefined || signature.value === '' ? [] : [toDetail(thought, signature, isRedacted, index)],
  );
  const images = blocks.flatMap((block) => (block.type === 'media' && isImage(block.media) ? [block.media] : []));
  const annotations = new ChatAnnotations();
  for (const event of events) annotations.add(event);
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    annotations: annotations.list.length === 0 ? undefined : annotations.list,
    reasoning_content: thoughts.length === 0 ? undefined : thoughts.map((thought) => thought.text).join(''),
    reasoning_details: details.length === 0 ? undefined : details,
    images: images.length === 0 ? undefined : images.map(toImage),
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ name, ...call }) => {
            const args = isFreeform(context, name) ? readFreeformArguments(call.args) : call.args;
            return { id: call.id, type: 'function', function: { name, arguments: args } };
          }),
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
  #images = 0;
  /** Arguments of calls of freeform tools, whose text is known once they are complete. */
  readonly #freeform = new Map<number, string>();
  /** Sent in one chunk, because OpenAI's own clients keep only the last one, or refuse a second. */
  readonly #annotations = new ChatAnnotations();

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    this.#annotations.add(event);
    switch (event.type) {
      case 'start':
        return this.#delta({ role: 'assistant', content: '' });
      case 'text':
        return this.#delta({ content: event.text });
      case 'citation':
        return '';
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
      case 'media':
        return isImage(event.media)
          ? this.#delta({ images: [toImage(event.media, this.#images++)] })
          : this.#delta({ content: toMarkdown(event.media) });
      case 'call': {
        const { index, id, name } = event;
        if (isFreeform(this.#context, name)) this.#freeform.set(index, '');
        return this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      }
      case 'args': {
        const { index, text } = event;
        const written = this.#freeform.get(index);
        if (written === undefined) return this.#args(index, text);
        this.#freeform.set(index, written + text);
        return '';
      }
      case 'end': {
        const inputs = [...this.#freeform].map(([index, args]) => this.#args(index, readFreeformArguments(args)));
        const usage = this.#context.wantsUsage ? this.#chunk([], { usage: toFigures(event.usage) }) : '';
        const { list } = this.#annotations;
        const annotations = list.length > 0 ? this.#delta({ annotations: list }) : '';
        return `${inputs.join('')}${annotations}${this.#delta({}, WORDS[event.reason])}${usage}data: [DONE]\n\n`;
      }
    }
  }

  #args(index: number, text: string): string {
    return this.#delta({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  #delta(delta: object, reason: string | null = null): string {
    return this.#chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }]);
  }

  #chunk(choices: readonly object[], more: object = {}): string {
    const { id, model, created, wantsUsage } = this.#context;
    const base = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };
    const chunk = { ...base, choices, usage: wantsUsage ? null : undefined, ...more };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }
}
