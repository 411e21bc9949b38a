import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import type { ModelKind } from '../../contract/model-kinds-and-id.ts';
import type { ChatRequest } from './chat-request.ts';
import { type Dialect, MAX_IMAGE_EVENT_BYTES } from './dialect.ts';
import { removeProperty } from './edit-json-bytes.ts';
import { mergeFigures } from './find-and-merge-usage.ts';
import { parseUsage, type Usage } from './parse-usage.ts';
import { DONE_DATA, endOfLastEvent, extractData, isCompleteEvent, splitEvents, splitLines } from './sse-events.ts';
import { tryParse } from './try-parse-json.ts';

/** No upstream's stream is near it. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** Raw events kept for counting; older ones are reduced to their text. */
const RETAINED_BYTES = 2 * 1024;
const LF = 0x0a;
/** Of the member, of `event: error` and of `"object":"error"`. */
const ERROR_MARKER = 'error';

/**
 * Filters an upstream's event stream while it passes. Whole events are forwarded as they came, in the same buffer wherever
 * possible; only events that mention usage or an error are parsed. What passed is retained, because a stream that breaks is
 * charged by what came.
 */
export class EventStream {
  readonly #dialect: Dialect;
  readonly #hidesUsage: boolean;
  /** Bytes of an event that has not ended. */
  #partialEvent: Buffer[] = [];
  #partialLength = 0;
  /** Bytes that have come so far. */
  totalBytes = 0;
  #retained = Buffer.allocUnsafeSlow(RETAINED_BYTES);
  #retainedLength = 0;
  #text: string[] = [];
  /** The newest figures as the upstream wrote them. */
  #figures: UntrustedObject | undefined;
  #usage: Usage | undefined;
  /** Value of `totalBytes` when the usage was last searched for. */
  #usageReadAt = -1;
  /** Choices that are complete; all of them once the stream has signalled its end. */
  #finishedChoices = 0;
  readonly #choiceCount: number;
  readonly #maxEventBytes: number;
  /** Whether any event has come. */
  hasEvents = false;
  /** An error the upstream reported inside its stream; nothing is forwarded after it. */
  error: UntrustedObject | undefined;
  /** An event or the whole stream exceeds its limit; nothing is forwarded after it. */
  exceedsLimit = false;

  constructor(dialect: Dialect, hidesUsage: boolean, choiceCount = 1, maxEventBytes = dialect.maxEventBytes) {
    this.#dialect = dialect;
    this.#choiceCount = choiceCount;
    this.#maxEventBytes = maxEventBytes;
    this.#hidesUsage = hidesUsage;
  }

  /** @returns what of these bytes, and of those that were incomplete before, may be forwarded to the caller */
  push(bytes: Buffer): Buffer | undefined {
    this.totalBytes += bytes.length;
    if (this.totalBytes > MAX_STREAM_BYTES) this.exceedsLimit = true;
    // The pieces of a partial event are joined once, not again with each piece.
    if (this.#partialEvent.length > 0 && !bytes.includes(LF)) {
      this.#bufferPartial(bytes);
      return undefined;
    }
    const data = this.#partialEvent.length === 0 ? bytes : Buffer.concat([...this.#partialEvent, bytes]);
    const end = endOfLastEvent(data);
    this.#partialEvent = [];
    this.#partialLength = 0;
    if (end < data.length) this.#bufferPartial(data.subarray(end));
    return end === 0 ? undefined : this.#forward(end === data.length ? data : data.subarray(0, end));
  }

  /** The last event, where the upstream left out the blank line behind it. */
  finish(): Buffer | undefined {
    if (this.#partialEvent.length === 0) return undefined;
    const rest = Buffer.concat(this.#partialEvent);
    this.#partialEvent = [];
    if (!isCompleteEvent(rest.toString('utf8'))) return undefined;
    return this.#forward(Buffer.concat([rest, Buffer.from('\n\n')]));
  }

  /** Whether the stream signalled that it is complete; a connection that is merely closed does not count. */
  get complete(): boolean {
    if (this.#endsWithDone()) return true;
    this.#compactRetained();
    return this.#finishedChoices >= this.#choiceCount;
  }

  /** The newest figures, as some upstreams report them all along. */
  get usage(): Usage | undefined {
    if (this.#usageReadAt !== this.totalBytes) {
      this.#readUsage(this.#retained.toString('utf8', 0, this.#retainedLength));
      this.#usageReadAt = this.totalBytes;
    }
    return this.#usage;
  }

  /** The generated text so far, without errors. */
  text(): string {
    this.#compactRetained();
    return this.#text.join('');
  }

  #bufferPartial(bytes: Buffer): void {
    this.#partialEvent.push(bytes);
    this.#partialLength += bytes.length;
    if (this.#partialLength > this.#maxEventBytes) this.exceedsLimit = true;
  }

  #forward(events: Buffer): Buffer | undefined {
    this.hasEvents = true;
    const sound = events.indexOf(ERROR_MARKER) === -1 ? events : this.#truncateAtError(events);
    if (sound === undefined) return undefined;
    this.#retain(sound);
    if (!this.#hidesUsage || !sound.includes(USAGE_KEY)) return sound;
    const shown = removeNullUsage(sound);
    return this.#dialect.usageMarkers.some((mark) => shown.includes(mark)) ? this.#stripUsage(shown) : shown;
  }

  /** An error may quote what the upstream was sent, so its event is never forwarded; the caller gets an error of ours. */
  #truncateAtError(events: Buffer): Buffer | undefined {
    const before: string[] = [];
    for (const event of splitEvents(events.toString('utf8'))) {
      const error = findError(event);
      if (error !== undefined) {
        this.error = error;
        return before.length === 0 ? undefined : Buffer.from(before.join(''));
      }
      before.push(event);
    }
    return events;
  }

  /** Drops the event that exists for usage alone: it has no choices. Where it has some, the figures are taken out. */
  #stripUsage(events: Buffer): Buffer | undefined {
    const shown: string[] = [];
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = this.#dialect.usageMarkers.some((mark) => event.includes(mark))
        ? asObject(tryParse(extractData(event)))
        : undefined;
      if (value === undefined || asObject(value.usage) === undefined) {
        shown.push(event);
        continue;
      }
      this.#usage = parseUsage(this.#dialect.findUsage(value)) ?? this.#usage;
      if (Array.isArray(value.choices) && value.choices.length > 0) shown.push(removeUsage(event));
    }
    return shown.length === 0 ? undefined : Buffer.from(shown.join(''));
  }

  #retain(events: Buffer): void {
    if (this.#retainedLength + events.length > RETAINED_BYTES) this.#compactRetained();
    if (this.#retainedLength + events.length > this.#retained.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#retained.length, this.#retainedLength + events.length));
      this.#retained.copy(larger, 0, 0, this.#retainedLength);
      this.#retained = larger;
    }
    events.copy(this.#retained, this.#retainedLength);
    this.#retainedLength += events.length;
  }

  /** Reads the figures of complete events. */
  #readUsage(events: string): void {
    const { mergesUsage, usageMarkers, findUsage } = this.#dialect;
    if (!mergesUsage) {
      this.#usage = findLastUsage(events, this.#dialect) ?? this.#usage;
      return;
    }
    if (!usageMarkers.some((mark) => events.includes(mark))) return;
    for (const event of splitEvents(events)) {
      const found = usageMarkers.some((mark) => event.includes(mark))
        ? findUsage(tryParse(extractData(event)))
        : undefined;
      if (found !== undefined) this.#figures = mergeFigures(this.#figures, found);
    }
    this.#usage = parseUsage(this.#figures) ?? this.#usage;
  }

  #compactRetained(): void {
    if (this.#retainedLength === 0) return;
    const kept = this.#retained.toString('utf8', 0, this.#retainedLength);
    this.#readUsage(kept);
    for (const event of splitEvents(kept)) {
      const data = extractData(event);
      if (data === DONE_DATA) this.#finishedChoices = Number.POSITIVE_INFINITY;
      const value = asObject(tryParse(data));
      if (value === undefined) continue;
      this.#text.push(this.#dialect.extractEventText(value));
      this.#finishedChoices += this.#dialect.countFinishedChoices(value);
    }
    this.#retainedLength = 0;
  }

  /** Nearly every stream does, and then none of it is parsed. */
  #endsWithDone(): boolean {
    const tail = this.#retained.toString(
      'latin1',
      Math.max(0, this.#retainedLength - DONE_EVENT_MAX_BYTES),
      this.#retainedLength,
    );
    return /(^|\n)data: ?\[DONE\]\s*$/.test(tail);
  }
}

/** Creates the event stream for a response in an upstream's dialect to a call of a model of this kind. */
export function createEventStream(
  dialect: Dialect,
  { dialect: asked, wantsUsage, choiceCount }: ChatRequest,
  kind: ModelKind,
): EventStream {
  const longest = kind === 'image' ? MAX_IMAGE_EVENT_BYTES : dialect.maxEventBytes;
  // Only one image is streamed, regardless of the requested number.
  const ends = dialect.maxTokensKeys.length > 0 ? choiceCount : 1;
  // What is converted is written anew for the caller, with the usage or without.
  const hidesUsage = dialect === asked && dialect.streamUsageIsOptIn && !wantsUsage;
  return new EventStream(dialect, hidesUsage, ends, longest);
}

/** `[DONE]` in a line with the blank one behind it, and the end of the line before. */
const DONE_EVENT_MAX_BYTES = 20;

/** The last usage reported in complete events; searches from the end, where it nearly always is. */
function findLastUsage(events: string, { usageMarkers, findUsage }: Dialect): Usage | undefined {
  for (let text = events; ; ) {
    const at = Math.max(...usageMarkers.map((mark) => text.lastIndexOf(mark)));
    if (at === -1) return undefined;
    const start = endOfLastEvent(text.slice(0, at));
    const usage = parseUsage(findUsage(tryParse(extractData(splitEvents(text.slice(start))[0] ?? ''))));
    if (usage !== undefined) return usage;
    text = text.slice(0, start);
  }
}

/** The event without its usage, as if it had not been requested; every other byte of its data stays. */
function removeUsage(event: string): string {
  const data = removeProperty(Buffer.from(extractData(event)), 'usage').toString('utf8');
  const others = splitLines(event).filter((line) => !line.startsWith('data:'));
  return `${[...others, ...data.split('\n').map((line) => `data: ${line}`)].join('\n')}\n\n`;
}

const USAGE_KEY = '"usage"';
/**
 * Events without the `"usage":null` upstreams write into each of them once usage was asked for. In the text of a string the
 * quotes of the key are escaped, so nothing but members matches.
 */
function removeNullUsage(events: Buffer): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = events.indexOf(USAGE_KEY); at !== -1; at = events.indexOf(USAGE_KEY, at + USAGE_KEY.length)) {
    const colon = skipBlanks(events, at + USAGE_KEY.length);
    const value = skipBlanks(events, colon + 1);
    if (events[colon] !== COLON || events.toString('latin1', value, value + 4) !== 'null') continue;
    let start = at;
    let end = skipBlanks(events, value + 4);
    while (isBlank(events[start - 1])) start--;
    if (events[start - 1] === COMMA) start--;
    else if (events[end] === COMMA) end++;
    kept.push(events.subarray(from, start));
    from = end;
  }
  return from === 0 ? events : Buffer.concat([...kept, events.subarray(from)]);
}

const COLON = 0x3a;
const COMMA = 0x2c;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09;

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (isBlank(bytes[at])) at++;
  return at;
}

const NAMED_ERROR = /^event: ?error\r?$/m;

/**
 * The failure an event reports: `{error: …}` of chat, `{type: "error", …}` and `{response: {error: …}}` of responses,
 * `{object: "error", …}` of vLLM, or the data of an `event: error`.
 */
function findError(event: string): UntrustedObject | undefined {
  if (!event.includes(ERROR_MARKER)) return undefined;
  const value = asObject(tryParse(extractData(event)));
  const isNamed = NAMED_ERROR.test(event);
  if (value === undefined) return isNamed ? { message: extractData(event) } : undefined;
  if (typeof value.error === 'string' && value.error !== '') return { message: value.error };
  const reported = asObject(value.error) ?? asObject(asObject(value.response)?.error);
  return reported ?? (isNamed || value.type === 'error' || value.object === 'error' ? value : undefined);
}
