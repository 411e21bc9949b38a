import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  isBlank,
  listOf,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { type ChatRequest, changeMembers } from '../request.ts';
import { SYSTEM_TURN_MODEL, toId } from './anthropic-request.ts';
import { toAcceptedCallId } from './chat-request.ts';
import { DroppedFields } from './fields.ts';
import { LEVEL_MODEL, NO_SIGNATURE } from './gemini-request.ts';
import { isTagged } from './neutral-form.ts';

/** The members of a body to replace; undefined removes one. */
type Changes = Readonly<Record<string, unknown>>;

interface Target {
  /** The upstream's name. */
  readonly model: string;
  /** The upstream has refused the reasoning of earlier turns, so all of it is removed. */
  readonly isRefused: boolean;
}

/** Finds what an upstream of the dialect would refuse; undefined: nothing. */
type Search = (body: UntrustedObject, target: Target, notes: DroppedFields) => Changes | undefined;

interface Remainder {
  readonly request: ChatRequest;
  /** Paths of the removed parts. */
  readonly dropped: readonly string[];
}

/**
 * Removes reasoning and citations that our conversion wrote for another vendor's model, and renames its calls: a
 * conversation may continue with a model whose upstream uses the caller's own dialect, and a vendor refuses reasoning
 * that it did not sign. Sends the system turns of Anthropic's newest models to others as the user's.
 *
 * @param model the upstream's name
 */
export const withoutForeignParts = (request: ChatRequest, model: string): Remainder =>
  remove(request, { model, isRefused: false }) ?? { request, dropped: [] };

/**
 * What upstreams say about reasoning of earlier turns that they cannot verify, because another model, account or vendor
 * generated it, or that they do not take at all.
 */
const REFUSALS: readonly RegExp[] = [
  // Anthropic: "messages.1.content.0: Invalid `signature` in `thinking` block"
  /\bmessages\.\d+\b.*\bthinking\b/is,
  // Google: "Corrupted thought signature."
  /\bthought[ _]?signature\b/i,
  // OpenAI: "The encrypted content gAAA… could not be verified.", "Item with id 'rs_…' not found."
  /\bencrypted[ _]content\b|'rs_\w+'/i,
  // Groq: "property 'reasoning_content' is unsupported"; Mistral: "reasoning_content: Extra inputs are not permitted"
  /\breasoning(?:_content|_details| input)\b.*(?:unsupported|unknown|unrecognized|unexpected|\bnot (?:supported|permitted|allowed|enabled))/is,
];

/**
 * A request without the reasoning of earlier turns, after an upstream has refused it for that: which model or account
 * generated it cannot be seen.
 *
 * @param refusal the message of the upstream
 * @returns undefined if it was refused for something else, or has no such reasoning
 */
export const withoutRefusedReasoning = (request: ChatRequest, model: string, refusal: string): Remainder | undefined =>
  REFUSALS.some((pattern) => pattern.test(refusal)) ? remove(request, { model, isRefused: true }) : undefined;

function remove(request: ChatRequest, target: Target): Remainder | undefined {
  const { dialect, rawBody, body } = request;
  const notes = new DroppedFields();
  const changes = SEARCHES.get(dialect)?.(body, target, notes);
  if (changes === undefined) return undefined;
  const bytes = changeMembers(rawBody, changes);
  return { request: { ...request, rawBody: bytes, body: { ...body, ...changes } }, dropped: notes.dropped };
}

/** Replaces the elements of a list that `replace` returns another value for; undefined if it does so for none. */
function replaceIn(
  list: unknown,
  replace: (element: unknown, index: number) => readonly unknown[],
): unknown[] | undefined {
  const elements = listOf(list);
  const replaced = elements.map(replace);
  const isSame = replaced.every((each, index) => each.length === 1 && each[0] === elements[index]);
  return isSame ? undefined : replaced.flat();
}

/** Messages with other contents; a message without any is removed. */
const replaceContents = (
  messages: unknown,
  name: 'content' | 'parts',
  replace: (content: unknown, index: number) => unknown[] | undefined,
): unknown[] | undefined =>
  replaceIn(messages, (message, index) => {
    const content = replace(asObject(message)?.[name], index);
    if (content === undefined) return [message];
    return content.length === 0 ? [] : [{ ...asObject(message), [name]: content }];
  });

function searchMessages(body: UntrustedObject, target: Target, notes: DroppedFields): Changes | undefined {
  const { model, isRefused } = target;
  // Other upstreams of this dialect write reasoning without a signature, and some require it back.
  const isClaude = /claude/i.test(model);
  const accepted = withAcceptedRoles(body.messages, model, notes);
  const messages = replaceContents(accepted ?? body.messages, 'content', (content, index) =>
    replaceIn(content, (element, place) => {
      const block = asObject(element) ?? {};
      const path = `messages.${index}.content.${place}`;
      const isForeign =
        (block.type === 'thinking' &&
          (isRefused || isTagged(block.signature) || (isClaude && isBlank(block.signature)))) ||
        (block.type === 'redacted_thinking' && (isRefused || isTagged(block.data)));
      if (isForeign) {
        notes.drop(path);
        return [];
      }
      const citations = replaceIn(block.citations, (citation) => (isOwnCitation(citation) ? [citation] : []));
      if (citations !== undefined) {
        notes.drop(`${path}.citations`);
        const { citations: _, ...rest } = block;
        return [citations.length === 0 ? rest : { ...rest, citations }];
      }
      return [isClaude ? withAcceptedId(element, block) : element];
    }),
  );
  // Accepted roles alone were sent before, and refused.
  if (messages === undefined) return accepted && !isRefused ? { messages: accepted } : undefined;
  if (isBlank(body.thinking) || !lacksThinking(messages)) return { messages };
  const changes = { messages, thinking: undefined, context_management: undefined };
  for (const name of ['thinking', 'context_management']) if (!isBlank(body[name])) notes.drop(name);
  return changes;
}

/** Claude Code sends system turns to every model whose name is that of a model with them, whatever serves it. */
function withAcceptedRoles(messages: unknown, model: string, notes: DroppedFields): unknown[] | undefined {
  if (SYSTEM_TURN_MODEL.test(model)) return undefined;
  return replaceIn(messages, (element, index) => {
    const message = asObject(element);
    if (message?.role !== 'system') return [element];
    notes.drop(`messages.${index}.role`);
    return [{ ...message, role: 'user' }];
  });
}

/** Other vendors' ids of calls may have characters that Anthropic refuses, such as Kimi's `functions.read:0`. */
function withAcceptedId(element: unknown, block: UntrustedObject): unknown {
  const name = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : '';
  const id = block[name];
  return typeof id !== 'string' || toId(id) === id ? element : { ...block, [name]: toId(id) };
}

/** Anthropic's own citations of web pages have an index, without which it refuses them. */
function isOwnCitation(citation: unknown): boolean {
  const { type, encrypted_index: index } = asObject(citation) ?? {};
  return type !== 'web_search_result_location' || !isBlank(index);
}

/** Whether the model's last turn has calls without reasoning before them, which Anthropic refuses while it reasons. */
function lacksThinking(messages: readonly unknown[]): boolean {
  const last = asObject(messages.findLast((message) => asObject(message)?.role === 'assistant'));
  const types = listOf(last?.content).map((block) => asObject(block)?.type);
  return types.includes('tool_use') && !types.includes('thinking') && !types.includes('redacted_thinking');
}

/** Members of a message with reasoning, in the dialects of OpenAI's imitators. */
const REASONING_MEMBERS = ['reasoning_content', 'reasoning', 'reasoning_details'];

function searchChat({ messages: given }: UntrustedObject, target: Target, notes: DroppedFields): Changes | undefined {
  const accepted = replaceIn(given, (element) => [withAcceptedIds(element, target.model)]);
  const messages = replaceIn(accepted ?? given, (element, index) => {
    if (target.isRefused) return [withoutMembers(element, REASONING_MEMBERS, `messages.${index}`, notes)];
    const { reasoning_details: details, ...message } = asObject(element) ?? {};
    const own = replaceIn(details, (detail) => {
      const { signature, data } = asObject(detail) ?? {};
      return isTagged(signature) || isTagged(data) ? [] : [detail];
    });
    if (own === undefined) return [element];
    notes.drop(`messages.${index}.reasoning_details`);
    return [own.length === 0 ? message : { ...message, reasoning_details: own }];
  });
  // Accepted ids alone were sent before, and refused.
  const changed = messages ?? (target.isRefused ? undefined : accepted);
  return changed && { messages: changed };
}

/** Other vendors' ids of calls may be longer than OpenAI's, or unlike Mistral's, which refuse the request for that. */
function withAcceptedIds(element: unknown, model: string): unknown {
  const { tool_call_id: resultId, tool_calls: given } = asObject(element) ?? {};
  const calls = replaceIn(given, (call) => {
    const { id } = asObject(call) ?? {};
    return [
      typeof id !== 'string' || toAcceptedCallId(id, model) === id
        ? call
        : { ...asObject(call), id: toAcceptedCallId(id, model) },
    ];
  });
  const id = typeof resultId === 'string' ? toAcceptedCallId(resultId, model) : resultId;
  if (calls === undefined && id === resultId) return element;
  return { ...asObject(element), ...(calls && { tool_calls: calls }), ...(id !== resultId && { tool_call_id: id }) };
}

/** The element itself if it has none of these members. */
function withoutMembers(element: unknown, names: readonly string[], path: string, notes: DroppedFields): unknown {
  const object = asObject(element) ?? {};
  const found = names.filter((name) => Object.hasOwn(object, name));
  if (found.length === 0) return element;
  for (const name of found) notes.drop(`${path}.${name}`);
  return Object.fromEntries(Object.entries(object).filter(([name]) => !found.includes(name)));
}

function searchInput({ input: given }: UntrustedObject, target: Target, notes: DroppedFields): Changes | undefined {
  const input = replaceIn(given, (item, index) => {
    const { type, encrypted_content: content } = asObject(item) ?? {};
    if (type !== 'reasoning' || !(target.isRefused || isTagged(content))) return [item];
    notes.drop(`input.${index}`);
    return [];
  });
  return input && { input };
}

function searchContents(
  { contents: given }: UntrustedObject,
  target: Target,
  notes: DroppedFields,
): Changes | undefined {
  const { model, isRefused } = target;
  const contents = replaceContents(given, 'parts', (parts, index) => {
    const own = replaceIn(parts, (element, place) => {
      const { thoughtSignature, thought_signature: snakeCase, ...part } = asObject(element) ?? {};
      const signature = thoughtSignature ?? snakeCase;
      if (isBlank(signature) || !(isRefused || isTagged(signature))) return [element];
      notes.drop(`contents.${index}.parts.${place}.thoughtSignature`);
      // Our conversion puts a signature that belongs to no part into an empty text.
      return part.text === '' && Object.keys(part).length === 1 ? [] : [part];
    });
    return own && LEVEL_MODEL.test(model) ? own.map(withSignature) : own;
  });
  return contents && { contents };
}

/** Gemini 3 refuses a turn whose first call has no signature. */
function withSignature(part: unknown, index: number, parts: readonly unknown[]): unknown {
  const isCall = (each: unknown): boolean => asObject(each)?.functionCall !== undefined;
  if (!isCall(part) || parts.findIndex(isCall) !== index) return part;
  return { thoughtSignature: NO_SIGNATURE, ...asObject(part) };
}

const SEARCHES: ReadonlyMap<Dialect, Search> = new Map([
  [ANTHROPIC_MESSAGES_DIALECT, searchMessages],
  [CHAT_DIALECT, searchChat],
  [RESPONSES_DIALECT, searchInput],
  [GEMINI_DIALECT, searchContents],
]);
