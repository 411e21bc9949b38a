import { setTimeout as pause } from 'node:timers/promises';
import { callModelApi } from '../call-model-api.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

/** Quota per million tokens: 1 per input token, 4 per output token. */
export const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000 };

/** A service with a chat model, and an account with quota and a key. */
export interface ChatService extends SandboxService {
  readonly key: string;
  /** One completion over plain HTTP. */
  ask(text: string, more?: object, headers?: Record<string, string>): ReturnType<typeof callModelApi>;
  /** Sends a streamed completion; the caller reads the body. */
  stream(text: string, more?: object, signal?: AbortSignal): Promise<Response>;
  /** Waits until no reservation is open; returns the latest ledger entries, newest first. */
  waitUntilSettled(): Promise<LedgerRow[]>;
}

/** The columns of a ledger entry that chat tests check. */
export interface LedgerRow {
  readonly kind: string;
  readonly amount: number;
  readonly charged: number;
  readonly ref: string;
}

/** The body of a chat completion request with one user message. */
export const chatBody = (text: string, more: object = {}) => ({
  model: 'sandbox-chat',
  messages: [{ role: 'user', content: text }],
  ...more,
});

/** The whole service with the simulated chat upstream behind one channel, and an account with quota. */
export async function startChat(
  databaseUrl: string,
  options: Parameters<typeof startSandboxService>[1] & { readonly channels?: number; readonly quota?: number } = {},
): Promise<ChatService> {
  const running = await startSandboxService(databaseUrl, options);
  const { operator, baseUrl, app } = running;
  for (const [id, kind, price] of [
    ['sandbox-chat', 'chat', PRICE],
    ['sandbox-embedding', 'chat', { input_per_million: 1_000_000, output_per_million: 0 }],
    ['sandbox-image', 'image', { per_call: 1_000, per_second: 0 }],
  ] as const)
    await operator.requestData('POST', '/api/admin/models', { id, vendor: 'openai', kind, price });
  const models = ['sandbox-chat', 'sandbox-embedding', 'sandbox-image'];
  for (let index = 0; index < (options.channels ?? 1); index++)
    await running.addChannel('openai', models, { priority: 10 - index });
  await operator.grantQuota(options.quota ?? 100_000_000);
  const key = await operator.makeToken();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    ...running,
    key,
    ask: (text, more, extra) => callModelApi(baseUrl, key, 'POST', '/v1/chat/completions', chatBody(text, more), extra),
    stream: (text, more, signal) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(chatBody(text, { stream: true, ...more })),
        ...(signal === undefined ? {} : { signal }),
      }),
    async waitUntilSettled() {
      const { kysely } = app.database;
      for (let tries = 0; tries < 200; tries++) {
        if ((await kysely.selectFrom('reservations').select('ref').execute()).length === 0) break;
        await pause(25);
      }
      return kysely
        .selectFrom('ledger')
        .select(['kind', 'amount', 'charged', 'ref'])
        .where('ref', 'like', 'req_%')
        .orderBy('id', 'desc')
        .execute();
    },
  };
}

/** The data of each event of a stream, without comments. */
export const eventsOf = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6));

/** The concatenated content of a stream. */
export const contentOf = (text: string): string =>
  eventsOf(text)
    .filter((data) => data.startsWith('{'))
    .map((data) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('');
