import { type Service, startService } from './child-processes.ts';

/** What every question of the chat benchmarks costs. */
const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000 };

/** Models of upstreams in OpenAI's dialect, without Responses, and in Anthropic's. */
const MODELS = [
  ['bench-chat', 'openai', { responses: false }],
  ['bench-claude', 'anthropic', {}],
] as const;

/** Our service with chat models over an upstream, and a key with money. */
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

/** Creates accounts with a balance. @returns an API key of each */
export const makeAccountKeys = (service: Service, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => makeAccountKey(service, `bench-${index}`)));

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
