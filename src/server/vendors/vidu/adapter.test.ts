import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysFailure, saysSuccess, tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { sortImages } from '../../../contract/generation-ways.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json, MediaInput, VideoRequest } from '../adapter.ts';
import { parseViduError, pathOf, toViduRequest, VIDU_ERROR_CLASSES, vidu } from './adapter.ts';

const replies = recordedReplies('vidu');
const ID = '899337450122121216';
const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
const body = (request: Partial<VideoRequest>) =>
  toViduRequest(videoRequest({ model: 'viduq2-turbo', ...request })).body;

test('the number of images determines the path', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 7].map((count) => pathOf(sortImages(Array(count).fill(url('a'))))),
    ['text2video', 'img2video', 'start-end2video', 'reference2video', 'reference2video'],
  );
  assert.deepEqual(body({ images: [url('a'), url('b')] }).images, [
    'https://images.example/a.png',
    'https://images.example/b.png',
  ]);
  assert.equal(Object.hasOwn(body({}), 'images'), false);
});

test('Base64 is sent after its MIME type', () => {
  const images: MediaInput[] = [{ bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' }];
  assert.deepEqual(body({ images }).images, ['data:image/png;base64,iVBORw0KGgo=']);
});

test('defaults: five seconds, 1080p, our task id as payload, and nothing else', () => {
  const { taskId, prompt } = videoRequest({ model: 'viduq2' });
  assert.deepEqual(body({ model: 'viduq2' }), {
    model: 'viduq2',
    prompt,
    duration: 5,
    resolution: '1080p',
    payload: taskId,
  });
});

test('vidu2.0 has its own default length, and 720p where it has no 1080p', () => {
  assert.deepEqual([body({ model: 'vidu2.0' }).duration, body({ model: 'vidu2.0' }).resolution], [4, '1080p']);
  assert.equal(body({ model: 'vidu2.0', seconds: 8 }).resolution, '720p');
  assert.equal(body({ model: 'vidu2.0', images: [url('a'), url('b'), url('c')] }).resolution, '720p');
});

for (const [size, resolution, ratio] of [
  ['720p', '720p', undefined],
  ['1080P', '1080p', undefined],
  ['1280x720', '720p', '16:9'],
  ['720*1280', '720p', '9:16'],
  ['1920x1080', '1080p', '16:9'],
  ['1024x1024', '1080p', '1:1'],
  ['640x480', '540p', '4:3'],
] as const) {
  test(`size ${size} becomes ${resolution} ${ratio ?? ''}`, () => {
    assert.deepEqual([body({ size }).resolution, body({ size }).aspect_ratio], [resolution, ratio]);
  });
}

test('only the four keys of the metadata table are sent, and metadata takes precedence over size', () => {
  const metadata = {
    resolution: '720P',
    movement_amplitude: 'small',
    bgm: true,
    seed: 7,
    aspect_ratio: '1:1',
    callback_url: 'https://canary.example',
    base_url: 'https://canary.example',
  };
  const { payload: _, ...sent } = body({ metadata, size: '1920x1080', seconds: 8 });
  assert.deepEqual(sent, {
    model: 'viduq2-turbo',
    prompt: 'A paper boat drifting down a rainy street',
    duration: 8,
    aspect_ratio: '16:9',
    resolution: '720p',
    movement_amplitude: 'small',
    bgm: true,
    seed: 7,
  });
});

test('a field that cannot be expressed is refused by its name', () => {
  const refused = (request: Partial<VideoRequest>, param: string) =>
    assert.throws(
      () => body(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
  refused({ mode: 'pro' }, 'mode');
  refused({ size: 'large' }, 'size');
  refused({ size: '1280x300' }, 'size');
  refused({ images: Array.from({ length: 8 }, (_, index) => url(String(index))) }, 'images');
  refused({ metadata: { movement_amplitude: 'enormous' } }, 'metadata.movement_amplitude');
  refused({ metadata: { seed: '7' } }, 'metadata.seed');
});

test('arguments of the media schema are set at their paths and determine the price', () => {
  const extra = [
    { path: 'style', value: 'anime' },
    { path: 'duration', value: 9 },
    { path: 'resolution', value: '540p' },
  ];
  const request = videoRequest({ model: 'viduq2', extraFields: extra });
  assert.equal(toViduRequest(request).body.style, 'anime');
  assert.deepEqual(vidu.billingFactors(request), { seconds: 9, factors: { resolution: '540p' } });
});

const STATES = {
  created: 'SUBMITTED',
  queueing: 'QUEUED',
  processing: 'IN_PROGRESS',
  success: 'SUCCESS',
  failed: 'FAILURE',
};

for (const [word, state] of Object.entries(STATES)) {
  test(`state ${word} is ${state}`, async () => {
    const name = word === 'failed' ? 'failed' : word;
    const outcome = await vidu.query({ id: ID }, fixedResponseContext({ json: replies[name] }));
    assert.equal(outcome.state, state);
  });
}

test('a failed task has its code as message and code', async () => {
  const { error } = await vidu.query({ id: ID }, fixedResponseContext({ json: replies.failed }));
  assert.deepEqual(
    [error?.code, error?.message, error?.reason],
    ['CreationPolicyViolation', 'CreationPolicyViolation', 'policy'],
  );
});

test('success without a URL fails, an unknown word is UNKNOWN', async () => {
  assert.equal(
    (await vidu.query({ id: ID }, fixedResponseContext({ json: replies['success-empty'] }))).state,
    'FAILURE',
  );
  assert.equal((await vidu.query({ id: ID }, fixedResponseContext({ json: replies.strange }))).state, 'UNKNOWN');
});

test('a response about another task, or about none, is invalid', async () => {
  await assert.rejects(vidu.query({ id: '12' }, fixedResponseContext({ json: replies.success })), PollFailed);
  await assert.rejects(vidu.query({ id: ID }, fixedResponseContext({ json: {} })), PollFailed);
  await assert.rejects(vidu.query({ id: ID }, fixedResponseContext({ status: 404, text: '<html>' })), PollFailed);
});

test('a lost submit is found by its payload, and only by that', async () => {
  const { taskId } = videoRequest({ model: 'viduq2' });
  const call = fixedResponseContext({ json: replies.list });
  const at = { hint: null, sentAtMs: 0 };
  assert.deepEqual(await vidu.findTask?.({ taskId, ...at }, call), { id: ID });
  const paged: AdapterContext = {
    ...call,
    sendJson: (request) =>
      new URL(request.url).searchParams.get('pager.page') === '0'
        ? call.sendJson(request)
        : fixedResponseContext({ json: { tasks: [] } }).sendJson(request),
  };
  assert.equal(await vidu.findTask?.({ taskId: 'task_other', ...at }, paged), undefined);
  await assert.rejects(async () => vidu.findTask?.({ taskId: 'task_other', ...at }, call), PollFailed);
  for (const json of [undefined, [], { tasks: {} }])
    await assert.rejects(async () => vidu.findTask?.({ taskId, ...at }, fixedResponseContext({ json })), PollFailed);
});

test('a lost submit is searched on every page of the hours around it, and never given up halfway', async () => {
  const { taskId } = videoRequest({ model: 'viduq2' });
  const others = Array.from({ length: 100 }, (_, index) => ({ id: String(index + 1), payload: 'task_other' }));
  const search = async (pages: readonly (readonly object[])[]) => {
    const asked: URLSearchParams[] = [];
    const context: AdapterContext = {
      ...fixedResponseContext({}),
      async sendJson({ url }) {
        asked.push(new URL(url).searchParams);
        return { status: 200, headers: {}, text: '', json: { tasks: pages[asked.length - 1] ?? others } };
      },
    };
    const found = await vidu.findTask?.({ taskId, hint: null, sentAtMs: Date.UTC(2026, 10, 30, 12) }, context);
    return { found, asked: asked.map((query) => Object.fromEntries(query)) };
  };
  const hours = { 'created_at.from': '2026-11-30T11:00:00.000Z', 'created_at.to': '2026-11-30T13:00:00.000Z' };
  const query = (page: string) => ({ ...hours, 'pager.page': page, 'pager.pagesz': '100' });
  assert.deepEqual(await search([others, [{ id: ID, payload: taskId }]]), {
    found: { id: ID },
    asked: [query('0'), query('1')],
  });
  assert.deepEqual(await search([others, []]), { found: undefined, asked: [query('0'), query('1')] });
  const tenPerPage = [others.slice(0, 10), others.slice(10, 20), [{ id: ID, payload: taskId }]];
  assert.deepEqual((await search(tenPerPage)).found, { id: ID });
  await assert.rejects(search([]), PollFailed);
});

const RETRIED = new Set(['CreditInsufficient', 'ModelUnavailable', 'OperationInProcess', 'Unauthorized', 'Forbidden']);
const RETRIED_LATER = ['QuotaExceeded', 'TooManyRequests', 'SystemThrottling', 'InternalServiceFailure'];
for (const [reason, meaning] of Object.entries(VIDU_ERROR_CLASSES)) {
  test(`code ${reason} is ${meaning.reason}, whatever the HTTP status`, () => {
    const json = { code: 400, reason, message: 'words', metadata: {} };
    const error = parseViduError({ status: 400, headers: { 'retry-after': '3' }, text: '', json }, 0);
    assert.deepEqual(error, {
      ...meaning,
      retryable: RETRIED.has(reason) || RETRIED_LATER.includes(reason),
      httpStatus: 400,
      code: reason,
      message: 'words',
      retryAfterMs: 3_000,
    });
  });
}

test('a refused submit is a value; one that cannot be read is ambiguous', async () => {
  const refused = await vidu.submit(
    videoRequest({ model: 'viduq2' }),
    fixedResponseContext({ status: 429, json: replies['too-many'] }),
  );
  assert.equal(refused.kind === 'refused' && refused.error.retryable, true);
  const failed = await vidu.submit(
    videoRequest({ model: 'viduq2' }),
    fixedResponseContext({ json: { task_id: '1', state: 'failed', err_code: 'AuditSubmitIllegal' } }),
  );
  assert.equal(failed.kind === 'refused' && failed.error.reason, 'policy');
  for (const json of [{}, { task_id: '' }, { task_id: 'not-a-number' }, []]) {
    await assert.rejects(vidu.submit(videoRequest({ model: 'viduq2' }), fixedResponseContext({ json })), OutboundError);
  }
});

test('5,000 mutated responses: no crash, no wrong final state', () =>
  tryMutatedReplies(vidu, {
    handle: { id: ID },
    replies: ['created', 'queueing', 'processing', 'success', 'success-empty', 'failed', 'strange'],
    submits: ['accepted', 'too-many'],
    model: 'viduq2',
    mayEnd(state, reply, status) {
      const { state: said, reason } = Object(reply) as { state?: unknown; reason?: unknown };
      if (status >= 300) return state === 'FAILURE' && /NotFound$/.test(String(reason));
      return saysSuccess(said) || (state === 'FAILURE' && saysFailure(said));
    },
  }));

test('of several creations the first with a URL is used', async () => {
  const creations: Json[] = [
    { id: '1', url: '' },
    { id: '2', url: 'store.example/c/2.mp4', cover_url: 'https://store.example/c/2.jpg' },
  ];
  const json = { id: ID, state: 'SUCCESS', err_code: null, creations };
  const { artifact } = await vidu.query({ id: ID }, fixedResponseContext({ json }));
  assert.deepEqual(artifact, { kind: 'url', url: 'https://store.example/c/2.mp4' });
  const cover = await vidu.content({ id: ID }, json, 'thumbnail', fixedResponseContext({}));
  assert.equal(cover.kind === 'fetch' && cover.url, 'https://store.example/c/2.jpg');
});

test('a text next to the code of a failed task is reported, and zero credits count as missing', async () => {
  const json = { id: ID, state: 'Failed', err_code: 'CreationPolicyViolation', message: 'the image shows a person' };
  const { error } = await vidu.query({ id: ID }, fixedResponseContext({ json }));
  assert.deepEqual([error?.code, error?.message], ['CreationPolicyViolation', 'the image shows a person']);
  assert.equal(vidu.billedFacts?.({ credits: 0 }), undefined);
});
