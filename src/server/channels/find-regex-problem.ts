import { runInNewContext } from 'node:vm';
import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** As long as the longest prompt. */
const PROBE_LENGTH = 32_000;
/** The second one for a machine that is busy: the limit is of elapsed time, and a sound expression needs a few milliseconds. */
const PROBES_MS = [100, 400];

/**
 * Looks for catastrophic backtracking, which costs the process time for each caller who sends the text for it: first in the
 * syntax tree, then by running the expression on long texts made of its own characters, in a context that is stopped in time.
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
  if (repeatsAmbiguously(pattern)) return 'repeats a part that can match one text in several ways';
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

/** A part repeated as often as this at most multiplies the steps only by a power of the length of the text. */
const FEW_TIMES = 4;

/**
 * Whether the expression repeats a part that can match one text in several ways, such as `(a+)+` or `(a|aa)*`: the number of ways then
 * doubles with each character. Decided by the syntax tree, since no number of sample texts proves the opposite.
 */
function repeatsAmbiguously(pattern: string): boolean {
  const tree = new RegExpParser().parsePattern(pattern, 0, pattern.length, { unicode: true });
  const visit = (node: AST.Element): boolean => {
    if (node.type === 'Quantifier')
      return (node.max > FEW_TIMES && !isUnambiguous(node.element)) || visit(node.element);
    return 'alternatives' in node && node.alternatives.some(({ elements }) => elements.some(visit));
  };
  return tree.alternatives.some(({ elements }) => elements.some(visit));
}

type OneCharacter = AST.Character | AST.CharacterSet | AST.CharacterClass;

const isOneCharacter = (node: AST.Node | undefined): node is OneCharacter =>
  node?.type === 'Character' || node?.type === 'CharacterSet' || node?.type === 'CharacterClass';

/** Whether repetitions of an element divide a text in one way only. */
function isUnambiguous(node: AST.Element): boolean {
  if (isOneCharacter(node)) return true;
  if (node.type !== 'Group' && node.type !== 'CapturingGroup') return false;
  const [first, ...others] = node.alternatives;
  if (first !== undefined && others.length === 0 && isSeparated(first)) return true;
  return (
    node.alternatives.every(({ elements }) => elements.every(isFixed)) && haveDisjointBeginnings(node.alternatives)
  );
}

/** A literal character begins each repetition, occurs nowhere else in it, and one part of what follows has a variable length. */
function isSeparated({ elements: [separator, ...rest] }: AST.Alternative): boolean {
  if (separator?.type !== 'Character') return false;
  const parts = rest.map((node) => (node.type === 'Quantifier' ? node.element : node));
  const variable = rest.filter((node) => node.type === 'Quantifier' && node.min !== node.max);
  return variable.length <= 1 && parts.every((part) => isOneCharacter(part) && !matches(part, separator));
}

/** Matches texts of one length, or of several that their first character tells apart. */
function isFixed(node: AST.Element): boolean {
  if (isOneCharacter(node)) return true;
  if (node.type === 'Quantifier') return node.min === node.max && isFixed(node.element);
  if (node.type !== 'Group' && node.type !== 'CapturingGroup') return false;
  return (
    node.alternatives.every(({ elements }) => elements.every(isFixed)) && haveDisjointBeginnings(node.alternatives)
  );
}

function haveDisjointBeginnings(alternatives: readonly AST.Alternative[]): boolean {
  if (alternatives.length === 1) return (alternatives[0]?.elements.length ?? 0) > 0;
  const beginnings = alternatives.map(({ elements: [first] }) => first);
  return beginnings.every((one, index) =>
    beginnings.slice(index + 1).every((other) => {
      if (!isOneCharacter(one) || !isOneCharacter(other)) return false;
      if (one.type === 'Character') return !matches(other, one);
      return other.type === 'Character' && !matches(one, other);
    }),
  );
}

const matches = (part: OneCharacter, { value }: AST.Character): boolean =>
  new RegExp(`^(?:${part.raw})$`, 'u').test(String.fromCodePoint(value));
