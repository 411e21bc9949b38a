import { setTimeout as sleep } from 'node:timers/promises';
import { asObject } from '../contract/objects.ts';
import { type SimulatorRequest, StreamInterrupted } from './simulator.ts';

/** Each word is one token including its leading space, in all of OpenAI's vocabularies. */
const WORDS = ['the', 'light', 'of', 'day', 'and', 'sea', 'in', 'time', 'with', 'sun', 'on', 'water'];

const wordAt = (index: number): string => `${index === 0 ? '' : ' '}${WORDS[index % WORDS.length]}`;

const DEFAULT_WORDS = 12;
const JSON_FRAGMENT_LENGTH = 8;

/**
 * Plans the parts of the text, and whether `limit` (`max_tokens` and equivalent parameters) cuts them short. `json`
 * replaces the words if the caller requested structured output; it is never cut, because half an object helps no test.
 * `reply` replaces them too.
 */
export function planText(
  directives: Directives,
  limit: unknown,
  json?: string,
  reply?: string,
): { readonly pieces: readonly string[]; readonly isCut: boolean } {
  if (json !== undefined) {
    return { pieces: json.match(new RegExp(`.{1,${JSON_FRAGMENT_LENGTH}}`, 'gs')) ?? [], isCut: false };
  }
  if (reply !== undefined && directives('chunks') === undefined) {
    const words = splitWords(reply);
    const end = typeof limit === 'number' ? limit : words.length;
    return { pieces: words.slice(0, end), isCut: end < words.length };
  }
  const wanted = directives('chunks') ?? DEFAULT_WORDS;
  const length = typeof limit === 'number' ? Math.min(wanted, limit) : wanted;
  const thousands = directives('big');
  const big = thousands === undefined ? undefined : 'a'.repeat(thousands * 1_000);
  return { pieces: Array.from({ length }, (_, index) => big ?? wordAt(index)), isCut: length < wanted };
}

/** The words of a text, each with the white space before it; of Chinese, up to three characters. */
export const splitWords = (text: string): readonly string[] =>
  text.match(/\s*(?:[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]{1,3}|[^\s\u3000-\u303f\u3400-\u9fff\uff00-\uffef]+)/g) ??
  [];

const wordCounts = new Map<number, number>();
/** Number of words sent in response to requests with `[tag=…]`, whether or not they were received. */
export const wordsSentFor = (tag: number): number => wordCounts.get(tag) ?? 0;

/** Sends the pieces one by one, with the faults requested by the directives. */
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
/** A new id, unique within the process. */
export const newId = (prefix: string): string => `${prefix}-sandbox${(++count).toString(36).padStart(8, '0')}`;

/**
 * Directives that a test can put into its prompt, as `[name=number]`:
 * - `chunks`: number of words to send (default 12); `delay`: milliseconds between them; `wait`: milliseconds before the
 *   first
 * - `cut`: break the connection after that many words; `stop`: end the response there without an error; `silent`: send
 *   nothing more but keep the connection open; `error`: send an error event after them; `garbage`: send an event that
 *   is not JSON
 * - `big`: thousands of letters per word; `tag`: number under which `wordsSentFor` counts the words sent
 * - `tools`: number of simultaneous calls of the offered functions (default 1)
 * - `call=Name`: the function to call, for programs that offer many
 * - `usage=0`: report no usage; `usage=-1`: report negative usage; `usage=2`: report absurdly large usage
 */
export type Directives = (name: string) => number | undefined;

/** Reads the directives from the body of a request. */
export function parseDirectives(request: SimulatorRequest): Directives {
  const found = new Map<string, number>();
  for (const [, name = '', value] of request.body.toString('latin1').matchAll(/\[([a-z]{3,8})=(-?\d{1,6})\]/g))
    found.set(name, Number(value));
  return (name) => found.get(name);
}

/** The function named by `[call=Name]`; undefined: the first one offered. */
export const wantedFunction = ({ body }: SimulatorRequest): string | undefined =>
  /\[call=([A-Za-z_]{1,64})\]/.exec(body.toString('latin1'))?.[1];

/** A function the caller offered, in either API. */
export interface OfferedFunction {
  readonly name: string;
  /** JSON Schema. */
  readonly parameters: unknown;
}

/** A function call of the simulated model. */
export interface FunctionCall {
  readonly name: string;
  /** JSON text that matches the parameters' schema. */
  readonly arguments: string;
}

/**
 * Chooses the calls of the simulated model: the function named by a directive, or else the first ones offered. Callers
 * stop asking for calls once the conversation contains a result, so that every tool loop ends after one turn.
 *
 * @param count number of simultaneous calls
 */
export function chooseCalls(
  offered: readonly OfferedFunction[],
  wanted: unknown,
  count: number,
): readonly FunctionCall[] {
  const named = offered.find(({ name }) => name === wanted);
  const called = named === undefined ? offered.slice(0, count) : [named];
  return called.map(({ name, parameters }) => ({ name, arguments: JSON.stringify(exampleForSchema(parameters)) }));
}

type Schema = Readonly<Record<string, unknown>>;

const asSchema = (value: unknown): Schema => asObject(value) ?? {};

const MAX_DEPTH = 8;

/** A small value that matches a JSON Schema: required properties only (the first property if none is required). */
export function exampleForSchema(value: unknown, depth = 0): unknown {
  const schema = asSchema(value);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return exampleForSchema(options[0], depth);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (depth > MAX_DEPTH) return null;
  if (type === 'array') return [exampleForSchema(schema.items, depth + 1)];
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'string') return 'Paris';
  const properties = asSchema(schema.properties);
  const names = Object.keys(properties);
  const listed: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const required = names.filter((name) => listed.includes(name));
  const chosen = required.length > 0 ? required : names.slice(0, 1);
  return Object.fromEntries(chosen.map((name) => [name, exampleForSchema(properties[name], depth + 1)]));
}

/** Approximate token count, one per word, reported by the simulated models. */
export const countWords = (value: unknown): number => JSON.stringify(value ?? '').split(/\W+/).length;

/** A JSON object of unknown content. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; empty for anything else. */
export const asFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
/** The value as a list of objects; empty for anything else. */
export const asFieldList = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(asFields) : []);
