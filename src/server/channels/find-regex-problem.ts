import { runInNewContext } from 'node:vm';

/** As long as the longest prompt. */
const PROBE_LENGTH = 32_000;
/** The second one for a machine that is busy: the limit is of elapsed time, and a sound expression needs a few milliseconds. */
const PROBES_MS = [100, 400];

/**
 * Runs a regular expression on long texts made of its own characters, in a context that is stopped in time: an
 * expression with catastrophic backtracking would block this whole process for the first caller who sends such a text.
 *
 * @returns why it cannot be used, or undefined
 */
export function findRegexProblem(pattern: string): string | undefined {
  if (pattern.length > 500) return 'is longer than 500 characters';
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is no regular expression';
  }
  // Words and single characters of the expression, of any script: `(é+)+$` is only slow on a text of é.
  const pieces = new Set([
    ...(pattern.match(/[\p{L}\p{N}]+/gu) ?? []),
    ...(pattern.match(/[^\p{C}\\()[\]{}|*+?^$]/gu) ?? []),
  ]);
  const texts = [...new Set(['a', '0', ' ', 'a0', 'é', '一', ...[...pieces].slice(0, 40)])].map((piece) => [
    `${piece.repeat(Math.ceil(40 / piece.length))}\u0001`,
    `${piece.repeat(Math.ceil(PROBE_LENGTH / piece.length))}\u0001`,
  ]);
  const isSlow = PROBES_MS.every((timeout) => exceeds(timeout, pattern, texts.flat()));
  return isSlow ? 'takes too long on some texts' : undefined;
}

function exceeds(timeout: number, pattern: string, texts: readonly string[]): boolean {
  try {
    const script = 'const e = new RegExp(pattern, "u"); for (const text of texts) e.test(text);';
    runInNewContext(script, { pattern, texts }, { timeout });
    return false;
  } catch {
    return true;
  }
}
