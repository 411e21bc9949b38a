import { hash } from 'node:crypto';
import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import type { ChatRequest } from './chat-request.ts';
import { listOf, textOf } from './dialect.ts';

/** Bytes of a request below which no vendor caches it: 1,024 tokens of a prompt, at 4 bytes each. */
const MIN_CACHED_BYTES = 4_096;
/** Characters from the start of a prompt by which it is known. */
const PREFIX_LENGTH = 4_096;
/** Claude Code's note for Anthropic's billing at the start of the system's words, which differs from call to call. */
const BILLING_NOTE = 'x-anthropic-billing-header:';
/** What stands first in a prompt, by all dialects' names. */
const SYSTEM_KEYS = ['instructions', 'system', 'systemInstruction', 'system_instruction'];
/** Markers move on with each turn. */
const MARKER_KEY = 'cache_control';

/**
 * What calls that share a cached prefix of their prompts have in common; they should meet the same channel, as a vendor keeps its cache for each
 * account apart. The key by which a caller groups its calls itself (OpenAI's `prompt_cache_key`), else the start of the prompt in the order
 * in which vendors cache it: the tools' names, the system's words, the first messages. Nothing is remembered, so all processes say the same.
 *
 * @returns undefined where nothing is cached: any channel will do
 */
export function cacheAffinityKey({ dialect, body, rawBody, model }: ChatRequest): string | undefined {
  if (dialect.maxTokensKeys.length === 0) return undefined;
  const own = textOf(body.prompt_cache_key);
  if (own !== '') return toKey(`${model}\n${own}`);
  if (rawBody.length < MIN_CACHED_BYTES) return undefined;
  const prefix = new Prefix();
  for (const name of listOf(body.tools)) prefix.addName(name);
  for (const key of SYSTEM_KEYS) prefix.add(body[key]);
  prefix.add(body[dialect.promptKey]);
  return toKey(`${model}\n${prefix.text}`);
}

const toKey = (text: string): string => hash('sha256', text, 'base64');

/** The texts of a prompt in their order, up to a length. */
class Prefix {
  text = '';

  /** A tool by the name it has in each dialect. */
  addName(tool: unknown): void {
    const { name, function: nested, functionDeclarations: list } = asObject(tool) ?? {};
    this.#append(textOf(name) || textOf(asObject(nested)?.name));
    for (const each of listOf(list)) this.#append(textOf(asObject(each)?.name));
  }

  /** A text, or all texts of a value. */
  add(value: unknown): void {
    if (this.text.length >= PREFIX_LENGTH) return;
    if (typeof value === 'string') {
      if (!value.startsWith(BILLING_NOTE)) this.#append(value);
    } else if (Array.isArray(value)) for (const each of value) this.add(each);
    else if (typeof value === 'object' && value !== null) this.#addMembers(value as UntrustedObject);
  }

  #addMembers(object: UntrustedObject): void {
    for (const key of Object.keys(object)) if (key !== MARKER_KEY) this.add(object[key]);
  }

  #append(text: string): void {
    this.text += `${text.slice(0, Math.max(0, PREFIX_LENGTH - this.text.length))}\n`;
  }
}
