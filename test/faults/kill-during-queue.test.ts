import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { kling } from '../../src/sandbox/vendors/kling.ts';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { type CrashingServer, startCrashingServer } from './start-crashing-server.ts';

/** Submits per database; `npm run hammer -- queue` sends 1,000 over eight processes. */
const SUBMITS = Number(process.env.QUEUE_SUBMITS ?? '40');
const PROCESSES = Number(process.env.QUEUE_PROCESSES ?? '3');
const KILLS = Math.max(3, Math.ceil(SUBMITS / 25));
/** Videos at the vendor at once. */
const LIMIT = 5;
const ENV = { POLL_PERIOD_SECONDS: '0.25', AMBIGUOUS_SUBMIT_TTL_SECONDS: '5' };
const MODEL = 'kling-v1-6';
/** A job ends shortly before its first poll. */
const TIMING = { queuedMs: 0, runningMs: 220 };
const PATIENCE_SECONDS = 60 + SUBMITS;

forEachDatabase((name, _open, freshUrl) => {
  describe(`a queue over processes that are killed, on ${name}`, () => {
    test(`T76: ${SUBMITS} submits at a limit of ${LIMIT}: none is lost or doubled, and the order is kept`, async () => {
      const clock = vendorClock();
      const sandbox = await startSandbox({ simulators: [kling], timing: TIMING, clock });
      const url = await freshUrl();
      // SQLite serves a single process.
      const count = name === 'sqlite' ? 1 : PROCESSES;
      const fleet = await startFleet(url, count);
      const database = openReadOnly(url);
      try {
        const key = await prepare(fleet.anyUrl(), sandbox);
        const ids: string[] = [];
        // From here on every video waits.
        for (let index = 0; index < 2 * LIMIT; index++) ids.push(await submit(fleet, key, index));
        const kills = killRepeatedly(fleet);
        for (let index = 2 * LIMIT; index < SUBMITS; index++) {
          ids.push(await submit(fleet, key, index));
          clock.advance(TIMING.runningMs / LIMIT);
        }
        await kills;
        clock.run();
        await untilEnded(database);
        await assertLedgerConsistent(database);
        const jobs = sandbox.control.jobs('kling').toSorted((one, other) => one.createdAtMs - other.createdAtMs);
        const counts = await outcomes(database);
        const prompts = jobs.map(({ prompt }) => Number(prompt.slice('video '.length)));
        const displaced = displacedBeyond(prompts, LIMIT);
        const most = mostAtOnce(jobs.map(({ createdAtMs }) => createdAtMs));
        console.log(
          `${name}: ${count} processes, ${KILLS} kills, ${ids.length} submits, ${jobs.length} jobs, ${counts.SUCCESS ?? 0} completed, at most ${most} at once, ${displaced} out of order`,
        );
        assert.equal(new Set(ids).size, SUBMITS);
        assert.deepEqual(counts, { SUCCESS: SUBMITS });
        assert.equal(jobs.length, SUBMITS, 'one job each');
        assert.equal(new Set(prompts).size, SUBMITS);
        assert.ok(most <= LIMIT, `${most} at once`);
        // A killed process delays the videos that it was sending.
        assert.ok(displaced <= KILLS * LIMIT, `${displaced} videos overtaken`);
      } finally {
        await database.close();
        await fleet.stop();
        await sandbox.stop();
      }
    });
  });
});

interface Fleet {
  /** The URL of a process that was running when last seen. */
  anyUrl(): string;
  /** Kills a process and starts another in its place. */
  killOne(): Promise<void>;
  stop(): Promise<void>;
}

async function startFleet(url: string, count: number): Promise<Fleet> {
  // The first one creates the tables.
  const processes: CrashingServer[] = [await startCrashingServer(url, ENV)];
  const others = Array.from({ length: count - 1 }, () => startCrashingServer(url, ENV));
  processes.push(...(await Promise.all(others)));
  let turn = 0;
  let killed = 0;
  return {
    anyUrl: () => processes[turn++ % processes.length]?.baseUrl ?? '',
    async killOne() {
      const place = killed++ % processes.length;
      const old = processes[place];
      if (old === undefined) return;
      process.kill(old.pid, 'SIGKILL');
      await old.ended;
      processes[place] = await startCrashingServer(url, ENV);
    },
    async stop() {
      await Promise.all(processes.map((each) => each.stop()));
    },
  };
}

/** How far the vendor's clock is ahead: it may fall behind by less than the validity of Kling's tokens. */
const AHEAD_MS = 10 * 60_000;

/**
 * The vendor's clock, moved by the test until `run`: with each submit the vendor has time for one more video, so at any
 * speed of the machine all slots stay taken. A video that finds a free slot is sent at once, and one whose process dies
 * before that is refunded, not sent again.
 */
function vendorClock() {
  let at = Date.now() + AHEAD_MS;
  let since: number | undefined;
  return {
    now: () => at + (since === undefined ? 0 : Date.now() - since),
    advance(ms: number): void {
      at += ms;
    },
    run(): void {
      since = Date.now();
    },
  };
}

async function killRepeatedly(fleet: Fleet): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(300);
    await fleet.killOne();
  }
}

async function prepare(baseUrl: string, sandbox: Sandbox): Promise<string> {
  const operator = await new AdminClient(baseUrl).signIn();
  await operator.addChannel({
    vendor: 'kling',
    base_url: sandbox.url('kling'),
    credentials: sandbox.credentials('kling'),
    models: [MODEL],
    max_concurrent_tasks: LIMIT,
  });
  await operator.grantQuota(1_000_000_000_000);
  return operator.makeToken();
}

/** Submits one video, again with the same idempotency key if the process died; returns its id. */
async function submit(fleet: Fleet, key: string, index: number): Promise<string> {
  const body = { model: MODEL, prompt: `video ${index}` };
  for (let tries = 0; tries < 600; tries++) {
    const answer = await callModelApi(fleet.anyUrl(), key, 'POST', '/v1/videos', body, {
      'idempotency-key': `queue-${index}`,
    }).catch(() => undefined);
    if (answer?.status === 200) return String(answer.body.id);
    await pause(100);
  }
  throw new Error(`video ${index} was not accepted`);
}

type Open = ReturnType<typeof openReadOnly>;

async function outcomes({ kysely }: Open): Promise<Record<string, number>> {
  const rows = await kysely
    .selectFrom('tasks')
    .select(({ fn }) => ['status', fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute();
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}

async function untilEnded(database: Open): Promise<void> {
  for (let tries = 0; tries < PATIENCE_SECONDS * 2; tries++) {
    const { SUCCESS = 0, FAILURE = 0 } = await outcomes(database);
    if (SUCCESS + FAILURE === SUBMITS) return;
    await pause(500);
  }
  assert.fail(`not all videos ended: ${JSON.stringify(await outcomes(database))}`);
}

/** Largest number of jobs that ran at the same time. */
function mostAtOnce(starts: readonly number[]): number {
  const running = (at: number) => starts.filter((start) => start <= at && at < start + TIMING.runningMs).length;
  return Math.max(...starts.map(running));
}

/** Number of entries that more than `bound` later ones have overtaken. */
const displacedBeyond = (order: readonly number[], bound: number): number =>
  order.filter((number, place) => order.slice(0, place).filter((earlier) => earlier > number).length > bound).length;
