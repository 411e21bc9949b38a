import type { SimulatorResponse } from '../define-simulator.ts';

/** What the endpoints share. */
export type RequestBody = Readonly<Record<string, unknown>>;

export const API_KEY = 'sk-sandbox-openai-0123456789abcdef';
/** `created` of every object, in Unix seconds; fixed, so that responses can be compared. */
export const CREATED = 1_767_225_600;

export const MODELS = ['sandbox-chat', 'sandbox-chat-mini', 'sandbox-embedding', 'sandbox-image'];
export const isModel = (name: unknown): name is string => typeof name === 'string' && MODELS.includes(name);

/** Roughly one token a word, as the caller counts them too. */
export const promptTokens = (body: RequestBody): number =>
  JSON.stringify(body.messages ?? body.input ?? '').split(/\W+/).length;

/** An error inside a stream. It quotes the key, as some upstreams do. */
export const toErrorEvent = (message: string): string =>
  `data: ${JSON.stringify({ error: { message: `${message}, key ${API_KEY}`, code: 'server_error' } })}\n\n`;

export const eventStream = (pieces: AsyncIterable<string>): SimulatorResponse => ({
  kind: 'stream',
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  pieces,
});
