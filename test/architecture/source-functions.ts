import type { SourceFile } from './source-files.ts';

/** A function with its location and length. */
export interface SourceFunction {
  /** `path#name`, or `path#name:line` for a function without a name of its own. */
  readonly id: string;
  readonly line: number;
  readonly lineCount: number;
}

const KEYWORD = /^\s*\}?\s*(?:if|else|for|while|switch|catch|try|do|with|return|throw|await|new|class|interface)\b/;
const DECLARED = /^\s*(?:export )?(?:default )?(?:async )?function\*? ?([\w$]+)?/;
const ASSIGNED =
  /^\s*(?:export )?(?:readonly |static )*(?:const |let )?(#?[\w$]+)\??(?:: [^=]+)? = (?:async )?(?:function|\(|<|[\w$]+ =>)/;
const PROPERTY = /^\s*(#?[\w$]+): (?:async )?(?:function|\(|[\w$]+ =>)/;
const METHOD = /^\s*(?:(?:override|static|private|protected|public|async|get|set|\*) ?)*(#?[\w$]+)(?:<.*>)?\(/;

function nameOf(line: string): string | undefined {
  if (KEYWORD.test(line)) return undefined;
  for (const form of [DECLARED, ASSIGNED, PROPERTY, METHOD]) {
    const name = form.exec(line)?.[1];
    if (name !== undefined) return name;
  }
  return undefined;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/**
 * Finds functions of a formatted TypeScript module with a body of several lines. Biome enforces the format: a body ends
 * with the first line that starts with `}` at the indentation of the line that opened it, and a head of several lines
 * starts and ends at the same indentation.
 */
export function functionsOf({ path, text }: Pick<SourceFile, 'path' | 'text'>): SourceFunction[] {
  const lines = text.split('\n');
  const found: SourceFunction[] = [];
  for (const [index, line] of lines.entries()) {
    const isArrow = /=> \{$/.test(line);
    const isBody = isArrow || (/\)(?:: .+)? \{$/.test(line) && !KEYWORD.test(line));
    if (!isBody) continue;
    const indent = indentOf(line);
    let start = index;
    // The head starts above: `name(` or `const name = async (` at the same indentation.
    if (/^\s*\)/.test(line) || /^\s*\}?\)/.test(line))
      while (start > 0 && (start === index || indentOf(lines[start] ?? '') !== indent || lines[start] === '')) start--;
    const head = lines[start] ?? '';
    if (!isArrow && KEYWORD.test(head)) continue;
    let end = index + 1;
    while (end < lines.length && !(indentOf(lines[end] ?? '') === indent && /^\s*\}/.test(lines[end] ?? ''))) end++;
    const name = nameOf(head);
    found.push({ id: `${path}#${name ?? `line ${start + 1}`}`, line: start + 1, lineCount: end - start + 1 });
  }
  return found;
}
