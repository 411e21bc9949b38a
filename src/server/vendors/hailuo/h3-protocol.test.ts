import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { arbitraryMutatedJson } from '../../../../test/arbitrary-mutated-json.ts';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysFailure, saysSuccess } from '../../../../test/vendors/try-mutated-replies.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { MediaInput, QueryOutcome, VideoRequest } from '../adapter.ts';
import { CLASS_BY_TYPE_H3, hailuo, toBodyH3, toErrorH3 } from './adapter.ts';
import { parseMetadata } from './request.ts';

const replies = recordedReplies('hailuo/h3-replies');
const HANDLE = { taskId: '421880017733120', version: 2 };
const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
const body = (request: Partial<VideoRequest>) => {
  const whole = videoRequest({ model: 'MiniMax-H3', ...request });
  return toBodyH3(whole, parseMetadata(whole.metadata));
};

test('prompt and images become one content array', () => {
  const { prompt } = videoRequest({ model: 'x' });
  assert.deepEqual(body({ images: [url('a'), url('b')], seconds: 8, metadata: { aigc_watermark: true } }), {
    model: 'MiniMax-H3',
    content: [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: 'https://images.example/a.png' }, role: 'first_frame' },
      { type: 'image_url', image_url: { url: 'https://images.example/b.png' }, role: 'last_frame' },
    ],
    duration: 8,
    resolution: '2K',
    ratio: 'adaptive',
    aigc_watermark: true,
  });
  const roles = (body({ images: [url('a'), url('b'), url('c')] }).content as { role?: string }[]).map(
    ({ role }) => role,
  );
  assert.deepEqual(roles, [undefined, 'reference_image', 'reference_image', 'reference_image']);
});

test('a size is a class, or determines the ratio', () => {
  const max = body({ model: 'MiniMax-H3-Max', size: '480p' });
  assert.deepEqual([max.model, max.resolution, max.duration], ['MiniMax-H3-Max', '480P', 5]);
  assert.deepEqual([body({ size: '768P' }).resolution, body({ size: '768p' }).ratio], ['768P', '16:9']);
  assert.equal(body({ size: '720x1280' }).ratio, '9:16');
});

const REFUSED: readonly (readonly [Partial<VideoRequest>, string])[] = [
  [{ seconds: 3 }, 'duration'],
  [{ seconds: 16 }, 'duration'],
  [{ size: '1080P' }, 'size'],
  [{ mode: 'std' }, 'mode'],
  [{ model: 'MiniMax-H3-Max', seconds: 4 }, 'duration'],
  [{ model: 'MiniMax-H3-Max', size: '2K' }, 'size'],
  [{ model: 'MiniMax-H3-Max', images: [url('a'), url('b'), url('c')] }, 'images'],
  [{ metadata: { prompt_optimizer: true } }, 'metadata.prompt_optimizer'],
];
for (const [request, param] of REFUSED) {
  test(`${param} of ${JSON.stringify(request)} is refused`, () => {
    assert.throws(
      () => body(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
  });
}

const STATES = {
  queued: 'QUEUED',
  running: 'IN_PROGRESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
  cancelled: 'FAILURE',
  expired: 'FAILURE',
};

for (const [word, state] of Object.entries(STATES)) {
  test(`status ${word} is ${state}`, async () => {
    assert.equal((await hailuo.query(HANDLE, fixedResponseContext({ json: replies[word] }))).state, state);
  });
}

for (const [type, { reason }] of Object.entries(CLASS_BY_TYPE_H3)) {
  test(`error ${type} is ${reason}`, () => {
    const json = { type: 'error', error: { type, message: 'words', http_code: '400' } };
    const error = toErrorH3({ status: 400, headers: {}, text: '', json }, 0);
    assert.deepEqual([error.reason, error.code, error.message], [reason, type, 'words']);
  });
}

test('the number at the end of the message is more specific than the type', () => {
  const json = { error: { type: 'bad_request_error', message: 'input new_sensitive (1026)' } };
  const error = toErrorH3({ status: 400, headers: {}, text: '', json }, 0);
  assert.deepEqual([error.reason, error.code], ['policy', '1026']);
});

test('5,000 mutated responses: no crash, no wrong final state', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryMutatedJson(Object.values(replies)), async (json) => {
      const outcome = await hailuo.query(HANDLE, fixedResponseContext({ json })).catch((error: unknown) => error);
      if (outcome instanceof PollFailed) return;
      assert.ok(!(outcome instanceof Error), String(outcome));
      const { state, artifact } = outcome as QueryOutcome;
      const said = (json as { task: { status: string } }).task.status;
      if (state === 'SUCCESS')
        assert.ok(saysSuccess(said) && artifact?.kind === 'url' && /^https?:/.test(artifact.url));
      if (state === 'FAILURE') assert.ok(saysFailure(said) || saysSuccess(said));
    }),
    { numRuns: 5_000 },
  );
});
