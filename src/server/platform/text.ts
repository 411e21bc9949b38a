/** False for U+0000, which PostgreSQL cannot store, and for lone surrogates, which have no UTF-8 form. */
export function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The well-formed form of external text, which can be stored. */
export const toWellFormedText = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');

/** Abbreviates a long text for storage or display. */
export const cutText = (start: string, length: number): string => `${start}…[cut, ${length} characters]`;

/** Length in code points; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += codeUnitsAt(text, at)) count++;
  return count;
}

/** The first `max` code points of a text; never splits a surrogate pair. */
export function truncateCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  let at = 0;
  for (let count = 0; count < max && at < text.length; count++) at += codeUnitsAt(text, at);
  return text.slice(0, at);
}

function codeUnitsAt(text: string, at: number): 1 | 2 {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

const SPACE = 0x20;

/**
 * Whether any byte is below 0x20. Reads four bytes at a time and checks which of them a subtraction makes borrow from
 * its highest bit: 0.3 ns per byte, whereas a pattern would first need a text of the bytes.
 */
export function hasControlCharacter(bytes: Buffer): boolean {
  // Words are aligned to multiples of four in memory.
  const start = -bytes.byteOffset & 3;
  const count = (bytes.length - start) >> 2;
  if (count <= 0) return hasOneFrom(bytes, 0, bytes.length);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, count);
  let borrowed = 0;
  for (let at = 0; at < count; at++) {
    const word = words[at] as number;
    borrowed |= (word - 0x20_20_20_20) & ~word;
  }
  return (
    (borrowed & 0x80_80_80_80) !== 0 ||
    hasOneFrom(bytes, 0, start) ||
    hasOneFrom(bytes, start + count * 4, bytes.length)
  );
}

function hasOneFrom(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) < SPACE) return true;
  return false;
}

/** Normalizes a typed name: Chinese input methods produce full-width characters, and phone keyboards append a blank. */
export const normalizeName = (typed: string): string => typed.normalize('NFKC').trim();

/** Normalizes a typed code like a name, and removes the blanks and dashes that group it. */
export const normalizeTypedCode = (typed: string): string => typed.normalize('NFKC').replace(/[\s\p{Cf}\p{Pd}]/gu, '');
