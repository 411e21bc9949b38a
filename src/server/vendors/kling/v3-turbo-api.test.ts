import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fixedResponseContext, sandboxContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { manualClock } from '../../../sandbox/jobs.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.ts';
import { kling as simulator } from '../../../sandbox/vendors/kling.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { MediaInput, VideoRequest } from '../adapter.ts';
import { kling } from './adapter.ts';
import { toTurboBody } from './v3-turbo-api.ts';

const TURBO = 'kling-v3-turbo';
const image: MediaInput = { url: 'https://img.example/a.png' };
const clock = manualClock();
let sandbox: Sandbox;
let count = 0;
before(async () => {
  sandbox = await startSandbox({ simulators: [simulator], clock, timing: { queuedMs: 1_000, runningMs: 1_000 } });
});
after(() => sandbox.stop());

const call = () => sandboxContext(sandbox, 'kling');
const toRequest = (more: Partial<VideoRequest> = {}): VideoRequest => {
  count += 1;
  return videoRequest({ model: TURBO, taskId: `task_${String(count).padStart(32, '0')}`, prompt: 'a kite', ...more });
};
const begin = async (more: Partial<VideoRequest> = {}) => {
  const outcome = await kling.submit(toRequest(more), call());
  assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
  return outcome;
};

test('a prompt and an image are mapped to the bodies of the newer API', () => {
  const options = { external_task_id: 'task_x' };
  assert.deepEqual(toTurboBody(toRequest({ taskId: 'task_x', mode: 'pro', seconds: 7, size: '720x1280' })), {
    prompt: 'a kite',
    settings: { resolution: '1080p', duration: 7, aspect_ratio: '9:16' },
    options,
  });
  assert.deepEqual(toTurboBody(toRequest({ taskId: 'task_x', images: [image], size: '720x1280' })), {
    contents: [
      { type: 'prompt', text: 'a kite' },
      { type: 'first_frame', url: 'https://img.example/a.png' },
    ],
    settings: { resolution: '720p', duration: 5 },
    options,
  });
});

test('fields the model does not support are refused before anything is sent', () => {
  for (const [param, more] of [
    ['mode', { mode: '4k' }],
    ['images', { images: [image, image] }],
    ['metadata.sound', { metadata: { sound: 'off' } }],
    ['metadata.negative_prompt', { metadata: { negative_prompt: 'text' } }],
    ['model_name', { officialOperation: 'text2video' }],
  ] as const)
    assert.throws(
      () => toTurboBody(toRequest(more)),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
      param,
    );
});

test('a video is generated, found by our id, and billed by units', async () => {
  for (const more of [
    { mode: 'pro', seconds: 4 },
    { images: [image], seconds: 4, mode: 'pro' },
  ]) {
    const { handle, upstreamId } = await begin(more);
    assert.deepEqual(handle, { family: 'turbo', id: upstreamId });
    assert.equal((await kling.query(handle, call())).state, 'SUBMITTED');
    clock.advance(1_500);
    assert.equal((await kling.query(handle, call())).state, 'IN_PROGRESS');
    clock.advance(1_000);
    const done = await kling.query(handle, call());
    assert.equal(done.state, 'SUCCESS');
    assert.deepEqual(kling.billedFacts?.(done.raw), { units: 4 });
    assert.equal(kling.presentation?.seconds?.(done.raw), '4.1');
    assert.equal(kling.presentation?.completedAt?.(done.raw), Math.floor(clock.now() / 1_000));
    const source = await kling.content(handle, done.raw, undefined, call());
    assert.ok(source.kind === 'fetch' && !source.trusted && source.url.startsWith('http'));
  }
  const request = toRequest();
  sandbox.control.fault({ vendor: 'kling', operation: 'submit', kind: 'drop' });
  await assert.rejects(kling.submit(request, call()), OutboundError);
  const hint = kling.findTaskHint?.(request) ?? null;
  assert.equal(await kling.findTask?.({ taskId: 'task_of_nobody', hint, sentAtMs: clock.now() }, call()), undefined);
  const handle = await kling.findTask?.({ taskId: request.taskId, hint, sentAtMs: clock.now() }, call());
  assert.ok(handle !== undefined);
  clock.advance(5_000);
  assert.equal((await kling.query(handle, call())).state, 'SUCCESS');
});

test('every failure has a reason; unknown words and damaged responses end no task', async () => {
  for (const [marker, state] of [
    ['[fail]', 'FAILURE'],
    ['[filtered]', 'FAILURE'],
    ['[empty]', 'FAILURE'],
    ['[vanish]', 'FAILURE'],
    ['[strange]', 'UNKNOWN'],
  ] as const) {
    const { handle } = await begin({ prompt: `a kite ${marker}` });
    clock.advance(5_000);
    const { state: found, error } = await kling.query(handle, call());
    assert.equal(found, state, marker);
    if (state === 'FAILURE') assert.ok((error?.message.length ?? 0) > 3, marker);
  }
  for (const data of [{}, [], [{ id: 'another', status: 'succeeded' }], [{ id: 7 }]])
    await assert.rejects(
      kling.query({ family: 'turbo', id: '7' }, fixedResponseContext({ json: { code: 0, data } })),
      PollFailed,
      JSON.stringify(data),
    );
});

test('the price depends on the resolution and includes audio', () => {
  const priced = (mode?: string) => kling.billingFactors(toRequest(mode === undefined ? {} : { mode, seconds: 8 }));
  assert.deepEqual(priced(), { seconds: 5, factors: { mode: 'std', audio: 'true' } });
  assert.deepEqual(priced('pro'), { seconds: 8, factors: { mode: 'pro', audio: 'true' } });
});

test('metadata that the newer API does not have is named to the caller', () => {
  assert.deepEqual(kling.droppedMetadata?.(videoRequest({ model: 'kling-v3-turbo' })), [
    'cfg_scale',
    'camera_control',
    'static_mask',
    'dynamic_masks',
    'video_list',
    'element_list',
  ]);
  assert.deepEqual(kling.droppedMetadata?.(videoRequest({ model: 'kling-v1-6' })), []);
});
