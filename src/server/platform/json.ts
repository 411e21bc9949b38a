/**
 * Parses external JSON (callers' requests: `json-scanner.ts`) and checks the text inside. `JSON.parse` alone accepts
 * input that is dangerous later: nesting that overflows recursive code, and the keys `__proto__` and
 * `constructor.prototype`, which turn a later merge into prototype pollution.
 */

export type JsonRejectionReason = 'syntax' | 'depth' | 'keys' | 'width' | 'prototype' | 'text';

/** Thrown by `parseJson`; `message` may be shown to the sender of the text and never quotes it. */
export class JsonRejectedError extends SyntaxError {
  readonly reason: JsonRejectionReason;
  constructor(reason: JsonRejectionReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'JsonRejectedError';
    this.reason = reason;
  }
}

interface JsonBounds {
  /** Levels of arrays and objects; default 64. */
  readonly maxDepth?: number;
  /** Object members in the entire document; default unlimited. */
  readonly maxKeys?: number;
  /**
   * Converts whole numbers beyond 2^53 to text with all their digits; by default they are rounded, as by `JSON.parse`.
   */
  readonly longIntegersAsText?: boolean;
}

const DEFAULT_MAX_DEPTH = 64;

/** Length of `"":0`; a text shorter than that per permitted key needs no counting. */
const SHORTEST_MEMBER = 4;

/**
 * Quick check whether a polluting key may be present, plain or with escaped ASCII letters. Strings may trigger it too.
 */
const POLLUTING_HINT = /__proto__|constructor|\\u00/i;

/**
 * Parses JSON within limits. A leading byte order mark is ignored (RFC 8259 section 8.1); the last of duplicate keys
 * wins.
 * @throws JsonRejectedError
 */
export function parseJson(source: string | Buffer, bounds: JsonBounds = {}): unknown {
  let text = typeof source === 'string' ? source : source.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
  const maxDepth = bounds.maxDepth ?? DEFAULT_MAX_DEPTH;
  const maxKeys = bounds.maxKeys ?? Number.POSITIVE_INFINITY;
  if (text.length > maxKeys * SHORTEST_MEMBER || hasMoreContainersThan(text, maxDepth))
    assertWithinBounds(text, maxDepth, maxKeys);
  const value = parse(text, bounds.longIntegersAsText === true && LONG_INTEGER_HINT.test(text));
  if (POLLUTING_HINT.test(text)) assertNoPollutingKeys(value);
  return value;
}

/** Parses JSON; undefined for text that is not JSON, or is nested too deeply. */
export function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function parse(text: string, longIntegersAsText: boolean): unknown {
  try {
    return longIntegersAsText ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    throw new JsonRejectedError('syntax', 'not valid JSON', error);
  }
}

/** Quick check whether a whole number beyond 2^53 may be present. */
const LONG_INTEGER_HINT = /[:[,\s-]\d{16,}/;

/** A reviver of `JSON.parse` (ECMAScript, source text access). */
const keepDigits = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

/** Most documents have fewer brackets than permitted levels, and so need no scan. */
function hasMoreContainersThan(text: string, limit: number): boolean {
  let left = limit;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (--left < 0) return true;
    }
  }
  return false;
}

/** Scans the text once before any value is created; malformed text is left to JSON.parse. */
function assertWithinBounds(text: string, maxDepth: number, maxKeys: number): void {
  let depth = 0;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth) throw new JsonRejectedError('depth', `JSON deeper than ${maxDepth} levels`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x3a: // :
        if (++keys > maxKeys) throw new JsonRejectedError('keys', `JSON with more than ${maxKeys} keys`);
        break;
    }
  }
}

/** Index of the quote that closes the string opened at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text.charCodeAt(first - 1) === 0x5c) first--;
    if ((quote - first) % 2 === 0) return quote;
  }
  return text.length;
}

/** @throws JsonRejectedError `prototype` */
export function assertNoPollutingKeys(root: unknown): void {
  for (const object of containersOf(root)) {
    if (Array.isArray(object)) continue;
    if (Object.hasOwn(object, '__proto__'))
      throw new JsonRejectedError('prototype', 'the key __proto__ is not allowed');
    if (!Object.hasOwn(object, 'constructor')) continue;
    const inner = (object as { constructor: unknown }).constructor;
    if (typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype')) {
      throw new JsonRejectedError('prototype', 'the key constructor.prototype is not allowed');
    }
  }
}

/** Every object and array inside a value, including the value itself, without recursion. */
export function* containersOf(root: unknown): Generator<object> {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    yield value;
    for (const inner of Array.isArray(value) ? value : Object.values(value)) {
      if (typeof inner === 'object' && inner !== null) waiting.push(inner);
    }
  }
}

/** Values of a parsed document of limited depth: members, elements and the root. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) count += countValues(inner);
  return count;
}

/** Whether a value parsed elsewhere is within the depth and number of values permitted for a document. */
export function isWithinBounds(
  root: unknown,
  maxDepth = DEFAULT_MAX_DEPTH,
  maxValues = Number.POSITIVE_INFINITY,
): boolean {
  const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;
  let level = [root].filter(isContainer);
  let values = 1;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxDepth) return false;
    const next: object[] = [];
    for (const container of level) {
      const inner = Object.values(container);
      values += inner.length;
      if (values > maxValues) return false;
      for (const value of inner) if (isContainer(value)) next.push(value);
    }
    level = next;
  }
  return true;
}
