import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PollFailed } from '../../src/server/upstreams/vendor-errors.ts';
import type { QueryOutcome } from '../../src/server/vendors/adapter.ts';
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
