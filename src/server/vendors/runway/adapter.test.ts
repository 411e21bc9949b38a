import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { VideoRequest } from '../adapter.ts';
import { runway } from './adapter.ts';

const ID = '497f6eca-6276-4993-bfeb-53cbbbba6f08';
const HANDLE = { id: ID };
const CREATED = { id: ID, createdAt: '2026-11-20T10:00:00.000Z' };
/** Modelled on the types of the official SDK. */
const REPLIES = {
  accepted: { id: ID },
  pending: { ...CREATED, status: 'PENDING' },
  throttled: { ...CREATED, status: 'THROTTLED' },
  running: { ...CREATED, status: 'RUNNING', progress: 0.45 },
  succeeded: { ...CREATED, status: 'SUCCEEDED', output: ['https://cdn.example.test/video.mp4?_jwt=x'] },
  empty: { ...CREATED, status: 'SUCCEEDED', output: [] },
  failed: { ...CREATED, status: 'FAILED', failure: 'An unexpected error occurred.', failureCode: 'INTERNAL' },
  cancelled: { ...CREATED, status: 'CANCELLED' },
};

const url = (name: string) => ({ url: `https://media.example.test/${name}.png` }) as const;
const query = (json: unknown, status = 200) => runway.query(HANDLE, fixedResponseContext({ json, status }));
const factors = (request: Partial<VideoRequest> & { readonly model: string }) =>
  runway.billingFactors(videoRequest(request));

test('the vendor’s status words are mapped to states; progress is a fraction', async () => {
  const states = await Promise.all(
    [REPLIES.pending, REPLIES.throttled, REPLIES.running, REPLIES.succeeded, REPLIES.empty, REPLIES.cancelled].map(
      async (reply) => (await query(reply)).state,
    ),
  );
  assert.deepEqual(states, ['QUEUED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'FAILURE']);
  assert.equal((await query(REPLIES.running)).progress, 45);
});

test('a task unknown to the vendor has ended; a bare 404 does not change the task', async () => {
  assert.equal((await query({ error: 'Task not found' }, 404)).error?.reason, 'missing');
  await assert.rejects(query('<html>', 404), { name: 'PollFailed' });
});

for (const [code, reason] of [
  ['SAFETY.INPUT.TEXT', 'policy'],
  ['INPUT_PREPROCESSING.SAFETY.TEXT', 'policy'],
  ['INPUT_PREPROCESSING.INTERNAL', 'capacity'],
  ['ASSET.INVALID', 'user'],
  ['INTERNAL.BAD_OUTPUT.CODE02', 'capacity'],
  ['THIRD_PARTY.RATE_LIMITED', 'capacity'],
  ['SOMETHING.NEW', 'other'],
] as const) {
  test(`a task that failed for ${code} is ${reason}`, async () => {
    assert.equal((await query({ ...REPLIES.failed, failureCode: code })).error?.reason, reason);
  });
}

test('two images are the first and the last frame, if the model accepts two', async () => {
  const sent: unknown[] = [];
  const context = fixedResponseContext({ json: REPLIES.accepted });
  const recording = {
    ...context,
    sendJson: (request: Parameters<typeof context.sendJson>[0]) => {
      sent.push([new URL(request.url).pathname, JSON.parse(`${request.body as string}`).promptImage]);
      return context.sendJson(request);
    },
  };
  await runway.submit(videoRequest({ model: 'veo3.1', images: [url('a'), url('b')] }), recording);
  assert.deepEqual(sent, [
    [
      '/v1/image_to_video',
      [
        { uri: url('a').url, position: 'first' },
        { uri: url('b').url, position: 'last' },
      ],
    ],
  ]);
});

test('the price follows seconds, frame and audio', () => {
  assert.deepEqual(factors({ model: 'gen4.5', seconds: 10 }), { seconds: 10, factors: { size: '1280x720' } });
  assert.deepEqual(factors({ model: 'veo3.1', metadata: { audio: false } }).factors, {
    size: '1280x720',
    audio: 'false',
  });
  assert.equal(factors({ model: 'veo3.1' }).factors.audio, 'true');
});

test('fields a model does not support are refused before anything is sent', () => {
  for (const [request, param] of [
    [{ model: 'gen4_turbo' }, 'image'],
    [{ model: 'gen4.5', images: [url('a'), url('b')] }, 'images'],
    [{ model: 'gen4.5', size: '1920x1080' }, 'size'],
    [{ model: 'gen4.5', seconds: 11 }, 'duration'],
    [{ model: 'veo3.1', seconds: 5 }, 'duration'],
    [{ model: 'gen4.5', mode: 'pro' }, 'mode'],
    [{ model: 'gen4.5', metadata: { seed: -1 } }, 'metadata.seed'],
  ] as const) {
    assert.throws(
      () => factors(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
    );
  }
});

test('mutated responses neither crash nor end a task', async () => {
  await tryMutatedReplies(runway, {
    recorded: REPLIES,
    handle: HANDLE,
    replies: ['pending', 'running', 'succeeded', 'empty', 'failed', 'cancelled'],
    submits: ['accepted'],
    model: 'gen4.5',
    mayEnd(state, reply, status) {
      const { status: word, error } = reply as { status?: string; error?: unknown };
      if (status === 404) return state === 'FAILURE' && typeof error === 'string';
      if (status < 200 || status >= 300) return false;
      return saysItEnded(state, word);
    },
  });
});
