import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ContextOptions,
  fixedResponseContext,
  sandboxContext,
  videoRequest,
} from '../../../../test/vendors/adapter-context.ts';
import {
  assertAmbiguousSubmits,
  MEANINGLESS_POLLS,
  startSimulator,
} from '../../../../test/vendors/simulator-fixture.ts';
import { saysFailure, saysSuccess, tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { kling as simulator } from '../../../sandbox/vendors/kling.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json, VideoRequest } from '../adapter.ts';
import { kling, signToken } from './adapter.ts';

const { sandbox, clock } = await startSimulator(simulator);

let tasks = 0;
const toRequest = (request: Partial<VideoRequest> = {}): VideoRequest => {
  tasks += 1;
  return videoRequest({ model: 'kling-v1-6', taskId: `task_${tasks}`, ...request });
};
const call = (options: ContextOptions = {}) => sandboxContext(sandbox, 'kling', options);
const submit = (request: Partial<VideoRequest> = {}) => kling.submit(toRequest(request), call());
async function begin(request: Partial<VideoRequest> = {}): Promise<Json> {
  const outcome = await submit(request);
  assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
  return outcome.handle;
}
const lastSubmit = () => sandbox.control.requests({ operation: 'submit' }).at(-1);
const lastBody = () => JSON.parse(lastSubmit()?.body.toString() ?? '');

const url = (name: string) => ({ url: `https://media.example.test/${name}.png` }) as const;

test('the token matches the vendor’s own recipe', () => {
  assert.equal(
    signToken('ak-example', 'sk-example-secret', 1_767_325_445, 1_767_323_640),
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJhay1leGFtcGxlIiwiZXhwIjoxNzY3MzI1NDQ1LCJuYmYiOjE3NjczMjM2NDB9.kizQeNnL50TYAnjp0iy6o-gjTq6EST6dOmY6pZu8wDc',
  );
});

test('a video is followed from submit to its URL, polled in the family it was submitted to', async () => {
  for (const [images, family] of [
    [[], 'text2video'],
    [[url('a')], 'image2video'],
  ] as const) {
    const handle = await begin({ images });
    assert.equal(lastSubmit()?.path, `/v1/videos/${family}`);
    assert.equal((await kling.query(handle, call())).state, 'SUBMITTED');
    clock.advance(1_500);
    assert.equal((await kling.query(handle, call())).state, 'IN_PROGRESS');
    clock.advance(1_000);
    const done = await kling.query(handle, call());
    assert.equal(done.state, 'SUCCESS');
    assert.ok(done.artifact?.kind === 'url');
    assert.equal((await fetch(done.artifact.url)).headers.get('content-type'), 'video/mp4');
    const source = await kling.content(handle, done.raw, undefined, call());
    assert.deepEqual(source, { kind: 'fetch', url: done.artifact.url, headers: {}, trusted: false });
  }
});

test('common fields and the metadata table are mapped to the vendor’s body', async () => {
  await begin({ taskId: 'task_plain' });
  assert.deepEqual(lastBody(), {
    model_name: 'kling-v1-6',
    prompt: 'A paper boat drifting down a rainy street',
    mode: 'std',
    duration: '5',
    external_task_id: 'task_plain',
  });
  await begin({
    taskId: 'task_full',
    seconds: 10,
    mode: 'pro',
    size: '720x1280',
    metadata: {
      negative_prompt: 'text',
      cfg_scale: 0,
      camera_control: { type: 'simple', config: { zoom: 5, host: 'evil.test' }, base_url: 'http://evil.test' },
      model_name: 'kling-v3',
      callback_url: 'http://evil.test',
      external_task_id: 'mine',
    },
  });
  assert.deepEqual(lastBody(), {
    model_name: 'kling-v1-6',
    prompt: 'A paper boat drifting down a rainy street',
    negative_prompt: 'text',
    cfg_scale: 0,
    camera_control: { type: 'simple', config: { zoom: 5 } },
    mode: 'pro',
    duration: '10',
    aspect_ratio: '9:16',
    external_task_id: 'task_full',
  });
  await begin({ size: '1280x720', metadata: { aspect_ratio: '1:1' } });
  assert.equal(lastBody().aspect_ratio, '1:1');
});

test('images are URLs or bare Base64; a second one is the last frame', async () => {
  await begin({ images: [{ bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' }, url('end')] });
  assert.deepEqual([lastBody().image, lastBody().image_tail], ['iVBORw0KGgo=', url('end').url]);
  await begin({ images: [url('a')], metadata: { image_tail: 'data:image/png;base64,iVBORw0KGgo=' } });
  assert.equal(lastBody().image_tail, 'iVBORw0KGgo=');
  await begin({ images: [{ bytes: Buffer.from('x'), mediaType: 'image/png', filename: 'a.png' }] });
  assert.equal(lastBody().image, 'eA==');
  const trajectories = [
    { x: 1, y: 2 },
    { x: 3, y: 4 },
  ];
  const masks = [{ mask: 'https://m.test/d.png', trajectories, api_key: 'x' }];
  await begin({ images: [url('a')], metadata: { static_mask: 'https://m.test/s.png', dynamic_masks: masks } });
  assert.deepEqual(lastBody().dynamic_masks, [{ mask: 'https://m.test/d.png', trajectories }]);
});

test('fields that cannot be expressed are refused before anything is sent', async () => {
  const refused: readonly (readonly [Partial<VideoRequest>, string])[] = [
    [{ mode: 'turbo' }, 'mode'],
    [{ size: '720P' }, 'size'],
    [{ size: '1024x1536' }, 'size'],
    [{ images: [url('a'), url('b'), url('c')] }, 'images'],
    [{ images: [url('a'), url('b')], metadata: { image_tail: 'https://x.test' } }, 'metadata.image_tail'],
    [{ images: [{ bytes: Buffer.alloc(10_050_000), mediaType: 'image/png' }] }, 'image'],
    [{ metadata: { cfg_scale: '0.5' } }, 'metadata.cfg_scale'],
    [{ metadata: { camera_control: [] } }, 'metadata.camera_control'],
    [{ extraFields: [{ path: '__proto__.x', value: 1 }] }, '__proto__.x'],
  ];
  for (const [request, param] of refused) {
    await assert.rejects(
      submit(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
      param,
    );
  }
  assert.equal(sandbox.control.requests().length, 0);
});

test('the official body is sent unchanged except for model and task id', async () => {
  const official = {
    model_name: 'alias',
    prompt: 'x',
    duration: '10',
    sound: 'on',
    mode: 'pro',
    external_task_id: 'mine',
  };
  await begin({ model: 'kling-v2-6', taskId: 'task_ours', officialBody: official, officialOperation: 'text2video' });
  assert.deepEqual(lastBody(), { ...official, model_name: 'kling-v2-6', external_task_id: 'task_ours' });
  await begin({ officialBody: { image: 'https://m.test/a.png' } });
  assert.equal(lastSubmit()?.path, '/v1/videos/image2video');
});

test('the price follows the request as sent', () => {
  const meter = (request: Partial<VideoRequest>) => kling.billingFactors(toRequest(request));
  assert.deepEqual(meter({}), { seconds: 5, factors: { mode: 'std', audio: 'false' } });
  assert.deepEqual(meter({ officialBody: { prompt: 'x', duration: '10', mode: 'pro', sound: 'on' } }), {
    seconds: 10,
    factors: { mode: 'pro', audio: 'true' },
  });
  assert.equal(meter({ extraFields: [{ path: 'duration', value: '10' }] }).seconds, 10);
  assert.throws(() => meter({ officialBody: { duration: 'a minute' } }), UnsupportedRequestError);
});

test('audio is enabled by metadata, priced, and refused for models without it', async () => {
  const request = { model: 'kling-v3', metadata: { sound: true } };
  assert.equal(kling.billingFactors(videoRequest(request)).factors.audio, 'true');
  assert.equal(kling.billingFactors(videoRequest({ ...request, metadata: { sound: 'off' } })).factors.audio, 'false');
  const refused = (given: Partial<VideoRequest> & { readonly model: string }) =>
    assert.throws(() => kling.billingFactors(videoRequest(given)), {
      name: UnsupportedRequestError.name,
      param: 'metadata.sound',
    });
  refused({ model: 'kling-v1-6', metadata: { sound: 'on' } });
  refused({ model: 'kling-v2-6', metadata: { sound: true } });
  assert.equal(
    kling.billingFactors(videoRequest({ ...request, model: 'kling-v2-6', mode: 'pro' })).factors.audio,
    'true',
  );
});

test('a job whose response was lost is found by our own id, in its family', async () => {
  const request = toRequest({ images: [url('a')] });
  const hint = kling.findTaskHint?.(request) ?? null;
  assert.equal(hint, 'image2video');
  assert.equal(await kling.findTask?.({ taskId: request.taskId, hint, sentAtMs: clock.now() }, call()), undefined);
  sandbox.control.fault({ kind: 'drop', operation: 'submit' });
  await assert.rejects(
    kling.submit(request, call()),
    (error) => error instanceof OutboundError && error.mayHaveArrived,
  );
  const handle = await kling.findTask?.({ taskId: request.taskId, hint, sentAtMs: clock.now() }, call());
  assert.equal((await kling.query(handle ?? null, call())).state, 'SUBMITTED');
  sandbox.control.fault({ kind: '503', operation: 'query' });
  await assert.rejects(
    async () => kling.findTask?.({ taskId: request.taskId, hint, sentAtMs: clock.now() }, call()),
    PollFailed,
  );
});

test('a token serves many calls and is requested again once when the vendor calls it expired', async () => {
  const kept = call();
  await kling.query(await begin(), kept);
  await kling.query(await begin(), kept);
  const tokens = () =>
    new Set(sandbox.control.requests({ operation: 'query' }).map((sent) => sent.headers.authorization));
  assert.equal(tokens().size, 1);
  // A clock that is behind or ahead produces tokens that are
  // refused: they are signed once more by the vendor's own clock.
  const behind = { ...kept, now: () => clock.now() - 2_000_000 };
  const outcome = await kling.submit(toRequest(), behind);
  assert.ok(outcome.kind === 'accepted', 'the kept token still serves');
  const fresh = { ...call(), now: behind.now };
  sandbox.control.clearRequests();
  assert.equal((await kling.submit(toRequest(), fresh)).kind, 'accepted');
  assert.equal((await kling.submit(toRequest(), { ...call(), now: () => clock.now() + 90_000 })).kind, 'accepted');
  assert.equal(sandbox.control.requests({ operation: 'submit' }).length, 4);
  // No clock is a day off: such a token stays refused, and the call is reported as an error.
  const nonsense = { ...call(), now: () => clock.now() - 2 * 86_400_000 };
  const refused = await kling.submit(toRequest(), nonsense);
  assert.ok(refused.kind === 'refused' && refused.error.code === '1004' && refused.error.reason === 'auth');
});

test('a token the vendor calls expired is replaced and the call is repeated', async () => {
  const tokens: (string | undefined)[] = [];
  let nowMs = 1_000_000;
  const outcome = await kling.submit(toRequest(), {
    ...fixedResponseContext({}),
    credentials: { access_key: 'a', secret_key: 's' },
    now: () => nowMs,
    async sendJson({ headers }) {
      tokens.push(headers?.authorization);
      nowMs += 60_000;
      const json = tokens.length === 1 ? { code: 1004, message: 'expired' } : { code: 0, data: { task_id: 't1' } };
      return { status: tokens.length === 1 ? 401 : 200, headers: {}, text: '', json };
    },
  });
  assert.deepEqual([outcome.kind, new Set(tokens).size], ['accepted', 2]);
});

test('an opaque key is its own token; wrong keys are reported as such', async () => {
  const opaque = call({ credentials: { api_key: 'api-key-kling-sandbox-0123456789' } });
  assert.deepEqual(await kling.checkCredentials(opaque), { ok: true });
  assert.deepEqual(await kling.checkCredentials(call()), { ok: true });
  for (const credentials of [
    { api_key: 'wrong' },
    { access_key: 'ak-sandbox-kling', secret_key: 'wrong' },
    { access_key: 'wrong', secret_key: 'sk-sandbox-kling-0123456789abcdef' },
  ]) {
    const response = await kling.checkCredentials(call({ credentials }));
    assert.ok(!response.ok && response.error.code === '1002' && response.error.reason === 'auth');
  }
});

/** The vendor's table: HTTP status, code, its meaning, and whether another channel is tried. */
const ERRORS = [
  [401, 1000, 'auth', true],
  [401, 1001, 'auth', true],
  [401, 1002, 'auth', true],
  [401, 1003, 'auth', true],
  [401, 1004, 'auth', true],
  [429, 1100, 'auth', true],
  [429, 1101, 'billing', true],
  [429, 1102, 'billing', true],
  [403, 1103, 'model', true],
  [400, 1200, 'user', false],
  [400, 1201, 'user', false],
  [404, 1202, 'user', false],
  [404, 1203, 'model', true],
  [400, 1300, 'policy', false],
  [400, 1301, 'policy', false],
  [429, 1302, 'rate', true],
  [429, 1303, 'rate', true],
  [429, 1304, 'auth', true],
  [500, 5000, 'capacity', true],
  [503, 5001, 'capacity', true],
  [504, 5002, 'capacity', true],
  [200, 1301, 'policy', false],
  [418, 9999, 'user', false],
  [502, 9999, 'capacity', true],
] as const;
test('errors at submit are classified by the vendor’s table', async () => {
  for (const [status, code, reason, retryable] of ERRORS) {
    const json = { code, message: 'why', request_id: 'r', data: null };
    const outcome = await kling.submit(toRequest(), fixedResponseContext({ status, json }));
    assert.ok(outcome.kind === 'refused');
    const { error } = outcome;
    assert.deepEqual(
      [error.reason, error.retryable, error.code, error.message],
      [reason, retryable, String(code), 'why'],
      `${status} ${code}`,
    );
  }
});

test('the vendor’s status words end jobs as failed; an unknown word ends none', async () => {
  const ends = [
    ['[fail]', 'FAILURE', 'Task processing failed, please try again'],
    ['[filtered]', 'FAILURE', 'Failure to pass the risk control system'],
    ['[empty]', 'FAILURE', 'The upstream says that the task succeeded, but gives no video.'],
    ['[vanish]', 'FAILURE', 'the requested resource does not exist'],
    ['[strange]', 'UNKNOWN', undefined],
    ['[stuck]', 'IN_PROGRESS', undefined],
  ] as const;
  for (const [prompt, state, message] of ends) {
    const handle = await begin({ prompt });
    clock.advance(5_000);
    const outcome = await kling.query(handle, call());
    assert.deepEqual([outcome.state, outcome.error?.message], [state, message], prompt);
  }
});

test('a refused or unreadable poll does not change the task', async () => {
  const handle = await begin();
  const other = await begin();
  for (const kind of [...MEANINGLESS_POLLS, '403', '504', 'billing'] as const) {
    sandbox.control.fault({ kind, operation: 'query' });
    await assert.rejects(kling.query(handle, call()), PollFailed, kind);
  }
  await kling.query(other, call());
  sandbox.control.fault({ kind: 'duplicate', operation: 'query' });
  await assert.rejects(kling.query(handle, call()), PollFailed, 'a response about another task');
  clock.advance(5_000);
  sandbox.control.fault({ kind: 'reordered', operation: 'query' });
  assert.equal((await kling.query(handle, call())).state, 'IN_PROGRESS');
  assert.equal((await kling.query(handle, call())).state, 'SUCCESS');
});

test('a submit whose response is lost or unreadable is ambiguous, never refused', async () => {
  await assertAmbiguousSubmits(sandbox, submit);
});

test('mutated responses neither crash nor end a task', async () => {
  const id = 'CjMT7WdSwWcAAAAAALvB3g01';
  await tryMutatedReplies(kling, {
    handle: { family: 'text2video', id },
    model: 'kling-v1-6',
    replies: ['submitted', 'processing', 'succeed', 'failed', 'too-many', 'unknown'],
    submits: ['submitted', 'too-many'],
    mayEnd(state, reply, status) {
      const { code = 0, data } = (reply ?? {}) as {
        code?: unknown;
        data?: { task_id?: unknown; task_status?: unknown; task_result?: { videos?: { url?: unknown }[] } };
      };
      if (String(code) === '1203') return state === 'FAILURE';
      const isSuccess =
        code === null ||
        ['', '0', '200'].includes(JSON.stringify(code).replaceAll('"', '').trim()) ||
        saysSuccess(code);
      if (status >= 300 || !isSuccess || (data?.task_id || id) !== id) return false;
      const urls = [data?.task_result?.videos ?? []].flat().map((video) => video?.url);
      if (state === 'SUCCESS')
        return saysSuccess(data?.task_status) && urls.some((url) => /^https?:/.test(String(url)));
      return saysFailure(data?.task_status) || (saysSuccess(data?.task_status) && urls.every((url) => !url));
    },
  });
});

test('the omni endpoint receives frames and references in one list, and is polled at its own path', async () => {
  const handle = await begin({ model: 'kling-v3-omni', images: [url('a'), url('b')], mode: '4k', seconds: 12 });
  assert.deepEqual(
    handle && typeof handle === 'object' && 'family' in handle ? handle.family : undefined,
    'omni-video',
  );
  const { image_list: frames, mode, duration } = lastBody();
  assert.deepEqual(frames, [
    { image_url: 'https://media.example.test/a.png', type: 'first_frame' },
    { image_url: 'https://media.example.test/b.png', type: 'end_frame' },
  ]);
  assert.deepEqual([mode, duration], ['4k', '12']);
  assert.match(lastSubmit()?.path ?? '', /\/v1\/videos\/omni-video$/);
  clock.advance(60_000);
  const outcome = await kling.query(handle, call());
  assert.equal(outcome.state, 'SUCCESS');
  assert.deepEqual(kling.billedFacts?.(outcome.raw), { units: 36 });
  await begin({ model: 'kling-video-o1', images: ['a', 'b', 'c'].map(url) });
  assert.deepEqual(
    lastBody().image_list.map(({ type }: { type?: string }) => type),
    [undefined, undefined, undefined],
  );
  await begin({
    model: 'kling-video-o1',
    metadata: { video_list: [{ video_url: 'https://media.example.test/v.mp4', refer_type: 'base' }] },
  });
  assert.equal(lastBody().video_list[0].refer_type, 'base');
  await assert.rejects(submit({ model: 'kling-video-o1', mode: '4k' }), UnsupportedRequestError);
  await assert.rejects(submit({ model: 'kling-v3', images: ['a', 'b', 'c'].map(url) }), UnsupportedRequestError);
});

test('a model that only generates videos from images is not called without one', async () => {
  const before = sandbox.control.requests({ operation: 'submit' }).length;
  for (const model of ['kling-v1-5', 'kling-v2-1']) {
    await assert.rejects(submit({ model }), { name: 'UnsupportedRequestError', param: 'images' });
    const official = {
      officialOperation: 'text2video',
      officialBody: { prompt: 'x', image: 'https://media.example.test/a.png' },
    };
    await assert.rejects(submit({ model, ...official }), { name: 'UnsupportedRequestError', param: 'model_name' });
    assert.equal((await submit({ model, images: [url('a')] })).kind, 'accepted');
  }
  assert.equal(sandbox.control.requests({ operation: 'submit' }).length, before + 2);
});

test('of several videos the first with a URL is used; null counts as absent', async () => {
  const url = 'https://cdn.example.test/b.mp4';
  const task = {
    task_id: 'k1',
    task_status: 'Succeed',
    task_result: { videos: [{ url: '' }, { url: null }, { url }] },
  };
  const json = { code: '0', message: null, error: null, data: task };
  const { artifact } = await kling.query({ family: 'text2video', id: 'k1' }, fixedResponseContext({ json }));
  assert.deepEqual(artifact, { kind: 'url', url });
});

test('the marked film is delivered where there is no other', async () => {
  const watermark_url = 'https://store.example/marked.mp4';
  const answer = (videos: unknown) => ({
    code: 0,
    data: { task_id: 'job', task_status: 'succeed', task_result: { videos } },
  });
  const deliver = async (videos: unknown) => {
    const context = fixedResponseContext({ json: answer(videos) });
    const { state, artifact, raw } = await kling.query({ family: 'text2video', id: 'job' }, context);
    const source = await kling.content({ family: 'text2video', id: 'job' }, raw, undefined, context);
    return [state, artifact?.kind === 'url' && artifact.url, source.kind === 'fetch' && source.url];
  };
  assert.deepEqual(await deliver([{ url: '', watermark_url }]), ['SUCCESS', watermark_url, watermark_url]);
  const url = 'https://store.example/a.mp4';
  assert.deepEqual(await deliver([{ watermark_url }, { url, watermark_url }]), ['SUCCESS', url, url]);
});

test('a reason is found where relays put it, and is a policy refusal if its text says so', async () => {
  for (const place of [{ fail_reason: '内容违规' }, { error: 'blocked: sensitive content' }, { err_msg: 'nsfw' }]) {
    const json = { code: 0, data: { task_id: 'k1', task_status: 'FAILED', task_status_msg: null, ...place } };
    const { error } = await kling.query({ family: 'text2video', id: 'k1' }, fixedResponseContext({ json }));
    assert.deepEqual([error?.reason, error?.message], ['policy', Object.values(place)[0]]);
  }
});

test('the end of a task is read from seconds, milliseconds and text', () => {
  for (const updated_at of [1795844300123, 1795844300, '1795844300123'])
    assert.equal(kling.presentation?.completedAt?.({ data: { updated_at } }), 1795844300);
});
