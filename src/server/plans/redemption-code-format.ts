import { randomText } from '../platform/tokens.ts';

/** Crockford's base 32 (https://www.crockford.com/base32.html): no I, L, O, U to confuse; 20 characters carry 100 bits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 20;

/** A new code, without dashes. */
export const generateCode = (): string => randomText(LENGTH, ALPHABET);

/** The displayed form: `XXXXX-XXXXX-XXXXX-XXXXX`. */
export const formatCode = (code: string): string => code.match(/.{5}/g)?.join('-') ?? code;

/** The first and last characters, to recognize a code in a list. */
export const maskCode = (code: string): string => `${code.slice(0, 5)}-…-${code.slice(-4)}`;

/** Parses a typed or pasted code: case, spaces and dashes do not matter, and similar characters are mapped to the intended ones. */
export const normalizeCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
