/** False for U+0000, which PostgreSQL cannot store, and for lone surrogates, which have no UTF-8 form. */
export function isWellFormedText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000');
}

/** The well-formed form of external text, which can be stored. */
export const toWellFormedText = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');

/** An escape sequence of JSON: of U+0000, of a lone surrogate, or another one. */
const JSON_ESCAPE = /\\(?:(u0000)|(ud[89a-f][0-9a-f]{2})|.)/g;

/**
 * JSON of a value with external text, which strict parsers and databases accept: `JSON.stringify` escapes U+0000 and
 * lone surrogates instead of removing them.
 */
export const toWellFormedJson = (value: object): string =>
  JSON.stringify(value).replace(JSON_ESCAPE, (whole: string, nul?: string, surrogate?: string) => {
    if (nul !== undefined) return '';
    return surrogate === undefined ? whole : '\ufffd';
  });

/** Abbreviates a long text for storage or display. */
export const cutText = (start: string, length: number): string => `${start}…[cut, ${length} characters]`;

/** The first `max` code points of a text; never splits a surrogate pair. */
export function truncateCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  let at = 0;
  for (let count = 0; count < max && at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, at);
}

/** Normalizes a typed name: Chinese input methods produce full-width characters, and phone keyboards append a blank. */
export const normalizeName = (typed: string): string => typed.normalize('NFKC').trim();

/** Normalizes a typed code like a name, and removes the blanks and dashes that group it. */
export const normalizeTypedCode = (typed: string): string => typed.normalize('NFKC').replace(/[\s\p{Cf}\p{Pd}]/gu, '');
