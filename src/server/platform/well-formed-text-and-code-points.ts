import { containersOf } from './parse-untrusted-json.ts';

/** False for U+0000, which PostgreSQL cannot store, and for lone surrogates, which have no UTF-8 form. */
export function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** What is well-formed of a text that others wrote, so that it can be stored. */
export const toWellFormedText = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');

/** Whether every string inside a value, keys included, is well-formed text. */
export function hasOnlyWellFormedText(root: unknown): boolean {
  if (typeof root === 'string') return isWellFormedText(root);
  for (const container of containersOf(root)) {
    if (!Array.isArray(container) && !Object.keys(container).every(isWellFormedText)) return false;
    for (const value of Array.isArray(container) ? container : Object.values(container)) {
      if (typeof value === 'string' && !isWellFormedText(value)) return false;
    }
  }
  return true;
}

/** Length in code points; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += codeUnitsAt(text, at)) count++;
  return count;
}

/** The first `max` code points of a text; never cuts a surrogate pair in half. */
export function truncateCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  let at = 0;
  for (let count = 0; count < max && at < text.length; count++) at += codeUnitsAt(text, at);
  return text.slice(0, at);
}

function codeUnitsAt(text: string, at: number): 1 | 2 {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}
