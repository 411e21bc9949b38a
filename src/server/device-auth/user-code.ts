import { USER_CODE_ALPHABET } from '../../contract/device-auth.ts';
import { cutCodePoints } from '../platform/json.ts';
import { randomText } from '../platform/secrets.ts';

const LETTERS = 8;
const WELL_FORMED = new RegExp(`^[${USER_CODE_ALPHABET}]{${LETTERS}}$`);

/** Eight letters of twenty: 34.5 bits, enough for a code that lives ten minutes behind a budget of guesses (RFC 8628 section 5.1). */
export const newUserCode = (): string => randomText(LETTERS, USER_CODE_ALPHABET);

/** `WDJB-MJHT`, as people see it. */
export const showUserCode = (code: string): string => `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`;

/** What somebody typed, case, dashes and spaces forgiven (RFC 8628 section 6.1); undefined where it cannot be a code. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.replace(/[\s\p{Pd}]/gu, '').replace(/[a-z]/g, (letter) => letter.toUpperCase());
  return WELL_FORMED.test(code) ? code : undefined;
}

/** Invisible characters, direction overrides, private and unassigned ones, and what breaks a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;

/** A name a stranger gave, fit to stand in a line of a page or a notice: nothing invisible, no stacks of accents. */
export function toPlainLine(text: string, longest: number): string {
  const plain = text
    .replace(UNSEEN, ' ')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  return cutCodePoints(plain, longest);
}
