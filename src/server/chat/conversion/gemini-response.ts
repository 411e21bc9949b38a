import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { GEMINI_DIALECT, listOf, textOf } from '../dialects.ts';
import type { Usage } from '../usage.ts';
import { CountedText } from './citations.ts';
import { nameDropped, RESPONSE_MEMBERS } from './fields.ts';
import { GroundingReader, type PartCitation, toGroundingMetadata } from './grounding.ts';
import {
  type Citation,
  type GeneratedMedia,
  type ResponseEvent,
  readSignature,
  readStopReason,
  type Signature,
  type StopReason,
  tagSignature,
} from './neutral-form.ts';
import {
  collectResponse,
  ResponseBuilder,
  type ResponseContext,
  type ResponseReader,
  type StreamWriter,
  toArgumentsText,
  toInput,
} from './response-builder.ts';

const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  stop_sequence: 'STOP',
  refused: 'SAFETY',
  failed: 'OTHER',
};
const READ_MEMBERS = RESPONSE_MEMBERS.gemini;

/**
 * Reads a response, complete or chunk by chunk; both have one form. A function call arrives complete. Google's JSON
 * encoding has a second spelling of every member.
 */
export class GeminiReader implements ResponseReader {
  readonly builder: ResponseBuilder;
  #word = '';
  #isBlocked = false;
  #candidate: unknown;
  readonly #grounding: GroundingReader;

  constructor(interleaves = false) {
    this.builder = new ResponseBuilder(interleaves);
    this.#grounding = new GroundingReader(this.builder);
  }

  readComplete(body: UntrustedObject): ResponseEvent[] {
    return [...this.readEvent(body), ...this.finish()];
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    const { builder } = this;
    builder.start(event.responseId);
    nameDropped(event, READ_MEMBERS.body, builder.dropped, 'response');
    builder.usage.add(GEMINI_DIALECT.findUsage(event));
    const feedback = asObject(event.promptFeedback ?? event.prompt_feedback);
    if (textOf(feedback?.blockReason ?? feedback?.block_reason) !== '') this.#isBlocked = true;
    for (const [position, value] of listOf(event.candidates).entries()) {
      const candidate = asObject(value) ?? {};
      const number = typeof candidate.index === 'number' ? candidate.index : position;
      this.#candidate ??= number;
      if (number === this.#candidate) this.#readCandidate(candidate);
      else builder.dropped.drop(`response.candidates.${Math.trunc(number)}`);
    }
    return builder.take();
  }

  finish(): ResponseEvent[] {
    const reason = this.#isBlocked ? 'refused' : readStopReason(this.#word);
    if (reason === 'failed') this.builder.fail(this.#word);
    this.#grounding.finish();
    this.builder.end(reason ?? 'end');
    return this.builder.take();
  }

  #readCandidate(candidate: UntrustedObject): void {
    nameDropped(candidate, READ_MEMBERS.candidate, this.builder.dropped, 'response.candidates');
    const word = textOf(candidate.finishReason ?? candidate.finish_reason);
    if (word !== '') this.#word = word;
    const content = Array.isArray(candidate.content) ? asObject(candidate.content[0]) : asObject(candidate.content);
    if (typeof candidate.content === 'string') this.builder.text(candidate.content);
    const parts = asObject(content?.parts) === undefined ? listOf(content?.parts) : [content?.parts];
    const starts = parts.map((part) => {
      const start = this.builder.said.length;
      this.#readPart(asObject(part) ?? {});
      return start;
    });
    this.#grounding.read(candidate, starts);
  }

  #readPart(part: UntrustedObject): void {
    const { builder } = this;
    nameDropped(part, READ_MEMBERS.part, builder.dropped, 'response.parts');
    const signature = readSignature(part.thoughtSignature ?? part.thought_signature, 'gemini');
    const text = textOf(part.text);
    if (part.thought === true || part.thought === 'true') {
      builder.thinking(text);
      builder.signature(signature, false);
      return;
    }
    builder.signature(signature, true);
    builder.text(text);
    const call = asObject(part.functionCall ?? part.function_call);
    if (call !== undefined) {
      nameDropped(call, READ_MEMBERS.functionCall, builder.dropped, 'response.functionCall');
      const begun = builder.beginCall({ id: call.id, name: call.name });
      builder.args(begun, toArgumentsText(call.args));
      builder.endCall(begun);
    }
    this.#readMedia(asObject(part.inlineData ?? part.inline_data ?? part.fileData ?? part.file_data));
  }

  #readMedia(media: UntrustedObject | undefined): void {
    if (media === undefined) return;
    nameDropped(media, READ_MEMBERS.media, this.builder.dropped, 'response.inlineData');
    const mediaType = textOf(media.mimeType ?? media.mime_type) || 'image/png';
    const [data, url] = [textOf(media.data), textOf(media.fileUri ?? media.file_uri)];
    if (data === '' && url === '') return;
    this.builder.media(data === '' ? { mediaType, url } : { mediaType, data });
  }
}

const toMediaPart = ({ mediaType, data, url }: GeneratedMedia): object =>
  data === undefined
    ? { fileData: { mimeType: mediaType, fileUri: url } }
    : { inlineData: { mimeType: mediaType, data } };

function toFigures(usage: Usage | undefined): object {
  const { promptTokens = 0, completionTokens = 0, reasoningTokens = 0, parts = {} } = usage ?? {};
  return {
    promptTokenCount: promptTokens,
    cachedContentTokenCount: parts.cached_input ?? 0,
    candidatesTokenCount: completionTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    totalTokenCount: promptTokens + completionTokens,
  };
}

const toOwn = (signature: Signature): string =>
  signature.vendor === 'gemini' ? signature.value : tagSignature(signature);

/** Reasoning of another vendor's model can only carry its signature in a thought part of its own. */
const toThought = (text: string, signature: Signature | undefined): object => ({
  text,
  thought: true,
  thoughtSignature: signature === undefined ? undefined : toOwn(signature),
});

interface ChunkEnd {
  readonly reason: StopReason;
  readonly usage: Usage | undefined;
  readonly cited: readonly PartCitation[];
}

const toChunk = ({ id, model }: ResponseContext, parts: readonly object[], end?: ChunkEnd): object => ({
  candidates: [
    {
      content: { role: 'model', parts },
      finishReason: end && WORDS[end.reason],
      groundingMetadata: end && toGroundingMetadata(end.cited),
      index: 0,
    },
  ],
  usageMetadata: end && toFigures(end.usage),
  modelVersion: model,
  responseId: id,
});

/** Writes a complete response from its events. */
export function writeGeminiResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  const parts = blocks.map((block) => {
    if (block.type === 'text') return { text: block.text };
    if (block.type === 'media') return toMediaPart(block.media);
    if (block.type === 'thinking') return toThought(block.text, block.signature);
    return { functionCall: { id: block.id, name: block.name, args: block.input } };
  });
  const cited = blocks.flatMap((block, partIndex) => {
    if (block.type !== 'text') return [];
    const text = new CountedText();
    text.add(block.text);
    nameCitedText(block.citations, context);
    return block.citations.map((citation) => ({ citation, text, range: citation.range, partIndex }));
  });
  return toChunk(context, parts, { reason: end.reason, usage: end.usage, cited });
}

/** Names the words of cited pages, which grounding by a search does not contain. */
function nameCitedText(citations: readonly Citation[], { dropped }: ResponseContext): void {
  if (citations.some(({ citedText }) => citedText !== undefined)) dropped?.drop('response.citations.cited_text');
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  args: string;
}

/** Writes the chunks of a stream. A function call is one part, so it is sent when its arguments are complete. */
export class GeminiStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  #open: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  readonly #text = new CountedText();
  readonly #citations: PartCitation[] = [];

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start':
        return '';
      case 'text':
        this.#text.add(event.text);
        return this.#flush() + this.#part({ text: event.text });
      case 'citation': {
        const { citation } = event;
        nameCitedText([citation], this.#context);
        this.#citations.push({ citation, text: this.#text, range: citation.range, partIndex: undefined });
        return '';
      }
      case 'thinking':
        return this.#flush() + this.#part({ text: event.text, thought: true });
      case 'signature':
        return this.#flush() + this.#part(toThought('', event.signature));
      case 'media':
        return this.#flush() + this.#part(toMediaPart(event.media));
      case 'call': {
        const call = { id: event.id, name: event.name, args: '' };
        this.#open.push(call);
        this.#byIndex.set(event.index, call);
        return '';
      }
      case 'args': {
        const call = this.#byIndex.get(event.index);
        if (call !== undefined) call.args += event.text;
        return '';
      }
      case 'end':
        return this.#flush() + write(toChunk(this.#context, [{ text: '' }], { ...event, cited: this.#citations }));
    }
  }

  #flush(): string {
    const parts = this.#open.map(({ id, name, args }) => ({
      functionCall: { id, name, args: toInput(args) },
    }));
    this.#open = [];
    return parts.length === 0 ? '' : write(toChunk(this.#context, parts));
  }

  #part(part: object): string {
    return write(toChunk(this.#context, [part]));
  }
}

const write = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
