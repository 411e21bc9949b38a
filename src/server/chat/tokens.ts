import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UntrustedObject } from '../../contract/objects.ts';

/** Allowance for the few tokens that frame each message of a conversation. */
export const TOKENS_PER_MESSAGE = 8;

/** Longer texts are counted by sampling, in characters. */
const MAX_COUNTED_LENGTH = 64_000;
/** Characters counted at a time: rare letters take up to 7 ms, prose a fraction of one. */
const SLICE_LENGTH = 500;
/** Other work runs after the slice that exceeds this time. */
const TURN_MS = 4;

type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

let loading: Promise<Count> | undefined;

/** Names of control tokens inside a user's text are plain text. */
const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() };

/**
 * Counts tokens as OpenAI's models since GPT-4o do (o200k_base), for upstreams that do not report usage. Other vendors'
 * tokenizers differ by a few percent. The table is loaded at the first call, because most processes never need it and
 * its memory.
 */
export async function countTokens(text: string): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then((module) => module.countTokens as Count);
  const count = await loading;
  const counted = Math.min(text.length, MAX_COUNTED_LENGTH);
  let tokens = 0;
  let turnEndsAt = performance.now() + TURN_MS;
  for (let at = 0; at < counted; ) {
    const end = endOfSlice(text, at, counted);
    tokens += countSlice(count, text.slice(at, end));
    at = end;
    if (at >= counted || performance.now() < turnEndsAt) continue;
    await nextTurn();
    turnEndsAt = performance.now() + TURN_MS;
  }
  return Math.ceil((tokens * text.length) / counted);
}

/** Splits before a space where possible, because tokens start there. */
function endOfSlice(text: string, from: number, limit: number): number {
  const end = from + SLICE_LENGTH;
  if (end >= limit) return limit;
  const blank = text.lastIndexOf(' ', end);
  return blank > from ? blank : end;
}

/** A run without a boundary is one piece to the tokenizer, whose time is quadratic in its length. */
const LONG_RUN = /\S{64}(?=\S)|\s{64}(?=\s)/g;

function countSlice(count: Count, slice: string): number {
  let insertedBreaks = 0;
  const withBreaks = slice.replace(LONG_RUN, (run) => {
    insertedBreaks++;
    return run + (run.trim() === '' ? 'x' : '\n');
  });
  return Math.max(1, count(withBreaks, NO_SPECIAL_TOKENS) - insertedBreaks);
}

/** Members of a body that are not part of the prompt. */
const NON_PROMPT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'role',
  'type',
  'detail',
  'format',
  'id',
  'tool_call_id',
  'call_id',
  'tool_use_id',
  'media_type',
  'signature',
]);

/** The content of a body that a model reads. */
interface PromptContent {
  /** The text without images. */
  readonly text: string;
  readonly imageCount: number;
  /** Texts that are given as token ids, which embeddings accept. */
  readonly tokenIdCount: number;
}

/** Extracts the texts of a request that a model reads. */
export function extractPrompt(body: UntrustedObject): PromptContent {
  const texts: string[] = [];
  let imageCount = 0;
  walkStrings(
    body,
    (key, text) => {
      if (isMedia(key, text)) imageCount++;
      else texts.push(text);
    },
    () => {},
    NON_PROMPT_KEYS,
  );
  const input = Array.isArray(body.input) ? body.input.flat() : [];
  return { text: texts.join('\n'), imageCount, tokenIdCount: input.filter((each) => typeof each === 'number').length };
}

/** Members that hold media; the same characters in any other member are text to a model. */
const MEDIA_KEY = /^((image|video|audio|file)_url|file_data|data|image|images|video|audio|b64_json)$/;
const VISUAL_URL_KEY = /^(image|video)_url$/;
/** Types of message parts whose members are media, whatever their names are; only their `text` is prose. */
const MEDIA_PART = /image|video|audio|file|media|document/i;

/** Whether a text is a data URL, Base64 without a space, or the URL of an image or video. */
export const isMedia = (key: string, text: string): boolean =>
  (VISUAL_URL_KEY.test(key) && /^https?:/i.test(text)) ||
  (MEDIA_KEY.test(key) && (/^data:/i.test(text) || (text.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(text))));

/**
 * Visits every string of a value, without recursion, because the sender chooses the depth, and without an allocation
 * per element, because the sender also chooses the width. `key` is the member that holds a string; `url` of an object
 * gets the name of that object.
 */
export function walkStrings(
  root: unknown,
  onString: (key: string, text: string, isMediaPart: boolean) => void,
  onObject: (object: UntrustedObject) => void,
  skippedKeys: ReadonlySet<string>,
): void {
  const keys = [''];
  const values = [root];
  while (values.length > 0) {
    const value = values.pop();
    const key = keys.pop() ?? '';
    if (Array.isArray(value)) {
      for (const inner of value) {
        if (typeof inner === 'string') onString(key, inner, false);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(key);
          values.push(inner);
        }
      }
    } else if (typeof value === 'object' && value !== null) {
      const object = value as UntrustedObject;
      onObject(object);
      const isMediaPart = typeof object.type === 'string' && MEDIA_PART.test(object.type);
      for (const name of Object.keys(object)) {
        if (skippedKeys.has(name)) continue;
        const inner = object[name];
        const innerKey =
          key === OPAQUE_KEY || (object !== root && isToolArguments(name, object))
            ? OPAQUE_KEY
            : name === 'url'
              ? key
              : name;
        if (typeof inner === 'string') onString(innerKey, inner, isMediaPart);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(innerKey);
          values.push(inner);
        }
      }
    }
  }
}

/**
 * Key reported for members below a caller's own data, such as the arguments of a tool call: these may hold URLs of the
 * caller's machine and are text to a model.
 */
const OPAQUE_KEY = 'arguments';

/** Whether a member holds the arguments of a tool call. */
export const isToolArguments = (name: string, { type, name: func }: UntrustedObject): boolean =>
  (name === 'input' && (type === 'tool_use' || type === 'server_tool_use')) ||
  ((name === 'args' || name === 'response') && type === undefined && typeof func === 'string');
