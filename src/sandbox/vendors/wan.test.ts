import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxContext, videoRequest } from '../../../test/vendors/adapter-context.ts';
import { imagesByUrl, testSimulator } from '../../../test/vendors/shared-simulator-tests.ts';
import { wan } from '../../server/vendors/wan/adapter.ts';
import { wan as simulator } from './wan.ts';

const model = 'wan2.5-t2v-preview';
const { clock, sandbox, context, submit, query } = await testSimulator({
  vendor: wan,
  simulator,
  models: [model],
  portrait: '720x1280',
});

test('every model works in each of its modes, to the end', async () => {
  for (const { id, images, sizes } of wan.models) {
    // A reference may also be a video, so these models need no image, but one of both.
    const least = id.includes('r2v') ? 1 : images.min;
    for (let count = least; count <= images.max; count += 1) {
      for (const size of [undefined, sizes.at(-1)]) {
        const handle = await submit({
          model: id,
          images: imagesByUrl(count),
          ...(id === 'wan2.7-videoedit' ? { metadata: { input: { video_url: 'https://videos.example/a.mp4' } } } : {}),
          ...(size === undefined ? {} : { size }),
        });
        clock.advance(2_000);
        const { state, error } = await query(handle);
        assert.equal(state, 'SUCCESS', `${id} with ${count} images at ${size}: ${error?.message}`);
      }
    }
  }
});

test('a job that has not started is cancelled; a running one is not', async () => {
  for (const [waitedMs, ends] of [
    [0, 'FAILURE'],
    [1_500, 'SUCCESS'],
  ] as const) {
    const handle = await submit();
    clock.advance(waitedMs);
    await wan.deleteTask?.(handle, context);
    clock.advance(2_000);
    assert.equal((await query(handle)).state, ends);
  }
});

test('errors the vendor does not detect at submission fail the task later', async () => {
  const handle = await submit({ extraFields: [{ path: 'parameters.duration', value: 7 }] });
  clock.advance(2_000);
  const { state, error } = await query(handle);
  assert.deepEqual(
    [state, error?.code, error?.message],
    ['FAILURE', 'InvalidParameter', 'duration customization is not supported'],
  );
});

test("rejects a wrong key, an unknown model and a synchronous call with the vendor's messages", async () => {
  const unauthorized = sandboxContext(sandbox, 'wan', { credentials: { api_key: 'other' } });
  const refusals = [
    [await wan.submit(videoRequest({ model }), unauthorized), 'auth', 'InvalidApiKey'],
    [await wan.submit(videoRequest({ model: 'wan0-t2v', images: [] }), context), 'model', 'ModelNotFound'],
  ] as const;
  for (const [outcome, reason, code] of refusals) {
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], [reason, code]);
  }
  assert.deepEqual(
    [(await wan.checkCredentials(context)).ok, (await wan.checkCredentials(unauthorized)).ok],
    [true, false],
  );
  const response = await fetch(`${sandbox.url('wan')}/api/v1/services/aigc/video-generation/video-synthesis`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(sandbox.credentials('wan').api_key)}` },
    body: '{}',
  });
  assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [403, 'AccessDenied']);
});
