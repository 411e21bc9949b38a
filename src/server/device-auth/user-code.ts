import { USER_CODE_ALPHABET } from '../../contract/device-auth.ts';
import { normalizeTypedCode, truncateCodePoints } from '../platform/text.ts';
import { randomText } from '../platform/tokens.ts';

const LETTERS = 8;
const WELL_FORMED = new RegExp(`^[${USER_CODE_ALPHABET}]{${LETTERS}}$`);

/** Eight letters of twenty: 34.5 bits, enough for a code that lives ten minutes behind a limit on guesses (RFC 8628 section 5.1). */
export const newUserCode = (): string => randomText(LETTERS, USER_CODE_ALPHABET);

/** `WDJB-MJHT`, the displayed form. */
export const formatUserCode = (code: string): string => `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`;

/** Parses a typed code, ignoring case, width, dashes and spaces (RFC 8628 section 6.1); undefined where it cannot be one. */
export function parseUserCode(typed: string): string | undefined {
  const code = normalizeTypedCode(typed).replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return WELL_FORMED.test(code) ? code : undefined;
}

/** Invisible characters, direction overrides, private and unassigned ones, and what breaks a line. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;

/** An untrusted name, made safe for one line of a page or a notice: nothing invisible, no stacks of accents. */
export function toSingleLine(text: string, maxLength: number): string {
  const plain = text
    .replace(INVISIBLE_CHARACTERS, ' ')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  return truncateCodePoints(plain, maxLength);
}
