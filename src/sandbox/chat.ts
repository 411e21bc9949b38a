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
    const words = reply.match(/\s*\S+/g) ?? [];
    const end = typeof limit === 'number' ? limit : words.length;
    return { pieces: words.slice(0, end), isCut: end < words.length };
  }
  const wanted = directives('chunks') ?? DEFAULT_WORDS;
  const length = typeof limit === 'number' ? Math.min(wanted, limit) : wanted;
  const thousands = directives('big');
  const big = thousands === undefined ? undefined : 'a'.repeat(thousands * 1_000);
  return { pieces: Array.from({ length }, (_, index) => big ?? wordAt(index)), isCut: length < wanted };
}

/** Requests for the prompt of a video, as the console and people word them. */
const ASKS_FOR_PROMPT = /(?=[\s\S]*(?:video|视频))(?=[\s\S]*(?:prompt|提示词))/i;
const SUBJECT = /(?:prompt[^:]*?\b(?:of|about|showing)\b|prompt:|提示词[：:])\s*/i;
const NUMBERED = /\b([2-9])\s+(?:ideas|titles|names|prompts|examples)\b(?:\s+(?:for|of|about)\s+(.+))?/i;

/** A request for an exact text: `Reply with exactly: yes`, `Say "hello"`, `请回答：好`. */
const EXACT_TEXT =
  /\b(?:say|reply|respond|answer)\b(?:\s+(?:with|exactly|only|just|the|one|single|words?))*(?:\s*[:：]\s*|\s+(?=["“]))["“]?([^"”\n]{1,200}?)["”]?\.?$|(?:回答|回复|请说)[:：]\s*["“]?([^"”\n]{1,200}?)["”]?。?$/i;
const ASKS_FOR_JSON =
  /\b(?:as|in|with|only|valid)\s+(?:an?\s+)?json\b|\bjson\s+(?:object|only|format)\b|(?:以|用|返回)\s*JSON/i;
const JSON_KEYS = /\b(?:keys?|fields?|properties|members?)\s+([\w\s,"'`]+)/i;
const HAS_CHINESE = /[\u4e00-\u9fff]/;
const ASKS_ABOUT_IMAGE = /\b(?:images?|pictures?|photos?|describe|what|see)\b|图|照片|看到/i;
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image_url', 'input_image', 'image']);
const BULLETS = /\b([2-9])\s+(?:bullet points|bullets|points|sentences|lines)\b(?:\s+(?:for|of|about|on)\s+(.+))?/i;

/** The reply to a plainly worded instruction about the format or an image; undefined: there is none. */
function followInstruction(asked: string, whole: string, content: unknown): string | undefined {
  const exact = EXACT_TEXT.exec(asked);
  if (exact !== null) return exact[1] ?? exact[2];
  if (ASKS_FOR_JSON.test(whole)) {
    const names = JSON_KEYS.exec(whole)?.[1]
      ?.match(/[A-Za-z_]\w*/g)
      ?.filter((name) => name !== 'and') ?? ['answer'];
    return JSON.stringify(Object.fromEntries(names.map((name) => [name, 'text'])));
  }
  const images = asFieldList(content).filter(({ type }) => IMAGE_TYPES.has(type)).length;
  if (images > 0 && ASKS_ABOUT_IMAGE.test(asked))
    return HAS_CHINESE.test(asked)
      ? `收到 ${images} 张图片。这是模拟模型，看不到图片内容。`
      : `Received ${images} ${images === 1 ? 'image' : 'images'}. This model is simulated and cannot see what they show.`;
  const [, count, topic = 'the light of day'] = BULLETS.exec(asked) ?? [];
  if (count !== undefined)
    return Array.from(
      { length: Number(count) },
      (_, index) => `- ${topic.replace(/\.$/, '')}, point ${index + 1}`,
    ).join('\n');
  return undefined;
}

/** The reply of the simulated models where the conversation says what to write; undefined: the fixed words. */
export function composeReply(system: unknown, messages: unknown): string | undefined {
  const last = asFieldList(messages).findLast(({ role }) => role === 'user');
  const asked = textOf(last?.content).trim();
  const [, count, topic = 'a sea at dawn'] = NUMBERED.exec(asked) ?? [];
  if (count !== undefined)
    return Array.from({ length: Number(count) }, (_, index) => `${index + 1}. ${topic}, take ${index + 1}`).join('\n');
  const instructions = asFieldList(messages).filter(({ role }) => role === 'system' || role === 'developer');
  const whole = [textOf(system), ...instructions.map(({ content }) => textOf(content)), asked].join('\n');
  if (asked === '') return undefined;
  if (!ASKS_FOR_PROMPT.test(whole)) return followInstruction(asked, whole, last?.content);
  const subject = (asked.split(SUBJECT).at(-1) ?? asked).replace(/[.。\s]+$/, '');
  return HAS_CHINESE.test(subject)
    ? `${subject}，缓慢推镜，柔和的晨光，浅景深，细节丰富，35 毫米胶片质感`
    : `${subject}, slow dolly in, soft morning light, shallow depth of field, fine detail, 35 mm film`;
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : asFieldList(content)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join(' ');

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
