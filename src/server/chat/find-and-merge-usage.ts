import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { largerUsage, parseUsage, type Usage } from './parse-usage.ts';
import { tryParse } from './try-parse-json.ts';

/**
 * The figures of one stream, which upstreams report once, repeatedly, or in parts. They are cumulative: what a later event leaves out, nulls or
 * resets to zero stands as it was, and no total is ever smaller than before.
 */
export class UsageTotals {
  #figures: UntrustedObject | undefined;
  #usage: Usage | undefined;

  add(figures: UntrustedObject | undefined): void {
    if (figures === undefined) return;
    this.#figures = this.#figures === undefined ? figures : mergeFigures(this.#figures, figures);
    const usage = parseUsage(this.#figures);
    if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : largerUsage(this.#usage, usage);
  }

  /** Undefined until the figures suffice for a charge. */
  get usage(): Usage | undefined {
    return this.#usage;
  }
}

/** What the later figures say on top of the earlier ones. */
function mergeFigures(earlier: UntrustedObject, later: UntrustedObject): UntrustedObject {
  const merged: Record<string, unknown> = { ...earlier };
  for (const [key, value] of Object.entries(later)) {
    const known = asObject(merged[key]);
    const inner = asObject(value);
    if (inner !== undefined) merged[key] = known === undefined ? inner : mergeFigures(known, inner);
    else if (!saysNothing(value) || merged[key] === undefined || merged[key] === null) merged[key] = value;
  }
  return merged;
}

const saysNothing = (figure: unknown): boolean =>
  figure === null || figure === undefined || figure === 0 || (Array.isArray(figure) && figure.length === 0);

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
