import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedResponseContext, sandboxContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import {
  assertAmbiguousSubmits,
  MEANINGLESS_POLLS,
  startSimulator,
} from '../../../../test/vendors/simulator-fixture.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { loadMedia } from '../../../sandbox/media.ts';
import { sora as simulator } from '../../../sandbox/vendors/sora.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json, VideoRequest } from '../adapter.ts';
import { sora } from './adapter.ts';

const { sandbox, clock } = await startSimulator(simulator);

const call = () => sandboxContext(sandbox, 'sora');
const submit = (request: Partial<VideoRequest> = {}) =>
  sora.submit(videoRequest({ model: 'sora-2', ...request }), call());
async function begin(request: Partial<VideoRequest> = {}): Promise<Json> {
  const outcome = await submit(request);
  assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
  return outcome.kind === 'accepted' ? outcome.handle : null;
}
const png = loadMedia('image.png');

test('a video is followed from submit to its file, its objects unchanged', async () => {
  const outcome = await submit({ seconds: 8, size: '1280x720' });
  assert.equal(outcome.kind, 'accepted');
  if (outcome.kind !== 'accepted') return;
  assert.match(outcome.upstreamId, /^video_/);
  assert.deepEqual(await sora.query(outcome.handle, call()), { state: 'QUEUED', progress: 0, raw: outcome.raw });
  clock.advance(1_500);
  const running = await sora.query(outcome.handle, call());
  assert.deepEqual([running.state, running.progress], ['IN_PROGRESS', 50]);
  clock.advance(1_000);
  const done = await sora.query(outcome.handle, call());
  assert.deepEqual([done.state, done.artifact], ['SUCCESS', { kind: 'protected' }]);
  const source = await sora.content(outcome.handle, done.raw, undefined, call());
  assert.ok(source.kind === 'fetch' && source.trusted);
  const file = await fetch(source.url, { headers: source.headers });
  assert.equal(Buffer.from(await file.arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
  const thumbnail = await sora.content(outcome.handle, done.raw, 'thumbnail', call());
  assert.ok(thumbnail.kind === 'fetch' && thumbnail.url.endsWith('/content?variant=thumbnail'));
});

test('the body holds the native fields and the image in its original form', async () => {
  const cases: readonly (readonly [Partial<VideoRequest>, string | null])[] = [
    [{}, null],
    [{ images: [{ url: 'https://media.test/a.png' }] }, 'image_url'],
    [{ images: [{ bytes: png.bytes, mediaType: 'image/png' }] }, 'image_url'],
    [{ nativeFields: { input_reference: { file_id: 'file_1' } } }, 'file_id'],
    [{ images: [{ bytes: png.bytes, mediaType: 'image/png', filename: 'a "cat".png' }] }, 'image/png'],
  ];
  for (const [request, reference] of cases) {
    await begin({
      ...request,
      prompt: 'Ein Bär 🐻',
      seconds: 4,
      size: '720x1280',
      metadata: { base_url: 'http://evil.test' },
    });
    const job = sandbox.control.jobs('sora').at(-1);
    assert.equal(job?.prompt, 'Ein Bär 🐻');
    assert.equal((job?.input as { reference: string | null } | undefined)?.reference, reference);
    const sent = sandbox.control.requests({ operation: 'submit' }).at(-1);
    assert.ok(!sent?.body.includes('evil.test'));
  }
  const data = `data:image/png;base64,${png.bytes.toString('base64')}`;
  const third = JSON.parse(sandbox.control.requests({ operation: 'submit' })[2]?.body.toString() ?? '');
  assert.deepEqual(third.input_reference, { image_url: data });
  assert.equal(third.seconds, '4');
});

test('a multipart body carries the file byte by byte, and text cannot break out of its part', async () => {
  const prompt = '"\r\n--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nevil';
  await begin({
    prompt,
    images: [{ bytes: png.bytes, mediaType: 'image/png', filename: 'x"\r\nevil: 1.png' }],
  });
  const sent = sandbox.control.requests({ operation: 'submit' }).at(-1);
  assert.ok(sent?.body.includes(png.bytes));
  assert.equal(sandbox.control.jobs('sora').at(-1)?.prompt, prompt);
  assert.equal(sandbox.control.jobs('sora').at(-1)?.model, 'sora-2');
});

test('common fields that cannot be expressed are refused before anything is sent', async () => {
  const url = { url: 'https://media.test/a.png' } as const;
  await assert.rejects(submit({ mode: 'pro' }), UnsupportedRequestError);
  await assert.rejects(submit({ images: [url, url] }), UnsupportedRequestError);
  assert.equal(sandbox.control.requests().length, 0);
});

test('seconds and size are billed by the vendor’s defaults and by declared arguments', () => {
  const meter = (request: Partial<VideoRequest>) =>
    sora.billingFactors(videoRequest({ model: 'sora-2-pro', ...request }));
  assert.deepEqual(meter({}), { seconds: 4, factors: { size: '720x1280' } });
  assert.deepEqual(meter({ seconds: 12, size: '1792x1024' }), { seconds: 12, factors: { size: '1792x1024' } });
  assert.equal(meter({ extraFields: [{ path: 'seconds', value: '8' }] }).seconds, 8);
  assert.throws(() => meter({ extraFields: [{ path: 'seconds', value: 'long' }] }), UnsupportedRequestError);
});

test('remix and delete reach the vendor', async () => {
  const handle = await begin();
  clock.advance(5_000);
  const remixed = await sora.remix?.(handle, videoRequest({ model: 'sora-2', prompt: 'at night' }), call());
  assert.ok(remixed?.kind === 'accepted');
  const { remixed_from_video_id: origin } = remixed.raw as { remixed_from_video_id: string };
  assert.deepEqual({ id: origin }, handle);
  await sora.deleteTask?.(handle, call());
  const gone = await sora.query(handle, call());
  assert.deepEqual([gone.state, gone.error?.reason], ['FAILURE', 'missing']);
});

test('a gateway may pack the same video differently into the id of each response', async () => {
  const pack = (model: string, id: string, encoding: 'base64' | 'base64url' = 'base64') =>
    `video_${Buffer.from(`litellm:custom_llm_provider:vertex_ai;model_id:${model};video_id:${id}`).toString(encoding)}`;
  const inner = 'projects/p/locations/l/publishers/google/models/veo-3.1/operations/7';
  const id = pack('deployment-1', inner);
  const poll = (answered: string, status = 'in_progress') =>
    sora.query({ id }, fixedResponseContext({ json: { id: answered, object: 'video', status } }));
  for (const same of [id, pack('', inner), pack('veo-3.1', inner, 'base64url'), inner]) {
    const { state, raw } = await poll(same);
    assert.deepEqual([state, (raw as { id: string }).id], ['IN_PROGRESS', id], same);
  }
  for (const other of [pack('deployment-1', `${inner}8`), `${inner}8`, 'video_7'])
    await assert.rejects(poll(other), PollFailed, other);
});

test('the vendor’s status words end jobs as failed; an unknown word ends none', async () => {
  const ends = [
    ['[fail]', 'FAILURE', 'video_generation_failed', 'other'],
    ['[filtered]', 'FAILURE', 'moderation_blocked', 'policy'],
    ['[expire]', 'FAILURE', 'expired', 'other'],
    ['[cancel]', 'FAILURE', '', 'other'],
    ['[strange]', 'UNKNOWN', undefined, undefined],
  ] as const;
  for (const [prompt, state, code, reason] of ends) {
    const handle = await begin({ prompt });
    clock.advance(5_000);
    const outcome = await sora.query(handle, call());
    assert.deepEqual([outcome.state, outcome.error?.code, outcome.error?.reason], [state, code, reason], prompt);
  }
});

test('the vendor’s refusal keeps its message, its code and the field at fault', async () => {
  const outcome = await submit({ seconds: 5 });
  assert.ok(outcome.kind === 'refused');
  const { message, code, param } = outcome.error;
  assert.equal(message, "Invalid value: '5'. Supported values are: '4', '8', and '12'.");
  assert.deepEqual([code, param], ['invalid_value', 'seconds']);
});

/** One case per row: HTTP status, the error's code or type, its meaning, and whether another channel is tried. */
const ERRORS = [
  [400, 'invalid_value', 'user', false],
  [400, 'moderation_blocked', 'policy', false],
  [400, 'billing_hard_limit_reached', 'billing', true],
  [401, 'invalid_api_key', 'auth', true],
  [403, 'unsupported_country_region_territory', 'auth', true],
  [404, 'model_not_found', 'model', true],
  [409, null, 'capacity', true],
  [429, 'rate_limit_exceeded', 'rate', true],
  [429, 'insufficient_quota', 'billing', true],
  [500, 'server_error', 'capacity', true],
  [502, null, 'capacity', true],
  [503, 'server_error', 'capacity', true],
] as const;
test('errors at submit are classified by code and type', async () => {
  for (const [status, code, reason, retryable] of ERRORS) {
    const json = { error: { message: 'why', type: 'some_type', param: null, code } };
    const outcome = await sora.submit(videoRequest({ model: 'sora-2' }), fixedResponseContext({ status, json }));
    assert.ok(outcome.kind === 'refused');
    const { error } = outcome;
    assert.deepEqual([error.reason, error.retryable, error.message], [reason, retryable, 'why'], `${status} ${code}`);
    assert.equal(error.code, code ?? 'some_type');
  }
  const flat = fixedResponseContext({ status: 400, json: { code: 'invalid_request', message: 'flat', data: null } });
  const outcome = await sora.submit(videoRequest({ model: 'sora-2' }), flat);
  assert.ok(outcome.kind === 'refused' && outcome.error.message === 'flat' && outcome.error.code === 'invalid_request');
});

test('a refused poll does not change the task', async () => {
  const handle = await begin();
  for (const kind of [...MEANINGLESS_POLLS, '504'] as const) {
    sandbox.control.fault({ kind, operation: 'query' });
    await assert.rejects(sora.query(handle, call()), PollFailed, kind);
  }
  await begin();
  await sora.query((await begin()) ?? null, call());
  sandbox.control.fault({ kind: 'duplicate', operation: 'query' });
  await assert.rejects(sora.query(handle, call()), PollFailed, 'a response about another task');
  assert.equal((await sora.query(handle, call())).state, 'QUEUED');
});

test('a submit whose response is lost or unreadable is ambiguous, never refused', async () => {
  await assertAmbiguousSubmits(sandbox, submit, ['wrong-types']);
});

test('T54: endless, slow and inflated responses end within their limits', async () => {
  const before = process.memoryUsage().rss;
  for (const kind of ['huge', 'bomb', 'slow', 'hang'] as const) {
    sandbox.control.fault({ kind, operation: 'query' });
    const bounded = sandboxContext(sandbox, 'sora', { timeoutMs: kind === 'slow' || kind === 'hang' ? 200 : 5_000 });
    const isSilent = (error: unknown) => error instanceof PollFailed || error instanceof OutboundError;
    await assert.rejects(sora.query({ id: 'video_1' }, bounded), isSilent, kind);
  }
  assert.ok(process.memoryUsage().rss - before < 256 * 1024 ** 2, 'a gigabyte is never held');
});

test('a channel test distinguishes a valid key from an invalid one', async () => {
  assert.deepEqual(await sora.checkCredentials(call()), { ok: true });
  const wrong = await sora.checkCredentials(sandboxContext(sandbox, 'sora', { credentials: { api_key: 'sk-wrong' } }));
  assert.ok(!wrong.ok && wrong.error.reason === 'auth');
});

test('mutated responses neither crash nor end a task', async () => {
  await tryMutatedReplies(sora, {
    handle: { id: 'video_68f1c0ffee' },
    model: 'sora-2',
    replies: ['queued', 'in-progress', 'completed', 'failed', 'refused'],
    submits: ['queued', 'refused'],
    mayEnd(state, reply, status) {
      const video = reply as { id?: unknown; status?: unknown; error?: unknown } | null;
      if (status === 404) return state === 'FAILURE' && typeof video?.error === 'object' && video.error !== null;
      if (
        video?.id !== undefined &&
        typeof video.id === 'string' &&
        video.id !== '' &&
        /^[!-~]+$/.test(video.id) &&
        video.id !== 'video_68f1c0ffee'
      )
        return false;
      return status < 400 && saysItEnded(state, video?.status);
    },
  });
});

test('a URL that needs the key is fetched with it at our own base URL', async () => {
  for (const url of [
    'https://vendor.test/v1/videos/video_1/content',
    'https://public.example/v1/videos/a/content?x=1',
  ]) {
    const context = fixedResponseContext({ json: { id: 'video_1', status: 'completed', metadata: { url } } });
    const { artifact, raw } = await sora.query({ id: 'video_1' }, context);
    assert.deepEqual(artifact, { kind: 'protected' }, url);
    const source = await sora.content({ id: 'video_1' }, raw, undefined, context);
    assert.ok(source.kind === 'fetch' && source.trusted);
    assert.equal(source.url, 'https://vendor.test/v1/videos/video_1/content');
  }
});

test('a relay’s finished task is returned without its envelope, under the task’s own id', async () => {
  const data = { id: 4711, task_id: 'video_1', status: 'SUCCESS', fail_reason: 'https://cdn.example.test/film.mp4' };
  const outcome = await sora.query({ id: 'video_1' }, fixedResponseContext({ json: { code: 'success', data } }));
  assert.deepEqual(outcome, {
    state: 'SUCCESS',
    artifact: { kind: 'url', url: 'https://cdn.example.test/film.mp4' },
    raw: { ...data, id: 'video_1' },
  });
  const id = { code: 'success', message: '', data: 'task_1' };
  const accepted = await sora.submit(videoRequest({ model: 'sora-2' }), fixedResponseContext({ json: id }));
  assert.equal(accepted.kind === 'accepted' && accepted.upstreamId, 'task_1');
});

test('a relay’s codes have their meaning, whatever the HTTP status', async () => {
  for (const [code, reason] of [
    ['insufficient_user_quota', 'billing'],
    ['pre_consume_token_quota_failed', 'billing'],
    ['sensitive_words_detected', 'policy'],
    ['channel:invalid_key', 'auth'],
    ['get_channel_failed', 'capacity'],
  ] as const)
    for (const status of [200, 403]) {
      const context = fixedResponseContext({ status, json: { code, message: 'why', data: null } });
      const outcome = await sora.submit(videoRequest({ model: 'sora-2' }), context);
      assert.ok(outcome.kind === 'refused');
      assert.deepEqual([outcome.error.reason, outcome.error.code, outcome.error.message], [reason, code, 'why']);
    }
});

test('a video that is completed at once is delivered, although its task cannot be polled', async () => {
  const url = 'https://cdn.example.test/film.mp4';
  const json = { id: 'video_1', status: 'completed', progress: 100, video_url: url };
  const accepted = await sora.submit(videoRequest({ model: 'sora-2' }), fixedResponseContext({ json }));
  assert.ok(accepted.kind === 'accepted');
  for (const status of [404, 405]) {
    const gone = fixedResponseContext({ status, json: { error: { message: 'no such route', code: 'not_found' } } });
    const outcome = await sora.query(accepted.handle, gone);
    assert.deepEqual([outcome.state, outcome.artifact], ['SUCCESS', { kind: 'url', url }]);
  }
  await assert.rejects(sora.query(accepted.handle, fixedResponseContext({ status: 502, text: '<html>' })), PollFailed);
  const there = await sora.query(accepted.handle, fixedResponseContext({ json: { ...json, seconds: '4' } }));
  assert.deepEqual(there.raw, { ...json, seconds: '4' });
});

test('a response to /content may name the file instead of containing it', async () => {
  const source = await sora.content({ id: 'video_1' }, null, undefined, fixedResponseContext({}));
  assert.ok(source.kind === 'fetch');
  const url = 'https://cdn.example.test/film.mp4';
  for (const json of [{ url }, { data: { video_url: url } }, { video: { url } }])
    assert.equal(source.addressIn?.(json), url);
  for (const json of [undefined, {}, { error: { message: 'not ready' } }, { url: 'file:///etc/passwd' }])
    assert.equal(source.addressIn?.(json), undefined);
});

test('on Azure: the same protocol under its path, key header and version', async () => {
  const seen: { method: string; url: string; headers: Readonly<Record<string, string>> | undefined }[] = [];
  const response = fixedResponseContext({ json: { id: 'video_1', object: 'video', status: 'completed' } });
  const azure = {
    ...response,
    options: { api: 'azure', api_version: 'preview' },
    sendJson: async (request: Parameters<typeof response.sendJson>[0]) => {
      seen.push({ method: request.method, url: request.url, headers: request.headers });
      return response.sendJson(request);
    },
  };
  const submitted = await sora.submit(videoRequest({ model: 'my-sora-deployment' }), azure);
  assert.ok(submitted.kind === 'accepted');
  await sora.query(submitted.handle, azure);
  await sora.checkCredentials(azure);
  const source = await sora.content(submitted.handle, null, 'thumbnail', azure);
  assert.ok(source.kind === 'fetch');
  const base = 'https://vendor.test/openai/v1/videos';
  assert.deepEqual(
    [...seen, { method: 'GET', ...source }].map(({ method, url }) => `${method} ${url}`),
    [
      `POST ${base}?api-version=preview`,
      `GET ${base}/video_1?api-version=preview`,
      `GET ${base}?limit=1&api-version=preview`,
      `GET ${base}/video_1/content?variant=thumbnail&api-version=preview`,
    ],
  );
  for (const { headers } of [...seen, source]) {
    assert.equal(headers?.['api-key'], 'key');
    assert.equal(headers?.authorization, undefined);
  }
});

test('numbers and their text have the documented types in the stored object', async () => {
  const json = {
    id: 'video_1',
    status: 'queued',
    created_at: '1795881100',
    expires_at: '2026-11-28T10:00:00Z',
    seconds: 4,
  };
  const outcome = await sora.submit(videoRequest({ model: 'sora-2' }), fixedResponseContext({ json }));
  assert.deepEqual(outcome.kind === 'accepted' && outcome.raw, {
    ...json,
    created_at: 1_795_881_100,
    expires_at: 1_795_860_000,
    seconds: '4',
  });
});
