import type { ModelKind } from '../../contract/model-kinds.ts';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { tryParse } from '../platform/json.ts';
import { type Dialect, errorIn, failureIn, MAX_IMAGE_EVENT_BYTES } from './dialects.ts';
import { type ChatRequest, removeProperty } from './request.ts';
import { type Usage, UsageTotals } from './usage.ts';

/** Far above the size of any upstream's stream. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** Raw events kept for counting; older ones are reduced to their text. */
const RETAINED_BYTES = 2 * 1024;
/** Events without content that are withheld until content follows; beyond this they are forwarded. */
const MAX_WITHHELD_BYTES = 64 * 1024;
const LF = 0x0a;
const CR = 0x0d;
/** Occur in every event that reports a failure: `error` in the member, in `event: error` and in `"object":"error"`. */
const FAILURE_MARKERS = ['error', 'base_resp', '"code"', '"success"'];
const DATA_MARKER = 'data';
const IMAGE_MARKER = 'data:image/';

/**
 * Filters an upstream's event stream while it passes. Whole events are forwarded unchanged, in the same buffer wherever
 * possible; only events that mention usage or an error are parsed. Forwarded text is retained, because a stream that
 * breaks is charged by the text received.
 */
export class EventStream {
  readonly #dialect: Dialect;
  readonly #hidesUsage: boolean;
  /** Bytes of an incomplete event. */
  #partialEvent: Buffer[] = [];
  #partialLength = 0;
  /** Bytes received so far. */
  totalBytes = 0;
  #retained = Buffer.allocUnsafeSlow(RETAINED_BYTES);
  #retainedLength = 0;
  #text: string[] = [];
  readonly #figures = new UsageTotals();
  /** Events before the first content; undefined once there is some. */
  #withheld: Buffer[] | undefined;
  #withheldBytes = 0;
  /** Choices that are complete; all of them once the stream has signalled its end. */
  #finishedChoices = 0;
  #hasEnd = false;
  /** Whether the newest event that finished a choice had no text, and no text has followed. */
  #endsWithoutText = false;
  readonly #choiceCount: number;
  #maxEventBytes: number;
  /** Whether an event with data has arrived since the last reset; comments do not count. */
  hasNewData = false;
  /** An error the upstream reported inside its stream; nothing is forwarded after it. */
  error: UntrustedObject | undefined;
  /** An event or the whole stream exceeds its limit; nothing is forwarded after it. */
  exceedsLimit = false;

  constructor(dialect: Dialect, hidesUsage: boolean, choiceCount = 1, maxEventBytes = dialect.maxEventBytes) {
    this.#dialect = dialect;
    this.#choiceCount = choiceCount;
    this.#maxEventBytes = maxEventBytes;
    this.#hidesUsage = hidesUsage;
    this.#withheld = dialect.isPreamble === undefined ? undefined : [];
  }

  /** Whether content, a call, figures or a refusal reason has arrived. */
  get hasContent(): boolean {
    return this.#withheld === undefined;
  }

  /** @returns the part of these bytes, and of incomplete events before them, that may be forwarded to the caller */
  push(bytes: Buffer): Buffer | undefined {
    this.totalBytes += bytes.length;
    if (this.totalBytes > MAX_STREAM_BYTES) this.exceedsLimit = true;
    // The pieces of a partial event are joined once, instead of with each piece.
    if (this.#partialEvent.length > 0 && !bytes.includes(LF) && !bytes.includes(CR)) {
      this.#bufferPartial(bytes);
      return undefined;
    }
    const data = this.#partialEvent.length === 0 ? bytes : Buffer.concat([...this.#partialEvent, bytes]);
    const end = endOfLastBlankLine(data);
    this.#partialEvent = [];
    this.#partialLength = 0;
    if (end < data.length) this.#bufferPartial(data.subarray(end));
    return end === 0 ? undefined : this.#forward(data.subarray(0, end));
  }

  /** Returns the last event if the upstream omitted the blank line after it. */
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

  /**
   * Whether nothing can follow a complete stream. Some upstreams write a stop reason into every event (Gemini, and
   * gateways in front of it), so one beside text does not prove that the text is complete.
   */
  get isOver(): boolean {
    return this.complete && (this.#endsWithDone() || this.#endsWithoutText);
  }

  /** The dialect's last event if the upstream omitted it; undefined otherwise. */
  get missingEnd(): string | undefined {
    this.#compactRetained();
    return this.#hasEnd ? undefined : this.#dialect.end?.event;
  }

  /** The largest figures so far. */
  get usage(): Usage | undefined {
    this.#compactRetained();
    return this.#figures.usage;
  }

  /** The generated text so far, without errors. */
  text(): string {
    this.#compactRetained();
    return this.#text.join('');
  }

  #bufferPartial(bytes: Buffer): void {
    this.#partialEvent.push(bytes);
    this.#partialLength += bytes.length;
    if (this.#partialLength <= this.#maxEventBytes) return;
    // An image in an event of a dialect that has none according to its documentation.
    const isImage = this.#maxEventBytes < MAX_IMAGE_EVENT_BYTES && this.#partialEvent.some(hasImage);
    if (isImage) this.#maxEventBytes = MAX_IMAGE_EVENT_BYTES;
    else this.exceedsLimit = true;
  }

  #forward(received: Buffer): Buffer | undefined {
    const events = normalizeLoneCr(received);
    if (events.includes(DATA_MARKER)) this.hasNewData = true;
    const sound = mayFail(events, this.#dialect) ? this.#truncateAtError(events) : events;
    if (sound === undefined) return undefined;
    this.#retain(sound);
    const ready = this.#withheld === undefined ? sound : this.#withhold(sound, this.#withheld);
    if (ready === undefined || !this.#hidesUsage || !ready.includes(USAGE_KEY)) return ready;
    const shown = removeNullUsage(ready);
    return shown.includes(USAGE_KEY) ? this.#stripUsage(shown) : shown;
  }

  /**
   * Withholds events that start a response without content until the first one with content: until then the call may
   * fail over.
   */
  #withhold(events: Buffer, withheld: Buffer[]): Buffer | undefined {
    withheld.push(events);
    this.#withheldBytes += events.length;
    if (this.#withheldBytes <= MAX_WITHHELD_BYTES && !this.#hasFirstContent(events)) return undefined;
    this.#withheld = undefined;
    return withheld.length === 1 ? events : Buffer.concat(withheld);
  }

  #hasFirstContent(events: Buffer): boolean {
    for (const event of splitEvents(events.toString('utf8'))) {
      const data = extractData(event);
      if (data === '' || data === DONE_DATA) continue;
      const value = asObject(parseEvent(data));
      // Data that is not JSON is left to the caller.
      if (value === undefined || this.#dialect.isPreamble?.(value) !== true) return true;
    }
    return false;
  }

  /** Cuts events before an error: it may quote the request, so the caller gets an error of ours instead. */
  #truncateAtError(events: Buffer): Buffer | undefined {
    const before: string[] = [];
    for (const event of splitEvents(events.toString('utf8'))) {
      const error = mayFail(event, this.#dialect) ? findError(event, this.#dialect) : undefined;
      if (error !== undefined) {
        this.error = error;
        return before.length === 0 ? undefined : Buffer.from(before.join(''));
      }
      before.push(event);
    }
    return events;
  }

  /** Drops the event that exists only for usage, which has no choices; from others, removes only the figures. */
  #stripUsage(events: Buffer): Buffer | undefined {
    const shown: string[] = [];
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = event.includes(USAGE_KEY) ? asObject(parseEvent(extractData(event))) : undefined;
      if (value === undefined || asObject(value.usage) === undefined) {
        shown.push(event);
        continue;
      }
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

  #compactRetained(): void {
    if (this.#retainedLength === 0) return;
    const kept = this.#retained.toString('utf8', 0, this.#retainedLength);
    const { findUsage, extractEventText, countFinishedChoices } = this.#dialect;
    for (const event of splitEvents(kept)) {
      const data = extractData(event);
      if (this.#dialect.end?.isIn(data) === true) this.#hasEnd = true;
      if (data === DONE_DATA) {
        this.#finishedChoices = Number.POSITIVE_INFINITY;
        this.#endsWithoutText = true;
      }
      const value = asObject(parseEvent(data));
      if (value === undefined) continue;
      const text = extractEventText(value);
      const finished = countFinishedChoices(value);
      this.#text.push(text);
      this.#finishedChoices += finished;
      if (text !== '') this.#endsWithoutText = false;
      else if (finished > 0) this.#endsWithoutText = true;
      this.#figures.add(findUsage(value));
    }
    this.#retainedLength = 0;
  }

  /** Nearly every stream ends with `[DONE]`, which needs no parsing. */
  #endsWithDone(): boolean {
    const tail = this.#retained.toString(
      'latin1',
      Math.max(0, this.#retainedLength - DONE_EVENT_MAX_BYTES),
      this.#retainedLength,
    );
    return /(^|[\n\r])data: ?\[DONE\]\s*$/.test(tail);
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
  // Converted events are written again for the caller, with or without the usage.
  const hidesUsage = dialect === asked && dialect.streamUsageIsOptIn && !wantsUsage;
  return new EventStream(dialect, hidesUsage, ends, longest);
}

/** `[DONE]` in a line with the blank line after it, and the end of the line before. */
const DONE_EVENT_MAX_BYTES = 20;

/** Removes the usage of an event, as if it had not been requested; every other byte of its data stays. */
function removeUsage(event: string): string {
  const data = removeProperty(Buffer.from(extractData(event)), 'usage').toString('utf8');
  const others = splitLines(event).filter((line) => !line.startsWith('data:'));
  return `${[...others, ...data.split('\n').map((line) => `data: ${line}`)].join('\n')}\n\n`;
}

const USAGE_KEY = '"usage"';
/**
 * Removes the `"usage":null` upstreams write into each event once usage was requested. In the text of a string the
 * quotes of the key are escaped, so only members match.
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

const hasImage = (bytes: Buffer): boolean => bytes.includes(IMAGE_MARKER);

const NAMED_ERROR = /^event: ?error\r?$/m;

const mayFail = (events: Buffer | string, { failureMarker }: Dialect): boolean =>
  FAILURE_MARKERS.some((marker) => events.includes(marker)) ||
  (failureMarker !== undefined && events.includes(failureMarker));

/**
 * The failure an event reports: `{error: …}` of chat, `{type: "error", …}` and `{response: {error: …}}` of responses,
 * `{object: "error", …}` of vLLM, the data of an `event: error`, or a code without content in an envelope.
 */
function findError(event: string, { isPreamble }: Dialect): UntrustedObject | undefined {
  const data = extractData(event);
  const isNamed = event.includes('event:') && NAMED_ERROR.test(event);
  const value = asObject(parseEvent(data));
  if (value === undefined) return isNamed ? { message: data } : undefined;
  const response = asObject(value.response);
  const reported = errorIn(value) ?? errorIn(response ?? {});
  if (reported !== undefined) return reported;
  if (isNamed || value.type === 'error' || value.object === 'error') return value;
  if (value.type === 'response.failed' || response?.status === 'failed') return { message: '' };
  return isPreamble?.(value) === true ? failureIn(value) : undefined;
}

/* Events of a stream as text (HTML standard, 9.2): lines end in LF, CR LF or a lone CR. */

const BYTE_ORDER_MARK = 0xfeff;
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g;

/** Index after the last blank line. Scans backwards, so the cost is the length of the incomplete event. */
function endOfLastBlankLine(data: Buffer): number {
  for (let end = data.length - 1; end > 0; end--) {
    const last = data[end];
    if (last !== LF && last !== CR) continue;
    const before = data[last === LF && data[end - 1] === CR ? end - 2 : end - 1];
    // A CR at the end of the received data may be the first half of CR LF, unless earlier lines have ended in a lone CR.
    const isHalf = last === CR && end === data.length - 1 && before !== CR;
    if ((before === LF || before === CR) && !isHalf) return end + 1;
  }
  return 0;
}

/** Ends Chat Completions streams; the other dialects end with an event of their own. */
const DONE_DATA = '[DONE]';

/**
 * Splits a stream into events, each with its blank line; a byte order mark at the start belongs to no event (HTML
 * standard, 9.2.5).
 */
export function splitEvents(text: string): string[] {
  const events: string[] = [];
  let from = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  for (const { index, 0: blank } of text.matchAll(BLANK_LINE)) {
    events.push(text.slice(from, index + blank.length));
    from = index + blank.length;
  }
  if (from < text.length) events.push(text.slice(from));
  return events;
}

/** The data lines of one event, joined; empty for comments and blank lines. */
export const extractData = (event: string): string =>
  splitLines(event)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n')
    .trimEnd();

/** Parses the object that an event carries; undefined for comments, end markers, and data that is not an object. */
export function parseEvent(data: string): unknown {
  return data.charCodeAt(0) === 0x7b || data.charCodeAt(0) === 0x5b ? tryParse(data) : undefined;
}

/** The non-empty lines of an event. */
const splitLines = (event: string): string[] => event.split(/\r\n|\r|\n/).filter((line) => line !== '');

/** Whether an event carries a JSON object or the end marker, so that it was not cut off. */
const isCompleteEvent = (event: string): boolean => {
  const data = extractData(event);
  return data === DONE_DATA || parseEvent(data) !== undefined;
};

/** Whether bytes are nothing but whitespace; stops at the first other byte. */
export const isBlankText = (bytes: Buffer): boolean => bytes.every((byte) => byte <= 0x20);

/** Whether a body is a stream of events, whatever its content type says. */
export const looksLikeEvents = (start: Buffer): boolean =>
  /^\ufeff?\s*(?:data|event|id|retry)?:/.test(start.toString('utf8', 0, 64));

/** Whether a body is JSON, whatever its content type says. */
export const looksLikeJson = (start: Buffer): boolean => /^\ufeff?\s*[{[]/.test(start.toString('utf8', 0, 64));

/** Replaces lone CRs, which few parsers accept as a line end, by LF. */
const normalizeLoneCr = (events: Buffer): Buffer =>
  events.includes(CR) && /\r(?!\n)/.test(events.toString('latin1'))
    ? Buffer.from(events.toString('latin1').replace(/\r\n|\r/g, '\n'), 'latin1')
    : events;
