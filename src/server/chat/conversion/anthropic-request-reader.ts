import type { UntrustedObject } from '../../../contract/is-object.ts';
import { asObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type {
  CacheMarker,
  Conversation,
  FunctionTool,
  MediaPart,
  Message,
  OutputFormat,
  Part,
  Reasoning,
  TextPart,
  ToolChoice,
} from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import {
  checkMembers,
  dropOthers,
  fieldSet,
  fieldTable,
  listAt,
  numberAt,
  objectAt,
  strictAt,
  textAt,
  textsAt,
} from './read-request-fields.ts';
import { readSignature } from './thinking-signatures.ts';

const MEMBERS = fieldTable(
  'model messages max_tokens stream system temperature top_p top_k stop_sequences tools tool_choice thinking output_config cache_control',
);
const TOOL_MEMBERS = fieldTable('type name description input_schema strict cache_control');
const MESSAGE_MEMBERS = fieldSet('role content');
const CONFIG_MEMBERS = fieldSet('effort format');
const THINKING_MEMBERS = fieldSet('type budget_tokens');
const NO_MEMBERS: ReadonlySet<string> = new Set();
/** Members of a block that are read, by its type; citations are named where they say something. */
const BLOCK_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldSet('type text cache_control citations'),
  image: fieldSet('type source cache_control'),
  document: fieldSet('type source title citations cache_control'),
  tool_use: fieldSet('type id name input cache_control'),
  tool_result: fieldSet('type tool_use_id content is_error cache_control'),
  thinking: fieldSet('type thinking signature'),
  redacted_thinking: fieldSet('type data'),
};
/** Claude Code's note for Anthropic's billing, which differs from call to call and would spoil the prompt caches of others. */
const BILLING_NOTE = 'x-anthropic-billing-header:';

/** Reads a request of Anthropic's Messages (docs.claude.com/en/api/messages). @throws AppError `invalid_request` */
export function readAnthropicRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  const choice = asObject(body.tool_choice);
  const single = choice?.disable_parallel_tool_use;
  // A marker at the top asks for caching up to the last block.
  if (asObject(body.cache_control) !== undefined) notes.drop('cache_control');
  return {
    system: readSystem(body.system, notes),
    messages: listAt(body.messages, 'messages').map((message, index) =>
      readMessage(message, `messages.${index}`, notes),
    ),
    paths: { system: 'system', turns: 'messages' },
    tools: (Array.isArray(body.tools) ? body.tools : []).map((tool, index) => readTool(tool, `tools.${index}`, notes)),
    toolChoice: readChoice(choice),
    parallelCalls: single === true ? { value: false, path: 'tool_choice.disable_parallel_tool_use' } : undefined,
    format: readFormat(asObject(body.output_config)?.format),
    reasoning: readReasoning(body, notes),
    settings: {
      temperature: numberAt(body, 'temperature'),
      topP: numberAt(body, 'top_p'),
      topK: numberAt(body, 'top_k'),
      stop: textsAt(body, 'stop_sequences'),
    },
  };
}

function readSystem(system: unknown, notes: DroppedFields): TextPart[] {
  if (system === undefined || system === null) return [];
  if (typeof system === 'string') return system === '' ? [] : [{ type: 'text', text: system }];
  const parts = listAt(system, 'system').map((part, index) =>
    readTextPart(objectAt(part, `system.${index}`), `system.${index}`),
  );
  const kept = parts.filter(({ text }) => !text.startsWith(BILLING_NOTE));
  if (kept.length < parts.length) notes.drop('system.0');
  return kept;
}

function readMessage(value: unknown, path: string, notes: DroppedFields): Message {
  const message = objectAt(value, path);
  dropOthers(message, MESSAGE_MEMBERS, notes, path);
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') throw notExpressibleError(`${path}.role`);
  if (typeof content === 'string')
    return { role, path, parts: content === '' ? [] : [{ type: 'text', text: content }] };
  const parts = listAt(content, `${path}.content`).map((part, index) =>
    readPart(part, `${path}.content.${index}`, notes),
  );
  return { role, path, parts };
}

const readCache = (block: UntrustedObject, path: string): CacheMarker | undefined => {
  const marker = asObject(block.cache_control);
  if (marker === undefined) return undefined;
  return { ttl: marker.ttl === '1h' ? '1h' : marker.ttl === '5m' ? '5m' : undefined, path: `${path}.cache_control` };
};

const readTextPart = (block: UntrustedObject, path: string): TextPart => ({
  type: 'text',
  text: textAt(block.text, `${path}.text`),
  cache: readCache(block, path),
});

function readPart(value: unknown, path: string, notes: DroppedFields): Part {
  const block = objectAt(value, path);
  if (typeof block.type === 'string' && Object.hasOwn(BLOCK_MEMBERS, block.type))
    dropOthers(block, BLOCK_MEMBERS[block.type] ?? NO_MEMBERS, notes, path);
  const cache = readCache(block, path);
  switch (block.type) {
    case 'text':
      if (Array.isArray(block.citations) && block.citations.length > 0) notes.drop(`${path}.citations`);
      return readTextPart(block, path);
    case 'image':
    case 'document':
      return readMedia(block, path, notes);
    case 'tool_use':
      return {
        type: 'call',
        id: textAt(block.id, `${path}.id`),
        name: textAt(block.name, `${path}.name`),
        args: JSON.stringify(objectAt(block.input, `${path}.input`)),
        cache,
        path,
      };
    case 'tool_result':
      return {
        type: 'result',
        id: textAt(block.tool_use_id, `${path}.tool_use_id`),
        parts: readResult(block.content, `${path}.content`, notes),
        isError: block.is_error === true,
        cache,
        path,
      };
    case 'thinking': {
      const signature = readSignature(block.signature, 'anthropic');
      return { type: 'thinking', text: textAt(block.thinking, `${path}.thinking`), signature, isRedacted: false, path };
    }
    case 'redacted_thinking':
      return { type: 'thinking', text: '', signature: readSignature(block.data, 'anthropic'), isRedacted: true, path };
    default:
      throw notExpressibleError(`${path}.type`);
  }
}

function readResult(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((value, index) => {
    const part = readPart(value, `${path}.${index}`, notes);
    if (part.type === 'call' || part.type === 'result' || part.type === 'thinking')
      throw notExpressibleError(`${path}.${index}.type`);
    return part;
  });
}

/** A document of plain text is a text to any model. */
function readMedia(block: UntrustedObject, path: string, notes: DroppedFields): MediaPart | TextPart {
  const source = objectAt(block.source, `${path}.source`);
  const cache = readCache(block, path);
  if (asObject(block.citations)?.enabled === true) notes.drop(`${path}.citations`);
  if (source.type === 'text') return { type: 'text', text: textAt(source.data, `${path}.source.data`), cache };
  const name = typeof block.title === 'string' ? block.title : undefined;
  const media = { type: block.type === 'image' ? 'image' : 'document', name, cache, path } as const;
  if (source.type === 'url') return { ...media, source: { url: textAt(source.url, `${path}.source.url`) } };
  if (source.type !== 'base64') throw notExpressibleError(`${path}.source.type`);
  const mediaType = textAt(source.media_type, `${path}.source.media_type`);
  return { ...media, source: { mediaType, data: textAt(source.data, `${path}.source.data`) } };
}

function readTool(value: unknown, path: string, notes: DroppedFields): FunctionTool {
  const tool = objectAt(value, path);
  if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
    throw notExpressibleError(`${path}.type`);
  checkMembers(tool, TOOL_MEMBERS, notes, `${path}.`);
  return {
    name: textAt(tool.name, `${path}.name`),
    description: typeof tool.description === 'string' ? tool.description : undefined,
    parameters: objectAt(tool.input_schema, `${path}.input_schema`),
    strict: strictAt(tool, path),
    cache: readCache(tool, path),
  };
}

function readChoice(choice: UntrustedObject | undefined): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined) return undefined;
  if (choice.type === 'tool') return { mode: 'required', name: textAt(choice.name, `${path}.name`), path };
  if (choice.type === 'any') return { mode: 'required', path };
  return { mode: choice.type === 'none' ? 'none' : 'auto', path };
}

function readFormat(value: unknown): OutputFormat | undefined {
  const format = asObject(value);
  if (format === undefined) return undefined;
  const path = 'output_config.format';
  if (format.type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  return { type: 'schema', schema: format.schema, path };
}

function readReasoning(
  { thinking: value, output_config: output }: UntrustedObject,
  notes: DroppedFields,
): Reasoning | undefined {
  const thinking = asObject(value);
  const config = asObject(output) ?? {};
  dropOthers(config, CONFIG_MEMBERS, notes, 'output_config');
  dropOthers(thinking ?? {}, THINKING_MEMBERS, notes, 'thinking');
  const { effort } = config;
  const given = typeof effort === 'string' ? effort : undefined;
  if (thinking === undefined)
    return given === undefined ? undefined : { mode: 'auto', effort: given, path: 'output_config.effort' };
  const mode = thinking.type === 'disabled' ? 'off' : thinking.type === 'enabled' ? 'on' : 'auto';
  const budget = typeof thinking.budget_tokens === 'number' ? thinking.budget_tokens : undefined;
  return { mode, effort: given, budget, path: 'thinking' };
}
