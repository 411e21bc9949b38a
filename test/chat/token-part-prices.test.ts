import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import type { ChatService } from './chat-fixture.ts';
import { addScriptedModels, startScriptedChat } from './scripted-chat-fixture.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';

const PRICE = {
  input_per_million: 1_000_000,
  output_per_million: 2_000_000,
  cached_input_per_million: 100_000,
  cache_write_per_million: 1_250_000,
  audio_input_per_million: 40_000_000,
  per_call: 3,
  tiers: [{ above_input_tokens: 200_000, input_per_million: 2_000_000 }],
};
const DETAILS = { cached_tokens: 800, cache_write_tokens: 100 };
const USAGE = { prompt_tokens: 1_000, completion_tokens: 10, prompt_tokens_details: DETAILS };
/** A fee of 3, 100 text tokens, 10 output tokens, and cached and written tokens at their own prices. */
const COST = 3 + 100 + 20 + 80 + 125;

describe('separately priced token categories', { concurrency: false }, () => {
  let service: ChatService;
  let upstream: ScriptedUpstream;
  before(async () => {
    ({ service, upstream } = await startScriptedChat(['parts'], { price: PRICE }));
  });
  afterEach(() => assertLedgerConsistent(service.app.database));
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  const ask = async (body: object = {}): Promise<{ reserved: number; charged: number }> => {
    const request = { model: 'parts', messages: [{ role: 'user', content: 'hi'.repeat(1_000) }], ...body };
    const { status } = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/chat/completions', request);
    assert.equal(status, 200);
    const rows = await service.waitUntilSettled();
    return {
      reserved: -(rows.find(({ kind }) => kind === 'reserve')?.amount ?? 0),
      charged: rows.find(({ kind }) => kind === 'settle')?.charged ?? 0,
    };
  };
  const respond = (usage: object): void =>
    upstream.respondWith((response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message: { content: 'one' } }], usage })),
    );

  test('are charged at their own prices and reserved at the highest', async () => {
    respond(USAGE);
    const { reserved, charged } = await ask({ max_tokens: 100 });
    assert.equal(charged, COST);
    assert.ok(reserved >= 3 + 1.25 * 2_000 + 200, `reserved ${reserved}`);
  });

  test('are charged the same way in a stream', async () => {
    upstream.respondWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'one' } }] })}\n\n`);
      response.end(`data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
    });
    const response = await service.stream('hi', { model: 'parts' });
    await response.text();
    const [row] = await service.waitUntilSettled();
    assert.equal(row?.charged, COST);
  });

  test('audio prices are reserved only for calls that may use audio', async () => {
    respond({ prompt_tokens: 1_000, completion_tokens: 1, prompt_tokens_details: { audio_tokens: 500 } });
    assert.ok((await ask({ max_tokens: 10 })).reserved < 10_000);
    const { reserved, charged } = await ask({ max_tokens: 10, modalities: ['text', 'audio'] });
    assert.ok(reserved >= 2_000 * 40, `reserved ${reserved}`);
    assert.equal(charged, 3 + 500 + 500 * 40 + 2);
  });

  // ding113/claude-code-hub #663: images of a model cost ten times as much as its text.
  test('images that were generated are charged at their own price, and reserved at it', async () => {
    const price = {
      input_per_million: 2_000_000,
      output_per_million: 12_000_000,
      image_output_per_million: 120_000_000,
    };
    await addScriptedModels(service.operator, upstream, ['painter'], { price });
    const details = { reasoning_tokens: 337, image_tokens: 2_000 };
    respond({ prompt_tokens: 326, completion_tokens: 2_677, total_tokens: 3_003, completion_tokens_details: details });
    const { reserved, charged } = await ask({ model: 'painter', max_tokens: 3_000 });
    assert.equal(charged, 326 * 2 + 677 * 12 + 2_000 * 120);
    assert.ok(reserved >= 3_000 * 120, `reserved ${reserved}`);
  });
});
