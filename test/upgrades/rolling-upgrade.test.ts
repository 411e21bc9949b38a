import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { CHILD_PROCESS_ENVIRONMENT } from '../child-process-environment.ts';
import { ContinuousLoad } from '../faults/continuous-load.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { untilAllEnded } from '../faults/submit-steps.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type LoadBalancer, startHaproxy } from '../operations/load-balancers.ts';
import { freePort, ServerProcess } from '../operations/server-process.ts';
import { checkOutRelease, type Release } from './check-out-release.ts';
import { loadFixture, type ReleaseFixture } from './release-fixture.ts';

const CALLERS = 4;
/** Minimum time that each mixture of processes serves. */
const SERVE_MS = 1_000;
/** Tenths of a second in which each mixture generates a video. */
const MAX_VIDEO_TRIES = 300;
const PRELOAD = new URL('./next-release.fixture.ts', import.meta.url).href;
/** The source instead of the bundle, whose own list of migrations a preloaded module cannot reach. */
const SOURCES = join(import.meta.dirname, '../../src/server/main.ts');
type Code = 'last' | 'next' | 'next and no older';

forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
  // SQLite serves a single process: there the next release takes over from the previous one.
  const slots = name === 'sqlite' ? 1 : 2;
  // The time the load balancer needs to notice, if there is one.
  const DRAIN_SECONDS = name === 'sqlite' ? '0' : '3';
  let sandbox: Sandbox;
  let release: Release;
  let url: string;
  let fixture: ReleaseFixture;
  let balancer: LoadBalancer | undefined;
  const processes: ServerProcess[] = [];
  /** All processes started so far. */
  const logs: ServerProcess[] = [];

  const start = (code: Code, port: number): ServerProcess => {
    const started = startAs(code, port);
    logs.push(started);
    return started;
  };
  const startAs = (code: Code, port: number): ServerProcess =>
    code === 'last'
      ? new ServerProcess(url, port, { LOG_LEVEL: 'error', DRAIN_SECONDS }, release.program)
      : new ServerProcess(
          url,
          port,
          {
            ...CHILD_PROCESS_ENVIRONMENT,
            LOG_LEVEL: 'error',
            DRAIN_SECONDS,
            NEXT_RELEASE: code === 'next' ? 'additive' : 'floor',
          },
          ['--import', PRELOAD, SOURCES],
        );
  const read = async <R>(query: (database: ReturnType<typeof openReadOnly>) => Promise<R>): Promise<R> => {
    const database = openReadOnly(url);
    try {
      return await query(database);
    } finally {
      await database.close();
    }
  };
  const appliedByTest = () =>
    read(async ({ kysely }) => {
      const { rows } = await sql<{
        id: string;
      }>`select id from schema_migrations where id like '9%' order by id`.execute(kysely);
      return rows.map(({ id }) => id);
    });

  before(async () => {
    sandbox = await startSandbox({ simulators: ALL_SIMULATORS, latencyMs: 20 });
    url = await emptyUrl();
    fixture = await loadFixture(url);
    release = checkOutRelease(fixture.version);
    await read(async ({ kysely }) => {
      for (const { vendor } of await kysely.selectFrom('channels').select('vendor').execute())
        await kysely
          .updateTable('channels')
          .set({ base_url: sandbox.url(vendor) })
          .where('vendor', '=', vendor)
          .execute();
    });
    for (let slot = 0; slot < slots; slot += 1) processes.push(await start('last', await freePort()).untilReady());
    if (slots > 1) balancer = await startHaproxy(processes.map(({ port }) => port));
  });
  after(async () => {
    await balancer?.stop();
    await Promise.all(processes.map((each) => each.stop()));
    release?.remove();
    await sandbox?.stop();
  });

  it('is upgraded under load with processes of both releases side by side, and rolls back one release', async (t) => {
    const known = await read(({ kysely }) => kysely.selectFrom('tasks').select(['id', 'prompt']).execute());
    const load = new ContinuousLoad(fixture.key);
    t.after(() => {
      load.isOver = true;
    });
    const baseUrl = balancer?.baseUrl ?? processes[0]?.baseUrl ?? '';
    const working = Promise.all(Array.from({ length: CALLERS }, (_, caller) => load.run(baseUrl, `caller ${caller}`)));
    const replace = async (slot: number, code: Code): Promise<void> => {
      const old = processes[slot] as ServerProcess;
      load.isReplaced = slots === 1;
      old.signal('SIGTERM');
      assert.equal(await old.ended, 0, old.output);
      processes[slot] = await start(code, old.port).untilReady();
      // A request that was refused just before is reported a little later.
      await pause(100);
      load.isReplaced = false;
      await serve();
    };
    /** Each mixture generates at least one video, which takes a busy machine longer. */
    const serve = async (): Promise<void> => {
      const { length } = load.videos;
      await pause(SERVE_MS);
      for (let tries = 0; load.videos.length === length && tries < MAX_VIDEO_TRIES; tries += 1) await pause(100);
      assert.ok(load.videos.length > length, `no video in ${MAX_VIDEO_TRIES / 10} s: ${load.failures.join('\n')}`);
    };
    await serve();
    for (const code of ['next', 'last'] as const)
      for (let slot = 0; slot < slots; slot += 1) {
        await replace(slot, code);
        assert.deepEqual(await appliedByTest(), ['9001-next-release', '9002-next-release-index'], 'once, and for good');
      }
    load.isOver = true;
    await working;
    console.log(
      `${name}: ${load.sent} requests, ${load.videos.length} videos, ${load.refused} found no process, ${load.failures.length} failed`,
    );
    assert.deepEqual(load.failures.slice(0, 10), [], logs.map((each) => each.output).join(''));

    await read(async (database) => {
      await untilAllEnded(database, 60);
      await assertLedgerConsistent(database);
      const rows = await database.kysely.selectFrom('tasks').select(['id', 'prompt', 'status']).execute();
      const ids = new Set(rows.map(({ id }) => id));
      assert.deepEqual(
        known.filter(({ id }) => !ids.has(id)),
        [],
        'what the release before had is there',
      );
      const prompts = rows.map(({ prompt }) => prompt).filter((prompt) => prompt.startsWith('caller '));
      const lost = load.videos.filter((prompt) => !prompts.includes(prompt));
      assert.deepEqual(lost, [], 'every video that was answered is there');
      const jobs = sandbox.control.jobs('kling').map(({ prompt }) => prompt);
      assert.equal(new Set(jobs).size, jobs.length, 'one job for each');
      if (load.refused === 0) assert.deepEqual(prompts.toSorted(), load.videos.toSorted());
      const { rows: written } = await sql<{ next_release: number }>`
        select distinct next_release from tasks order by 1`.execute(database.kysely);
      assert.deepEqual(
        written.map(({ next_release }) => next_release),
        [7, 8],
        'rows of both releases have what the migration says',
      );
    });
  });

  it('does not start on a schema that only a newer release supports, and names that release', async () => {
    const [first] = processes;
    assert.ok(first);
    await first.stop();
    const newest = await start('next and no older', first.port).untilReady();
    await newest.stop();
    const older = start('last', first.port);
    processes[0] = older;
    assert.equal(await older.ended, 1);
    assert.match(older.output, /the database was changed by a newer release: it needs 9003-next-release-only/);
    assert.equal((await appliedByTest()).at(-1), '9003-next-release-only');
    processes[0] = await start('next and no older', first.port).untilReady();
  });
});
