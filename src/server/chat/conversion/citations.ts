import type { UntrustedObject } from '../../../contract/objects.ts';
import { textOf } from '../dialects.ts';
import type { DroppedFields } from './fields.ts';
import type { Citation, TextRange } from './neutral-form.ts';

/**
 * Units in which vendors count positions in a text: OpenAI counts characters, Google counts bytes of UTF-8. The neutral
 * form counts as JavaScript does.
 */
type TextUnit = 'character' | 'byte';

const SURROGATES = { first: 0xd800, second: 0xdc00, end: 0xe000 } as const;

/** The units of one code unit of JavaScript; the first half of a surrogate pair stands for both. */
function widthOf(code: number, unit: TextUnit): number {
  if (code >= SURROGATES.second && code < SURROGATES.end) return 0;
  if (unit === 'character' || code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code >= SURROGATES.first && code < SURROGATES.second ? 4 : 3;
}

/** A growing text that converts positions in it. Nothing is counted until a position is asked for. */
export class CountedText {
  #text = '';
  /** Units before each code unit. */
  readonly #counts: Readonly<Record<TextUnit, number[]>> = { character: [0], byte: [0] };

  get length(): number {
    return this.#text.length;
  }

  get whole(): string {
    return this.#text;
  }

  add(text: string): void {
    this.#text += text;
  }

  slice({ start, end }: TextRange): string {
    return this.#text.slice(start, end);
  }

  find(text: string): TextRange | undefined {
    const start = this.#text.indexOf(text);
    return start === -1 ? undefined : { start, end: start + text.length };
  }

  /** Converts a range to units. */
  toUnits({ start, end }: TextRange, unit: TextUnit): TextRange {
    const counts = this.#countsOf(unit);
    const countAt = (offset: number): number => counts[Math.min(offset, this.length)] ?? 0;
    return { start: countAt(start), end: countAt(end) };
  }

  /**
   * Converts a range from units.
   * @param from the start of the part that the range counts from
   * @returns undefined if the text is shorter
   */
  fromUnits({ start, end }: TextRange, unit: TextUnit, from = 0): TextRange | undefined {
    const counts = this.#countsOf(unit);
    const base = counts[from];
    if (base === undefined || base + end > (counts.at(-1) ?? 0)) return undefined;
    return { start: offsetAt(counts, base + start), end: offsetAt(counts, base + end) };
  }

  #countsOf(unit: TextUnit): readonly number[] {
    const counts = this.#counts[unit];
    for (let at = counts.length - 1; at < this.#text.length; at++)
      counts.push((counts[at] ?? 0) + widthOf(this.#text.charCodeAt(at), unit));
    return counts;
  }
}

/** The last offset with at most this many units before it. */
function offsetAt(counts: readonly number[], position: number): number {
  let [low, high] = [0, counts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((counts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A range an upstream sends, in its own units; Google leaves out a start of 0. Undefined if it covers no text. */
export function rangeOf(start: unknown = 0, end: unknown = undefined): TextRange | undefined {
  if (typeof start !== 'number' || typeof end !== 'number') return undefined;
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end
    ? { start, end }
    : undefined;
}

/** Limits of what an upstream may cite; deep research cites a few hundred sources. */
export const MAX_CITATIONS = 500;
const MAX_URL_LENGTH = 4_096;
const MAX_TEXT_LENGTH = 4_096;
/** Clients show URLs as links, so only those of web pages are passed on. */
const WEB_PAGE = /^https?:\/\/[^\s/]\S*$/i;

/** A citation as an upstream sends it. */
export interface GivenCitation {
  readonly url: unknown;
  readonly title?: unknown;
  readonly citedText?: unknown;
  /** In the text of the response so far. */
  readonly range?: TextRange | undefined;
}

/**
 * Collects the citations of one response until their text is complete. Upstreams repeat citations in several events,
 * and send some of them before their text.
 */
export class CitationQueue {
  readonly #dropped: DroppedFields;
  readonly #seen = new Set<string>();
  readonly #urls = new Set<string>();
  #waiting: { readonly citation: Citation; readonly path: string }[] = [];

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped;
  }

  /**
   * Adds a citation, or names it as dropped.
   * @param isSource it applies to the response as a whole, and says nothing new about a page that is cited
   */
  add({ url, title, citedText, range }: GivenCitation, path: string, isSource: boolean): void {
    if (typeof url !== 'string' || url.length > MAX_URL_LENGTH || !WEB_PAGE.test(url) || !URL.canParse(url)) {
      this.#dropped.drop(path);
      return;
    }
    if (isSource && this.#urls.has(url)) return;
    const citation = { url, title: this.#cut(title, path), citedText: this.#cut(citedText, path), range };
    const key = JSON.stringify([url, citation.citedText, range?.start, range?.end]);
    if (this.#seen.has(key)) return;
    if (this.#seen.size >= MAX_CITATIONS) {
      this.#dropped.drop(path);
      return;
    }
    this.#seen.add(key);
    this.#urls.add(url);
    this.#waiting.push({ citation, path });
  }

  /** Takes the citations of a text of this length. */
  take(length: number): Citation[] {
    if (this.#waiting.length === 0 || length === 0) return [];
    const isReady = ({ range }: Citation): boolean => range === undefined || range.end <= length;
    const ready = this.#waiting.filter(({ citation }) => isReady(citation));
    this.#waiting = this.#waiting.filter(({ citation }) => !isReady(citation));
    return ready.map(({ citation }) => citation);
  }

  /** Takes all others at the end of the response; a range beyond the text says nothing. */
  takeRest(length: number): Citation[] {
    const rest = this.#waiting;
    this.#waiting = [];
    if (length === 0) for (const { path } of rest) this.#dropped.drop(path);
    if (length === 0) return [];
    return rest.map(({ citation }) => {
      const { range } = citation;
      if (range === undefined || range.end <= length) return citation;
      return { ...citation, range: range.start < length ? { start: range.start, end: length } : undefined };
    });
  }

  #cut(value: unknown, path: string): string | undefined {
    const text = textOf(value);
    if (text.length > MAX_TEXT_LENGTH) this.#dropped.drop(path);
    return text === '' ? undefined : text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  }
}

/** The objects of an upstream's list of citations, up to the limit; everything else is named as dropped. */
export function citationsIn(list: unknown, path: string, dropped: DroppedFields): readonly UntrustedObject[] {
  if (list === undefined || list === null) return [];
  const all: readonly unknown[] = Array.isArray(list) ? list.slice(0, MAX_CITATIONS) : [];
  const objects = all.filter((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
  if (!Array.isArray(list) || objects.length < list.length) dropped.drop(path);
  return objects as UntrustedObject[];
}

/** A citation in one of the texts a response was written to. */
interface PlacedCitation<Place> {
  readonly place: Place;
  /** Counted from the start of that text. */
  readonly range: TextRange | undefined;
  /** The range, or the whole text if it is unknown. */
  readonly span: TextRange;
}

/** Finds the text that a citation belongs to among those a response was written to. */
export class CitedTexts<Place> {
  readonly #texts: { readonly place: Place; readonly start: number; end: number }[] = [];

  /** Adds text to a place: the last one, or a new one. */
  add(place: Place, text: string): void {
    const last = this.#texts.at(-1);
    const start = last?.end ?? 0;
    if (last?.place === place) last.end += text.length;
    else this.#texts.push({ place, start, end: start + text.length });
  }

  /** A range belongs to the text in which it ends; undefined if there is no text. */
  locate({ range }: Citation): PlacedCitation<Place> | undefined {
    const found = range === undefined ? this.#texts.at(-1) : this.#texts.findLast(({ start }) => start < range.end);
    if (found === undefined) return undefined;
    const { place, start, end } = found;
    const whole = { start: 0, end: end - start };
    if (range === undefined || range.start >= end) return { place, range: undefined, span: whole };
    const inside = { start: Math.max(range.start, start) - start, end: Math.min(range.end, end) - start };
    return { place, range: inside, span: inside };
  }
}
