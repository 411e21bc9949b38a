import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../platform/clock.ts';
import { type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import { UpstreamCalls } from './upstream.ts';

const ACCOUNT = {
  id: 1,
  credentialId: 1,
  baseUrl: 'https://relay.test/base',
  credentials: { api_key: 'sk-0123456789' },
  options: {},
  private: false,
};

test('URLs without a host are completed with that of the upstream, and other texts stay', async () => {
  const json = {
    id: '/not/a/url',
    url: ' /files/a.mp4?sign=1\n',
    output: ['/files/b.mp4', 'https://cdn.test/c.mp4'],
    data: [{ video_url: '/d.mp4', downloadUrl: '/e.mp4', message: '/f.mp4' }],
    video: { uri: '//cdn.test/g.mp4' },
    result: null,
  };
  const outbound = { requestJson: async () => ({ status: 200, headers: {}, text: '', json }) };
  const calls = new UpstreamCalls(outbound as unknown as OutboundClient, systemClock);
  const context = calls.contextFor(ACCOUNT, new AbortController().signal);
  const response = await context.sendJson({ method: 'GET', url: 'https://relay.test/base/v1/videos/1' });
  assert.deepEqual(response.json, {
    ...json,
    url: 'https://relay.test/files/a.mp4?sign=1',
    output: ['https://relay.test/files/b.mp4', 'https://cdn.test/c.mp4'],
    data: [{ video_url: 'https://relay.test/d.mp4', downloadUrl: 'https://relay.test/e.mp4', message: '/f.mp4' }],
  });
});

test('a caller who leaves fails no other that waits for the same secret', async () => {
  const calls = new UpstreamCalls({} as OutboundClient, systemClock);
  const leaving = new AbortController();
  let made = 0;
  const fetchToken = async (signal: AbortSignal) => {
    made += 1;
    if (signal === leaving.signal)
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () =>
          reject(new OutboundError('aborted', 'the caller left', { mayHaveArrived: true })),
        ),
      );
    return { value: 'token', expiresAtMs: Number.MAX_SAFE_INTEGER };
  };
  const tokenFor = (signal: AbortSignal): Promise<string> =>
    calls.contextFor(ACCOUNT, signal).cachedSecret('token', () => fetchToken(signal));
  const left = tokenFor(leaving.signal);
  const others = [1, 2].map(() => tokenFor(new AbortController().signal));
  leaving.abort();
  await assert.rejects(left, { phase: 'aborted' });
  assert.deepEqual(await Promise.all(others), ['token', 'token']);
  assert.equal(made, 2, 'those that stay share one request');
});
