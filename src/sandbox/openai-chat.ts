import { setTimeout as sleep } from 'node:timers/promises';
import { CutOff, defineSimulator, json, type Problem, type Reply, type SimulatorRequest } from './simulator.ts';

/**
 * A server that speaks OpenAI's protocol: chat with tools, responses, embeddings, pictures. Besides the kit's faults it takes
 * directions in the text it is sent, `[name=number]`:
 * - `chunks`: how many words to say (default 12); `delay`: milliseconds between them; `wait`: before the first
 * - `cut`: break the connection after so many words; `stop`: end there as if all were well; `silent`: say nothing after
 *   them, but hold the connection; `error`: tell an error in the stream after them; `garbage`: write an event that is no JSON
 * - `big`: every word has so many thousand letters; `tag`: a number under which `saidUnder` counts the words it has said
 * - `usage=0`: tell no usage; `usage=-1`: tell a negative one; `usage=2`: an absurd one
 */

const API_KEY = 'sk-sandbox-openai-0123456789abcdef';

/** Each is one token with the blank before it, in all of OpenAI's vocabularies. */
const WORDS = ['the', 'light', 'of', 'day', 'and', 'sea', 'in', 'time', 'with', 'sun', 'on', 'water'];

const PROBLEMS: Readonly<Record<Problem, readonly [status: number, type: string, code: string, text: string]>> = {
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

function problem(kind: Problem, message?: string): Reply {
  const [status, type, code, text] = PROBLEMS[kind];
  return json(status, { error: { message: message ?? text, type, param: null, code } });
}

type Body = Readonly<Record<string, unknown>>;

const MODELS = ['sandbox-chat', 'sandbox-chat-mini', 'sandbox-embedding', 'sandbox-image'];

/** Rows that go with it, in quota per million tokens or a picture. */
export const OPENAI_SANDBOX_MODELS = [
  { id: 'sandbox-chat', kind: 'chat', price: { input_per_million: 1_000_000, output_per_million: 4_000_000 } },
  { id: 'sandbox-chat-mini', kind: 'chat', price: { input_per_million: 100_000, output_per_million: 400_000 } },
  { id: 'sandbox-embedding', kind: 'chat', price: { input_per_million: 10_000, output_per_million: 0 } },
  { id: 'sandbox-image', kind: 'image', price: { per_call: 10_000, per_second: 0 } },
] as const;

function directionsIn(request: SimulatorRequest): (name: string) => number | undefined {
  const found = new Map<string, number>();
  for (const [, name = '', value] of request.body.toString('latin1').matchAll(/\[([a-z]{3,8})=(-?\d{1,6})\]/g))
    found.set(name, Number(value));
  return (name) => found.get(name);
}

const said = new Map<number, number>();
/** How many words left for a request with `[tag=…]`, heard by anybody or not. */
export const saidUnder = (tag: number): number => said.get(tag) ?? 0;

let count = 0;
const newId = (prefix: string): string => `${prefix}-sandbox${(++count).toString(36).padStart(8, '0')}`;

const wordAt = (index: number): string => `${index === 0 ? '' : ' '}${WORDS[index % WORDS.length]}`;
const words = (length: number): string => Array.from({ length }, (_, index) => wordAt(index)).join('');

/** Roughly a token a word, as the caller sees it too. */
const promptTokens = (body: Body): number => JSON.stringify(body.messages ?? body.input ?? '').split(/\W+/).length;

function usageOf(body: Body, completion: number, direction: number | undefined): object | undefined {
  if (direction === 0) return undefined;
  const prompt = promptTokens(body);
  const factor = direction === -1 ? -1 : direction === 2 ? 1e300 : 1;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion * factor,
    total_tokens: prompt + completion * factor,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}

/** Calls the first tool it is offered, with arguments a caller can recognise. */
function toolCallFor(body: Body): object | undefined {
  const messages = Array.isArray(body.messages) ? (body.messages as (Body | null)[]) : [];
  if (messages.some((message) => message?.role === 'tool')) return undefined;
  const [tool] = Array.isArray(body.tools) ? (body.tools as ({ function?: { name?: string } | null } | null)[]) : [];
  if (tool?.function?.name === undefined) return undefined;
  return {
    id: newId('call'),
    type: 'function',
    function: { name: tool.function.name, arguments: '{"city":"Paris"}' },
  };
}

function complete(request: SimulatorRequest): Reply | Promise<Reply> {
  const body = request.json();
  if (body === undefined || !Array.isArray(body.messages) || body.messages.length === 0)
    return problem('invalid', "'messages' is required");
  if (typeof body.model !== 'string' || !MODELS.includes(body.model)) return problem('model');
  const directed = directionsIn(request);
  const asked = directed('chunks') ?? 12;
  const most = typeof body.max_tokens === 'number' ? body.max_tokens : Number.POSITIVE_INFINITY;
  const length = Math.min(asked, most);
  const finish = length < asked ? 'length' : 'stop';
  const tool = toolCallFor(body);
  const usage = usageOf(body, length, directed('usage'));
  const base = { id: newId('chatcmpl'), created: 1_767_225_600, model: body.model, system_fingerprint: 'fp_sandbox' };
  if (body.stream !== true) {
    const message = tool
      ? { role: 'assistant', content: null, tool_calls: [tool] }
      : { role: 'assistant', content: words(length), refusal: null };
    const choice = { index: 0, message, logprobs: null, finish_reason: tool ? 'tool_calls' : finish };
    const answer = json(200, { ...base, object: 'chat.completion', choices: [choice], ...(usage ? { usage } : {}) });
    const wait = directed('wait');
    return wait === undefined ? answer : sleep(wait).then(() => answer);
  }
  const includesUsage = (body.stream_options as Body | undefined)?.include_usage === true;
  const event = (value: object): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...value })}\n\n`;
  const delta = (piece: object, reason: string | null = null): string =>
    event({
      choices: [{ index: 0, delta: piece, logprobs: null, finish_reason: reason }],
      ...(includesUsage ? { usage: null } : {}),
    });
  async function* pieces(): AsyncGenerator<string> {
    const wait = directed('wait');
    if (wait !== undefined) await sleep(wait);
    if (tool) {
      const { function: called, ...rest } = tool as { function: { name: string; arguments: string } };
      yield delta({
        role: 'assistant',
        content: null,
        tool_calls: [{ index: 0, ...rest, function: { ...called, arguments: '' } }],
      });
      yield delta({ tool_calls: [{ index: 0, function: { arguments: called.arguments } }] });
      yield delta({}, 'tool_calls');
    } else {
      yield delta({ role: 'assistant', content: '', refusal: null });
      const big = directed('big');
      const word = big === undefined ? undefined : 'a'.repeat(big * 1_000);
      yield* spoken(length, directed, (index) => delta({ content: word ?? wordAt(index) }));
      yield delta({}, finish);
    }
    if (includesUsage && usage) yield event({ choices: [], usage });
    yield 'data: [DONE]\n\n';
  }
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    pieces: pieces(),
  };
}

/** The words one by one, and what shall go wrong among them. */
async function* spoken(
  length: number,
  directed: (name: string) => number | undefined,
  say: (index: number) => string,
): AsyncGenerator<string> {
  const delay = directed('delay');
  const tag = directed('tag');
  for (let index = 0; index < length; index++) {
    if (index === directed('cut')) throw new CutOff();
    if (index === directed('stop')) throw new CutOff(true);
    if (index === directed('silent')) await sleep(600_000, undefined, { ref: false });
    if (index === directed('garbage')) yield 'data: {"choices":[{"delta":{"conte\n\n';
    if (index === directed('error')) {
      yield `data: ${JSON.stringify({ error: { message: `The server had an error, key ${API_KEY}`, code: 'server_error' } })}\n\n`;
      return;
    }
    if (delay !== undefined && delay > 0) await sleep(delay);
    if (tag !== undefined) said.set(tag, index + 1);
    yield say(index);
  }
}

function respond(request: SimulatorRequest): Reply {
  const body = request.json();
  if (body?.input === undefined) return problem('invalid', "'input' is required");
  const directed = directionsIn(request);
  const length = directed('chunks') ?? 12;
  const prompt = promptTokens(body);
  const usage = { input_tokens: prompt, output_tokens: length, total_tokens: prompt + length };
  const item = newId('msg');
  const id = newId('resp');
  const content = { type: 'output_text', text: words(length), annotations: [] };
  const output = [{ id: item, type: 'message', role: 'assistant', status: 'completed', content: [content] }];
  const base = {
    id,
    object: 'response',
    created_at: 1_767_225_600,
    model: body.model,
    error: null,
    incomplete_details: null,
  };
  const done = { ...base, status: 'completed', output, usage };
  if (body.stream !== true) return json(200, done);
  let serial = 0;
  const event = (type: string, value: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: serial++, ...value })}\n\n`;
  const place = { item_id: item, output_index: 0, content_index: 0 };
  async function* pieces(): AsyncGenerator<string> {
    yield event('response.created', { response: { ...base, status: 'in_progress', output: [], usage: null } });
    yield event('response.output_item.added', {
      output_index: 0,
      item: { ...output[0], status: 'in_progress', content: [] },
    });
    yield* spoken(length, directed, (index) => event('response.output_text.delta', { ...place, delta: wordAt(index) }));
    yield event('response.output_item.done', { output_index: 0, item: output[0] });
    yield event('response.completed', { response: done });
  }
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    pieces: pieces(),
  };
}

function embed(request: SimulatorRequest): Reply {
  const body = request.json();
  if (body?.input === undefined) return problem('invalid', "'input' is required");
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  const prompt = promptTokens(body);
  const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.5, -0.5, 0.25, 0.125] }));
  return json(200, { object: 'list', data, model: body.model, usage: { prompt_tokens: prompt, total_tokens: prompt } });
}

export const openaiChat = defineSimulator({
  name: 'openai',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) => (request.headers.authorization === `Bearer ${API_KEY}` ? undefined : problem('unauthorized')),
  problem,
  routes: [
    { method: 'POST', path: '/v1/chat/completions', operation: 'submit', handle: complete },
    { method: 'POST', path: '/v1/responses', operation: 'submit', handle: respond },
    { method: 'POST', path: '/v1/embeddings', operation: 'submit', handle: embed },
    {
      method: 'POST',
      path: '/v1/images/generations',
      operation: 'submit',
      handle(request, stage) {
        const body = request.json();
        const many = typeof body?.n === 'number' ? body.n : 1;
        const job = stage.begin({ prompt: String(body?.prompt), model: String(body?.model), input: body });
        const url = stage.artifactUrl(job, 'thumbnail');
        return json(200, { created: 1_767_225_600, data: Array.from({ length: many }, () => ({ url })) });
      },
    },
    {
      method: 'GET',
      path: '/v1/models',
      operation: 'other',
      handle: () =>
        json(200, {
          object: 'list',
          data: MODELS.map((id) => ({ id, object: 'model', created: 0, owned_by: 'sandbox' })),
        }),
    },
  ],
});
