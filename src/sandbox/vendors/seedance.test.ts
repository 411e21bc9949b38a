import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxContext, videoRequest } from '../../../test/vendors/adapter-context.ts';
import { imagesByUrl, testSimulator } from '../../../test/vendors/shared-simulator-tests.ts';
import { seedance } from '../../server/vendors/seedance/adapter.ts';
import { seedance as simulator } from './seedance.ts';

const model = 'doubao-seedance-1-5-pro-251215';
const { clock, sandbox, context, submit, query } = await testSimulator({
  vendor: seedance,
  simulator,
  models: [model],
  portrait: '720x1280',
});

test('every model works in each of its modes', async () => {
  for (const { id, images } of seedance.models) {
    for (let count = images.min; count <= images.max; count += 1) {
      await submit({ model: id, images: imagesByUrl(count) });
    }
  }
});

test("rejects a wrong key, an unknown model and a wrong field with the vendor's messages", async () => {
  const unauthorized = sandboxContext(sandbox, 'seedance', { credentials: { api_key: 'other' } });
  const refusals = [
    [await seedance.submit(videoRequest({ model }), unauthorized), 'auth', 'AuthenticationError'],
    [await seedance.submit(videoRequest({ model: 'seedance-9' }), context), 'model', 'InvalidEndpointOrModel.NotFound'],
    [await seedance.submit(videoRequest({ model, metadata: { frames: 30 } }), context), 'user', 'InvalidParameter'],
  ] as const;
  for (const [outcome, reason, code] of refusals) {
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], [reason, code]);
    assert.match(outcome.error.message, /Request id/);
  }
  assert.deepEqual(
    [(await seedance.checkCredentials(context)).ok, (await seedance.checkCredentials(unauthorized)).ok],
    [true, false],
  );
});

test('deletes a finished task', async () => {
  const handle = await submit();
  clock.advance(5_000);
  await seedance.deleteTask?.(handle, context);
  assert.equal((await query(handle)).error?.reason, 'missing');
});
