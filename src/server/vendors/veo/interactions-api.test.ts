import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { OutboundError, type OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json } from '../adapter.ts';
import { veo } from './adapter.ts';

const replies = recordedReplies('veo');
const ID = 'v1_8f2c0b7a64e14d0d';
const HANDLE = { route: 'gemini', interaction: ID };
const CLOUD_HANDLE = { route: 'vertex', interaction: ID };
const OMNI = 'gemini-omni-1.2-flash';

const CLOUD: Pick<AdapterContext, 'credentials' | 'cachedSecret' | 'baseUrl'> = {
  baseUrl: veo.defaultBaseUrl,
  credentials: {
    service_account: { client_email: 'a@b', private_key: '' },
    project: 'demo-1',
    location: 'us-central1',
  },
  cachedSecret: () => Promise.resolve('token'),
};

/** A context that chooses responses by the end of the URL, and the requests it received. */
function scripted(answers: Readonly<Record<string, unknown>>, over: Partial<AdapterContext> = {}) {
  const seen: string[] = [];
  const context: AdapterContext = {
    ...fixedResponseContext({}),
    ...over,
    async sendJson(request: OutboundRequest) {
      seen.push(`${request.method ?? 'GET'} ${request.url}`);
      const found = Object.entries(answers).find(([end]) => request.url.endsWith(end));
      return { status: 200, headers: {}, text: '', json: found?.[1] };
    },
  };
  return { context, seen };
}
const poll = (name: string, nowMs = 0) => veo.query(HANDLE, fixedResponseContext({ json: replies[name] }, nowMs));

test('Omni models use Interactions, with either kind of credentials; Veo models never do', async () => {
  const key = scripted({ interactions: { id: ID, status: 'in_progress' } });
  const accepted = await veo.submit(videoRequest({ model: OMNI }), key.context);
  assert.deepEqual(accepted.kind === 'accepted' && [accepted.handle, accepted.upstreamId], [HANDLE, ID]);
  assert.deepEqual(key.seen, ['POST https://vendor.test/v1beta/interactions']);
  const cloud = scripted({ interactions: { id: ID, status: 'in_progress' } }, CLOUD);
  const there = await veo.submit(videoRequest({ model: OMNI }), cloud.context);
  assert.deepEqual(there.kind === 'accepted' && there.handle, CLOUD_HANDLE);
  assert.deepEqual(cloud.seen, [
    'POST https://aiplatform.googleapis.com/v1beta1/projects/demo-1/locations/global/interactions',
  ]);
  const operation = scripted({ predictLongRunning: { name: 'models/veo-3.1-generate-preview/operations/x' } });
  await veo.submit(videoRequest({ model: 'veo-3.1-generate-preview' }), operation.context);
  assert.match(operation.seen[0] ?? '', /:predictLongRunning$/);
});

test('an interaction’s id never leads out of the version’s path', async () => {
  for (const id of ['../../admin', '.', '', {}, 'a/b', 'x'.repeat(256)]) {
    const submitted = veo.submit(videoRequest({ model: OMNI }), fixedResponseContext({ json: { id } }));
    await assert.rejects(submitted, OutboundError, JSON.stringify(id));
  }
});

test('every status has a meaning, and unknown ones end no task', async () => {
  const states = { queued: 'QUEUED', in_progress: 'IN_PROGRESS', budget_exceeded: 'FAILURE', incomplete: 'FAILURE' };
  for (const [status, state] of Object.entries({
    ...states,
    requires_action: 'FAILURE',
    rethinking: 'UNKNOWN',
  }))
    assert.equal((await veo.query(HANDLE, fixedResponseContext({ json: { id: ID, status } }))).state, state, status);
  const cancelled = await veo.query(HANDLE, fixedResponseContext({ json: { id: ID, status: 'cancelled' } }));
  assert.equal(cancelled.error?.cause, 'cancelled');
  for (const json of [{}, { id: 'another', status: 'completed' }, []])
    await assert.rejects(veo.query(HANDLE, fixedResponseContext({ json })), PollFailed);
});

test('failures have the vendor’s reason: from a step, from the interaction, or from the model’s text', async () => {
  const failed = async (name: string) => (await poll(name)).error;
  assert.deepEqual((await failed('omni-failed'))?.code, 'RESOURCE_EXHAUSTED');
  const errors = await failed('omni-errors');
  assert.deepEqual([errors?.code, errors?.message], ['INTERNAL', 'The generation broke.']);
  const filtered = await failed('omni-filtered');
  assert.deepEqual([filtered?.reason, filtered?.cause], ['policy', 'result_refused']);
  assert.equal((await failed('omni-empty'))?.cause, 'no_result');
});

test('a file that is still being written is awaited, and fetched from our own base URL with the key', async () => {
  const poll = (state: string) => {
    const { context, seen } = scripted({ [ID]: replies['omni-done'], '4k1z8s0qv3ab': { state } });
    return veo.query(HANDLE, context).then((outcome) => ({ outcome, seen }));
  };
  assert.equal((await poll('PROCESSING')).outcome.state, 'IN_PROGRESS');
  assert.deepEqual((await poll('FAILED')).outcome.error?.code, 'FILE_FAILED');
  const { outcome, seen } = await poll('ACTIVE');
  assert.deepEqual([outcome.state, outcome.artifact], ['SUCCESS', { kind: 'protected' }]);
  assert.equal(seen.at(-1), 'GET https://vendor.test/v1beta/files/4k1z8s0qv3ab');
  assert.deepEqual(await veo.content(HANDLE, outcome.raw, undefined, fixedResponseContext({})), {
    kind: 'fetch',
    url: 'https://vendor.test/v1beta/files/4k1z8s0qv3ab:download?alt=media',
    headers: { 'x-goog-api-key': 'key' },
    trusted: true,
  });
  assert.deepEqual(veo.billedFacts?.(outcome.raw), { units: 46_336 });
});

test('bytes of videos and input images are not part of the stored response, and content returns the video', async () => {
  const { state, artifact, raw } = await poll('omni-inline');
  assert.deepEqual([state, artifact], ['SUCCESS', { kind: 'inline' }]);
  assert.doesNotMatch(JSON.stringify(raw), /AAAAIGZ0eXA=|iVBORw0KGgo=/);
  const source = await veo.content(HANDLE, raw, undefined, fixedResponseContext({ json: replies['omni-inline'] }));
  assert.deepEqual(source, { kind: 'bytes', bytes: Buffer.from('AAAAIGZ0eXA=', 'base64'), mimeType: 'video/mp4' });
});

test('a customer’s bucket is written to and read from with the bearer token', async () => {
  let body: Json = null;
  const context: AdapterContext = {
    ...fixedResponseContext({ json: { id: ID } }),
    ...CLOUD,
    options: { storage_uri: 'gs://demo-videos/veo' },
  };
  const record: AdapterContext['sendJson'] = (request) => {
    body = JSON.parse(typeof request.body === 'string' ? request.body : 'null') as Json;
    return context.sendJson(request);
  };
  await veo.submit(videoRequest({ model: OMNI }), { ...context, sendJson: record });
  const format = (body as unknown as { response_format: object }).response_format;
  assert.deepEqual(format, {
    type: 'video',
    resolution: '720p',
    duration: '8s',
    delivery: 'uri',
    gcs_uri: 'gs://demo-videos/veo/',
  });
  const raw = { output_video: { type: 'video', uri: 'gs://demo-videos/veo/a.mp4' } };
  assert.deepEqual(await veo.content(CLOUD_HANDLE, raw, undefined, context), {
    kind: 'fetch',
    url: 'https://storage.googleapis.com/storage/v1/b/demo-videos/o/veo%2Fa.mp4?alt=media',
    headers: { authorization: 'Bearer token' },
    trusted: true,
  });
});

test('deleting first stops the interaction; a job of an operation is left alone', async () => {
  const { context, seen } = scripted({});
  await veo.deleteTask?.(HANDLE, context);
  assert.deepEqual(seen, [
    `POST https://vendor.test/v1beta/interactions/${ID}/cancel`,
    `DELETE https://vendor.test/v1beta/interactions/${ID}`,
  ]);
  await veo.deleteTask?.({ route: 'gemini', name: 'models/veo/operations/x' }, context);
  assert.equal(seen.length, 2);
});

test('errors are read in Google’s form and in that of Interactions', async () => {
  const refused = async (status: number, json: unknown) => {
    const outcome = await veo.submit(videoRequest({ model: OMNI }), fixedResponseContext({ status, json }));
    return outcome.kind === 'refused' ? [outcome.error.reason, outcome.error.code] : outcome.kind;
  };
  const typed = (code: string) => ({ error: { code, message: 'no' } });
  assert.deepEqual(await refused(404, typed('https://errors.example/not_found')), ['model', 'NOT_FOUND']);
  assert.deepEqual(await refused(429, typed('resource_exhausted')), ['rate', 'RESOURCE_EXHAUSTED']);
  assert.deepEqual(await refused(400, typed('something_new')), ['user', 'SOMETHING_NEW']);
  assert.deepEqual(await refused(403, { error: { code: 403, message: 'no', status: 'PERMISSION_DENIED' } }), [
    'auth',
    'PERMISSION_DENIED',
  ]);
});

test('an edited video is as long as its source and costs as much, whatever length or ratio is asked for', () => {
  const edit = videoRequest({ model: OMNI, operation: 'edit', inputSeconds: 4 });
  assert.equal(veo.billingFactors(edit).seconds, 4);
  assert.equal(veo.billingFactors(videoRequest({ model: OMNI, operation: 'edit' })).seconds, 10);
  for (const [param, more] of [
    ['metadata.durationSeconds', { metadata: { durationSeconds: 3 } }],
    ['duration', { seconds: 3 }],
    ['metadata.aspectRatio', { metadata: { aspectRatio: '9:16' } }],
  ] as const)
    assert.throws(
      () => veo.billingFactors({ ...edit, ...more }),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
});

test('404s fail the task after three polls over a minute', async () => {
  const json = { error: { code: 'not_found', message: 'gone' } };
  let handle: Json = HANDLE;
  for (const nowMs of [0, 30_000]) {
    const outcome = await veo.query(handle, fixedResponseContext({ status: 404, json }, nowMs));
    assert.equal(outcome.state, 'IN_PROGRESS');
    handle = outcome.handle ?? null;
  }
  const back = await veo.query(handle, fixedResponseContext({ json: replies['omni-running'] }, 40_000));
  assert.deepEqual(back.handle, HANDLE);
  assert.equal((await veo.query(handle, fixedResponseContext({ status: 404, json }, 60_000))).state, 'FAILURE');
});

test('5,000 mutated responses: no crash, no wrong final state', () =>
  tryMutatedReplies(veo, {
    handle: HANDLE,
    replies: ['running', 'done', 'inline', 'empty', 'filtered', 'failed', 'errors'].map((name) => `omni-${name}`),
    submits: ['omni-running', 'rate'],
    model: OMNI,
    mayEnd(state, reply, status) {
      const { id, status: word } = Object(reply) as { id?: unknown; status?: unknown };
      if (status < 200 || status >= 300 || id !== ID) return false;
      return state === 'SUCCESS' ? saysItEnded(state, word) : !['queued', 'in_progress'].includes(String(word));
    },
  }));
