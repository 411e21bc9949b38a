import { setTimeout as pause } from 'node:timers/promises';
import { model } from '../operator.ts';
import { type Running, startRunning } from '../running.ts';

/** Quota per million tokens: a token of an answer costs 4, one of a question 1. */
export const PRICE = { input_per_million: 1_000_000, output_per_million: 4_000_000 };

export interface ChatService extends Running {
  readonly key: string;
  /** One completion over plain HTTP. */
  ask(text: string, more?: object, headers?: Record<string, string>): ReturnType<typeof model>;
  /** A streamed completion: status and the whole text. */
  stream(text: string, more?: object, signal?: AbortSignal): Promise<Response>;
  /** Waits until no reservation is open and answers the newest ledger entries, newest first. */
  settled(): Promise<LedgerRow[]>;
}

export interface LedgerRow {
  readonly kind: string;
  readonly amount: number;
  readonly charged: number;
  readonly ref: string;
}

export const question = (text: string, more: object = {}) => ({
  model: 'sandbox-chat',
  messages: [{ role: 'user', content: text }],
  ...more,
});

/** The whole service with the simulated chat upstream behind one channel, and an account with money. */
export async function startChat(
  databaseUrl: string,
  options: Parameters<typeof startRunning>[1] & { readonly channels?: number; readonly quota?: number } = {},
): Promise<ChatService> {
  const running = await startRunning(databaseUrl, options);
  const { operator, baseUrl, app } = running;
  for (const [id, kind, price] of [
    ['sandbox-chat', 'chat', PRICE],
    ['sandbox-embedding', 'chat', { input_per_million: 1_000_000, output_per_million: 0 }],
    ['sandbox-image', 'image', { per_call: 1_000, per_second: 0 }],
  ] as const)
    await operator.call('POST', '/api/admin/models', { id, vendor: 'openai', kind, price });
  const models = ['sandbox-chat', 'sandbox-embedding', 'sandbox-image'];
  for (let index = 0; index < (options.channels ?? 1); index++)
    await running.addChannel('openai', models, { priority: 10 - index });
  await operator.grant(options.quota ?? 100_000_000);
  const key = await operator.makeToken();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    ...running,
    key,
    ask: (text, more, extra) => model(baseUrl, key, 'POST', '/v1/chat/completions', question(text, more), extra),
    stream: (text, more, signal) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(question(text, { stream: true, ...more })),
        ...(signal === undefined ? {} : { signal }),
      }),
    async settled() {
      const { kysely } = app.database;
      for (let tries = 0; tries < 200; tries++) {
        if ((await kysely.selectFrom('holds').select('ref').execute()).length === 0) break;
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

/** The data of each event of a stream, comments left out. */
export const eventsOf = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6));

/** What a stream said. */
export const spokenIn = (text: string): string =>
  eventsOf(text)
    .filter((data) => data.startsWith('{'))
    .map((data) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('');
