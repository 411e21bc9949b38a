import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PollFailed } from '../../src/server/upstreams/upstream.ts';
import type { Json, QueryOutcome, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { hailuo } from '../../src/server/vendors/hailuo/adapter.ts';
import { jimeng } from '../../src/server/vendors/jimeng/adapter.ts';
import { kling } from '../../src/server/vendors/kling/adapter.ts';
import { veo } from '../../src/server/vendors/veo/adapter.ts';
import { vidu } from '../../src/server/vendors/vidu/adapter.ts';
import { fixedResponseContext, videoRequest } from './adapter-context.ts';
import { DEVIATION_CASES, type Fields } from './adapter-deviation-cases.ts';

/**
 * Deviations that relays and gateways introduce into a vendor's documented responses, one per test: a finished video is
 * delivered, a failed one refunded.
 */

const FILM = 'https://cdn.example.test/film.mp4?sign=1';
const REASON = 'a real person in the image';

const ENVELOPES: Readonly<Record<string, (answer: unknown) => Fields>> = {
  '{code: "success", message: "", data}': (data) => ({ code: 'success', message: '', data }),
  '{code: 0, data}': (data) => ({ code: 0, msg: 'ok', data }),
  '{code: 200, success: true, data}': (data) => ({ code: 200, success: true, message: 'success', data }),
};

const FILMS_ELSEWHERE: readonly Fields[] = [
  { video_url: FILM },
  { url: FILM },
  { video: { url: FILM } },
  { metadata: { url: FILM } },
  { result: { video_url: FILM } },
  { result_url: FILM },
  { output: { video_url: FILM } },
  { results: { video_url: FILM } },
  { videos: [{ url: '' }, { url: FILM }] },
  { output: [null, FILM] },
  { results: [{}, { url: ` ${FILM}\n` }] },
  { task_result: { videos: [{ id: '1', url: FILM, duration: '5.0' }] } },
  { result: { videos: [{ url: [FILM] }] } },
];

const REASONS_ELSEWHERE: readonly Fields[] = [
  { error: REASON },
  { error: { message: REASON } },
  { error: null, fail_reason: REASON },
  { err_msg: REASON },
  { failure_reason: REASON },
  { error: { code: null, message: null }, message: REASON },
];

const ERRORS_AT_SUBMIT: readonly (readonly [answer: Fields, reason: string])[] = [
  [{ error: { message: 'no balance', code: 'insufficient_quota' } }, 'billing'],
  [{ code: 'fail', message: 'the system is overloaded', data: null }, 'capacity'],
  [{ code: 429, message: 'slow down' }, 'rate'],
  [{ success: false, message: 'Your request was blocked by our moderation system.' }, 'policy'],
];

const WORDS = {
  SUCCESS: ['SUCCESS', 'Succeed', 'succeeded', 'COMPLETED', 'Done', 'finished'],
  FAILURE: ['FAILURE', 'fail', 'Failed', 'error', 'CANCELED', 'cancelled', 'rejected'],
  IN_PROGRESS: ['InProgress', 'IN_PROGRESS', 'processing', 'Running'],
};

/** Vendors whose responses have an envelope or a form of their own: a model, an accepted submit and a finished task. */
const OWN_FORMS: Readonly<Record<string, readonly [VendorAdapter, model: string, handle: Json, Fields, Fields]>> = {
  kling: [
    kling,
    'kling-v1-6',
    { family: 'text2video', id: '77' },
    { code: 0, message: 'SUCCEED', data: { task_id: '77', task_status: 'submitted' } },
    { code: 0, data: { task_id: '77', task_status: 'succeed', task_result: { videos: [{ id: 'v', url: FILM }] } } },
  ],
  jimeng: [
    jimeng,
    'jimeng_t2v_v30',
    { reqKey: 'jimeng_t2v_v30', id: '77' },
    { code: 10_000, message: 'Success', data: { task_id: '77' } },
    { code: 10_000, data: { status: 'done', video_url: FILM } },
  ],
  hailuo: [
    hailuo,
    'MiniMax-H3',
    { taskId: '77', version: 2 },
    { task_id: '77' },
    { task: { id: '77', status: 'success', content: { url: FILM } } },
  ],
  vidu: [
    vidu,
    'viduq2',
    { id: '77' },
    { task_id: '77', state: 'created' },
    { id: '77', state: 'success', creations: [{ id: 'c', url: FILM }] },
  ],
};

for (const [name, [vendor, model, handle, accepted, finished]] of Object.entries(OWN_FORMS)) {
  const submit = (json: unknown) => vendor.submit(videoRequest({ model }), fixedResponseContext({ json }));
  test(`${name}: responses inside the envelopes of relays`, async () => {
    for (const wrap of [(own: unknown) => own, ...Object.values(ENVELOPES)]) {
      const outcome = await submit(wrap(accepted));
      assert.deepEqual(outcome.kind === 'accepted' && outcome.handle, handle);
      const { state, artifact, raw } = await vendor.query(handle, fixedResponseContext({ json: wrap(finished) }));
      assert.deepEqual([state, artifact], ['SUCCESS', { kind: 'url', url: FILM }]);
      const source = await vendor.content(handle, raw, undefined, fixedResponseContext({}));
      assert.equal(source.kind === 'fetch' && source.url, FILM);
    }
  });
  test(`${name}: an error of a relay behind HTTP 200 refuses a submit at once`, async () => {
    for (const [answer, reason] of ERRORS_AT_SUBMIT) {
      const refused = await submit(answer);
      assert.ok(refused.kind === 'refused', JSON.stringify(answer));
      assert.equal(refused.error.reason, reason, JSON.stringify(answer));
    }
  });
}

test('veo: the reason of a failed operation is found where relays put it', async () => {
  const name = 'models/veo-3.1-generate-preview/operations/7';
  for (const reason of REASONS_ELSEWHERE) {
    const json = { name, done: true, ...reason };
    const { state, error } = await veo.query({ route: 'gemini', name }, fixedResponseContext({ json }));
    assert.deepEqual([state, error?.message], ['FAILURE', REASON], JSON.stringify(reason));
  }
});

/** The same members, all null. */
const nulls = (fields: Fields): Fields => Object.fromEntries(Object.keys(fields).map((name) => [name, null]));

for (const row of DEVIATION_CASES) {
  const { vendor, handle } = row;
  const submit = (json: unknown, status = 200) =>
    vendor.submit(videoRequest({ model: row.model }), fixedResponseContext({ json, status }));
  const query = (json: unknown, status = 200) => vendor.query(handle, fixedResponseContext({ json, status }));
  const finished = row.done(row.film(FILM));

  async function assertDelivered(outcome: QueryOutcome, label: string): Promise<void> {
    assert.equal(outcome.state, 'SUCCESS', label);
    if (outcome.artifact?.kind === 'url') assert.equal(outcome.artifact.url, FILM, label);
    const source = await vendor.content(handle, outcome.raw, undefined, fixedResponseContext({}));
    assert.ok(source.kind === 'fetch', label);
    if (outcome.artifact?.kind === 'url') return;
    // A URL named by a response receives no credentials.
    assert.deepEqual(source, { kind: 'fetch', url: FILM, headers: {}, trusted: false }, label);
  }
  function assertFailed({ state, error }: QueryOutcome, label: string): void {
    assert.deepEqual([state, error?.message], ['FAILURE', REASON], label);
  }

  suite(`${vendor.title}, ${row.model}`, () => {
    for (const [name, wrap] of Object.entries(ENVELOPES)) {
      test(`responses inside ${name}`, async () => {
        const accepted = await submit(wrap(row.accepted));
        assert.deepEqual(accepted.kind === 'accepted' && accepted.handle, handle);
        await assertDelivered(await query(wrap(finished)), name);
        assertFailed(await query(wrap(row.failed(row.reason(REASON)))), name);
      });
    }

    test('another 2xx is a success', async () => {
      for (const status of [201, 202]) {
        assert.equal((await submit(row.accepted, status)).kind, 'accepted');
        await assertDelivered(await query(finished, status), `${status}`);
      }
    });

    test('an error behind HTTP 200 refuses a submit at once, and says nothing about a task in a poll', async () => {
      for (const [answer, reason] of ERRORS_AT_SUBMIT) {
        const refused = await submit(answer);
        assert.ok(refused.kind === 'refused', JSON.stringify(answer));
        assert.equal(refused.error.reason, reason, JSON.stringify(answer));
        assert.ok(refused.error.message.length > 3);
        await assert.rejects(query(answer), PollFailed, JSON.stringify(answer));
      }
    });

    test('null next to a result or an error counts as absent', async () => {
      const withoutReason = nulls(row.reason(REASON));
      await assertDelivered(await query(row.done({ ...withoutReason, ...row.film(FILM) })), 'reason');
      assertFailed(await query(row.failed({ ...nulls(row.film(FILM)), ...row.reason(REASON) })), 'film');
      const neither = await query(row.done({ ...withoutReason, ...nulls(row.film(FILM)) }));
      assert.ok(neither.state === 'FAILURE' || neither.artifact?.kind === 'protected', JSON.stringify(neither));
    });

    test('a response about another task ends nothing', () => assert.rejects(query(row.foreign(finished)), PollFailed));

    if (row.isRenamed) {
      test('finds the file where relays put it', async () => {
        for (const film of FILMS_ELSEWHERE) await assertDelivered(await query(row.done(film)), JSON.stringify(film));
      });

      test('finds the failure reason where relays put it', async () => {
        for (const reason of REASONS_ELSEWHERE) assertFailed(await query(row.failed(reason)), JSON.stringify(reason));
      });

      test('ignores a row number next to the task’s own id', async () => {
        const id = (handle as { id: string }).id;
        const accepted = await submit({
          id: 4711,
          task_id: id,
          ...row.accepted,
          ...('id' in row.accepted && { id: 4711 }),
        });
        assert.equal(accepted.kind === 'accepted' && accepted.upstreamId, id);
        await assertDelivered(await query(row.done({ ...row.film(FILM), id: 4711, task_id: id })), 'poll');
      });
    }

    test('accepts state names in other letter cases and tenses', async () => {
      const { state } = row;
      if (!state) return;
      for (const [expected, words] of Object.entries(WORDS))
        for (const word of words) assert.equal((await query(state(word, row.film(FILM)))).state, expected, word);
      const refused = await submit(state('failed', row.reason(REASON)));
      assert.equal(refused.kind === 'refused' && refused.error.message, REASON);
    });

    test('a count of zero is not usage, and another field may report it', () => {
      for (const usage of row.usage?.zero ?? [])
        assert.equal(vendor.billedFacts?.({ ...finished, ...usage } as never), undefined, JSON.stringify(usage));
      for (const usage of row.usage?.seven ?? [])
        assert.deepEqual(Object.values(vendor.billedFacts?.({ ...finished, ...usage } as never) ?? {}), [7]);
    });
  });
}
