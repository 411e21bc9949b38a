import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Reelgate } from './index.ts';

it('closes the connection of a response that is no stream', async (t) => {
  const cancel = t.mock.fn();
  const response = new Response(new ReadableStream({ cancel }), { headers: { 'content-type': 'text/html' } });
  const reelgate = new Reelgate({ baseUrl: '', credentials: { apiKey: 'sk-a' }, fetch: async () => response });
  await assert.rejects(reelgate.chat.stream({ model: 'm', messages: [] }).next(), { code: 'broken_off' });
  assert.equal(cancel.mock.callCount(), 1);
});
