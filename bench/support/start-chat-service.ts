import { type Service, startService } from './child-processes.ts';
import { postBytes } from './raw-socket-load.ts';

/** Price of every question in the chat benchmarks. */
const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000 };

/** Models of upstreams in OpenAI's dialect, without Responses, and in Anthropic's. */
const MODELS = [
  ['bench-chat', 'openai', { responses: false }],
  ['bench-claude', 'anthropic', {}],
] as const;

const WORDS = 'word '.repeat(72).trim();

/** Response of the chat benchmarks' upstream in OpenAI's dialect: 72 words. */
export const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_795_140_000,
  model: 'bench-chat',
  choices: [{ index: 0, message: { role: 'assistant', content: WORDS }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 32, completion_tokens: 72, total_tokens: 104 },
});

/** The same response in Anthropic's dialect. */
export const MESSAGE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'bench-claude',
  content: [{ type: 'text', text: WORDS }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 32, output_tokens: 72, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
});

/** Configuration of an nginx that responds in both dialects. */
export const BOTH_DIALECTS = `location /v1/messages { return 200 '${MESSAGE}'; } location / { return 200 '${COMPLETION}'; }`;

/** The question sent by the chat benchmarks. */
export const QUESTION = [{ role: 'user', content: 'Say a few words about the sea, '.repeat(4) }];

const CALL = JSON.stringify({ model: 'bench-chat', messages: [{ role: 'user', content: 'Say a few words.' }] });

/** Starts Reelgate with chat models on an upstream, and a key with a balance. */
export async function startChatService(
  port: number,
  upstreamOrigin: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: Service; readonly key: string }> {
  const service = await startService(port, env);
  const { operator } = service;
  for (const [id, vendor, options] of MODELS) {
    await operator.requestData('POST', '/api/admin/models', { id, vendor, kind: 'chat', price: PRICE });
    await operator.addChannel({
      vendor,
      base_url: upstreamOrigin,
      credentials: { api_key: 'sk-upstream-0123456789' },
      models: [id],
      options: { private: true, ...options },
    });
  }
  await operator.grantQuota(1_000_000_000_000_000);
  return { service, key: await operator.makeToken() };
}

/** Creates accounts with a balance. @returns the request bytes of a call by each account */
export const makeAccountCalls = (service: Service, count: number): Promise<Buffer[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const key = await makeAccountKey(service, `bench-${index}`);
      return postBytes('/v1/chat/completions', { authorization: `Bearer ${key}` }, CALL);
    }),
  );

async function makeAccountKey({ operator, origin }: Service, username: string): Promise<string> {
  const password = 'bench-password-1';
  await operator.requestData('POST', '/api/admin/users', { username, password, quota: 1_000_000_000_000 });
  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const login = await post('/api/user/login', { username, password });
  const { data } = (await login.json()) as { data: { id: number } };
  const cookie = login.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const made = await post('/api/tokens', { name: 'bench' }, { cookie, 'service-api-user': String(data.id) });
  return ((await made.json()) as { data: { key: string } }).data.key;
}
