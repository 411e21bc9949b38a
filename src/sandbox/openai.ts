import { setTimeout as sleep } from 'node:timers/promises';
import {
  asFieldList,
  asFields,
  chooseCalls,
  countWords,
  type Directives,
  exampleForSchema,
  type Fields,
  type FunctionCall,
  newId,
  type OfferedFunction,
  parseDirectives,
  planText,
  streamText,
  wantedFunction,
} from './chat.ts';
import { composeChatReply } from './chat-reply.ts';
import { loadMedia } from './media.ts';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
} from './simulator.ts';

/** `POST /v1/chat/completions`. */
function createChatCompletion(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
  const body = request.json();
  if (body === undefined || !Array.isArray(body.messages) || body.messages.length === 0)
    return errorResponse('invalid', "'messages' is required");
  if (!isModel(body.model)) return errorResponse('model');
  const fault = findChatFault(body);
  if (fault !== undefined) return errorResponse('invalid', fault);
  const directives = parseDirectives(request);
  const calls = chooseFunctionCalls(body, directives('tools'), wantedFunction(request));
  const text = planText(
    directives,
    body.max_completion_tokens ?? body.max_tokens,
    chooseJson(body),
    composeChatReply(undefined, body.messages),
  );
  const usage = usageOf(body, text.pieces.length, directives('usage'));
  const base = { id: newId('chatcmpl'), created: nowSeconds(), model: body.model, system_fingerprint: 'fp_sandbox' };
  const finish = calls.length > 0 ? 'tool_calls' : text.isCut ? 'length' : 'stop';
  const toolCalls = calls.map((call) => ({ id: newId('call'), type: 'function', function: call }));
  const waitMs = directives('wait');

  if (body.stream !== true) {
    const message =
      toolCalls.length > 0
        ? { role: 'assistant', content: null, refusal: null, tool_calls: toolCalls }
        : { role: 'assistant', content: text.pieces.join(''), refusal: null };
    const choice = { index: 0, message, logprobs: null, finish_reason: finish };
    const response = jsonResponse(200, { ...base, object: 'chat.completion', choices: [choice], usage });
    return waitMs === undefined ? response : sleep(waitMs).then(() => response);
  }

  const includesUsage = (body.stream_options as Fields | undefined)?.include_usage === true;
  const event = (value: object): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...value })}\n\n`;
  const delta = (piece: object, reason: string | null = null): string =>
    event({
      choices: [{ index: 0, delta: piece, logprobs: null, finish_reason: reason }],
      usage: includesUsage ? null : undefined,
    });

  async function* pieces(): AsyncGenerator<string> {
    if (waitMs !== undefined) await sleep(waitMs);
    if (toolCalls.length > 0) {
      yield delta({ role: 'assistant', content: null, refusal: null });
      for (const [index, call] of toolCalls.entries()) {
        yield delta({ tool_calls: [{ ...call, index, function: { ...call.function, arguments: '' } }] });
        yield delta({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] });
      }
    } else {
      yield delta({ role: 'assistant', content: '', refusal: null });
      yield* streamText(text.pieces, directives, (content) => delta({ content }), toErrorEvent);
    }
    yield delta({}, finish);
    if (includesUsage && usage) yield event({ choices: [], usage });
    yield 'data: [DONE]\n\n';
  }
  return eventStream(pieces());
}

/** @param directive value of `[usage=…]`: 0 for no usage, -1 for negative, 2 for absurdly large figures */
function usageOf(body: Fields, completion: number, directive: number | undefined): object | undefined {
  if (directive === 0) return undefined;
  const prompt = promptTokens(body);
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion * factor,
    total_tokens: prompt + completion * factor,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  };
}

const VECTOR = [0.5, -0.5, 0.25, 0.125];

/** Counts the inputs: a text, several texts, a list of tokens, or several lists of tokens. */
function countInputs(input: unknown): number {
  if (!Array.isArray(input)) return 1;
  return typeof input[0] === 'number' ? 1 : input.length;
}

/** OpenAI rejects an empty text, an empty list, and a list with an empty entry. */
const isEmptyInput = (input: unknown): boolean =>
  input === '' || (Array.isArray(input) && (input.length === 0 || input.some((each) => each?.length === 0)));

/** Little-endian Float32 in Base64, the default format of the official clients. */
const toBase64 = (vector: readonly number[]): string =>
  Buffer.from(new Uint8Array(Float32Array.from(vector).buffer)).toString('base64');

/** `POST /v1/embeddings`: returns the same small vector for every input. */
function createEmbedding(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  if (body?.input === undefined) return errorResponse('invalid', "'input' is required");
  if (isEmptyInput(body.input)) return errorResponse('invalid', "'input' must not be empty");
  const length = typeof body.dimensions === 'number' ? body.dimensions : VECTOR.length;
  const vector = Array.from({ length }, (_, index) => VECTOR[index % VECTOR.length] ?? 0);
  const embedding = body.encoding_format === 'base64' ? toBase64(vector) : vector;
  const data = Array.from({ length: countInputs(body.input) }, (_, index) => ({
    object: 'embedding',
    index,
    embedding,
  }));
  const tokens = promptTokens(body);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonResponse(200, { object: 'list', data, model: body.model, usage });
}

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, type: string, code: string, text: string]>> = {
  unauthorized: [401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided'],
  forbidden: [403, 'invalid_request_error', 'unsupported_country_region_territory', 'Country not supported'],
  billing: [429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota'],
  model: [404, 'invalid_request_error', 'model_not_found', 'The model does not exist'],
  rate: [429, 'requests', 'rate_limit_exceeded', 'Rate limit reached'],
  concurrency: [429, 'requests', 'rate_limit_exceeded', 'Too many requests at once'],
  overloaded: [503, 'server_error', 'overloaded', 'The engine is currently overloaded'],
  broken: [500, 'server_error', 'server_error', 'The server had an error'],
  timeout: [504, 'server_error', 'timeout', 'The engine took too long'],
  policy: [400, 'invalid_request_error', 'content_policy_violation', 'Your request was rejected by our safety system'],
  invalid: [400, 'invalid_request_error', 'invalid_value', 'Invalid request'],
  not_found: [404, 'invalid_request_error', 'unknown_url', 'Unknown request URL'],
};

function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [status, type, code, text] = PROBLEMS[kind];
  return jsonResponse(status, { error: { message: message ?? text, type, param: null, code } });
}

/** An error inside a stream. It quotes the key, as some upstreams do. */
const toErrorEvent = (message: string): string =>
  `data: ${JSON.stringify({ error: { message: `${message}, key ${API_KEY}`, code: 'server_error' } })}\n\n`;

/** `POST /v1/images/generations`: a URL by default, Base64 if requested by `response_format`. */
function createImages(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  const length = typeof body?.n === 'number' ? body.n : 1;
  const job = context.createJob({ prompt: String(body?.prompt), model: String(body?.model), input: body });
  const image =
    body?.response_format === 'b64_json'
      ? { b64_json: loadMedia('image.png').bytes.toString('base64') }
      : { url: context.artifactUrl(job, 'thumbnail') };
  return jsonResponse(200, { created: nowSeconds(), data: Array.from({ length }, () => image) });
}

/** Formats one event; `sequence_number` increases over the stream. */
type WriteEvent = (type: string, fields: Fields) => string;

/** `POST /v1/responses`. Streams have OpenAI's events in OpenAI's order, all of which the official clients require. */
function createResponse(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  if (body?.input === undefined) return errorResponse('invalid', "'input' is required");
  const fault = findResponseFault(body);
  if (fault !== undefined) return errorResponse('invalid', fault);
  const directives = parseDirectives(request);
  const calls = chooseFunctionCalls(body, directives('tools'), wantedFunction(request));
  const messages = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
  const reply = composeChatReply(body.instructions, messages);
  const text = planText(directives, body.max_output_tokens, chooseJson(body), reply);
  const items = calls.length > 0 ? calls.map(toCallItem) : [toMessageItem(text.pieces.join(''))];
  const isCut = text.isCut && calls.length === 0;
  const base = baseOf(body);
  const ended = {
    ...base,
    status: isCut ? 'incomplete' : 'completed',
    completed_at: isCut ? null : nowSeconds(),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: items,
    usage: responseUsageOf(body, text.pieces.length),
  };
  if (body.stream !== true) return jsonResponse(200, ended);

  let sequence = 0;
  const event: WriteEvent = (type, fields) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  async function* pieces(): AsyncGenerator<string> {
    const begun = { ...base, status: 'in_progress', output: [], usage: null };
    yield event('response.created', { response: begun });
    yield event('response.in_progress', { response: begun });
    for (const [index, item] of items.entries()) {
      if (item.type === 'function_call') yield* streamCall(item, index, event);
      else yield* streamMessage(item, text.pieces, directives, event);
      yield event('response.output_item.done', { output_index: index, item });
    }
    yield event(isCut ? 'response.incomplete' : 'response.completed', { response: ended });
  }
  return eventStream(pieces());
}

const toCallItem = (call: FunctionCall) => ({
  id: newId('fc'),
  type: 'function_call' as const,
  status: 'completed',
  call_id: newId('call'),
  ...call,
});

const toMessageItem = (text: string) => ({
  id: newId('msg'),
  type: 'message' as const,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});

function* streamCall(item: ReturnType<typeof toCallItem>, index: number, event: WriteEvent): Generator<string> {
  const place = { item_id: item.id, output_index: index };
  yield event('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress', arguments: '' },
  });
  yield event('response.function_call_arguments.delta', { ...place, delta: item.arguments });
  yield event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
}

async function* streamMessage(
  item: ReturnType<typeof toMessageItem>,
  pieces: readonly string[],
  directives: Directives,
  event: WriteEvent,
): AsyncGenerator<string> {
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const [part] = item.content;
  yield event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } });
  yield event('response.content_part.added', { ...place, part: { ...part, text: '' } });
  const toEvent = (delta: string) => event('response.output_text.delta', { ...place, delta, logprobs: [] });
  yield* streamText(pieces, directives, toEvent, toErrorEvent);
  yield event('response.output_text.done', { ...place, text: part?.text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part });
}

/** Fields of a response that stay constant during generation; typed clients read all of them. */
const baseOf = (body: Fields): Fields => ({
  id: newId('resp'),
  object: 'response',
  created_at: nowSeconds(),
  model: body.model,
  background: false,
  completed_at: null,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  max_tool_calls: null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: body.previous_response_id ?? null,
  reasoning: { effort: null, summary: null },
  temperature: 1,
  text: body.text ?? { format: { type: 'text' } },
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  top_p: 1,
  truncation: 'disabled',
});

function responseUsageOf(body: Fields, output: number): Fields {
  const input = promptTokens(body);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

/** Catalogue rows for this simulator: quota per million tokens, or per image. */
export const OPENAI_SANDBOX_MODELS = [
  { id: 'sandbox-chat', kind: 'chat', price: { input_per_million: 1_000_000, output_per_million: 4_000_000 } },
  { id: 'sandbox-chat-mini', kind: 'chat', price: { input_per_million: 100_000, output_per_million: 400_000 } },
  { id: 'sandbox-embedding', kind: 'chat', price: { input_per_million: 10_000, output_per_million: 0 } },
  { id: 'sandbox-image', kind: 'image', price: { per_call: 10_000, per_second: 0 } },
] as const;

/** A server with OpenAI's protocol: chat with tools, responses, embeddings, images. Directives: see `chat.ts`. */
export const openaiSimulator = defineSimulator({
  name: 'openai',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) =>
    request.headers.authorization === `Bearer ${API_KEY}` ? undefined : errorResponse('unauthorized'),
  problem: errorResponse,
  routes: [
    { method: 'POST', path: '/v1/chat/completions', operation: 'submit', handle: createChatCompletion },
    { method: 'POST', path: '/v1/responses', operation: 'submit', handle: createResponse },
    { method: 'POST', path: '/v1/embeddings', operation: 'submit', handle: createEmbedding },
    { method: 'POST', path: '/v1/images/generations', operation: 'submit', handle: createImages },
    {
      method: 'GET',
      path: '/v1/models',
      operation: 'other',
      handle: () =>
        jsonResponse(200, {
          object: 'list',
          data: MODELS.map((id) => ({ id, object: 'model', created: 0, owned_by: 'sandbox' })),
        }),
    },
  ],
});

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);
const PARTS: ReadonlySet<unknown> = new Set(['text', 'image_url', 'input_audio', 'file', 'refusal']);
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'none', 'required']);
const MAX_STOPS = 4;

type Check = string | undefined;

/**
 * OpenAI's error for an invalid chat completion; undefined for a valid one. Unknown members are accepted, because
 * servers that speak this dialect have members of their own. Source:
 * platform.openai.com/docs/api-reference/chat/create.
 */
const findChatFault = (body: Fields): Check =>
  checkSampling(body) ??
  checkTools(
    asFieldList(body.tools).map((tool) => (tool.type === 'function' ? asFields(tool.function).name : 'other')),
  ) ??
  checkToolChoice(body) ??
  checkStreamOptions(body) ??
  checkMessages(asFieldList(body.messages));

/**
 * OpenAI's error for an invalid request to the Responses API. Source:
 * platform.openai.com/docs/api-reference/responses/create.
 */
const findResponseFault = (body: Fields): Check =>
  checkSampling(body) ??
  checkTools(asFieldList(body.tools).map(({ type, name }) => (type === 'function' ? name : 'other'))) ??
  checkToolChoice(body) ??
  checkItems(asFieldList(body.input), body.previous_response_id !== undefined && body.previous_response_id !== null);

function checkSampling({ temperature, top_p: topP, stop }: Fields): Check {
  if (!isWithin(temperature, 2)) return "'temperature' must be between 0 and 2";
  if (!isWithin(topP, 1)) return "'top_p' must be between 0 and 1";
  return Array.isArray(stop) && stop.length > MAX_STOPS ? `'stop' has more than ${MAX_STOPS} sequences` : undefined;
}

const isWithin = (value: unknown, most: number): boolean =>
  value === undefined || value === null || (typeof value === 'number' && value >= 0 && value <= most);

const checkTools = (names: readonly unknown[]): Check =>
  names.every((name) => typeof name === 'string' && FUNCTION_NAME.test(name))
    ? undefined
    : "'tools': a function's name does not match ^[a-zA-Z0-9_-]{1,64}$";

function checkToolChoice({ tool_choice: choice, tools }: Fields): Check {
  if (choice === undefined || choice === null) return undefined;
  if (typeof choice === 'string' && !CHOICES.has(choice)) return "'tool_choice' is none of none, auto and required";
  return asFieldList(tools).length === 0 && choice !== 'none'
    ? "'tool_choice' is only allowed with 'tools'"
    : undefined;
}

const checkStreamOptions = ({ stream, stream_options: options }: Fields): Check =>
  options !== undefined && options !== null && stream !== true
    ? "'stream_options' is only allowed when streaming"
    : undefined;

function checkMessages(messages: readonly Fields[]): Check {
  let asked: readonly unknown[] = [];
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (!ROLES.has(role)) return `messages[${index}].role: invalid value`;
    if (role === 'tool') {
      if (!asked.includes(message.tool_call_id))
        return `messages[${index}]: messages with role 'tool' must respond to a preceding message with 'tool_calls'`;
      asked = asked.filter((id) => id !== message.tool_call_id);
    } else if (asked.length > 0)
      return `messages[${index}]: 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'`;
    const fault = checkContent(message);
    if (fault !== undefined) return `messages[${index}].content: ${fault}`;
    if (role === 'assistant') asked = asFieldList(message.tool_calls).map(({ id }) => id);
  }
  return asked.length > 0
    ? "'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
    : undefined;
}

function checkContent({ role, content, tool_calls: calls }: Fields): Check {
  if (typeof content === 'string') return undefined;
  if (content === null || content === undefined)
    return role === 'assistant' || asFieldList(calls).length > 0 ? undefined : 'expected a string or a list, got null';
  const parts = asFieldList(content);
  if (parts.length === 0) return 'expected a string or a list of parts';
  return parts.map(checkPart).find((each) => each !== undefined);
}

function checkPart({ type, text, image_url: image }: Fields): Check {
  if (!PARTS.has(type)) return `invalid type '${String(type)}'`;
  if (type === 'text' && typeof text !== 'string') return "missing 'text'";
  return type === 'image_url' && typeof asFields(image).url !== 'string' ? "missing 'image_url.url'" : undefined;
}

/**
 * @param continues whether earlier items are stored at OpenAI, so that results may refer to calls that are not in the
 * list
 */
function checkItems(items: readonly Fields[], continues: boolean): Check {
  const calls = new Set<unknown>();
  for (const [index, { type, role, call_id: id }] of items.entries()) {
    if (type === undefined && !ROLES.has(role)) return `input[${index}].role: invalid value`;
    if (type === 'function_call') calls.add(id);
    if (type === 'function_call_output' && !calls.has(id) && !continues)
      return `No tool call found for function call output with call_id ${String(id)}.`;
  }
  return undefined;
}

/**
 * Reads a tool of either API: chat completions nest the function under `function`, responses have its fields next to
 * `type`.
 */
function toFunction(tool: Fields): OfferedFunction | undefined {
  if (tool.type !== 'function') return undefined;
  const { name, parameters } = tool.function === undefined ? tool : asFields(tool.function);
  return typeof name === 'string' ? { name, parameters } : undefined;
}

/**
 * Calls of the simulated model, from the tools of either API. @param count number of simultaneous calls @param wanted
 * name of the function to call
 */
function chooseFunctionCalls(body: Fields, count = 1, wanted?: string): readonly FunctionCall[] {
  const hasResult =
    asFieldList(body.messages).some(({ role }) => role === 'tool') ||
    asFieldList(body.input).some(({ type }) => type === 'function_call_output');
  if (hasResult || body.tool_choice === 'none') return [];
  const offered = asFieldList(body.tools)
    .map(toFunction)
    .filter((each) => each !== undefined);
  const choice = asFields(body.tool_choice);
  return chooseCalls(offered, asFields(choice.function).name ?? choice.name ?? wanted, count);
}

/** Structured output: an example value for the schema of `response_format` (chat) or `text.format` (responses). */
function chooseJson(body: Fields): string | undefined {
  const format =
    body.response_format === undefined ? asFields(asFields(body.text).format) : asFields(body.response_format);
  if (format.type === 'json_object') return '{"city":"Paris"}';
  if (format.type !== 'json_schema') return undefined;
  return JSON.stringify(exampleForSchema(format.schema ?? asFields(format.json_schema).schema));
}

/** `created` of every object, in Unix seconds. */
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** Input tokens of a chat, a response or an embedding. */
const promptTokens = (body: Fields): number => countWords(body.messages ?? body.input);

const eventStream = (pieces: AsyncIterable<string>): SimulatorResponse => ({
  kind: 'stream',
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  pieces,
});

const API_KEY = 'sk-sandbox-openai-0123456789abcdef';
const MODELS = ['sandbox-chat', 'sandbox-chat-mini', 'sandbox-embedding', 'sandbox-image'];
const isModel = (name: unknown): name is string => typeof name === 'string' && MODELS.includes(name);
