import type { ModelKind } from '../../contract/models.ts';
import type { Ask } from './ask.ts';
import { type Dialect, LONGEST_PICTURE } from './dialects.ts';
import { setMember } from './json-members.ts';
import { asObject, type Untrusted } from './untrusted.ts';
import { tryParse, type Usage, usageOf } from './usage.ts';

/** No upstream's stream is near it. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** Raw events kept for counting; older ones are reduced to their text. */
const KEPT_BYTES = 2 * 1024;
const LF = 0x0a;
/** Not `"usage":null`, which some write into every event once usage was asked for. */
const USAGE = ['"usage":{', '"usage": {'] as const;
/** Of the member, of `event: error` and of `"object":"error"`. */
const ERROR = 'error';

/**
 * Looks at an upstream's event stream as it passes. Whole events go on as they came, in the very same buffer wherever
 * possible; nothing is parsed but events that speak of usage or an error. What passed is remembered, as a stream that
 * breaks is paid by what came.
 */
export class EventStream {
  readonly #dialect: Dialect;
  readonly #hidesUsage: boolean;
  /** Bytes of an event that has not ended. */
  #rest: Buffer[] = [];
  #restLength = 0;
  #total = 0;
  #kept = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #length = 0;
  #text: string[] = [];
  #usage: Usage | undefined;
  /** Answers that have come to their end; all of them once the stream has said so. */
  #ended = 0;
  readonly #copies: number;
  readonly #longestEvent: number;
  /** Whether any event has come. */
  begun = false;
  /** An error the upstream told inside its stream; nothing passes after it. */
  error: Untrusted | undefined;
  /** An event or the whole outgrew its bound; nothing passes after it. */
  overlong = false;

  constructor(dialect: Dialect, hidesUsage: boolean, copies = 1, longestEvent = dialect.longestEvent) {
    this.#dialect = dialect;
    this.#copies = copies;
    this.#longestEvent = longestEvent;
    this.#hidesUsage = hidesUsage;
  }

  /** What of these bytes, and of those that waited for them, may go on to the caller. */
  take(bytes: Buffer): Buffer | undefined {
    this.#total += bytes.length;
    if (this.#total > MAX_STREAM_BYTES) this.overlong = true;
    // An event that comes in crumbs is not put together again at each of them.
    if (this.#rest.length > 0 && !bytes.includes(LF)) {
      this.#wait(bytes);
      return undefined;
    }
    const data = this.#rest.length === 0 ? bytes : Buffer.concat([...this.#rest, bytes]);
    const end = behindLastEvent(data);
    this.#rest = [];
    this.#restLength = 0;
    if (end < data.length) this.#wait(data.subarray(end));
    return end === 0 ? undefined : this.#pass(end === data.length ? data : data.subarray(0, end));
  }

  /** What waited for an end that never came; an upstream may leave out the last blank line. */
  finish(): Buffer | undefined {
    const rest = Buffer.concat(this.#rest);
    this.#rest = [];
    if (!isWhole(rest.toString('utf8'))) return undefined;
    return this.#pass(Buffer.concat([rest, Buffer.from('\n\n')]));
  }

  /** Whether the stream said that it is complete, which a connection that just closes does not. */
  get complete(): boolean {
    if (this.#endsInMark()) return true;
    this.#reduce();
    return this.#ended >= this.#copies;
  }

  /** The newest, as some upstreams count while they speak. */
  get usage(): Usage | undefined {
    return lastUsageIn(this.#kept.toString('utf8', 0, this.#length)) ?? this.#usage;
  }

  /** The generated text so far, without errors. */
  text(): string {
    this.#reduce();
    return this.#text.join('');
  }

  #wait(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.#restLength += bytes.length;
    if (this.#restLength > this.#longestEvent) this.overlong = true;
  }

  #pass(events: Buffer): Buffer | undefined {
    this.begun = true;
    const sound = events.indexOf(ERROR) === -1 ? events : this.#beforeError(events);
    if (sound === undefined) return undefined;
    this.#keep(sound);
    return this.#hidesUsage && USAGE.some((mark) => sound.includes(mark)) ? this.#withoutUsage(sound) : sound;
  }

  /** An error may quote what the upstream was sent, so its event is never passed on; the caller is told in our words. */
  #beforeError(events: Buffer): Buffer | undefined {
    const before: string[] = [];
    for (const event of eventsIn(events.toString('utf8'))) {
      const error = errorIn(event);
      if (error !== undefined) {
        this.error = error;
        return before.length === 0 ? undefined : Buffer.from(before.join(''));
      }
      before.push(event);
    }
    return events;
  }

  /** Drops the event that exists for usage alone: it has no choices. Where it has some, the figures are taken out. */
  #withoutUsage(events: Buffer): Buffer | undefined {
    const shown: string[] = [];
    for (const event of eventsIn(events.toString('utf8'))) {
      const value = USAGE.some((mark) => event.includes(mark)) ? asObject(tryParse(dataOf(event))) : undefined;
      if (value === undefined || asObject(value.usage) === undefined) {
        shown.push(event);
        continue;
      }
      this.#usage = usageOf(value) ?? this.#usage;
      if (Array.isArray(value.choices) && value.choices.length > 0) shown.push(withoutFigures(event));
    }
    return shown.length === 0 ? undefined : Buffer.from(shown.join(''));
  }

  #keep(events: Buffer): void {
    if (this.#length + events.length > KEPT_BYTES) this.#reduce();
    if (this.#length + events.length > this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#kept.length, this.#length + events.length));
      this.#kept.copy(larger, 0, 0, this.#length);
      this.#kept = larger;
    }
    events.copy(this.#kept, this.#length);
    this.#length += events.length;
  }

  #reduce(): void {
    if (this.#length === 0) return;
    const kept = this.#kept.toString('utf8', 0, this.#length);
    this.#usage = lastUsageIn(kept) ?? this.#usage;
    for (const event of eventsIn(kept)) {
      const data = dataOf(event);
      if (data === END) this.#ended = Number.POSITIVE_INFINITY;
      const value = asObject(tryParse(data));
      if (value === undefined) continue;
      this.#text.push(this.#dialect.textOfEvent(value));
      this.#ended += this.#dialect.endsIn(value);
    }
    this.#length = 0;
  }

  /** Nearly every stream does, and then nothing of it is parsed. */
  #endsInMark(): boolean {
    const tail = this.#kept.toString('latin1', Math.max(0, this.#length - LONGEST_MARK), this.#length);
    return /(^|\n)data: ?\[DONE\]\s*$/.test(tail);
  }
}

/** For the answer to a call of a model of this kind. */
export function streamFor({ dialect, showsUsage, copies }: Ask, kind: ModelKind): EventStream {
  const longest = kind === 'image' ? LONGEST_PICTURE : dialect.longestEvent;
  // Of pictures only one is streamed, whatever was asked for.
  const ends = dialect.bounds.length > 0 ? copies : 1;
  return new EventStream(dialect, dialect.asksForUsage && !showsUsage, ends, longest);
}

/** Index behind the last blank line (HTML standard, 9.2.6: lines end in LF or CR LF; a lone CR is used by nobody). */
function behindLastEvent(data: Buffer | string): number {
  const { length } = data;
  if (typeof data !== 'string' && length > 1 && data[length - 1] === LF && data[length - 2] === LF) return length;
  return Math.max(behind(data, '\n\n'), behind(data, '\r\n\r\n'));
}

function behind(data: Buffer | string, mark: string): number {
  const at = data.lastIndexOf(mark);
  return at === -1 ? 0 : at + mark.length;
}

/** Ends streams of chat; the others end with an event of their own. */
const END = '[DONE]';
/** Its line with the blank one behind it, and the end of the line before. */
const LONGEST_MARK = 20;
const BOM = /^\ufeff/;

/** Events with the blank line behind each; a byte order mark at the start is none of the first one's (HTML standard, 9.2.5). */
const eventsIn = (text: string): string[] =>
  text
    .replace(BOM, '')
    .match(/[\s\S]*?(?:\r?\n\r?\n|$)/g)
    ?.filter((event) => event !== '') ?? [];

/** The data lines of one event, joined. */
function dataOf(event: string): string {
  if (event.startsWith('data: ') && event.indexOf('\n', 6) >= event.trimEnd().length) return event.slice(6).trimEnd();
  return linesOf(event)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');
}

const linesOf = (event: string): string[] => event.split(/\r?\n/).filter((line) => line !== '');

const isWhole = (event: string): boolean => dataOf(event) === END || tryParse(dataOf(event)) !== undefined;

/** The newest figures told in whole events; looks from the end, where they nearly always are. */
function lastUsageIn(events: string): Usage | undefined {
  for (let text = events; ; ) {
    const at = Math.max(...USAGE.map((mark) => text.lastIndexOf(mark)));
    if (at === -1) return undefined;
    const start = behindLastEvent(text.slice(0, at));
    const usage = usageOf(tryParse(dataOf(eventsIn(text.slice(start))[0] ?? '')));
    if (usage !== undefined) return usage;
    text = text.slice(0, start);
  }
}

/** The event with its usage set to null, as if nobody had asked for it; every other byte of its data stays. */
function withoutFigures(event: string): string {
  const data = setMember(Buffer.from(dataOf(event)), 'usage', 'null').toString('utf8');
  const others = linesOf(event).filter((line) => !line.startsWith('data:'));
  return `${[...others, ...data.split('\n').map((line) => `data: ${line}`)].join('\n')}\n\n`;
}

const NAMED_ERROR = /^event: ?error\r?$/m;

/**
 * What an event tells of a failure: `{error: …}` of chat, `{type: "error", …}` and `{response: {error: …}}` of responses,
 * `{object: "error", …}` of vLLM, or whatever stands under `event: error`.
 */
function errorIn(event: string): Untrusted | undefined {
  if (!event.includes(ERROR)) return undefined;
  const value = asObject(tryParse(dataOf(event)));
  const isNamed = NAMED_ERROR.test(event);
  if (value === undefined) return isNamed ? { message: dataOf(event) } : undefined;
  if (typeof value.error === 'string' && value.error !== '') return { message: value.error };
  const told = asObject(value.error) ?? asObject(asObject(value.response)?.error);
  return told ?? (isNamed || value.type === 'error' || value.object === 'error' ? value : undefined);
}
