import { AppError, invalid } from '../platform/errors.ts';
import { checkOf } from '../platform/http/validation.ts';
import { refuseInsideMedia } from '../platform/outbound/named-addresses.ts';
import type { Dialect } from './dialects.ts';
import { membersNamed, setMember } from './json-members.ts';
import { asObject, type Untrusted } from './untrusted.ts';

/** A model call as its caller made it. */
export interface Ask {
  readonly dialect: Dialect;
  /** As it came, but for a byte order mark, which few readers forgive. */
  readonly bytes: Buffer;
  readonly body: Untrusted;
  readonly model: string;
  readonly stream: boolean;
  /** The caller asked for the usage event of a stream. */
  readonly showsUsage: boolean;
  /** Answers asked for at once. */
  readonly copies: number;
  /** Most tokens the answer may have, all copies together; the default where the caller names no bound. */
  readonly bound: number;
  /** Tokens of the question, roughly and rather too many. */
  readonly promptTokens: number;
}

/** A short body is all text; only longer ones are searched for pictures. */
const SEARCHED_FROM_BYTES = 16_384;
/** Text has three to four bytes to a token in most languages. */
const BYTES_PER_TOKEN = 3;
const TOKENS_PER_PICTURE = 1_500;

/** @throws AppError `invalid_request` */
export function readAsk(dialect: Dialect, bytes: Buffer, value: unknown): Ask {
  const checked = checkOf(dialect.body)(value);
  if ('error' in checked) throw checked.error;
  const body = value as Untrusted & { readonly model: string };
  assertOnce(bytes, body, [
    dialect.question,
    'model',
    'stream',
    ...dialect.bounds,
    'n',
    'size',
    'quality',
    'background',
  ]);
  for (const key of OTHER_MODELS)
    if (body[key] !== undefined) throw invalid(`${key} would ask for other models than the one that is paid.`, key);
  const namesMedia = ADDRESS_ENDS.some((end) => bytes.includes(end)) || bytes.includes(ESCAPED_LETTER);
  // Handed on, not fetched here: an upstream in our own network would reach what the caller cannot.
  if (namesMedia) refuseInsideMedia(body);
  // Nobody asks for nothing: upstreams take 0 as no bound.
  const named = dialect.bounds
    .map((key) => body[key])
    .filter((each): each is number => typeof each === 'number' && each > 0);
  const copies = dialect.hasCopies && typeof body.n === 'number' ? body.n : 1;
  return {
    dialect,
    bytes: bytes.subarray(hasByteOrderMark(bytes) ? 3 : 0),
    body,
    model: body.model,
    stream: body.stream === true,
    showsUsage: asObject(body.stream_options)?.include_usage === true,
    copies,
    bound: (named.length > 0 ? Math.max(...named) : dialect.usualBound) * copies,
    promptTokens: estimateTokens(bytes.length, body, namesMedia),
  };
}

/**
 * What decides the price must mean the same to every reader. Of a name written twice some take the first and some the last,
 * and some (Go's encoding/json) take `Model` for `model`.
 */
function assertOnce(bytes: Buffer, body: Untrusted, names: readonly string[]): void {
  for (const key of Object.keys(body)) {
    // By way of capitals, as to some readers the long s is one too.
    const name = key.toUpperCase().toLowerCase();
    if (name !== key && names.includes(name)) throw invalid(`${key} is to be written ${name}.`, key);
  }
  for (const name of names) {
    if (!Object.hasOwn(body, name)) continue;
    const quoted = `"${name}"`;
    const at = bytes.indexOf(quoted);
    const mayBeTwice = at !== bytes.lastIndexOf(quoted) || bytes.includes(ESCAPED_LETTER);
    if (mayBeTwice && membersNamed(bytes, name).length > 1) throw invalid(`${name} is given twice.`, name);
  }
}

/** By these some upstreams (OpenRouter, LiteLLM) take a model of the caller's in place of the one named. */
const OTHER_MODELS = ['models', 'fallbacks'] as const;

/** Letters of names are U+005F to U+0078; nobody escapes them but to hide. */
const ESCAPED_LETTER = '\\u00';
/** How every member ends that names the address of a medium, in whatever letters. */
const ADDRESS_ENDS = ['rl"', 'RL"', 'Rl"', 'rL"'] as const;

const hasByteOrderMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

function estimateTokens(size: number, body: Untrusted, namesMedia: boolean): number {
  if (size < SEARCHED_FROM_BYTES && !namesMedia) return Math.ceil(size / BYTES_PER_TOKEN);
  let text = size;
  let pictures = 0;
  for (const said of stringsIn(body)) {
    if (!isMedia(said)) continue;
    text -= said.text.length;
    pictures++;
  }
  return Math.ceil(Math.max(0, text) / BYTES_PER_TOKEN) + pictures * TOKENS_PER_PICTURE;
}

/** A string and the member it stands in; `url` of an object goes by the name of that object. */
interface Said {
  readonly key: string;
  readonly text: string;
}

/** Where media stand; the same letters anywhere else are text to a model. */
const MEDIA = /^((image|video|audio|file)_url|file_data|data|image|images|video|audio|b64_json)$/;
const SEEN = /^(image|video)_url$/;

/** A data URL, Base64 without a blank in it, or the address of something to look at. */
const isMedia = ({ key, text }: Said): boolean =>
  (SEEN.test(key) && /^https?:/i.test(text)) ||
  (MEDIA.test(key) && (/^data:/i.test(text) || (text.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(text))));

/** What of a body is not said by the caller but names how it is said. */
const NOT_TEXT = new Set(['model', 'role', 'type', 'detail', 'format', 'id', 'tool_call_id', 'call_id']);

function* stringsIn(root: Untrusted): Generator<Said> {
  const waiting: (readonly [key: string, value: unknown])[] = [['', root]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [key, value] = next;
    if (typeof value === 'string') yield { key, text: value };
    else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([key, value[i]]);
    else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      for (let i = members.length - 1; i >= 0; i--) {
        const [name, inner] = members[i] ?? ['', undefined];
        if (!NOT_TEXT.has(name)) waiting.push([name === 'url' ? key : name, inner]);
      }
    }
  }
}

/** What a model reads of a body. */
export interface Prompt {
  /** Without its pictures. */
  readonly text: string;
  readonly pictures: number;
  /** Texts that come as tokens already, as embeddings take them. */
  readonly tokens: number;
}

export function promptOf(body: Untrusted): Prompt {
  const all = [...stringsIn(body)];
  const said = all.filter((each) => !isMedia(each));
  const input = Array.isArray(body.input) ? body.input.flat() : [];
  return {
    text: said.map(({ text }) => text).join('\n'),
    pictures: all.length - said.length,
    tokens: input.filter((each) => typeof each === 'number').length,
  };
}

export const pictureTokens = (pictures: number): number => pictures * TOKENS_PER_PICTURE;

/** The bytes to send: the caller's own, but for the model's name behind an alias and the wish for usage. */
export function toUpstreamBody(ask: Ask, model: string): Buffer {
  let { bytes } = ask;
  if (model !== ask.model) bytes = setMember(bytes, 'model', JSON.stringify(model));
  if (ask.stream && ask.dialect.asksForUsage && !ask.showsUsage) {
    const options = { ...asObject(ask.body.stream_options), include_usage: true };
    bytes = setMember(bytes, 'stream_options', JSON.stringify(options));
  }
  return bytes;
}

export const notForChat = (model: string, kind: string): AppError =>
  new AppError('invalid_request', {
    params: { detail: `${model} is a model of kind ${kind} and cannot be called at this address.` },
    param: 'model',
  });
