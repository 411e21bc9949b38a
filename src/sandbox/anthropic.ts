import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  asFieldList,
  asFields,
  chooseCalls,
  countWords,
  type Directives,
  exampleForSchema,
  type Fields,
  newId,
  parseDirectives,
  planText,
  splitWords,
  streamText,
  wantedFunction,
} from './chat.ts';
import { composeChatReply } from './chat-reply.ts';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type SimulatorRequest,
  type SimulatorResponse,
} from './simulator.ts';

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, type: string, text: string]>> = {
  unauthorized: [401, 'authentication_error', 'invalid x-api-key'],
  forbidden: [403, 'permission_error', 'Your API key does not have permission to use the specified resource'],
  billing: [400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API'],
  model: [404, 'not_found_error', 'model: unknown'],
  rate: [429, 'rate_limit_error', 'This request would exceed your rate limit'],
  concurrency: [429, 'rate_limit_error', 'Number of concurrent connections has exceeded your rate limit'],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
  broken: [500, 'api_error', 'Internal server error'],
  timeout: [504, 'timeout_error', 'Request timed out'],
  policy: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
  invalid: [400, 'invalid_request_error', 'invalid request'],
  not_found: [404, 'not_found_error', 'Not found'],
};

/** Error responses as documented at docs.claude.com/en/api/errors. */
function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [status, type, text] = PROBLEMS[kind];
  const requestId = `req_sandbox_${kind}`;
  const body = { type: 'error', error: { type, message: message ?? text }, request_id: requestId };
  return jsonResponse(status, body, { 'request-id': requestId });
}

const THOUGHT = 'Let me think about the light.';

/** `POST /v1/messages` (docs.claude.com/en/api/messages). Rejects requests that Anthropic would reject. */
function createMessage(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
  const body = request.json();
  const fault = checkRequest(request, body, false);
  if (fault !== undefined || body === undefined) return fault ?? errorResponse('invalid');
  const directives = parseDirectives(request);
  const { content, isCut } = planContent(body, directives, wantedFunction(request));
  const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : isCut ? 'max_tokens' : 'end_turn';
  const usage = usageOf(body, content, directives('usage'));
  const message = { id: newId('msg'), type: 'message', role: 'assistant', model: body.model };
  const end = { stop_reason: stopReason, stop_sequence: null };
  const waitMs = directives('wait') ?? 0;
  if (body.stream !== true) {
    const whole = jsonResponse(200, { ...message, content, ...end, usage }, { 'request-id': newId('req') });
    return waitMs === 0 ? whole : sleep(waitMs).then(() => whole);
  }
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': newId('req') },
    pieces: streamMessage({ ...message, content: [], stop_reason: null, stop_sequence: null }, content, directives, {
      end,
      usage,
      waitMs,
    }),
  };
}

/** `POST /v1/messages/count_tokens`. */
function countTokens(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  return checkRequest(request, body, true) ?? jsonResponse(200, { input_tokens: countPrompt(body ?? {}) });
}

function checkRequest(
  request: SimulatorRequest,
  body: Fields | undefined,
  counts: boolean,
): SimulatorResponse | undefined {
  if (request.headers['anthropic-version'] === undefined)
    return errorResponse('invalid', 'anthropic-version: header is required');
  if (body === undefined) return errorResponse('invalid', 'The request body is not valid JSON');
  const fault = findFault(body, counts);
  if (fault !== undefined) return errorResponse('invalid', fault);
  return MODELS.includes(String(body.model)) ? undefined : errorResponse('model', `model: ${String(body.model)}`);
}

/** Plans thinking if it was requested, then tool calls, or else words or the JSON of the schema. */
function planContent(
  body: Fields,
  directives: Directives,
  wanted: string | undefined,
): { readonly content: Fields[]; readonly isCut: boolean } {
  const isThinking = ['enabled', 'adaptive'].includes(String(asFields(body.thinking).type));
  const thinking = isThinking ? [{ type: 'thinking', thinking: THOUGHT, signature: signThinking(THOUGHT) }] : [];
  const calls = chooseToolUses(body, directives('tools') ?? 1, wanted);
  if (calls.length > 0) return { content: [...thinking, ...calls], isCut: false };
  const format = asFields(asFields(body.output_config).format);
  const json = format.type === 'json_schema' ? JSON.stringify(exampleForSchema(format.schema)) : undefined;
  const { pieces, isCut } = planText(directives, body.max_tokens, json, composeChatReply(body.system, body.messages));
  return { content: [...thinking, { type: 'text', text: pieces.join('') }], isCut };
}

function chooseToolUses(body: Fields, count: number, wanted: string | undefined): Fields[] {
  const choice = asFields(body.tool_choice);
  const hasResult = asFieldList(body.messages).some(({ content }) =>
    asFieldList(content).some(({ type }) => type === 'tool_result'),
  );
  if (hasResult || choice.type === 'none') return [];
  const offered = asFieldList(body.tools)
    .filter(({ type }) => type === undefined || type === 'custom')
    .map(({ name, input_schema: parameters }) => ({ name: String(name), parameters }));
  const single = choice.disable_parallel_tool_use === true ? 1 : count;
  return chooseCalls(offered, choice.name ?? wanted, single).map(({ name, arguments: json }) => ({
    type: 'tool_use',
    id: newId('toolu'),
    name,
    input: JSON.parse(json),
  }));
}

const countPrompt = ({ system, messages, tools }: Fields): number => countWords([system, messages, tools]);

/** @param directive value of `[usage=…]`: 0 for no usage, -1 for negative, 2 for absurdly large figures */
function usageOf(body: Fields, content: readonly Fields[], directive: number | undefined): Fields | undefined {
  if (directive === 0) return undefined;
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  const thinking = content.filter(({ type }) => type === 'thinking').length > 0 ? countWords(THOUGHT) - 2 : 0;
  const shown = content.filter(({ type }) => type !== 'thinking');
  const text = shown.map(({ text, input }) => (typeof text === 'string' ? text : JSON.stringify(input))).join(' ');
  const output = thinking + splitWords(text).length;
  return {
    ...readCacheUsage(body, countPrompt(body)),
    output_tokens: output * factor,
    output_tokens_details: { thinking_tokens: thinking },
    service_tier: 'standard',
  };
}

const toEvent = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const toError = (message: string): string =>
  toEvent('error', { error: { type: 'overloaded_error', message: `${message}, key ${API_KEY}` } });

async function* streamMessage(
  message: Fields,
  content: readonly Fields[],
  directives: Directives,
  { end, usage, waitMs }: { readonly end: Fields; readonly usage: Fields | undefined; readonly waitMs: number },
): AsyncGenerator<string> {
  if (waitMs > 0) await sleep(waitMs);
  yield toEvent('message_start', { message: { ...message, usage: usage && { ...usage, output_tokens: 1 } } });
  yield toEvent('ping', {});
  for (const [index, block] of content.entries()) {
    yield toEvent('content_block_start', { index, content_block: emptied(block) });
    for await (const delta of deltasOf(block, directives)) {
      // An error event ends the stream.
      if (typeof delta === 'string') return yield delta;
      yield toEvent('content_block_delta', { index, delta });
    }
    yield toEvent('content_block_stop', { index });
  }
  const { cache_creation: _, ...cumulative } = usage ?? {};
  yield toEvent('message_delta', { delta: end, usage: usage && cumulative });
  yield toEvent('message_stop', {});
}

const emptied = (block: Fields): Fields =>
  block.type === 'text'
    ? { ...block, text: '' }
    : block.type === 'thinking'
      ? { ...block, thinking: '', signature: '' }
      : { ...block, input: {} };

async function* deltasOf(block: Fields, directives: Directives): AsyncGenerator<Fields | string> {
  if (block.type === 'thinking') {
    yield { type: 'thinking_delta', thinking: block.thinking };
    yield { type: 'signature_delta', signature: block.signature };
  } else if (block.type === 'tool_use') {
    const json = JSON.stringify(block.input);
    yield { type: 'input_json_delta', partial_json: '' };
    yield { type: 'input_json_delta', partial_json: json.slice(0, 4) };
    yield { type: 'input_json_delta', partial_json: json.slice(4) };
  } else {
    const words = splitWords(String(block.text));
    const isEvent = (piece: string): boolean => piece.startsWith('event: ') || piece.startsWith('data: ');
    for await (const piece of streamText(words, directives, (text) => text, toError))
      yield isEvent(piece) ? piece : { type: 'text_delta', text: piece };
  }
}

/** Catalogue rows for this simulator: quota per million tokens. */
export const ANTHROPIC_SANDBOX_MODELS = [
  {
    id: 'sandbox-claude',
    kind: 'chat',
    price: {
      input_per_million: 3_000_000,
      output_per_million: 15_000_000,
      cached_input_per_million: 300_000,
      cache_write_per_million: 3_750_000,
      cache_write_1h_per_million: 6_000_000,
    },
  },
] as const;

/** A server with Anthropic's Messages protocol, which validates requests. Directives: see `chat.ts`. */
export const anthropicSimulator = defineSimulator({
  name: 'anthropic',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) => (request.headers['x-api-key'] === API_KEY ? undefined : errorResponse('unauthorized')),
  problem: errorResponse,
  routes: [
    { method: 'POST', path: '/v1/messages', operation: 'submit', handle: createMessage },
    { method: 'POST', path: '/v1/messages/count_tokens', operation: 'other', handle: countTokens },
    {
      method: 'GET',
      path: '/v1/models',
      operation: 'other',
      handle: () =>
        jsonResponse(200, {
          data: MODELS.map((id) => ({ id, type: 'model', display_name: id, created_at: '2026-01-01T00:00:00Z' })),
          has_more: false,
          first_id: MODELS[0],
          last_id: MODELS.at(-1),
        }),
    },
  ],
});

/**
 * Accepted members of a request; any other is an error (docs.claude.com/en/api/messages, and the betas Claude Code
 * requests).
 */
const MEMBERS: ReadonlySet<string> = new Set(
  (
    'model messages max_tokens stream system temperature top_p top_k stop_sequences tools tool_choice thinking metadata ' +
    'service_tier output_config cache_control container context_management inference_geo speed'
  ).split(' '),
);
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'any', 'tool', 'none']);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_CACHE_MARKERS = 4;

const isPositiveInteger = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;
const isUnitIntervalOrAbsent = (value: unknown): boolean =>
  value === undefined || (Number(value) >= 0 && Number(value) <= 1);

/**
 * Anthropic's error message for an invalid request; undefined for a valid one.
 *
 * @param counts whether the request only counts tokens
 */
function findFault(body: Fields, counts: boolean): string | undefined {
  const unknown = Object.keys(body).find((key) => !MEMBERS.has(key));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (!counts && !isPositiveInteger(body.max_tokens)) return 'max_tokens: Field required';
  if (!isUnitIntervalOrAbsent(body.temperature)) return 'temperature: range: 0..1';
  if (!isUnitIntervalOrAbsent(body.top_p)) return 'top_p: range: 0..1';
  if ((JSON.stringify(body).match(/"cache_control":\{/g) ?? []).length > MAX_CACHE_MARKERS)
    return 'A maximum of 4 blocks with cache_control may be provided.';
  return findSystemFault(body.system) ?? findToolFault(body) ?? findThinkingFault(body) ?? checkMessages(body);
}

function findSystemFault(system: unknown): string | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  const parts = asFieldList(system);
  const isText = parts.every(({ type, text }) => type === 'text' && typeof text === 'string' && text !== '');
  return parts.length > 0 && isText ? undefined : 'system: text content blocks must be non-empty';
}

function findToolFault({ tools, tool_choice: choice }: Fields): string | undefined {
  const list = asFieldList(tools);
  const names = list.map(({ name }) => name);
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.';
  for (const [index, { type, name, input_schema: schema }] of list.entries()) {
    if (typeof name !== 'string' || !TOOL_NAME.test(name))
      return `tools.${index}.custom.name: String should match pattern`;
    const isCustom = type === undefined || type === 'custom';
    if (isCustom && asFields(schema).type !== 'object')
      return `tools.${index}.custom.input_schema.type: Field required`;
  }
  if (choice === undefined) return undefined;
  const { type, name } = asFields(choice);
  if (!CHOICES.has(type)) return 'tool_choice: Input tag found does not match any of the expected tags';
  if (list.length === 0) return 'tool_choice: tools must be provided';
  return type === 'tool' && !names.includes(name) ? `Tool '${String(name)}' not found in provided tools` : undefined;
}

function findThinkingFault({
  thinking,
  tool_choice: choice,
  temperature,
  max_tokens: limit,
}: Fields): string | undefined {
  const { type, budget_tokens: budget } = asFields(thinking);
  if (type !== 'enabled' && type !== 'adaptive') return undefined;
  if (type === 'enabled' && !(Number(budget) >= 1_024))
    return 'thinking.enabled.budget_tokens: greater than or equal to 1024';
  if (type === 'enabled' && Number(budget) >= Number(limit))
    return '`max_tokens` must be greater than `thinking.budget_tokens`';
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled';
  const forced = asFields(choice).type;
  return forced === 'any' || forced === 'tool'
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined;
}

const BLOCKS: Readonly<Record<string, ReadonlySet<unknown>>> = {
  user: new Set(['text', 'image', 'document', 'tool_result', 'search_result']),
  assistant: new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']),
  system: new Set(['text']),
};
const IMAGES: ReadonlySet<unknown> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const TOOL_ID = /^[a-zA-Z0-9_-]+$/;

const blocksOf = (message: Fields): readonly Fields[] =>
  typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : asFieldList(message.content);
const idsOf = (blocks: readonly Fields[], type: string, key: string): unknown[] =>
  blocks.filter((block) => block.type === type).map((block) => block[key]);

/** Error message for invalid messages: roles, blocks, tool calls without results, altered thinking. */
function checkMessages({ messages, thinking }: Fields): string | undefined {
  const list = asFieldList(messages);
  if (list.length === 0) return 'messages: at least one message is required';
  if (list[0]?.role !== 'user') return 'messages: first message must use the "user" role';
  for (const [index, message] of list.entries()) {
    const fault = checkMessage(message, list[index - 1], list[index + 1]);
    if (fault !== undefined) return `messages.${index}: ${fault}`;
  }
  const last = list.findLast(({ role }) => role === 'assistant');
  const isThinking = asFields(thinking).type === 'enabled';
  const calls = last !== undefined && blocksOf(last).some(({ type }) => type === 'tool_use');
  const begins = last === undefined ? undefined : blocksOf(last)[0]?.type;
  return isThinking && calls && begins !== 'thinking' && begins !== 'redacted_thinking'
    ? 'messages: Expected `thinking` or `redacted_thinking`, but found another block: a final assistant message must start with a thinking block'
    : undefined;
}

function checkMessage(message: Fields, before: Fields | undefined, after: Fields | undefined): string | undefined {
  const allowed = BLOCKS[String(message.role)];
  if (allowed === undefined) return 'role: Input should be user, assistant or system';
  const blocks = blocksOf(message);
  if (blocks.length === 0) return 'content must be non-empty';
  const fault = blocks.map((block) =>
    allowed.has(block.type) ? checkBlock(block) : `unexpected ${String(block.type)}`,
  );
  const first = fault.find((each) => each !== undefined);
  if (first !== undefined) return first;
  const results = idsOf(blocks, 'tool_result', 'tool_use_id');
  const asked = before === undefined ? [] : idsOf(blocksOf(before), 'tool_use', 'id');
  if (results.some((id) => !asked.includes(id))) return 'unexpected `tool_use_id` found in `tool_result` blocks';
  const answered = after === undefined ? [] : idsOf(blocksOf(after), 'tool_result', 'tool_use_id');
  const calls = idsOf(blocks, 'tool_use', 'id');
  if (calls.some((id) => !answered.includes(id)))
    return '`tool_use` ids were found without `tool_result` blocks immediately after';
  const isAfterText =
    blocks.findIndex(({ type }) => type !== 'tool_result') < blocks.findLastIndex(({ type }) => type === 'tool_result');
  return results.length > 0 && results.length < blocks.length && isAfterText
    ? 'tool_result blocks must come first'
    : undefined;
}

function checkBlock(block: Fields): string | undefined {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' && block.text !== '' ? undefined : 'text content blocks must be non-empty';
    case 'tool_use':
      if (typeof block.id !== 'string' || !TOOL_ID.test(block.id)) return 'tool_use.id: String should match pattern';
      return typeof block.input === 'object' && block.input !== null
        ? undefined
        : 'tool_use.input: Input should be a valid dictionary';
    case 'thinking':
      return block.signature === signThinking(String(block.thinking))
        ? undefined
        : 'Invalid `signature` in `thinking` block';
    case 'image':
      return checkImage(asFields(block.source));
    case 'tool_result':
      return typeof block.content === 'string' || block.content === undefined
        ? undefined
        : asFieldList(block.content)
            .map(checkBlock)
            .find((each) => each !== undefined);
    default:
      return undefined;
  }
}

function checkImage({ type, media_type: mediaType, data, url }: Fields): string | undefined {
  if (type === 'url') return typeof url === 'string' ? undefined : 'image.source.url: Field required';
  return type === 'base64' && IMAGES.has(mediaType) && typeof data === 'string' && data !== ''
    ? undefined
    : 'image.source.base64.media_type: Input should be an image type';
}

/** Prefixes written to the simulated cache. Bounded, because benchmarks run for a long time. */
const written = new Set<string>();
const MAX_PREFIXES = 10_000;

const MARKER = '"cache_control":{';

/** Input usage in Anthropic's figures: the prefix up to the last marker is written once and read on later requests. */
function readCacheUsage({ system, messages, tools }: Fields, input: number): Fields {
  const prompt = JSON.stringify([tools, system, messages]);
  const at = prompt.lastIndexOf(MARKER);
  const none = {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  };
  if (at === -1) return none;
  const prefix = prompt.slice(0, at);
  const share = Math.min(input - 1, Math.floor((input * prefix.length) / prompt.length));
  const key = createHash('sha256').update(prefix).digest('base64');
  const rest = { ...none, input_tokens: input - share };
  if (written.has(key)) return { ...rest, cache_read_input_tokens: share };
  if (written.size >= MAX_PREFIXES) written.clear();
  written.add(key);
  const isLong = prompt.slice(at, at + MARKER.length + 60).includes('"ttl":"1h"');
  return {
    ...rest,
    cache_creation_input_tokens: share,
    cache_creation: { ephemeral_5m_input_tokens: isLong ? 0 : share, ephemeral_1h_input_tokens: isLong ? share : 0 },
  };
}

/** Signature of a text the simulated model thought. Like Anthropic, the simulator accepts no other signature. */
const signThinking = (thinking: string): string =>
  createHash('sha256').update(`sandbox thinking ${thinking}`).digest('base64');

const API_KEY = 'sk-ant-sandbox-0123456789abcdef';
const MODELS = ['sandbox-claude'];
