import type { UntrustedObject } from '../../contract/is-object.ts';
import { parseUsage, type Usage } from './parse-usage.ts';
import { tryParse } from './try-parse-json.ts';

/** Figures of an earlier and of a later event of one stream; what the later one leaves out or null stands as it was. */
export function mergeFigures(earlier: UntrustedObject | undefined, later: UntrustedObject): UntrustedObject {
  const said = Object.entries(later).filter(([, value]) => value !== null);
  return { ...earlier, ...Object.fromEntries(said) };
}

const USAGE_KEY = '"usage"';

/** The last usage object in a JSON text, without parsing the rest. Inside strings the key's quotes are escaped. */
export function findUsageInText(text: string): Usage | undefined {
  for (let at = text.lastIndexOf(USAGE_KEY); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(USAGE_KEY, at - 1)) {
    const open = /^\s*:\s*\{/.exec(text.slice(at + USAGE_KEY.length, at + USAGE_KEY.length + 16));
    if (open === null) continue;
    const start = at + USAGE_KEY.length + open[0].length - 1;
    const usage = parseUsage(parseObjectAt(text, start));
    if (usage !== undefined) return usage;
  }
  return undefined;
}

const MAX_USAGE_LENGTH = 4_096;

/** The object that begins at `start`; usage objects hold numbers and objects of numbers, no text with brackets. */
function parseObjectAt(text: string, start: number): unknown {
  let depth = 0;
  for (let at = start; at < text.length && at < start + MAX_USAGE_LENGTH; at++) {
    const character = text[at];
    if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return tryParse(text.slice(start, at + 1));
  }
  return undefined;
}
