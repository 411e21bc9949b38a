import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Whether a token ends in the CRC-32 of its other characters, as six digits in base 62. */
export function hasValidChecksum(token: string): boolean {
  const value = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0);
  return token.length > 6 && crc32(token.slice(0, -6)) === value;
}
