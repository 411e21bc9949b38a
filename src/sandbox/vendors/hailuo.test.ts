import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxContext, videoRequest } from '../../../test/vendors/adapter-context.ts';
import { imagesByUrl, testSimulator } from '../../../test/vendors/shared-simulator-tests.ts';
import { PollFailed } from '../../server/upstreams/upstream.ts';
import { hailuo } from '../../server/vendors/hailuo/adapter.ts';
import { hailuo as simulator } from './hailuo.ts';

const { clock, sandbox, context, submit, query } = await testSimulator({
  vendor: hailuo,
  simulator,
  models: ['MiniMax-Hailuo-02', 'MiniMax-Hailuo-2.3', 'MiniMax-H3', 'MiniMax-H3-Max'],
});

test('every model works in each of its modes', async () => {
  for (const model of hailuo.models) {
    for (let count = model.images.min; count <= Math.min(2, model.images.max); count += 1) {
      const images = imagesByUrl(count);
      await submit({ model: model.id, images });
      if (model.resolutions.length > 1) await submit({ model: model.id, images, size: model.resolutions[1] ?? '' });
    }
  }
});

for (const [marker, code] of [
  ['[fail]', '1000'],
  ['[filtered]', '1027'],
  ['[cancel]', ''],
  ['[expire]', '1001'],
  ['[vanish]', '2013'],
  ['[empty]', ''],
] as const) {
  test(`a job of the first protocol that ends as ${marker} has the code "${code}"`, async () => {
    const handle = await submit({ prompt: `a boat ${marker}` });
    clock.advance(10_000);
    assert.equal((await query(handle)).error?.code, code);
  });
}

test('reports a wrong key by error code with HTTP 200, or by 401 in the second protocol', async () => {
  for (const [api_key, model, code] of [
    ['nonsense', 'MiniMax-Hailuo-02', '1004'],
    ['sk-other', 'MiniMax-Hailuo-02', '2049'],
    ['sk-other', 'MiniMax-H3', '1004'],
  ] as const) {
    const unauthorized = sandboxContext(sandbox, 'hailuo', { credentials: { api_key } });
    const outcome = await hailuo.submit(videoRequest({ model }), unauthorized);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], ['auth', code]);
    assert.equal((await hailuo.checkCredentials(unauthorized)).ok, false);
  }
  assert.deepEqual(await hailuo.checkCredentials(context), { ok: true });
});

test("rejects values beyond the limits with the vendor's messages", async () => {
  for (const metadata of [{ resolution: '4K' }, { first_frame_image: 'no image' }]) {
    const outcome = await hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02', metadata }), context);
    assert.ok(outcome.kind === 'refused' && /^invalid params/.test(outcome.error.message));
    assert.equal(outcome.error.retryable, false);
  }
});

test('a failed file lookup does not change the task and can be repeated', async () => {
  const handle = await submit();
  clock.advance(5_000);
  sandbox.control.fault({ vendor: 'hailuo', operation: 'other', kind: '503' });
  await assert.rejects(query(handle), PollFailed);
  assert.equal((await query(handle)).state, 'SUCCESS');
});
