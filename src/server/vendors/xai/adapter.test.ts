import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysItEnded } from '../../../../test/vendors/says-it-ended.ts';
import { tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { VideoRequest } from '../adapter.ts';
import { xai } from './adapter.ts';

const HANDLE = { id: 'd97415a1-5796-b7ec-379f-4e6819e08fdf' };
const VIDEO = { url: 'https://vidgen.x.ai/a.mp4', duration: 5, respect_moderation: true };
/** Modelled on the pages of the vendor. */
const REPLIES = {
  accepted: { request_id: HANDLE.id },
  pending: { status: 'pending' },
  done: { status: 'done', video: VIDEO, model: 'grok-imagine-video' },
  filtered: { status: 'done', video: { duration: 5, respect_moderation: false } },
  expired: { status: 'expired' },
  failed: { status: 'failed', error: { code: 'internal', message: 'The video could not be generated.' } },
};

const query = (json: unknown, status = 200) => xai.query(HANDLE, fixedResponseContext({ json, status }));
const factors = (request: Partial<VideoRequest>) =>
  xai.billingFactors(videoRequest({ model: 'grok-imagine-video-1.5', ...request }));

test('status words are mapped to states, and a video withheld by moderation is refused content', async () => {
  const states = await Promise.all(
    Object.values(REPLIES)
      .slice(1)
      .map(async (reply) => (await query(reply)).state),
  );
  assert.deepEqual(states, ['QUEUED', 'SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE']);
  assert.equal((await query(REPLIES.filtered)).error?.reason, 'policy');
  assert.equal((await query({ code: 'not-found', error: 'Request not found.' }, 404)).error?.reason, 'missing');
});

test('a poll that the content check refuses ends the job; another refused poll does not', async () => {
  for (const json of [
    {
      code: 'Client specified an invalid argument',
      error: 'Generated video rejected by content moderation.',
      usage: { cost_in_usd_ticks: 2_500_000_000 },
    },
    { code: 'imagine:content-moderated', error: 'The video was withheld.' },
  ]) {
    const { state, error } = await query(json, 400);
    assert.deepEqual([state, error?.reason, error?.cause], ['FAILURE', 'policy', 'result_refused']);
  }
  await assert.rejects(query({ code: 'invalid-argument', error: 'Invalid request.' }, 400), PollFailed);
  // About the account, whose jobs continue.
  await assert.rejects(query({ code: 'forbidden', error: 'Your team violated the content policy.' }, 403), PollFailed);
});

test('a row number next to the id of a gateway’s task is not the job', async () => {
  const json = { code: 'success', message: '', data: { id: 4711, task_id: 'task_1', status: 'NOT_START', data: null } };
  const outcome = await xai.submit(videoRequest({ model: 'grok-imagine-video-1.5' }), fixedResponseContext({ json }));
  assert.equal(outcome.kind === 'accepted' && outcome.upstreamId, 'task_1');
});

test('a 202 without a status means that the job runs; a 200 without one means nothing', async () => {
  for (const [json, text] of [
    [undefined, ''],
    [{}, '{}'],
    [{ status: null }, '{"status":null}'],
  ] as const) {
    const outcome = await xai.query(HANDLE, fixedResponseContext({ json, text, status: 202 }));
    assert.equal(outcome.state, 'IN_PROGRESS', text);
    await assert.rejects(xai.query(HANDLE, fixedResponseContext({ json, text, status: 200 })), PollFailed, text);
  }
  for (const [json, text] of [
    [undefined, '{"status":'],
    [{ status: { unexpected: true } }, '{"status":{"unexpected":true}}'],
  ] as const)
    await assert.rejects(xai.query(HANDLE, fixedResponseContext({ json, text, status: 202 })), PollFailed, text);
  const waiting = await query({ status: 'pending', progress: 24 }, 202);
  assert.deepEqual([waiting.state, waiting.progress], ['QUEUED', 24]);
  assert.equal((await query(REPLIES.failed, 202)).state, 'FAILURE');
});

test('the price follows seconds and resolution; an edit has the length of its source', () => {
  assert.deepEqual(factors({ seconds: 10, size: '1080p' }), {
    seconds: 10,
    factors: { resolution: '1080p', size: '1080p' },
  });
  const source = { url: 'https://media.example.test/a.mp4', role: 'source' as const };
  assert.equal(factors({ operation: 'edit', videos: [source], inputSeconds: 7 }).seconds, 7);
});

test('fields a model does not support are refused before anything is sent', () => {
  const source = { url: 'https://media.example.test/a.mp4', role: 'source' as const };
  const keyframe = { url: 'https://media.example.test/a.png', role: 'keyframe' as const, at: 5 };
  for (const [request, param] of [
    [{ size: '8k' }, 'size'],
    [{ mode: 'pro' }, 'mode'],
    [{ metadata: { resolution: '4k' } }, 'metadata.resolution'],
    [{ operation: 'edit', videos: [source], seconds: 5 }, 'duration'],
    [{ operation: 'extend', videos: [source], size: '720p' }, 'size'],
    [{ operation: 'edit' }, 'inputs'],
    [{ images: [keyframe], seconds: 5 }, 'inputs'],
  ] as const)
    assert.throws(
      () => factors(request),
      (error) => error instanceof UnsupportedRequestError && error.param === param,
      JSON.stringify(request),
    );
});

test('mutated responses neither crash nor end a task', async () => {
  await tryMutatedReplies(xai, {
    recorded: REPLIES,
    handle: HANDLE,
    replies: ['pending', 'done', 'filtered', 'expired', 'failed'],
    submits: ['accepted'],
    model: 'grok-imagine-video-1.5',
    mayEnd(state, reply, status) {
      const { status: word, video } = reply as { status?: string | null; video?: unknown };
      if (status === 404) return state === 'FAILURE';
      if (status < 200 || status >= 300) return false;
      return saysItEnded(state, word ?? undefined) || (word == null && typeof video === 'object');
    },
  });
});
