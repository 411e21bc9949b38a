import { type Service, startService } from './child-processes.ts';

/** What every question of the chat benchmarks costs. */
const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000 };

/** Our service with one chat model over an upstream, and a key with money. */
export async function startChatService(
  port: number,
  upstreamOrigin: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: Service; readonly key: string }> {
  const service = await startService(port, env);
  const { operator } = service;
  await operator.requestData('POST', '/api/admin/models', {
    id: 'bench-chat',
    vendor: 'openai',
    kind: 'chat',
    price: PRICE,
  });
  await operator.addChannel({
    vendor: 'openai',
    base_url: upstreamOrigin,
    credentials: { api_key: 'sk-upstream-0123456789' },
    models: ['bench-chat'],
  });
  await operator.grantQuota(1_000_000_000_000_000);
  return { service, key: await operator.makeToken() };
}
