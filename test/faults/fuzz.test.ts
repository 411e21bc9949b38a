import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { handClock } from '../../src/server/platform/clock.ts';
import { checkBooks } from '../../src/server/quota/books-store.ts';
import { forEachDatabase } from '../databases.ts';
import { assertFailure } from '../junk/assert-failure.ts';
import { arbitraryOf } from '../junk/schema-arbitrary.ts';
import { mutated } from '../mutations.ts';
import { Operator } from '../operator.ts';
import { type Running, startRunning } from '../running.ts';

/** Requests to each endpoint; the script that hammers for releases sends more, from another seed. */
const RUNS = Number(process.env.FUZZ_RUNS ?? '6');
const SEED = Number(process.env.JUNK_SEED ?? '20261121') % 2 ** 31;
/** Goes on for as long as somebody listens. */
const ENDLESS = new Set(['/api/notifications/stream']);
/** An upstream that a made-up channel names is not there. */
const UPSTREAM = /upstream|unavailable|unreachable|provider/;

/** Requests an endpoint may take, and such with a few wounds: what a fixed list of junk never comes far enough to meet. */
describe(`R12: requests made up from every endpoint's own schemas (seed ${SEED})`, () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const clock = handClock();
    let running: Running;
    let operator: Operator;
    let key: string;
    before(async () => {
      running = await startRunning(await freshUrl(), { overrides: { clock } });
      await running.addChannel('sora', ['sora-2']);
      await running.operator.grant(100_000_000);
      operator = running.operator;
      key = await operator.makeToken();
    });
    after(() => running.stop());

    /** Some of what is sent ends the session or the key. */
    async function credentialFor({ policy }: Endpoint): Promise<Record<string, string>> {
      if (policy === 'model') {
        const { status } = await fetch(`${running.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
        if (status === 401) key = await (await signedIn()).makeToken();
        return { authorization: `Bearer ${key}` };
      }
      return (await signedIn()).headers;
    }
    async function signedIn(): Promise<Operator> {
      // Wrong logins among what is sent use up what an address and an account may try.
      clock.advance(15 * 60_000);
      const { success } = await operator.ask('GET', '/api/user/self').catch(() => ({ success: false }));
      if (!success) operator = await new Operator(running.baseUrl).signIn();
      return operator;
    }

    const requestsTo = ({ path, query, body }: Endpoint) => {
      const made = body === undefined ? fc.constant(undefined) : arbitraryOf(body as never);
      const wounded = made.chain((valid) => (valid === undefined ? fc.constant(valid) : mutated([valid])));
      return fc.record({
        // Root may well give himself another password, or go.
        id: fc.constantFrom(...(path.startsWith('/api/admin/users') ? ['2', '3'] : ['1', '2', 'sora-2', 'task_none'])),
        query: query === undefined ? fc.constant({}) : arbitraryOf(query as never),
        body: fc.oneof(made, wounded),
      });
    };

    it('are answered in the right envelope, and never by a failure of ours', {
      timeout: 120_000 + RUNS * 20_000,
    }, async () => {
      let taken = 0;
      for (const line of running.app.http.routes.endpoints) {
        if (ENDLESS.has(line.path)) continue;
        const credential = await credentialFor(line);
        for (const { id, query, body } of fc.sample(requestsTo(line), { numRuns: RUNS, seed: SEED })) {
          const search = new URLSearchParams(
            Object.entries(query as object).map(([name, value]) => [name, String(value).toWellFormed()]),
          );
          const response = await fetch(`${running.baseUrl}${line.path.replace(/:\w+/g, id)}?${search}`, {
            method: line.method,
            redirect: 'manual',
            headers: { ...credential, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          });
          const text = await response.text();
          if (response.status < 300) taken += 1;
          const isUpstream = response.status > 500 && UPSTREAM.test(text);
          if (!isUpstream)
            assertFailure(line, response.status, text, `${search} ${JSON.stringify(body)?.slice(0, 600)}`);
        }
      }
      const sent = RUNS * running.app.http.routes.endpoints.length;
      assert.ok(taken > sent / 8, `${taken} of ${sent} were taken`);
    });

    it('and leave the books right and the service well', async () => {
      assert.deepEqual(await checkBooks(running.app.database), []);
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
      assert.equal((await fetch(`${running.baseUrl}/readyz`)).status, 200);
    });
  });
});
