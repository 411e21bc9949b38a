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
import { jimeng as simulator } from '../../../sandbox/vendors/jimeng.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json, VideoRequest } from '../adapter.ts';
import { JIMENG_KEYS, jimeng } from './adapter.ts';

const { sandbox, clock } = await startSimulator(simulator);

const toRequest = (request: Partial<VideoRequest> = {}) => videoRequest({ model: 'jimeng_v30', ...request });
const call = (options: ContextOptions = {}) => sandboxContext(sandbox, 'jimeng', options);
const submit = (request: Partial<VideoRequest> = {}, options: ContextOptions = {}) =>
  jimeng.submit(toRequest(request), call(options));
async function begin(request: Partial<VideoRequest> = {}, options: ContextOptions = {}): Promise<Json> {
  const outcome = await submit(request, options);
  assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
  return outcome.handle;
}
const lastBody = () => JSON.parse(sandbox.control.requests({ operation: 'submit' }).at(-1)?.body.toString() ?? '');

const url = (name: string) => ({ url: `https://media.example.test/${name}.png` }) as const;
const inline = { bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' } as const;

test('a video is followed from submit to its URL, polled by the key it was submitted with', async () => {
  const handle = await begin({ model: 'jimeng_v30_1080p', images: [url('a')] });
  assert.equal((await jimeng.query(handle, call())).state, 'QUEUED');
  clock.advance(1_500);
  assert.equal((await jimeng.query(handle, call())).state, 'IN_PROGRESS');
  clock.advance(1_000);
  const done = await jimeng.query(handle, call());
  assert.ok(done.state === 'SUCCESS' && done.artifact?.kind === 'url');
  assert.equal((await fetch(done.artifact.url)).headers.get('content-type'), 'video/mp4');
  const source = await jimeng.content(handle, done.raw, undefined, call());
  assert.deepEqual(source, { kind: 'fetch', url: done.artifact.url, headers: {}, trusted: false });
  const asked = sandbox.control
    .requests({ operation: 'query' })
    .map((sent) => JSON.parse(sent.body.toString()).req_key);
  assert.deepEqual(new Set(asked), new Set(['jimeng_i2v_first_v30_1080']));
});

/** Model, number of images, key; undefined if that number is not supported. */
const KEYS = [
  ['jimeng_v30', 0, 'jimeng_t2v_v30'],
  ['jimeng_v30', 1, 'jimeng_i2v_first_v30'],
  ['jimeng_v30', 2, 'jimeng_i2v_first_tail_v30'],
  ['jimeng_v30', 3, undefined],
  ['jimeng_v30_1080p', 0, 'jimeng_t2v_v30_1080p'],
  ['jimeng_v30_1080p', 1, 'jimeng_i2v_first_v30_1080'],
  ['jimeng_v30_1080p', 2, 'jimeng_i2v_first_tail_v30_1080'],
  ['jimeng_v30_pro', 0, 'jimeng_ti2v_v30_pro'],
  ['jimeng_v30_pro', 1, 'jimeng_ti2v_v30_pro'],
  ['jimeng_v30_pro', 2, undefined],
  ['jimeng_s20_pro', 0, 'jimeng_vgfm_t2v_l20'],
  ['jimeng_s20_pro', 1, 'jimeng_vgfm_i2v_l20'],
  ['jimeng_t2v_v30', 1, undefined],
  ['jimeng_i2v_first_v30', 0, undefined],
  ['jimeng_i2v_first_tail_v30', 2, 'jimeng_i2v_first_tail_v30'],
  ['jimeng_i2v_first_tail_v30', 1, undefined],
] as const;
test('the number of images determines the key', async () => {
  for (const [model, count, key] of KEYS) {
    const images = [url('a'), url('b'), url('c')].slice(0, count);
    if (key === undefined)
      await assert.rejects(submit({ model, images }), UnsupportedRequestError, `${model} ${count}`);
    else {
      await begin({ model, images });
      assert.equal(lastBody().req_key, key);
    }
  }
});

test('every model of the list has its key and its price', () => {
  assert.deepEqual(new Set(jimeng.models.map((model) => model.id)), new Set(Object.keys(JIMENG_KEYS)));
  for (const model of jimeng.models) assert.ok(model.images.min >= 0 && (model.price.per_second ?? 0) > 0, model.id);
});

test('common fields and the metadata table are mapped to the vendor’s body', async () => {
  await begin();
  assert.deepEqual(lastBody(), { prompt: 'A paper boat drifting down a rainy street', req_key: 'jimeng_t2v_v30' });
  const metadata = {
    seed: 7,
    host: 'evil.test',
    req_key: 'x',
    image_urls: ['http://evil.test'],
    callback_url: 'http://x',
  };
  await begin({ seconds: 10, size: '720x1280', metadata });
  assert.deepEqual(lastBody(), {
    prompt: 'A paper boat drifting down a rainy street',
    seed: 7,
    frames: 241,
    aspect_ratio: '9:16',
    req_key: 'jimeng_t2v_v30',
  });
  await begin({ seconds: 5, size: '720P', metadata: { aspect_ratio: '21:9' } });
  assert.deepEqual([lastBody().frames, lastBody().aspect_ratio], [121, '21:9']);
  await begin({ metadata: { frames: 241 } });
  assert.equal(lastBody().frames, 241);
  const extra = [
    { path: 'template_id', value: 'handheld' },
    { path: 'camera_strength', value: 'weak' },
    { path: 'req_key', value: 'jimeng_vgfm_t2v_l20' },
  ];
  await begin({ model: 'jimeng_i2v_recamera_v30', images: [url('a')], extraFields: extra });
  assert.deepEqual([lastBody().template_id, lastBody().req_key], ['handheld', 'jimeng_i2v_recamera_v30']);
});

test('images are sent as URLs or as Base64, never mixed', async () => {
  await begin({ images: [url('a'), url('b')] });
  assert.deepEqual(lastBody().image_urls, [url('a').url, url('b').url]);
  await begin({
    images: [inline, { bytes: Buffer.from('x'), mediaType: 'image/png', filename: 'a.png' }],
  });
  assert.deepEqual([lastBody().binary_data_base64, lastBody().image_urls], [['iVBORw0KGgo=', 'eA=='], undefined]);
  const isByValue = (images: VideoRequest['images']) =>
    jimeng.takesByValue?.('image', videoRequest({ model: 'jimeng_v30', images }));
  assert.deepEqual([isByValue([url('a'), url('b')]), isByValue([url('a'), inline])], [false, true]);
});

test('fields that cannot be expressed are refused before anything is sent', async () => {
  const refused: readonly (readonly [Partial<VideoRequest>, string])[] = [
    [{ mode: 'pro' }, 'mode'],
    [{ size: '1080P' }, 'size'],
    [{ size: '1024x1536' }, 'size'],
    [{ seconds: 5, metadata: { frames: 241 } }, 'metadata.frames'],
    [{ metadata: { frames: 0 } }, 'metadata.frames'],
    [{ metadata: { seed: '7' } }, 'metadata.seed'],
    [{ model: 'jimeng_s20_pro', seconds: 10 }, 'duration'],
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

test('the official body is sent unchanged, and its price follows its frames', async () => {
  const official = { req_key: 'jimeng_ti2v_v30_pro', prompt: 'x', frames: 241, image_urls: [url('a').url], seed: -1 };
  const request = { model: 'jimeng_ti2v_v30_pro', images: [url('a')], officialBody: official };
  await begin(request);
  assert.deepEqual(lastBody(), official);
  assert.deepEqual(jimeng.billingFactors(toRequest(request)), { seconds: 10, factors: { resolution: '1080p' } });
  assert.deepEqual(jimeng.billingFactors(toRequest()), { seconds: 5, factors: { resolution: '720p' } });
  assert.throws(() => jimeng.billingFactors(toRequest({ officialBody: { frames: '241' } })), UnsupportedRequestError);
  assert.throws(() => jimeng.billingFactors(toRequest({ officialBody: { frames: -1 } })), UnsupportedRequestError);
});

test('the credential check verifies the keys at the vendor', async () => {
  assert.deepEqual(await jimeng.checkCredentials(call()), { ok: true });
  const wrong = [
    { access_key: 'AKLTsandboxjimeng', secret_key: 'wrong' },
    { access_key: 'wrong', secret_key: 'c2FuZGJveC1qaW1lbmctc2VjcmV0' },
  ];
  for (const credentials of wrong) {
    const response = await jimeng.checkCredentials(call({ credentials }));
    assert.ok(!response.ok && response.error.reason === 'auth' && response.error.retryable, JSON.stringify(response));
  }
  const late = await jimeng.checkCredentials({ ...call(), now: () => clock.now() - 3_600_000 });
  assert.ok(!late.ok && late.error.code === 'InvalidTimestamp');
});

/** The vendor's table: HTTP status, code, its meaning, and whether another channel is tried. */
const ERRORS = [
  [400, 50411, 'policy', false],
  [400, 50412, 'policy', false],
  [400, 50413, 'policy', false],
  [400, 50511, 'policy', false],
  [400, 50512, 'policy', false],
  [400, 50516, 'policy', false],
  [400, 50517, 'policy', false],
  [400, 50518, 'policy', false],
  [400, 50519, 'policy', false],
  [400, 50520, 'capacity', false],
  [400, 50521, 'capacity', false],
  [400, 50522, 'capacity', false],
  [429, 50429, 'rate', true],
  [429, 50430, 'rate', true],
  [500, 50500, 'capacity', true],
  [500, 50501, 'capacity', true],
  [400, 50200, 'user', false],
  [400, 50215, 'user', false],
  [403, 50400, 'model', true],
  [200, 50413, 'policy', false],
  [200, 50430, 'rate', true],
  [502, 59999, 'capacity', true],
] as const;
test('errors at submit are classified by the vendor’s table', async () => {
  for (const [status, code, reason, retryable] of ERRORS) {
    const json = { code, data: null, message: 'why', request_id: 'r', status: code };
    const outcome = await jimeng.submit(toRequest(), fixedResponseContext({ status, json }));
    assert.ok(outcome.kind === 'refused');
    const { error } = outcome;
    assert.deepEqual(
      [error.reason, error.retryable, error.code, error.message],
      [reason, retryable, String(code), 'why'],
      `${status} ${code}`,
    );
  }
  for (const status of [401, 403, 200]) {
    const json = { ResponseMetadata: { Error: { CodeN: 100_010, Code: 'SignatureDoesNotMatch', Message: 'why' } } };
    const outcome = await jimeng.submit(toRequest(), fixedResponseContext({ status, json }));
    assert.ok(outcome.kind === 'refused' && outcome.error.reason === 'auth' && outcome.error.message === 'why');
  }
});

test('the vendor’s status words end jobs as failed; an unknown word ends none', async () => {
  const ends = [
    ['[fail]', 'FAILURE', '50500', 'capacity'],
    ['[filtered]', 'FAILURE', '50516', 'policy'],
    ['[expire]', 'FAILURE', '10000', 'other'],
    ['[vanish]', 'FAILURE', '10000', 'missing'],
    ['[empty]', 'FAILURE', '10000', 'other'],
    ['[strange]', 'UNKNOWN', undefined, undefined],
    ['[stuck]', 'IN_PROGRESS', undefined, undefined],
  ] as const;
  for (const [prompt, state, code, reason] of ends) {
    const handle = await begin({ prompt });
    clock.advance(5_000);
    const outcome = await jimeng.query(handle, call());
    assert.deepEqual([outcome.state, outcome.error?.code, outcome.error?.reason], [state, code, reason], prompt);
  }
});

test('an id in the vendor’s own response does not make it a gateway’s', async () => {
  const handle = { reqKey: 'jimeng_t2v_v30', id: '77' };
  const url = 'https://cdn.example.test/film.mp4';
  for (const [data, state] of [
    [{ task_id: '', status: 'done', video_url: url }, 'SUCCESS'],
    [{ task_id: '77', status: 'not_found' }, 'FAILURE'],
  ] as const) {
    const context = fixedResponseContext({ json: { code: 10_000, message: 'Success', data } });
    assert.equal((await jimeng.query(handle, context)).state, state);
  }
});

test('a refused or unreadable poll does not change the task', async () => {
  const handle = await begin();
  for (const kind of [...MEANINGLESS_POLLS, '403', 'rate', 'billing'] as const) {
    sandbox.control.fault({ kind, operation: 'query' });
    await assert.rejects(jimeng.query(handle, call()), PollFailed, kind);
  }
  assert.equal((await jimeng.query(handle, call())).state, 'QUEUED');
});

test('a submit whose response is lost or unreadable is ambiguous, never refused', async () => {
  await assertAmbiguousSubmits(sandbox, submit);
});

test('mutated responses neither crash nor end a task', async () => {
  await tryMutatedReplies(jimeng, {
    handle: { reqKey: 'jimeng_t2v_v30', id: '7591596536074305586' },
    model: 'jimeng_t2v_v30',
    replies: ['in-queue', 'generating', 'done', 'not-found', 'policy', 'signature'],
    submits: ['accepted', 'policy', 'signature'],
    mayEnd(state, reply, status) {
      const { code, data } = (reply ?? {}) as { code?: unknown; data?: { status?: unknown; video_url?: unknown } };
      const word = data?.status;
      const isOk = ['10000', '0', '200'].includes(String(code).trim()) || saysSuccess(code);
      const isDone = saysSuccess(word);
      if (state === 'SUCCESS') {
        return status < 300 && isOk && isDone && /^https?:/.test(String(data?.video_url));
      }
      if (isOk) return status < 300 && (word === 'not_found' || saysFailure(word) || (isDone && !data?.video_url));
      return Number(code) === 50_413 || ((isDone || saysFailure(word)) && /^\d+$/.test(String(code)));
    },
  });
});
