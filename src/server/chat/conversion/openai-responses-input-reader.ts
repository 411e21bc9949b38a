import type { UntrustedObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { CallPart, MediaPart, Message, Part, ResultPart, TextPart, ThinkingPart } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { namespacedName, toFreeformArguments } from './openai-responses-tools.ts';
import {
  argumentsAt,
  detailAt,
  dropOthers,
  fieldSet,
  listAt,
  objectAt,
  sourceOf,
  textAt,
} from './read-request-fields.ts';
import { readSignature } from './thinking-signatures.ts';

/** Members of an item whatever it is: they say nothing to a model. */
const ITEM = 'type id status';
const MESSAGE_MEMBERS = fieldSet(`${ITEM} role content`);
const CALL_MEMBERS = fieldSet(`${ITEM} call_id name namespace arguments input`);
const RESULT_MEMBERS = fieldSet(`${ITEM} call_id name output`);
const REASONING_MEMBERS = fieldSet(`${ITEM} summary content encrypted_content`);
const PART_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: fieldSet('type text'),
  text: fieldSet('type text'),
  output_text: fieldSet('type text annotations logprobs'),
  refusal: fieldSet('type refusal'),
  input_image: fieldSet('type image_url detail'),
  input_file: fieldSet('type file_data file_url filename'),
};
/** Begins the ids of thoughts, OpenAI's and ours. */
const THOUGHT_PREFIX = 'rs_';

/**
 * Items without content for a model: searches made by the upstream, and references to thoughts, which clients send that expect thoughts to be
 * stored (`store` is true by default). A thought may be left out; references to anything else are refused.
 */
const isEmptyItem = ({ type, id }: UntrustedObject): boolean =>
  type === 'web_search_call' || (type === 'item_reference' && typeof id === 'string' && id.startsWith(THOUGHT_PREFIX));

type Role = Message['role'];

/**
 * The items of a request to OpenAI's Responses as turns: what a model said, thought and called in a row is one.
 *
 * @throws AppError `invalid_request`
 */
export function readInput(input: unknown, notes: DroppedFields): Message[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }], path: 'input' }];
  const turns: { role: Role; parts: Part[]; path: string }[] = [];
  for (const [index, value] of listAt(input, 'input').entries()) {
    const path = `input.${index}`;
    const item = objectAt(value, path);
    if (isEmptyItem(item)) {
      notes.drop(path);
      continue;
    }
    const { role, parts } = readItem(item, path, notes);
    const last = turns.at(-1);
    if (role === 'assistant' && last?.role === role) last.parts.push(...parts);
    else turns.push({ role, parts, path });
  }
  return turns;
}

function readItem(
  item: UntrustedObject,
  path: string,
  notes: DroppedFields,
): { readonly role: Role; readonly parts: Part[] } {
  switch (item.type ?? 'message') {
    case 'message':
      dropOthers(item, MESSAGE_MEMBERS, notes, path);
      return { role: readRole(item.role, path), parts: readContent(item.content, `${path}.content`, notes) };
    case 'reasoning':
      return { role: 'assistant', parts: [readReasoningItem(item, path, notes)] };
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, path, notes)] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: [readResult(item, path, notes)] };
    default:
      throw notExpressibleError(`${path}.type`);
  }
}

function readRole(role: unknown, path: string): Role {
  if (role === 'user' || role === 'assistant' || role === 'system') return role;
  if (role === 'developer') return 'system';
  throw notExpressibleError(`${path}.role`);
}

function readContent(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  if (content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((part, index) => readPart(part, `${path}.${index}`, notes));
}

function readPart(value: unknown, path: string, notes: DroppedFields): TextPart | MediaPart {
  const part = objectAt(value, path);
  const { type } = part;
  const known = typeof type === 'string' && Object.hasOwn(PART_MEMBERS, type) ? PART_MEMBERS[type] : undefined;
  if (known === undefined) throw notExpressibleError(`${path}.type`);
  dropOthers(part, known, notes, path);
  if (type === 'input_image')
    return {
      type: 'image',
      source: sourceOf(textAt(part.image_url, `${path}.image_url`)),
      detail: detailAt(part, path),
      path,
    };
  if (type === 'input_file') {
    const name = typeof part.filename === 'string' ? part.filename : undefined;
    const url = part.file_url ?? part.file_data;
    return { type: 'document', source: sourceOf(textAt(url, `${path}.file_data`)), name, path };
  }
  const key = type === 'refusal' ? 'refusal' : 'text';
  return { type: 'text', text: textAt(part[key], `${path}.${key}`) };
}

function readCall(item: UntrustedObject, path: string, notes: DroppedFields): CallPart {
  dropOthers(item, CALL_MEMBERS, notes, path);
  const { call_id: id, name, namespace } = item;
  return {
    type: 'call',
    id: textAt(id, `${path}.call_id`),
    name: namespacedName(typeof namespace === 'string' ? namespace : undefined, textAt(name, `${path}.name`)),
    args:
      item.type === 'custom_tool_call'
        ? toFreeformArguments(textAt(item.input, `${path}.input`))
        : argumentsAt(item.arguments, `${path}.arguments`),
    path,
  };
}

function readResult(item: UntrustedObject, path: string, notes: DroppedFields): ResultPart {
  dropOthers(item, RESULT_MEMBERS, notes, path);
  return {
    type: 'result',
    id: textAt(item.call_id, `${path}.call_id`),
    parts: readContent(item.output, `${path}.output`, notes),
    isError: false,
    path,
  };
}

function readReasoningItem(item: UntrustedObject, path: string, notes: DroppedFields): ThinkingPart {
  dropOthers(item, REASONING_MEMBERS, notes, path);
  const texts = [item.summary, item.content].flatMap((list) => (Array.isArray(list) ? list : []));
  const text = texts.map((each, index) => textAt(objectAt(each, `${path}.${index}`).text, path)).join('\n\n');
  const signature = readSignature(item.encrypted_content, 'openai');
  return { type: 'thinking', text, signature, isRedacted: text === '', path };
}
