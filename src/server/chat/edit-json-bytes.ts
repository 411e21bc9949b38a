import { concatRequestBytes } from '../platform/request-bytes.ts';

/** Where a member's value stands in the bytes of an object. */
export interface Span {
  /** Index of the quote its name begins with. */
  readonly nameStart: number;
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Index behind the string that begins at `at`. */
function endOfString(bytes: Buffer, at: number): number {
  for (let quote = bytes.indexOf(QUOTE, at + 1); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let first = quote;
    while (bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return bytes.length;
}

/** Index behind the value that begins at `at`: at the comma or bracket that ends it. */
function endOfValue(bytes: Buffer, at: number): number {
  let depth = 0;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return i;
      depth--;
    } else if (byte === 0x2c && depth === 0) return i;
  }
  return bytes.length;
}

/**
 * Finds the top-level members of a name in bytes that are known to be one valid JSON object. Every one of them, as of
 * duplicate names some readers take the first and some the last.
 */
export function findProperties(bytes: Buffer, name: string): Span[] {
  const found: Span[] = [];
  let at = bytes.indexOf(0x7b) + 1;
  while (at > 0 && at < bytes.length) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) break;
    const keyEnd = endOfString(bytes, quote);
    let start = bytes.indexOf(0x3a, keyEnd) + 1;
    if (start === 0) break;
    while (isBlank(bytes[start])) start++;
    const end = endOfValue(bytes, start);
    if (JSON.parse(bytes.toString('utf8', quote, keyEnd)) === name) found.push({ nameStart: quote, start, end });
    at = end + 1;
    if (bytes[end] !== 0x2c) break;
  }
  return found;
}

/** The bytes with a member set at the top level; everything else stays as it was written. */
export function setProperty(bytes: Buffer, name: string, value: string): Buffer {
  const spans = findProperties(bytes, name);
  if (spans.length === 0) return insertProperty(bytes, name, value);
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    parts.push(bytes.subarray(from, start), Buffer.from(value));
    from = end;
  }
  return concatRequestBytes([...parts, bytes.subarray(from)]);
}

/** The bytes with a member added that is known to be absent. */
export function insertProperty(bytes: Buffer, name: string, value: string): Buffer {
  const open = bytes.indexOf(0x7b) + 1;
  const member = `"${name}":${value}${isEmptyObjectAt(bytes, open) ? '' : ','}`;
  return concatRequestBytes([bytes.subarray(0, open), Buffer.from(member), bytes.subarray(open)]);
}

/** The bytes without a member of the top level, the comma beside it included. */
export function removeProperty(bytes: Buffer, name: string): Buffer {
  const [span] = findProperties(bytes, name);
  if (span === undefined) return bytes;
  let end = span.end;
  let start = span.nameStart;
  if (bytes[end] === 0x2c) end++;
  else {
    // The last one: the comma is before it.
    let at = start - 1;
    while (isBlank(bytes[at])) at--;
    if (bytes[at] === 0x2c) start = at;
  }
  return removeProperty(concatRequestBytes([bytes.subarray(0, start), bytes.subarray(end)]), name);
}

function isEmptyObjectAt(bytes: Buffer, open: number): boolean {
  let at = open;
  while (isBlank(bytes[at])) at++;
  return bytes[at] === 0x7d;
}
