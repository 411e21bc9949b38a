import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { listOf, textOf } from '../dialect.ts';
import { GEMINI_DIALECT } from '../gemini-dialect.ts';
import { parseUsage, type Usage } from '../parse-usage.ts';
import { tryParse } from '../try-parse-json.ts';
import type { ResponseEvent, Signature, StopReason } from './neutral-form.ts';
import { collectResponse } from './response-collector.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';
import { readSignature, tagSignature } from './thinking-signatures.ts';

const REASONS: Readonly<Record<string, StopReason>> = { STOP: 'end', MAX_TOKENS: 'length' };
const WORDS: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  stop_sequence: 'STOP',
  refused: 'SAFETY',
};

/** Reads a response, complete or chunk by chunk; both have one form. A call of a function comes whole. */
export class GeminiReader implements ResponseReader {
  #hasStarted = false;
  #calls = 0;
  #reason: StopReason | undefined;
  #usage: Usage | undefined;
  #hasEnded = false;

  readComplete(body: UntrustedObject): ResponseEvent[] {
    return [...this.readEvent(body), ...this.finish()];
  }

  readEvent(event: UntrustedObject): ResponseEvent[] {
    this.#usage = parseUsage(GEMINI_DIALECT.findUsage(event)) ?? this.#usage;
    const events: ResponseEvent[] = this.#hasStarted ? [] : [{ type: 'start', id: textOf(event.responseId) }];
    this.#hasStarted = true;
    const [candidate] = listOf(event.candidates).map(asObject);
    const word = textOf(candidate?.finishReason);
    // All other words are kinds of refusals.
    if (word !== '') this.#reason = REASONS[word] ?? 'refused';
    if (textOf(asObject(event.promptFeedback)?.blockReason) !== '') this.#reason = 'refused';
    for (const part of listOf(asObject(candidate?.content)?.parts))
      events.push(...this.#readPart(asObject(part) ?? {}));
    return events;
  }

  finish(): ResponseEvent[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const reason = this.#reason === 'end' && this.#calls > 0 ? 'calls' : (this.#reason ?? 'end');
    return [{ type: 'end', reason, stopSequence: undefined, usage: this.#usage }];
  }

  #readPart({ text, thought, thoughtSignature, functionCall }: UntrustedObject): ResponseEvent[] {
    const signature = readSignature(thoughtSignature, 'gemini');
    const signatures: ResponseEvent[] =
      signature === undefined ? [] : [{ type: 'signature', signature, isRedacted: thought !== true }];
    const said = textOf(text);
    if (thought === true) return [...(said === '' ? [] : [{ type: 'thinking' as const, text: said }]), ...signatures];
    const call = asObject(functionCall);
    if (call === undefined) return said === '' ? signatures : [...signatures, { type: 'text', text: said }];
    const index = this.#calls++;
    const name = textOf(call.name);
    const id = textOf(call.id) || `call_${crypto.randomUUID().replaceAll('-', '')}`;
    return [
      ...signatures,
      { type: 'call', index, id, name },
      { type: 'args', index, text: JSON.stringify(call.args ?? {}) },
    ];
  }
}

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

/** A thought of another maker's model has no other place for its signature than a thought part of its own. */
const toThought = (text: string, signature: Signature | undefined): object => ({
  text,
  thought: true,
  thoughtSignature: signature === undefined ? undefined : toOwn(signature),
});

const toChunk = (
  { id, model }: ResponseContext,
  parts: readonly object[],
  reason?: StopReason,
  usage?: Usage,
): object => ({
  candidates: [
    {
      content: { role: 'model', parts },
      finishReason: reason === undefined ? undefined : WORDS[reason],
      index: 0,
    },
  ],
  usageMetadata: reason === undefined ? undefined : toFigures(usage),
  modelVersion: model,
  responseId: id,
});

/** A complete response from its events. */
export function writeGeminiResponse(events: readonly ResponseEvent[], context: ResponseContext): object {
  const { blocks, end } = collectResponse(events);
  const parts = blocks.map((block) => {
    if (block.type === 'text') return { text: block.text };
    if (block.type === 'thinking') return toThought(block.text, block.signature);
    return { functionCall: { id: block.id, name: block.name, args: block.input } };
  });
  return toChunk(context, parts, end.reason, end.usage);
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  args: string;
}

/** Writes the chunks of a stream. A call of a function is one part, so it leaves when its arguments are complete. */
export class GeminiStreamWriter implements StreamWriter {
  readonly #context: ResponseContext;
  #open: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: ResponseEvent): string {
    switch (event.type) {
      case 'start':
        return '';
      case 'text':
        return this.#flush() + this.#part({ text: event.text });
      case 'thinking':
        return this.#flush() + this.#part({ text: event.text, thought: true });
      case 'signature':
        return this.#flush() + this.#part(toThought('', event.signature));
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
        return this.#flush() + write(toChunk(this.#context, [{ text: '' }], event.reason, event.usage));
    }
  }

  #flush(): string {
    const parts = this.#open.map(({ id, name, args }) => ({
      functionCall: { id, name, args: asObject(tryParse(args)) ?? {} },
    }));
    this.#open = [];
    return parts.length === 0 ? '' : write(toChunk(this.#context, parts));
  }

  #part(part: object): string {
    return write(toChunk(this.#context, [part]));
  }
}

const write = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;
