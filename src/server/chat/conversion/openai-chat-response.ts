import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { isBlank, listOf, textOf } from '../dialect.ts';
import { CHAT_DIALECT } from '../openai-endpoint-dialects.ts';
import type { Usage } from '../parse-usage.ts';
import { mediaOf, toMarkdown, toUrl } from './generated-media.ts';
import type { GeneratedMedia, ResponseEvent, Signature, StopReason } from './neutral-form.ts';
import { toFreeformArguments } from './openai-responses-tools.ts';
import { type DraftCall, ResponseBuilder, toArgumentsText } from './response-builder.ts';
import { type Block, collectResponse } from './response-collector.ts';
import { nameDropped, RESPONSE_MEMBERS } from './response-members.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';
import { readStopReason } from './stop-reasons.ts';
import { packOpaque, tagSignature } from './thinking-signatures.ts';

const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  calls: 'tool_calls',
  stop_sequence: 'stop',
  refused: 'content_filter',
  failed: 'stop',
};
/** Reasoning that is sent as plain text has no signature; an empty one says that it may go back to upstreams of this dialect. */
const UNSIGNED_REASONING: Signature = { vendor: 'openai', value: '' };
const MEMBERS = RESPONSE_MEMBERS.chat;

/** Reads a completion, complete or as a stream (platform.openai.com/docs/api-reference/chat-streaming). */
export class OpenAiChatReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word = '';
  /** A thought has begun that nothing has ended. */
  #isThinking = false;
  /** Number of the one choice that is read. */
  #choice: unknown;
  /** Text so far, as some upstreams repeat the whole message in their last event. */
  #said = '';
  #thought = '';
  #details = new Map<unknown, Record<string, unknown>>();

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
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
    this.builder.end(reason ?? 'end');
    return this.builder.take();
  }

  #read(body: UntrustedObject, isComplete: boolean): void {
    const { builder } = this;
    builder.start(body.id);
    nameDropped(body, MEMBERS.body, builder.dropped, 'response');
    builder.usage.add(CHAT_DIALECT.findUsage(body));
    for (const [position, value] of listOf(body.choices).entries()) {
      const choice = asObject(value) ?? {};
      const number = typeof choice.index === 'number' && !isComplete ? choice.index : position;
      this.#choice ??= number;
      if (number === this.#choice) this.#readChoice(choice, isComplete);
      else builder.dropped.drop(`response.choices.${Math.trunc(number)}`);
    }
  }

  #readChoice(choice: UntrustedObject, isComplete: boolean): void {
    nameDropped(choice, MEMBERS.choice, this.builder.dropped, 'response.choices');
    const { delta, message, text, error } = choice;
    const [partial, whole] = [asObject(delta), asObject(message)];
    if (isComplete) this.#readMessage(whole ?? partial ?? {}, true);
    else if (partial !== undefined && !isBlank({ ...partial, role: undefined })) this.#readMessage(partial, false);
    else if (whole !== undefined) this.#readRest(whole);
    if (textOf(text) !== '') this.#readMessage({ content: text }, isComplete);
    const word = textOf(choice.finish_reason);
    if (word !== '') this.#word = word;
    if (asObject(error) !== undefined) this.#word = 'error';
  }

  /** A whole message in an event: what of it has not come before. */
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
        tool_calls: hasCalls ? undefined : message.tool_calls,
        function_call: hasCalls ? undefined : message.function_call,
      },
      true,
    );
  }

  #readMessage(message: UntrustedObject, isWhole: boolean): void {
    const { builder } = this;
    nameDropped(message, MEMBERS.message, builder.dropped, 'response.message');
    const details = listOf(message.reasoning_details);
    this.#think(thoughtOf(message) || details.map(textOfDetail).join(''));
    for (const [position, detail] of details.entries()) this.#readDetail(asObject(detail) ?? {}, position);
    this.#readContent(message.content);
    this.#say(textOf(message.refusal));
    for (const image of listOf(message.images)) this.#readImage(asObject(image) ?? {});
    if (asObject(message.audio) !== undefined) this.#readAudio(asObject(message.audio) ?? {});
    const calls = asObject(message.tool_calls) === undefined ? listOf(message.tool_calls) : [message.tool_calls];
    for (const [position, value] of calls.entries()) {
      const call = asObject(value) ?? {};
      // Of calls in one list, those without any identity are one each.
      const isOwn = position > 0 && isBlank(call.index) && isBlank(call.id) && !isBlank(asObject(call.function)?.name);
      this.#readCall(call, isWhole || isOwn);
    }
    const old = asObject(message.function_call);
    if (old !== undefined) this.#readCall({ function: old }, isWhole);
  }

  #readContent(content: unknown): void {
    if (typeof content === 'string') {
      this.#say(content);
      return;
    }
    for (const value of asObject(content) === undefined ? listOf(content) : [content]) {
      if (typeof value === 'string') this.#say(value);
      const part = asObject(value);
      if (part === undefined) continue;
      nameDropped(part, MEMBERS.part, this.builder.dropped, 'response.content');
      const { type, text, image_url: image } = part;
      const isThought = type === 'thinking' || type === 'reasoning';
      if (isThought) this.#think(textOfContent(part.thinking ?? part.reasoning ?? part.text ?? part.content));
      else if (image !== undefined) this.#readImage(part);
      else this.#say(textOf(text) || textOf(part.refusal) || textOfContent(part.content));
    }
  }

  #readImage(image: UntrustedObject): void {
    const { image_url: value } = image;
    const url = textOf(asObject(value)?.url) || textOf(value) || textOf(image.url);
    const encoded = textOf(image.b64_json);
    if (url === '' && encoded === '') this.builder.dropped.drop('response.images');
    else this.#show(url === '' ? { mediaType: 'image/png', data: encoded } : mediaOf(url, 'image/png'));
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
    this.#isThinking = true;
    this.#thought += text;
    this.builder.thinking(text);
  }

  /** Details of one thought come in pieces, whose texts are continued and whose other members are complete. */
  #readDetail(detail: UntrustedObject, position: number): void {
    const { index, id } = detail;
    const place = index ?? (textOf(id) || position);
    const known = this.#details.get(place);
    if (known === undefined) this.#details.set(place, { ...detail });
    else
      for (const [key, value] of Object.entries(detail)) {
        const isContinued = (key === 'text' || key === 'summary') && typeof known[key] === 'string';
        if (value !== null && value !== '') known[key] = isContinued ? String(known[key]) + textOf(value) : value;
      }
  }

  #readCall(call: UntrustedObject, isWhole: boolean): void {
    const { builder } = this;
    nameDropped(call, MEMBERS.call, builder.dropped, 'response.tool_calls');
    const custom = asObject(call.custom);
    const called = custom ?? asObject(call.function) ?? call;
    if (called !== call)
      nameDropped(called, custom ? MEMBERS.custom : MEMBERS.function, builder.dropped, 'response.tool_calls.function');
    const args =
      custom === undefined
        ? toArgumentsText(called.arguments ?? called.parameters ?? called.input)
        : toFreeformArguments(textOf(custom.input));
    const identity = { index: call.index, id: call.id, name: called.name, args };
    if (isBlank(call.extra_content) && isBlank({ ...identity, index: undefined })) return;
    this.#endThought();
    if (!isBlank(call.extra_content)) {
      const opaque = { id: textOf(call.id) || undefined, extra_content: call.extra_content };
      builder.signature(packOpaque('extra_content', opaque), true);
    }
    const begun: DraftCall = isWhole ? builder.beginCall(identity) : builder.callOf(identity);
    builder.args(begun, args);
    if (isWhole || custom !== undefined) builder.endCall(begun);
  }

  #endThought(): void {
    const details = [...this.#details.values()];
    const isOpaque = details.some(({ signature, data, id }) => !isBlank(signature) || !isBlank(data) || !isBlank(id));
    if (isOpaque) this.builder.signature(packOpaque('reasoning_details', details), !this.#isThinking);
    else if (this.#isThinking) this.builder.signature(UNSIGNED_REASONING, false);
    this.#isThinking = false;
    if (details.length > 0) this.#details = new Map();
  }
}

const textOfDetail = (detail: unknown): string => {
  const { text, summary } = asObject(detail) ?? {};
  return textOf(text) || textOf(summary);
};

/** A text, or the texts of a list of parts. */
function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (typeof part === 'string' ? part : textOf(asObject(part)?.text)))
    .join('');
}

/** Reasoning under all the names it has in this dialect; an upstream that uses two says the same in both. */
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

/** A thought with its signature, in the form OpenRouter has for it. */
const toDetail = (text: string, signature: Signature, isRedacted: boolean, index: number): object =>
  isRedacted
    ? { type: 'reasoning.encrypted', data: tagSignature(signature), index }
    : { type: 'reasoning.text', text, signature: tagSignature(signature), index };

const isImage = ({ mediaType }: GeneratedMedia): boolean => mediaType.startsWith('image/');

/** An image in the form OpenRouter has for it; OpenAI's own completions have none. */
const toImage = (media: GeneratedMedia, index: number): object => ({
  type: 'image_url',
  image_url: { url: toUrl(media) },
  index,
});

/** Media that are no images have no place but the text. */
const toText = (block: Block): string =>
  block.type === 'text' ? block.text : block.type === 'media' && !isImage(block.media) ? toMarkdown(block.media) : '';

/** A complete completion from its events. */
export function writeOpenAiChatResponse(
  events: readonly ResponseEvent[],
  { id, model, created }: ResponseContext,
): object {
  const { blocks, end } = collectResponse(events);
  const thoughts = blocks.filter((block) => block.type === 'thinking');
  const calls = blocks.filter((block) => block.type === 'call');
  const text = blocks.map(toText).join('');
  const details = thoughts.flatMap(({ text: thought, signature, isRedacted }, index) =>
    signature === undefined || signature.value === '' ? [] : [toDetail(thought, signature, isRedacted, index)],
  );
  const images = blocks.flatMap((block) => (block.type === 'media' && isImage(block.media) ? [block.media] : []));
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    reasoning_content: thoughts.length === 0 ? undefined : thoughts.map((thought) => thought.text).join(''),
    reasoning_details: details.length === 0 ? undefined : details,
    images: images.length === 0 ? undefined : images.map(toImage),
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
  #images = 0;

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
      case 'media':
        return isImage(event.media)
          ? this.#delta({ images: [toImage(event.media, this.#images++)] })
          : this.#delta({ content: toMarkdown(event.media) });
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
