import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { OutboundError, type OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed } from '../../upstreams/upstream.ts';
import type { Json, QueryOutcome, VendorAdapter } from '../adapter.ts';
import { routeOf, veo } from './adapter.ts';
import { vertexBase } from './vertex.ts';

const replies = recordedReplies('veo');
const GEMINI = { route: 'gemini', name: 'models/veo-3.1-generate-preview/operations/7tq2m1x0c9pk' };
const VERTEX = {
  route: 'vertex',
  name: 'projects/demo-1/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/0b6f2a94-6f0d-4b1e-9a35-6d1f0a5b7c11',
};
const handles = { gemini: GEMINI, vertex: VERTEX };

/** A call by either route whose access token is already cached. */
function routeCall(
  route: 'gemini' | 'vertex',
  response: Parameters<typeof fixedResponseContext>[0],
  nowMs = 0,
): AdapterContext {
  const call = fixedResponseContext(response, nowMs);
  if (route === 'gemini') return call;
  const credentials = {
    service_account: { client_email: 'a@b', private_key: '' },
    project: 'demo-1',
    location: 'us-central1',
  };
  return { ...call, credentials, cachedSecret: () => Promise.resolve('token') };
}
const poll = (route: 'gemini' | 'vertex', name: string) =>
  veo.query(handles[route], routeCall(route, { json: replies[`${route}-${name}`] }));

/** The adapter as seen by a channel of one route. */
const byRoute = (route: 'gemini' | 'vertex'): VendorAdapter => {
  const { credentials, cachedSecret } = routeCall(route, {});
  return {
    ...veo,
    submit: (request, call) => veo.submit(request, { ...call, credentials, cachedSecret }),
    query: (handle, call) => veo.query(handle, { ...call, credentials, cachedSecret }),
  };
};

test('the route follows from the credentials', () => {
  assert.equal(routeOf({ api_key: 'k' }), 'gemini');
  assert.equal(routeOf({ service_account: {}, project: 'p', location: 'global' }), 'vertex');
});

test('a job keeps its route: other credentials cannot poll it', async () => {
  await assert.rejects(veo.query(VERTEX, routeCall('gemini', { json: {} })), PollFailed);
  await assert.rejects(veo.query(GEMINI, routeCall('vertex', { json: {} })), PollFailed);
});

test('Vertex AI has a host for each location, unless the channel sets one', () => {
  const hosts = ['us-central1', 'global', 'eu', 'us'].map((location) => vertexBase(veo.defaultBaseUrl, location));
  assert.deepEqual(hosts, [
    'https://us-central1-aiplatform.googleapis.com',
    'https://aiplatform.googleapis.com',
    'https://aiplatform.eu.rep.googleapis.com',
    'https://aiplatform.us.rep.googleapis.com',
  ]);
  assert.equal(vertexBase('https://proxy.example', 'eu'), 'https://proxy.example');
});

for (const route of ['gemini', 'vertex'] as const) {
  test(`${route}: an operation without done is running`, async () => {
    assert.equal((await poll(route, 'running')).state, 'IN_PROGRESS');
  });

  test(`${route}: a filtered result is a failure with the reasons`, async () => {
    const { state, error } = await poll(route, 'filtered');
    assert.deepEqual([state, error?.reason], ['FAILURE', 'policy']);
    assert.match(error?.message ?? '', /blocked|could not/);
  });

  test(`${route}: 404s fail the task after three polls over a minute, and a response in between resets them`, async () => {
    const json = { error: { code: 404, message: 'gone', status: 'NOT_FOUND' } };
    const at = (handle: QueryOutcome['handle'], nowMs: number) =>
      veo.query(handle ?? null, routeCall(route, { status: 404, json }, nowMs));
    const first = await at(handles[route], 0);
    assert.equal(first.state, 'IN_PROGRESS');
    const second = await at(first.handle, 30_000);
    const third = await at(second.handle, 59_000);
    assert.equal(third.state, 'IN_PROGRESS');
    assert.equal((await at(third.handle, 60_000)).state, 'FAILURE');
    const back = await veo.query(third.handle ?? null, routeCall(route, { json: replies[`${route}-running`] }, 61_000));
    assert.deepEqual(back.handle, handles[route]);
  });

  test(`${route}: a 404 page of a proxy does not change the task`, async () => {
    await assert.rejects(veo.query(handles[route], routeCall(route, { status: 404, text: '<html>' })), PollFailed);
  });
}

test('a response about another operation, or about none, is invalid', async () => {
  for (const json of [{}, { name: 'models/veo/operations/other', done: true }, { name: 7 }, []]) {
    await assert.rejects(veo.query(GEMINI, routeCall('gemini', { json })), PollFailed, JSON.stringify(json));
  }
});

test('gemini: an operation’s name never leads out of the version’s path', async () => {
  for (const name of ['../../admin/operations/x', 'models/../operations/x', 'operations/..', 'operations/a?b=c', '']) {
    const submitted = veo.submit(
      videoRequest({ model: 'veo-3.1-generate-preview' }),
      routeCall('gemini', { json: { name } }),
    );
    await assert.rejects(submitted, OutboundError, name);
  }
});

test('gemini: done returns a protected file, fetched from our own base URL with the key', async () => {
  const { state, artifact, raw } = await poll('gemini', 'done');
  assert.deepEqual([state, artifact], ['SUCCESS', { kind: 'protected' }]);
  assert.deepEqual(await veo.content(GEMINI, raw, undefined, routeCall('gemini', {})), {
    kind: 'fetch',
    url: 'https://vendor.test/v1beta/files/4k1z8s0qv3ab:download?alt=media',
    headers: { 'x-goog-api-key': 'key' },
    trusted: true,
  });
});

test('gemini: the key is sent to no host that a response names', async () => {
  const uri = 'https://elsewhere.example/video.mp4';
  const raw = { response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } };
  const source = await veo.content(GEMINI, raw, undefined, routeCall('gemini', {}));
  assert.deepEqual(source, { kind: 'fetch', url: uri, headers: {}, trusted: false });
});

for (const [name, video] of [
  ['encodedVideo', { encodedVideo: 'AAAAIGZ0eXA=', encoding: 'video/mp4' }],
  ['bytesBase64Encoded', { bytesBase64Encoded: 'data:video/mp4;base64,AAAAIGZ0eXA=', mimeType: 'video/mp4' }],
] as const) {
  test(`gemini: a video as ${name} is delivered, and is not part of the stored response`, async () => {
    const json = {
      name: GEMINI.name,
      done: true,
      error: null,
      response: { generateVideoResponse: { generatedSamples: [{ video: null }, { video }] } },
    };
    const { state, artifact, raw } = await veo.query(GEMINI, routeCall('gemini', { json }));
    assert.deepEqual([state, artifact], ['SUCCESS', { kind: 'inline' }]);
    assert.doesNotMatch(JSON.stringify(raw), /AAAAIGZ0eXA=/);
    const source = await veo.content(GEMINI, raw, undefined, routeCall('gemini', { json }));
    assert.deepEqual(source, { kind: 'bytes', bytes: Buffer.from('AAAAIGZ0eXA=', 'base64'), mimeType: 'video/mp4' });
  });
}

test('an empty sample next to a count of filtered videos is a refusal with its reason', async () => {
  const told = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Support codes: 61493863'] };
  for (const [route, response] of [
    ['gemini', { generateVideoResponse: { generatedSamples: [{}], ...told } }],
    ['gemini', { generateVideoResponse: { generatedSamples: null, ...told, raiMediaFilteredCount: null } }],
    ['vertex', { videos: [{ gcsUri: null }], ...told }],
  ] as const) {
    const json = { name: handles[route].name, done: true, response };
    const { state, error } = await veo.query(handles[route], routeCall(route, { json }));
    assert.deepEqual([state, error?.reason, error?.message], ['FAILURE', 'policy', 'Support codes: 61493863']);
  }
});

test('vertex: a video at a URL is fetched as from an untrusted host', async () => {
  const uri = 'https://elsewhere.example/video.mp4';
  const json = { name: VERTEX.name, done: true, response: { generatedSamples: [{ video: { uri } }] } };
  const { state, raw } = await veo.query(VERTEX, routeCall('vertex', { json }));
  assert.equal(state, 'SUCCESS');
  const source = await veo.content(VERTEX, raw, undefined, routeCall('vertex', {}));
  assert.deepEqual(source, { kind: 'fetch', url: uri, headers: {}, trusted: false });
});

test('gemini: success without a video is a failure; an error number gets its name', async () => {
  assert.equal((await poll('gemini', 'empty')).state, 'FAILURE');
  const { error } = await poll('gemini', 'failed');
  assert.deepEqual([error?.code, error?.reason], ['INVALID_ARGUMENT', 'policy']);
});

test('vertex: bytes are not part of the stored response and are returned by content', async () => {
  const { state, artifact, raw } = await poll('vertex', 'done');
  assert.deepEqual([state, artifact], ['SUCCESS', { kind: 'inline' }]);
  assert.equal(JSON.stringify(raw).includes('AAAAIGZ0eXA='), false);
  const source = await veo.content(VERTEX, raw, undefined, routeCall('vertex', { json: replies['vertex-done'] }));
  assert.deepEqual(source, { kind: 'bytes', bytes: Buffer.from('AAAAIGZ0eXA=', 'base64'), mimeType: 'video/mp4' });
});

test('vertex: an object in a bucket is fetched from Cloud Storage with the bearer token', async () => {
  const { artifact, raw } = await poll('vertex', 'stored');
  assert.deepEqual(artifact, { kind: 'protected' });
  assert.deepEqual(await veo.content(VERTEX, raw, undefined, routeCall('vertex', {})), {
    kind: 'fetch',
    url: 'https://storage.googleapis.com/storage/v1/b/demo-videos/o/veo%2F0b6f%2Fsample_0.mp4?alt=media',
    headers: { authorization: 'Bearer token' },
    trusted: true,
  });
});

test('vertex: a refused token is replaced once, then the refusal is final', async () => {
  const seen: string[] = [];
  const call: AdapterContext = {
    ...routeCall('vertex', {}),
    cachedSecret: (_key, _make, rejected) => Promise.resolve(rejected === undefined ? 'old' : 'new'),
    sendJson(request: OutboundRequest) {
      seen.push(request.headers?.authorization ?? '');
      return Promise.resolve({ status: 401, headers: {}, text: '', json: {} });
    },
  };
  const outcome = await veo.submit(videoRequest({ model: 'veo-3.1-generate-001' }), call);
  assert.deepEqual(seen, ['Bearer old', 'Bearer new']);
  assert.equal(outcome.kind === 'refused' && outcome.error.reason, 'auth');
});

/** A finished operation of this name, without an error if it succeeded. */
const mayEnd = (name: string) => (state: 'SUCCESS' | 'FAILURE', reply: Json, status: number) => {
  const operation = Object(reply) as { name?: unknown; done?: unknown; error?: unknown };
  const isOurs = (operation.name ?? name) === name;
  const isOver = status >= 200 && status < 300 && isOurs && operation.done === true;
  return isOver && (state === 'FAILURE' || (operation.error ?? null) === null);
};

for (const route of ['gemini', 'vertex'] as const) {
  test(`${route}: 5,000 mutated responses: no crash, no wrong final state`, () =>
    tryMutatedReplies(byRoute(route), {
      handle: handles[route],
      replies: ['running', 'done', 'filtered', 'failed'].map((name) => `${route}-${name}`),
      submits: [`${route}-running`, 'rate'],
      model: 'veo-3.1-generate-preview',
      mayEnd: mayEnd(handles[route].name),
    }));
}

test('metadata that only the other family of models has is named to the caller', () => {
  assert.deepEqual(veo.droppedMetadata?.(videoRequest({ model: 'gemini-omni-1.2-flash' })), [
    'negativePrompt',
    'personGeneration',
    'sampleCount',
    'seed',
    'generateAudio',
    'enhancePrompt',
    'compressionQuality',
    'resizeMode',
  ]);
  const frame = { bytes: Buffer.alloc(0), mediaType: 'image/png' };
  const request = videoRequest({ model: 'veo-3.1-generate-preview', images: [frame] });
  assert.deepEqual(veo.droppedMetadata?.(request), ['task']);
});
