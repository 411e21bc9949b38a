import { countWords } from '../chat/count-words.ts';
import type { Fields } from '../chat/untrusted-fields.ts';
import type { SimulatorResponse } from '../define-simulator.ts';

/** `created` of every object, in Unix seconds; fixed, so that responses can be compared. */
export const CREATED = 1_767_225_600;

/** Of a chat, a response or an embedding. */
export const promptTokens = (body: Fields): number => countWords(body.messages ?? body.input);

export const eventStream = (pieces: AsyncIterable<string>): SimulatorResponse => ({
  kind: 'stream',
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  pieces,
});
