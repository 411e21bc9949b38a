import { runInNewContext } from 'node:vm';

/** As long as the longest prompt. */
const PROBE_LENGTH = 32_000;
const PROBE_MS = 100;

/**
 * Tries a regular expression on long texts made of its own pieces, in a box that is shut after 100 ms: an expression that
 * backtracks without end would stop this whole process on the first caller who finds such a text.
 *
 * @returns why it cannot be used, or undefined
 */
export function problemOfPattern(pattern: string): string | undefined {
  if (pattern.length > 500) return 'is longer than 500 characters';
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is no regular expression';
  }
  const pieces = new Set([...(pattern.match(/[A-Za-z0-9]+/g) ?? []), ...(pattern.match(/[A-Za-z0-9 _.-]/g) ?? [])]);
  const texts = ['a', '0', ' ', 'a0', ...[...pieces].slice(0, 20)].map((piece) => [
    `${piece.repeat(Math.ceil(40 / piece.length))}\u0001`,
    `${piece.repeat(Math.ceil(PROBE_LENGTH / piece.length))}\u0001`,
  ]);
  try {
    runInNewContext(
      'const e = new RegExp(pattern, "u"); for (const text of texts) e.test(text);',
      {
        pattern,
        texts: texts.flat(),
      },
      { timeout: PROBE_MS },
    );
  } catch {
    return 'takes too long on some texts';
  }
  return undefined;
}
