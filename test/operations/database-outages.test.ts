import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openPubSub } from '../../src/server/platform/db/pub-sub.ts';
import { readCpuWaitMs } from '../cpu-wait-time.ts';
import { FlakyPostgresProxy } from '../faults/flaky-postgres-proxy.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { untilAllEnded } from '../faults/submit-steps.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startPostgres } from '../start-postgres.ts';
import { startReplicatedPostgres } from './replicated-postgres.ts';

const MODEL = 'kling-v1-6';
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '3' };
/** `npm run hammer` runs all of them. */
const ALL = process.env.OUTAGES_ALL === '1';
/** The recovery time that production promises. */
const RECOVERY_MS = 20_000;
const CALLERS = 40;

const start = (url: string): Promise<VideoService> =>
  startVideoService(url, { env: ENV }, [{ name: 'kling', model: MODEL }]);

/** Submits by many concurrent callers without pause until they are stopped; records the responses. */
class Submits {
  readonly ids: string[] = [];
  refused = 0;
  #isOver = false;
  readonly #working: Promise<unknown>;

  constructor(service: VideoService) {
    this.#working = Promise.all(Array.from({ length: CALLERS }, (_, caller) => this.#run(service, caller)));
  }

  async #run({ caller }: VideoService, index: number): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const answer = await caller.request('POST', '/v1/videos', { model: MODEL, prompt: `caller ${index} ${n}` });
      if (answer.status === 200) this.ids.push(idOf(answer.body));
      else {
        assert.equal(answer.status, 503, JSON.stringify(answer.body));
        this.refused += 1;
      }
      await pause(250);
    }
  }

  stop(): Promise<unknown> {
    this.#isOver = true;
    return this.#working;
  }
}

/**
 * Milliseconds until the service is ready and accepts a submit again. The limit counts from when the database is
 * usable, excluding the time this process waited for a CPU.
 */
async function recoveryTime(service: VideoService, isUsable: Promise<void> = Promise.resolve()): Promise<number> {
  const startedAt = performance.now();
  let ownTime = (): number => 0;
  void isUsable.then(
    () => {
      const [usableAt, waitedBefore] = [performance.now(), readCpuWaitMs()];
      ownTime = () => performance.now() - usableAt - (readCpuWaitMs() - waitedBefore);
    },
    // The caller awaits the same promise and handles its rejection.
    () => {},
  );
  const isServed = async () =>
    (await fetch(`${service.baseUrl}/readyz`)).ok &&
    (await service.caller.request('POST', '/v1/videos', { model: MODEL, prompt: `probe ${performance.now()}` }))
      .status === 200;
  while (!(await isServed())) {
    assert.ok(ownTime() < RECOVERY_MS, 'it serves again');
    await pause(100);
  }
  return Math.round(performance.now() - startedAt);
}

async function assertNothingLost(url: string, submits: Submits): Promise<void> {
  const database = openReadOnly(url);
  try {
    await untilAllEnded(database, 40);
    const rows = await database.kysely.selectFrom('tasks').select('public_id').execute();
    const known = new Set(rows.map(({ public_id }) => public_id));
    assert.ok(submits.ids.length > 0);
    for (const id of submits.ids) assert.ok(known.has(id), `${id} was answered and is there`);
    await assertLedgerConsistent(database);
  } finally {
    await database.close();
  }
}

forEachDatabase((name, _open, freshUrl) => {
  // SQLite is part of the process.
  if (name === 'sqlite') return;

  describe('an unresponsive database', { timeout: 300_000 }, () => {
    const undo: (() => Promise<void>)[] = [];
    after(async () => {
      for (const action of undo.reverse()) await action();
    });
    const report = (what: string, ms: number) => console.log(`${what}: back after ${ms} ms`);

    it('with silently dead connections: they are replaced', async () => {
      const url = await freshUrl();
      const proxy = await FlakyPostgresProxy.start(url);
      undo.push(() => proxy.stop());
      const service = await start(proxy.urlOf(url));
      undo.push(() => service.stop());
      const signals = openPubSub(proxy.urlOf(url));
      undo.push(() => signals.close());
      const gap = Promise.withResolvers<void>();
      signals.subscribe('tasks', () => {}, gap.resolve);
      const submits = new Submits(service);
      await pause(1_500);
      proxy.silence();
      const [silentAt, waitedBefore] = [performance.now(), readCpuWaitMs()];
      report('silently dead connections', await recoveryTime(service));
      await gap.promise;
      const ownTime = performance.now() - silentAt - (readCpuWaitMs() - waitedBefore);
      assert.ok(ownTime < RECOVERY_MS, 'signals are received again');
      await submits.stop();
      await assertNothingLost(url, submits);
    });

    it('that is frozen: health checks report it within two seconds, and it is used again as soon as it resumes', async () => {
      const server = await startPostgres();
      undo.push(() => server.stop());
      const service = await start(server.url);
      undo.push(() => service.stop());
      const submits = new Submits(service);
      await pause(1_500);
      server.signalAll('SIGSTOP');
      // Longer than every time limit of a query.
      for (const frozenAt = performance.now(); performance.now() - frozenAt < 7_000; ) {
        const askedAt = performance.now();
        const [ready, live] = await Promise.all(['readyz', 'livez'].map((path) => fetch(`${service.baseUrl}/${path}`)));
        assert.ok(performance.now() - askedAt < 2_000, 'within two seconds');
        assert.equal(live?.status, 200);
        assert.deepEqual([ready?.status, await ready?.json()], [503, { ready: false, reason: 'database' }]);
        await pause(500);
      }
      assert.ok(submits.refused > 0, 'callers are told');
      server.signalAll('SIGCONT');
      report('frozen database', await recoveryTime(service));
      await submits.stop();
      await assertNothingLost(server.url, submits);
    });

    const failures = [['SIGKILL', 'crashes'], ...(ALL ? ([['SIGSTOP', 'hangs']] as const) : [])] as const;
    for (const [how, words] of failures)
      it(`whose primary ${words} and whose standby is promoted: the other host of the URL is used`, async () => {
        const pair = await startReplicatedPostgres();
        undo.push(() => pair.stop());
        const service = await start(pair.url);
        undo.push(() => service.stop());
        const submits = new Submits(service);
        await pause(1_500);
        pair.failPrimary(how);
        const isPromoted = pair.promote();
        report(`primary ${words}`, await recoveryTime(service, isPromoted));
        await isPromoted;
        await submits.stop();
        await assertNothingLost(pair.standbyUrl, submits);
      });
  });
});
