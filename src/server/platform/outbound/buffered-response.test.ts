import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { bufferingHandler } from './client.ts';
import type { BufferedResponse, ExchangeControl, OutboundError } from './outbound.ts';

/** The outcome of a response that arrives in these chunks, and whether the exchange was aborted. */
async function receive(chunks: readonly (string | Buffer)[], maxBytes: number, headers: Record<string, string> = {}) {
  let aborted = 0;
  const control = { abort: () => void aborted++, pause() {}, resume() {} } satisfies ExchangeControl;
  const outcome = await new Promise<BufferedResponse | OutboundError>((resolve) => {
    const handler = bufferingHandler(maxBytes, resolve, resolve);
    handler.head(201, headers, control);
    for (const chunk of chunks) handler.chunk(Buffer.from(chunk), control);
    if (aborted === 0) handler.end();
  });
  return { outcome: outcome as Partial<BufferedResponse & OutboundError>, aborted };
}

describe('buffered response', () => {
  it('is complete up to its limit, in any number of chunks', async () => {
    for (const chunks of [['{"a":1}'], ['{"a"', ':1}'], ['{', '"a":1', '}']]) {
      const { outcome, aborted } = await receive(chunks, 7);
      assert.deepEqual(outcome, { status: 201, headers: {}, text: '{"a":1}', json: { a: 1 } });
      assert.equal(aborted, 0);
    }
    assert.deepEqual((await receive([], 7)).outcome, { status: 201, headers: {}, text: '', json: undefined });
  });

  it('is cut off beyond the limit, and the exchange aborted', async () => {
    for (const chunks of [['12345678'], ['1234', '5678'], ['1', '234567', '8']]) {
      const { outcome, aborted } = await receive(chunks, 7);
      assert.deepEqual(outcome, { status: 201, headers: {}, text: '1234567', json: undefined });
      assert.equal(aborted, 1);
    }
  });

  it('is decoded once, from the codings gateways use', async () => {
    const text = JSON.stringify({ a: 'x'.repeat(100) });
    for (const [coding, bytes] of [
      ['gzip', gzipSync(text)],
      [' X-GZIP ', gzipSync(text)],
      ['deflate', deflateSync(text)],
      ['br', brotliCompressSync(text)],
      ['identity', text],
      ['Identity', text],
      ['', text],
    ] as const) {
      const { outcome } = await receive([bytes], 200, { 'content-encoding': coding });
      assert.equal(outcome.text, text, coding);
      assert.deepEqual(outcome.json, JSON.parse(text));
    }
    assert.equal((await receive([], 200, { 'content-encoding': 'gzip' })).outcome.text, '');
  });

  it('fails when it cannot be decoded within its limit', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000));
    assert.ok(bomb.length < 200);
    for (const [coding, bytes] of [
      ['gzip', bomb],
      ['gzip', Buffer.from('no gzip')],
      ['zstd', Buffer.from('x')],
      ['constructor', Buffer.from('x')],
      ['gzip, gzip', bomb],
    ] as const)
      assert.equal((await receive([bytes], 200, { 'content-encoding': coding })).outcome.phase, 'body', coding);
    for (const coding of ['zstd', 'constructor']) {
      const { message } = (await receive([Buffer.from('x')], 200, { 'content-encoding': coding })).outcome;
      assert.match(message ?? '', /not asked for/, coding);
    }
    const long = await receive([Buffer.alloc(201)], 200, { 'content-encoding': 'gzip' });
    assert.deepEqual([long.outcome.phase, long.aborted], ['body', 1], 'what is cut cannot be decoded');
  });

  it('fails together with the exchange', async () => {
    const failure = { phase: 'sent' } as OutboundError;
    await assert.rejects(
      new Promise((resolve, reject) => bufferingHandler(5, resolve, reject).fail(failure)),
      (error) => error === failure,
    );
  });
});
