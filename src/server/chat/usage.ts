import { parseJson } from '../platform/json.ts';
import { asObject } from './untrusted.ts';

/** What a call used, in tokens. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** No model reads or writes as much in one call; a larger figure is a defect and is not believed. */
const MOST_TOKENS = 10_000_000;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS;

/**
 * The upstream's usage, in the words of chat (`prompt_tokens`) or of responses and images (`input_tokens`). Undefined when
 * a figure is absent, negative, broken or absurd: the tokens are counted here then. Gemini and xAI leave what a model
 * thought out of `completion_tokens` but bill it as output: it is in the total alone.
 */
export function readUsage(value: unknown): Usage | undefined {
  const usage = asObject(value);
  if (usage === undefined) return undefined;
  const promptTokens = usage.prompt_tokens ?? usage.input_tokens;
  const completionTokens = usage.completion_tokens ?? usage.output_tokens ?? 0;
  if (!isCount(promptTokens) || !isCount(completionTokens)) return undefined;
  const beyond = isCount(usage.total_tokens) ? usage.total_tokens - promptTokens : 0;
  return { promptTokens, completionTokens: Math.max(completionTokens, beyond) };
}

/**
 * The usage told by an answer or an event: at its top, in a response told of by an event, or in a choice. Nowhere else:
 * what answers repeat of their question (schemas of tools) is the caller's to write.
 */
export function usageOf(answer: unknown): Usage | undefined {
  const told = asObject(answer);
  const [choice] = Array.isArray(told?.choices) ? told.choices : [];
  return readUsage(told?.usage) ?? readUsage(asObject(told?.response)?.usage) ?? readUsage(asObject(choice)?.usage);
}

const KEY = '"usage"';

/** The last usage object written in a text of JSON, without parsing the rest. Inside strings the key's quotes are escaped. */
export function findUsage(text: string): Usage | undefined {
  for (let at = text.lastIndexOf(KEY); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(KEY, at - 1)) {
    const open = /^\s*:\s*\{/.exec(text.slice(at + KEY.length, at + KEY.length + 16));
    if (open === null) continue;
    const start = at + KEY.length + open[0].length - 1;
    const usage = readUsage(objectAt(text, start));
    if (usage !== undefined) return usage;
  }
  return undefined;
}

const LONGEST_USAGE = 4_096;

/** The object that begins at `start`; usage objects hold numbers and objects of numbers, no text with brackets. */
function objectAt(text: string, start: number): unknown {
  let depth = 0;
  for (let at = start; at < text.length && at < start + LONGEST_USAGE; at++) {
    const sign = text[at];
    if (sign === '{') depth++;
    else if (sign === '}' && --depth === 0) return tryParse(text.slice(start, at + 1));
  }
  return undefined;
}

/** Undefined for what is not JSON, or is too deep. */
export function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
