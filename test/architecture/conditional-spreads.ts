import type { SourceFile } from './source-files.ts';

/** Matches `x ? {} : …`, `x ? … : {}`, `x ? … : undefined` or `x && …` outside of inner brackets. */
const CONDITIONAL = /(?<!\?)\?\s*\{\}|:\s*(\{\}|undefined)\s*$|&&/;

/** The text up to the closing bracket, without the contents of inner round brackets. */
function readToClosingBracket(text: string, start: number): string {
  let depth = 1;
  let outer = '';
  for (let index = start; index < text.length && depth > 0; index++) {
    const sign = text[index] ?? '';
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (depth === 1 && sign !== ')') outer += sign;
  }
  return outer;
}

/**
 * Members that a condition adds to an object: `...(x === undefined ? {} : { x })`, `...(x && { x })`; as `path:line`.
 */
export function conditionalSpreadsOf({ path, text }: Pick<SourceFile, 'path' | 'text'>): string[] {
  return [...text.matchAll(/\.\.\.\(/g)]
    .filter(({ index }) => CONDITIONAL.test(readToClosingBracket(text, index + '...('.length)))
    .map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}`);
}
