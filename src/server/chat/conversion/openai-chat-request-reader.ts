import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
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
  ThinkingPart,
  ToolChoice,
} from './neutral-form.ts';
import { mergeThoughts } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import {
  argumentsAt,
  checkMembers,
  detailAt,
  dropOthers,
  fieldSet,
  fieldTable,
  listAt,
  numberAt,
  objectAt,
  sourceOf,
  strictAt,
  textAt,
  textsAt,
} from './read-request-fields.ts';
import { splitLeadingSystemMessages } from './split-leading-system-messages.ts';
import { readSignature } from './thinking-signatures.ts';

const MEMBERS = fieldTable(
  'model messages max_tokens max_completion_tokens stream stream_options temperature top_p top_k seed presence_penalty ' +
    'frequency_penalty stop tools tool_choice parallel_tool_calls response_format reasoning_effort reasoning thinking enable_thinking ' +
    'thinking_budget usage n modalities store',
  'logit_bias logprobs top_logprobs functions function_call audio guided_json guided_regex guided_choice guided_grammar grammar ' +
    'structural_tag suffix echo',
);

const MESSAGE_MEMBERS = fieldSet(
  'role content refusal tool_calls tool_call_id reasoning_content reasoning_details audio function_call',
);
const PART_MEMBERS = fieldSet('type text refusal image_url file input_audio cache_control');
const IMAGE_MEMBERS = fieldSet('url detail');
const TOOL_MEMBERS = fieldSet('type function cache_control');
const FUNCTION_MEMBERS = fieldSet('name description parameters strict');
const FORMAT_MEMBERS = fieldSet('name schema strict');

/** Reads a request of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat). @throws AppError `invalid_request` */
export function readOpenAiChatRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  if (typeof body.n === 'number' && body.n > 1) throw notExpressibleError('n');
  if (body.store === true) throw notExpressibleError('store');
  if (body.store === false) notes.drop('store');
  if (Array.isArray(body.modalities) && body.modalities.some((each) => each !== 'text'))
    throw notExpressibleError('modalities');
  const all = listAt(body.messages, 'messages').map((message, index) =>
    readMessage(message, `messages.${index}`, notes),
  );
  return {
    ...splitLeadingSystemMessages(all),
    paths: { system: 'messages.0.role', turns: 'messages' },
    tools: (Array.isArray(body.tools) ? body.tools : []).map((tool, index) => readTool(tool, `tools.${index}`, notes)),
    toolChoice: readChoice(body.tool_choice),
    parallelCalls:
      typeof body.parallel_tool_calls === 'boolean'
        ? { value: body.parallel_tool_calls, path: 'parallel_tool_calls' }
        : undefined,
    format: readFormat(asObject(body.response_format), notes),
    reasoning: readReasoning(body, notes),
    settings: {
      temperature: numberAt(body, 'temperature'),
      topP: numberAt(body, 'top_p'),
      topK: numberAt(body, 'top_k'),
      seed: numberAt(body, 'seed'),
      presencePenalty: numberAt(body, 'presence_penalty'),
      frequencyPenalty: numberAt(body, 'frequency_penalty'),
      stop: textsAt(body, 'stop'),
    },
  };
}

function readMessage(value: unknown, path: string, notes: DroppedFields): Message {
  const message = objectAt(value, path);
  dropOthers(message, MESSAGE_MEMBERS, notes, path);
  const { role, content } = message;
  if (role === 'tool') {
    const parts = readContent(content, `${path}.content`, notes);
    const id = textAt(message.tool_call_id, `${path}.tool_call_id`);
    return { role: 'user', path, parts: [{ type: 'result', id, parts, isError: false, path }] };
  }
  if (role === 'system' || role === 'developer')
    return { role: 'system', path, parts: readContent(content, `${path}.content`, notes) };
  if (role === 'user') return { role, path, parts: readContent(content, `${path}.content`, notes) };
  if (role !== 'assistant' || message.audio || message.function_call)
    throw notExpressibleError(role === 'assistant' ? path : `${path}.role`);
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return {
    role,
    path,
    parts: [
      ...mergeThoughts(readThinking(message, path)),
      ...readContent(content, `${path}.content`, notes),
      ...readContent(message.refusal, `${path}.refusal`, notes),
      ...calls.map((call, index) => readCall(call, `${path}.tool_calls.${index}`)),
    ],
  };
}

/**
 * A thought comes back in `reasoning_details`, each with its signature, as OpenRouter has it; or as the bare text of
 * `reasoning_content`, which is what an upstream of this dialect gave.
 */
function readThinking(
  { reasoning_details: details, reasoning_content: text }: UntrustedObject,
  path: string,
): ThinkingPart[] {
  const listed = Array.isArray(details) ? details : [];
  if (listed.length === 0 && typeof text === 'string' && text !== '')
    return [
      {
        type: 'thinking',
        text,
        signature: { vendor: 'openai', value: '' },
        isRedacted: false,
        path: `${path}.reasoning_content`,
      },
    ];
  return listed.map((value, index) => {
    const { text: thought, signature, data } = objectAt(value, `${path}.reasoning_details.${index}`);
    const isRedacted = typeof data === 'string';
    return {
      type: 'thinking',
      text: typeof thought === 'string' ? thought : '',
      signature: readSignature(isRedacted ? data : signature, undefined),
      isRedacted,
      path: `${path}.reasoning_details.${index}`,
    };
  });
}

function readContent(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((part, index) => readContentPart(part, `${path}.${index}`, notes));
}

function readContentPart(value: unknown, path: string, notes: DroppedFields): TextPart | MediaPart {
  const part = objectAt(value, path);
  dropOthers(part, PART_MEMBERS, notes, path);
  const cache = readCache(part, path);
  if (part.type === 'text') return { type: 'text', text: textAt(part.text, `${path}.text`), cache };
  if (part.type === 'refusal') return { type: 'text', text: textAt(part.refusal, `${path}.refusal`) };
  if (part.type === 'image_url') {
    const image = objectAt(part.image_url, `${path}.image_url`);
    dropOthers(image, IMAGE_MEMBERS, notes, `${path}.image_url`);
    const source = sourceOf(textAt(image.url, `${path}.image_url.url`));
    return { type: 'image', source, detail: detailAt(image, `${path}.image_url`), cache, path };
  }
  if (part.type === 'file') {
    const { file_data: data, filename } = objectAt(part.file, `${path}.file`);
    const name = typeof filename === 'string' ? filename : undefined;
    return { type: 'document', source: sourceOf(textAt(data, `${path}.file.file_data`)), name, cache, path };
  }
  if (part.type === 'input_audio') {
    const { data, format } = objectAt(part.input_audio, `${path}.input_audio`);
    const source = {
      mediaType: `audio/${textAt(format, `${path}.input_audio.format`)}`,
      data: textAt(data, `${path}.input_audio.data`),
    };
    return { type: 'audio', source, path };
  }
  throw notExpressibleError(`${path}.type`);
}

/** Not OpenAI's own, but what gateways in its dialect take for Anthropic's models. */
const readCache = (part: UntrustedObject, path: string): CacheMarker | undefined => {
  const marker = asObject(part.cache_control);
  return marker && { ttl: marker.ttl === '1h' ? '1h' : undefined, path: `${path}.cache_control` };
};

function readCall(value: unknown, path: string): Part {
  const call = objectAt(value, path);
  const { name, arguments: args } = objectAt(call.function, `${path}.function`);
  return {
    type: 'call',
    id: textAt(call.id, `${path}.id`),
    name: textAt(name, `${path}.function.name`),
    args: argumentsAt(args, `${path}.function.arguments`),
    path: `${path}.function`,
  };
}

function readTool(value: unknown, path: string, notes: DroppedFields): FunctionTool {
  const tool = objectAt(value, path);
  if (tool.type !== undefined && tool.type !== 'function') throw notExpressibleError(`${path}.type`);
  dropOthers(tool, TOOL_MEMBERS, notes, path);
  const declared = objectAt(tool.function, `${path}.function`);
  dropOthers(declared, FUNCTION_MEMBERS, notes, `${path}.function`);
  const { name, description, parameters } = declared;
  return {
    name: textAt(name, `${path}.function.name`),
    description: typeof description === 'string' ? description : undefined,
    parameters: asObject(parameters) ?? { type: 'object', properties: {} },
    strict: strictAt(declared, `${path}.function`),
    cache: readCache(tool, path),
  };
}

const CHOICES: ReadonlySet<string> = new Set(['auto', 'none', 'required', 'any']);

function readChoice(choice: unknown): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice, path };
  // The word of Mistral and of Anthropic.
  if (choice === 'any') return { mode: 'required', path };
  const { type, function: named } = objectAt(choice, path);
  if (typeof type === 'string' && CHOICES.has(type)) return readChoice(type);
  if (type !== 'function') throw notExpressibleError(`${path}.type`);
  return { mode: 'required', name: textAt(asObject(named)?.name, `${path}.function.name`), path };
}

function readFormat(format: UntrustedObject | undefined, notes: DroppedFields): OutputFormat | undefined {
  const path = 'response_format';
  if (format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json', path };
  if (format.type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  const described = objectAt(format.json_schema, `${path}.json_schema`);
  dropOthers(described, FORMAT_MEMBERS, notes, `${path}.json_schema`);
  const { schema, name, strict } = described;
  return {
    type: 'schema',
    schema,
    name: typeof name === 'string' ? name : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    path,
  };
}

const THINKING_MEMBERS = fieldSet('type budget_tokens');
const REASONING_MEMBERS = fieldSet('effort max_tokens enabled');

/** OpenAI's effort, or what gateways and other makers in this dialect have for it: OpenRouter's `reasoning`, `thinking`, `enable_thinking`. */
function readReasoning(body: UntrustedObject, notes: DroppedFields): Reasoning | undefined {
  const { reasoning_effort: effort, enable_thinking: isEnabled } = body;
  if (typeof effort === 'string') return toReasoning({ effort }, 'reasoning_effort');
  const reasoning = asObject(body.reasoning);
  if (reasoning !== undefined) {
    dropOthers(reasoning, REASONING_MEMBERS, notes, 'reasoning');
    const budget = numberAt(reasoning, 'max_tokens', 'reasoning.')?.value;
    return toReasoning({ effort: reasoning.effort, isEnabled: reasoning.enabled, budget }, 'reasoning');
  }
  const thinking = asObject(body.thinking);
  if (thinking !== undefined) {
    dropOthers(thinking, THINKING_MEMBERS, notes, 'thinking');
    const budget = numberAt(thinking, 'budget_tokens', 'thinking.')?.value;
    return toReasoning({ isEnabled: thinking.type !== 'disabled', budget }, 'thinking');
  }
  const budget = numberAt(body, 'thinking_budget')?.value;
  return toReasoning({ isEnabled, budget }, budget === undefined ? 'enable_thinking' : 'thinking_budget');
}

interface GivenReasoning {
  readonly effort?: unknown;
  readonly isEnabled?: unknown;
  readonly budget?: number | undefined;
}

function toReasoning({ effort, isEnabled, budget }: GivenReasoning, path: string): Reasoning | undefined {
  if (effort === 'none' || isEnabled === false || budget === 0) return { mode: 'off', path };
  if (typeof effort === 'string' && effort !== '') return { mode: 'on', effort, path };
  if (budget !== undefined && budget > 0) return { mode: 'on', budget, path };
  return isEnabled === true ? { mode: 'on', path } : undefined;
}
