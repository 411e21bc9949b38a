import { randomText } from '../platform/secrets.ts';

/** Crockford's base 32 (https://www.crockford.com/base32.html): no I, L, O, U to confuse; 20 characters carry 100 bits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 20;

/** A new code, without dashes. */
export const makeCode = (): string => randomText(LENGTH, ALPHABET);

/** As people are given it: `XXXXX-XXXXX-XXXXX-XXXXX`. */
export const toShownCode = (code: string): string => code.match(/.{5}/g)?.join('-') ?? code;

/** The first and last characters, to know it again in a list. */
export const toHint = (code: string): string => `${code.slice(0, 5)}-…-${code.slice(-4)}`;

/** A code as somebody typed or pasted it: case, spaces and dashes do not matter, and look-alikes are read as meant. */
export const readCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
