import { setTimeout as sleep } from 'node:timers/promises';
import { type SimulatorRequest, StreamInterrupted } from '../define-simulator.ts';

/**
 * What a test may write into the text it sends, as `[name=number]`:
 * - `chunks`: how many words to send (default 12); `delay`: milliseconds between them; `wait`: milliseconds before the first
 * - `cut`: break the connection after so many words; `stop`: end the response there without an error; `silent`: send nothing
 *   after them but keep the connection; `error`: send an error event after them; `garbage`: send an event that is no JSON
 * - `big`: every word has so many thousand letters; `tag`: a number under which `wordsSentFor` counts the words sent
 * - `tools`: how many calls to make at once of the functions offered (default 1)
 * - `call=Name`: which of the functions to call, for programs that offer many
 * - `usage=0`: report no usage; `usage=-1`: report negative usage; `usage=2`: report absurdly large usage
 */
export type Directives = (name: string) => number | undefined;

export function parseDirectives(request: SimulatorRequest): Directives {
  const found = new Map<string, number>();
  for (const [, name = '', value] of request.body.toString('latin1').matchAll(/\[([a-z]{3,8})=(-?\d{1,6})\]/g))
    found.set(name, Number(value));
  return (name) => found.get(name);
}

/** The function to call by `[call=Name]`; undefined: the first one offered. */
export const wantedFunction = ({ body }: SimulatorRequest): string | undefined =>
  /\[call=([A-Za-z_]{1,64})\]/.exec(body.toString('latin1'))?.[1];

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
