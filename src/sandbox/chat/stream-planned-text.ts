import { setTimeout as sleep } from 'node:timers/promises';
import { StreamInterrupted } from '../define-simulator.ts';
import type { Directives } from './prompt-directives.ts';

/** Each is one token including the blank before it, in all of OpenAI's vocabularies. */
const WORDS = ['the', 'light', 'of', 'day', 'and', 'sea', 'in', 'time', 'with', 'sun', 'on', 'water'];

const wordAt = (index: number): string => `${index === 0 ? '' : ' '}${WORDS[index % WORDS.length]}`;

const DEFAULT_WORDS = 12;
const JSON_FRAGMENT_LENGTH = 8;

/**
 * The parts of text to send, and whether `limit` (`max_tokens` and the parameters like it) cut them short. `json` replaces the words where
 * the caller asked for structured output; it is never cut, since half an object helps no test.
 */
export function planText(
  directives: Directives,
  limit: unknown,
  json?: string,
): { readonly pieces: readonly string[]; readonly isCut: boolean } {
  if (json !== undefined) {
    return { pieces: json.match(new RegExp(`.{1,${JSON_FRAGMENT_LENGTH}}`, 'gs')) ?? [], isCut: false };
  }
  const wanted = directives('chunks') ?? DEFAULT_WORDS;
  const length = typeof limit === 'number' ? Math.min(wanted, limit) : wanted;
  const thousands = directives('big');
  const big = thousands === undefined ? undefined : 'a'.repeat(thousands * 1_000);
  return { pieces: Array.from({ length }, (_, index) => big ?? wordAt(index)), isCut: length < wanted };
}

const wordCounts = new Map<number, number>();
/** How many words were sent in response to a request with `[tag=…]`, whether or not anybody received them. */
export const wordsSentFor = (tag: number): number => wordCounts.get(tag) ?? 0;

/** Sends the pieces one by one, with the faults the directives ask for. */
export async function* streamText(
  pieces: readonly string[],
  directives: Directives,
  toEvent: (piece: string) => string,
  toError: (message: string) => string,
): AsyncGenerator<string> {
  const delay = directives('delay');
  const tag = directives('tag');
  for (const [index, piece] of pieces.entries()) {
    if (index === directives('cut')) throw new StreamInterrupted();
    if (index === directives('stop')) throw new StreamInterrupted(true);
    if (index === directives('silent')) await sleep(600_000, undefined, { ref: false });
    if (index === directives('garbage')) yield 'data: {"choices":[{"delta":{"conte\n\n';
    if (index === directives('error')) {
      yield toError('The server had an error');
      return;
    }
    if (delay !== undefined && delay > 0) await sleep(delay);
    if (tag !== undefined) wordCounts.set(tag, index + 1);
    yield toEvent(piece);
  }
}

let count = 0;
export const newId = (prefix: string): string => `${prefix}-sandbox${(++count).toString(36).padStart(8, '0')}`;
