import assert from 'node:assert/strict';
import { mkdir, readdir, readlink, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS } from '../../src/contract/time-units.ts';
import type { OpenSource } from '../../src/server/artifacts/artifact-copier.ts';
import { countCopies } from '../../src/server/artifacts/artifact-store.ts';
import { AppError } from '../../src/server/platform/app-error.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type ArtifactFixture, CLIP, makeArtifactFixture, openWholeClip } from './artifact-fixture.ts';

const GB = 1024 ** 3;

describe('copies of finished videos', () => {
  forEachDatabase((_name, open) => {
    let database: Awaited<ReturnType<typeof open>>;
    let fixture: ArtifactFixture;
    beforeEach(async () => {
      database = await open();
      fixture = await makeArtifactFixture(database);
    });
    afterEach(() => fixture.stop());
    const read = async (taskId: string, range?: string) => {
      const file = await fixture.artifacts.storedFiles.open(taskId, { range });
      return file && { ...file, bytes: await buffer(file.body) };
    };

    it('are created once their task has ended, then served and counted', async () => {
      const { artifacts } = fixture;
      await fixture.enqueue('task_1');
      assert.equal(await read('task_1'), undefined);
      artifacts.start({ openVideo: openWholeClip });
      await fixture.waitFor('stored', 'task_1');
      const file = await read('task_1');
      assert.equal(file?.status, 200);
      assert.deepEqual(file?.bytes, CLIP);
      assert.match(file?.headers.etag ?? '', /^"[0-9a-f]{32}"$/);
      assert.deepEqual((await read('task_1', 'bytes=5-9'))?.bytes, CLIP.subarray(5, 10));
      assert.deepEqual(await artifacts.usage(1), { bytes: CLIP.length, files: 1 });
      assert.deepEqual(await artifacts.usage(2), { bytes: 0, files: 0 });
      assert.equal(await fixture.diskBytes(), CLIP.length);
      assert.equal(await artifacts.findExpiry('task_1'), fixture.clock.now() + 30 * DAY_MS);
    });

    it('are announced to their owner before they expire, once each, except those whose video is gone', async () => {
      const { artifacts, clock, plans, events, notices } = fixture;
      plans.set(2, { days: 2, gb: null });
      artifacts.start({
        openVideo: openWholeClip,
        describe: async (taskId) =>
          taskId === 'task_gone' ? undefined : { subject: `video:${taskId}`, data: { id: taskId } },
      });
      for (const [taskId, userId] of [
        ['task_1', 1],
        ['task_gone', 1],
        ['task_short', 2],
      ] as const)
        await fixture.enqueue(taskId, userId);
      await fixture.waitFor('stored', 'task_1', 'task_gone', 'task_short');
      const storedAt = clock.now();
      await artifacts.removeEnded();
      assert.deepEqual(events, []);
      clock.advance(DAY_MS);
      await Promise.all([artifacts.removeEnded(), artifacts.removeEnded()]);
      const expiresAt = (days: number) => Math.floor((storedAt + days * DAY_MS) / 1000);
      assert.deepEqual(events, [{ userId: 2, data: { id: 'task_short', expires_at: expiresAt(2) } }]);
      clock.advance(26 * DAY_MS);
      for (let round = 0; round < 2; round++) await artifacts.removeEnded();
      assert.deepEqual(events.slice(1), [{ userId: 1, data: { id: 'task_1', expires_at: expiresAt(30) } }]);
      assert.deepEqual(notices, Array(2).fill('Stored videos will be removed soon'));
      clock.advance(3 * DAY_MS);
      await artifacts.removeEnded();
      assert.equal(await read('task_1'), undefined);
    });

    it('are retried after vendor failures, and never confirmed from bad data', async () => {
      const page = Buffer.from('<!DOCTYPE html><title>Gateway</title>');
      const half = CLIP.subarray(0, CLIP.length >> 1);
      const bad: OpenSource[] = [
        async () => ({ body: Readable.from([page]), bytes: page.length }),
        async () => ({ body: Readable.from([half]), bytes: half.length }),
        async () => ({ body: Readable.from([CLIP]), bytes: CLIP.length + 1 }),
        async () => ({ body: Readable.from([half]), bytes: undefined }),
        async () => Promise.reject(new AppError('content_unavailable')),
        async () => Promise.reject(new AppError('content_not_found')),
      ];
      let tries = 0;
      fixture.artifacts.start({ openVideo: (...call) => (bad[tries++] ?? openWholeClip)(...call) });
      await fixture.enqueue('task_1');
      for (let made = 1; made <= bad.length; made++) {
        while (((await fixture.row('task_1'))?.last_error ?? '') === '' || tries < made) await pause(10);
        assert.equal((await fixture.row('task_1'))?.state, made < 6 ? 'pending' : 'failed', `try ${made}`);
        assert.equal(await read('task_1'), undefined);
        await database.kysely.updateTable('artifacts').set({ last_error: '' }).execute();
        fixture.clock.advance(DAY_MS / 2);
        fixture.artifacts.wake();
      }
      assert.equal(await fixture.diskBytes(), 0);
    });

    it('end when they expire, with their video, and with their account', async () => {
      fixture.plans.set(2, { days: 0, gb: null }).set(3, { days: 1, gb: null });
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('forever', 2);
      await fixture.enqueue('day', 3);
      await fixture.enqueue('month', 1);
      await fixture.enqueue('deleted', 1);
      await fixture.waitFor('stored', 'forever', 'day', 'month', 'deleted');
      assert.equal(await fixture.artifacts.findExpiry('forever'), null);
      await database.transaction((trx) => fixture.artifacts.removeWithTask(trx, 'deleted'));
      assert.equal(await read('deleted'), undefined);
      fixture.clock.advance(2 * DAY_MS);
      await fixture.artifacts.removeEnded();
      assert.deepEqual(
        await Promise.all(['forever', 'day', 'month'].map(async (task) => (await read(task)) !== undefined)),
        [true, false, true],
      );
      fixture.clock.advance(29 * DAY_MS);
      await fixture.artifacts.removeEnded();
      assert.equal(await read('month'), undefined);
      assert.equal(await fixture.diskBytes(), CLIP.length);
    });

    it("make room for newer ones: the account's oldest first, or the oldest of all when total space runs out", async () => {
      /** Sets the recorded size of each of these videos. */
      const resize = (bytes: number, tasks: readonly string[]) =>
        database.transaction(async (trx) => {
          const stored = trx
            .selectFrom('artifacts')
            .selectAll()
            .where('task_id', 'in', tasks)
            .where('state', '=', 'stored');
          await countCopies(trx, await stored.execute(), -1);
          await trx.updateTable('artifacts').set({ bytes }).where('task_id', 'in', tasks).execute();
          await countCopies(trx, await stored.execute(), 1);
        });
      fixture.artifacts.start({ openVideo: openWholeClip });
      for (const [task, user] of [
        ['a1', 1],
        ['b1', 2],
        ['a2', 1],
      ] as const) {
        await fixture.enqueue(task, user);
        await fixture.waitFor('stored', task);
        fixture.clock.advance(1_000);
      }
      // An account has 5 GiB of space, all accounts together 20 GiB.
      await resize(2.5 * GB, ['a1', 'b1', 'a2']);
      await fixture.enqueue('a3', 1);
      await fixture.waitFor('stored', 'a3');
      assert.equal(await fixture.row('a1'), undefined);
      assert.ok((await fixture.row('b1')) !== undefined && (await fixture.row('a2')) !== undefined);
      assert.deepEqual(fixture.notices, []);
      await resize(20 * GB, ['b1']);
      await fixture.enqueue('c1', 3);
      await fixture.waitFor('stored', 'c1');
      assert.equal(await fixture.row('b1'), undefined);
      assert.deepEqual(fixture.notices, ['The space for stored videos is full']);
    });

    it('none is removed where that would not help, and administrators are notified each time', async () => {
      const { artifacts, notices } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('old', 1);
      await fixture.waitFor('stored', 'old');
      await artifacts.stop();
      const full = await makeArtifactFixture(database, {
        ARTIFACTS_DIR: fixture.directory,
        ARTIFACTS_MIN_FREE_GB: '1000000',
      });
      full.artifacts.start({ openVideo: openWholeClip });
      for (const task of ['new1', 'new2']) {
        await full.enqueue(task, 2);
        while (((await full.row(task))?.last_error ?? '') === '') await pause(10);
        assert.match((await full.row(task))?.last_error ?? '', /filled by something else/);
      }
      assert.deepEqual((await read('old'))?.bytes, CLIP);
      assert.equal((await fixture.row('old'))?.state, 'stored');
      // Two copies of one shortage: notices with one key, which reaches each administrator once a day.
      assert.deepEqual(full.notices, Array(2).fill('New videos cannot be stored'));
      assert.equal(new Set(full.noticeKeys).size, 1);
      await full.stop();
      assert.deepEqual(notices, []);
    });

    it('one that fails before its first byte keeps neither its connection nor its space', async () => {
      const { artifacts, clock, directory, plans } = fixture;
      const incoming = join(directory, 'incoming');
      // No folder for the file, then no database for the limits of the account.
      await writeFile(incoming, '');
      const failures = [
        () => undefined,
        () => {
          throw new Error('no limits');
        },
      ];
      const bodies: Readable[] = [];
      artifacts.start({
        async openVideo(...call) {
          const fail = failures.shift();
          if (fail === undefined) return openWholeClip(...call);
          plans.get = fail;
          const body = new Readable({ read() {} });
          bodies.push(body);
          return { body, bytes: 5 * GB };
        },
      });
      await fixture.enqueue('task_1');
      for (const tries of [1, 2]) {
        while (bodies[tries - 1]?.destroyed !== true) await pause(10);
        await rm(incoming, { force: true, recursive: true });
        clock.advance(DAY_MS / 2);
        artifacts.wake();
      }
      plans.get = () => undefined;
      await fixture.waitFor('stored', 'task_1');
    });

    it('one whose process has lost it to another leaves that one its file', async (t) => {
      const { artifacts, directory } = fixture;
      const stalled = new Readable({ read() {} });
      artifacts.start({ openVideo: async () => ({ body: stalled, bytes: CLIP.length }) });
      await fixture.enqueue('task_1');
      stalled.push(CLIP.subarray(0, 1_000));
      const incoming = async () => (await readdir(join(directory, 'incoming')).catch(() => [])).length;
      while ((await incoming()) === 0) await pause(10);
      const next = await makeArtifactFixture(database, { ARTIFACTS_DIR: directory });
      t.after(() => next.stop());
      next.clock.advance(91_000);
      const body = new Readable({ read() {} });
      next.artifacts.start({ openVideo: async () => ({ body, bytes: CLIP.length }) });
      body.push(CLIP.subarray(0, 1_000));
      const follow = () => next.artifacts.storedFiles.open('task_1', {});
      let reader = await follow();
      for (; reader === undefined; reader = await follow()) await pause(10);
      reader.body.destroy();
      stalled.destroy(new Error('the connection was lost'));
      await artifacts.stop();
      body.push(CLIP.subarray(1_000));
      body.push(null);
      await next.waitFor('stored', 'task_1');
      assert.deepEqual((await read('task_1'))?.bytes, CLIP);
      assert.equal((await next.row('task_1'))?.tries, 2);
    });

    it('one file that cannot be removed keeps no other from being removed', async () => {
      const { artifacts, directory, clock } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      const tasks = ['task_1', 'task_2', 'task_3'];
      for (const task of tasks) await fixture.enqueue(task);
      await fixture.waitFor('stored', ...tasks);
      const rows = await database.kysely.selectFrom('artifacts').select(['id', 'task_id']).orderBy('id').execute();
      const [first] = rows;
      const path = join(directory, 'files', (first?.id ?? '').slice(0, 2), first?.id ?? '');
      await rm(path);
      await mkdir(path);
      clock.advance(31 * DAY_MS);
      await artifacts.removeEnded();
      const left = () =>
        database.kysely.selectFrom('artifacts').select(['id', 'state', 'removal_tries as tries']).execute();
      assert.deepEqual(await left(), [{ id: first?.id, state: 'removing', tries: 1 }]);
      assert.equal(await fixture.diskBytes(), 0);
      assert.equal(await read(first?.task_id ?? ''), undefined);
      // Retried with growing delays; administrators hear of a failure that lasts.
      await artifacts.removeEnded();
      assert.deepEqual([(await left())[0]?.tries, await artifacts.countUnremovable(), fixture.notices], [1, 1, []]);
      for (const minutes of [1, 5]) {
        clock.advance(minutes * 60_000);
        await artifacts.removeEnded();
      }
      assert.deepEqual([(await left())[0]?.tries, fixture.notices], [3, ['Deleted videos still use space']]);
      await rm(path, { recursive: true });
      clock.advance(30 * 60_000);
      await artifacts.removeEnded();
      assert.deepEqual([await left(), await artifacts.countUnremovable()], [[], 0]);
    });

    it('a vanished file is copied again, and files without a row are removed', async () => {
      const { artifacts, directory, clock } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      const files = join(directory, 'files');
      const folder = (await readdir(files)).find((each) => !each.startsWith('.')) ?? '';
      const [name = ''] = await readdir(join(files, folder));
      await writeFile(join(files, folder, `${folder}orphan`), 'x');
      await writeFile(join(directory, 'incoming', 'dead.1'), 'x');
      for (const path of [join(files, folder, `${folder}orphan`), join(directory, 'incoming', 'dead.1')])
        await utimes(path, 1, 1);
      await artifacts.jobs[0]?.run(AbortSignal.timeout(60_000));
      clock.advance(7 * DAY_MS);
      await artifacts.jobs[0]?.run(AbortSignal.timeout(60_000));
      assert.equal(await fixture.diskBytes(), CLIP.length);
      await rm(join(files, folder, name));
      assert.equal(await read('task_1'), undefined);
      await fixture.waitFor('stored', 'task_1');
      assert.deepEqual((await read('task_1'))?.bytes, CLIP);
    });

    it('files survive a database that does not know them, such as a new one or an older backup', async () => {
      const { artifacts, directory, clock, notices, noticeKeys } = fixture;
      const look = () => artifacts.jobs[0]?.run(AbortSignal.timeout(60_000));
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      const stored = await database.kysely.selectFrom('artifacts').selectAll().execute();
      const forget = () => database.kysely.deleteFrom('artifacts').execute();
      await forget();
      clock.advance(30 * DAY_MS);
      await look();
      clock.advance(6.9 * DAY_MS);
      await look();
      assert.equal(await fixture.diskBytes(), CLIP.length);
      assert.deepEqual(notices, ['Stored files belong to no video of this database', notices[0]]);
      assert.equal(new Set(noticeKeys).size, 1, 'shown once');
      // The right database is back: what was found is forgotten.
      await database.kysely.insertInto('artifacts').values(stored).execute();
      clock.advance(1);
      await look();
      await forget();
      clock.advance(DAY_MS);
      await look();
      clock.advance(6.9 * DAY_MS);
      await look();
      assert.equal(await fixture.diskBytes(), CLIP.length);
      clock.advance(0.2 * DAY_MS);
      await look();
      assert.deepEqual(await readdir(directory), ['files', 'incoming']);
      assert.equal(await fixture.diskBytes(), 0);
    });

    it('a file that vanishes after weeks is copied again, although its vendor fails at first', async () => {
      const { artifacts, clock, directory } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      await artifacts.stop();
      clock.advance(14 * DAY_MS);
      const files = join(directory, 'files');
      const [folder = ''] = (await readdir(files)).filter((each) => !each.startsWith('.'));
      await rm(join(files, folder), { recursive: true });
      assert.equal(await read('task_1'), undefined);
      let fails = true;
      artifacts.start({
        async openVideo(...task) {
          if (fails) throw new AppError('content_unavailable');
          return openWholeClip(...task);
        },
      });
      while ((await fixture.row('task_1'))?.last_error === '') await pause(10);
      assert.equal((await fixture.row('task_1'))?.state, 'pending');
      fails = false;
      clock.advance(DAY_MS);
      artifacts.wake();
      await fixture.waitFor('stored', 'task_1');
      assert.deepEqual((await read('task_1'))?.bytes, CLIP);
    });

    it('an unconfirmed file is closed if its copy cannot begin', async () => {
      const { artifacts, directory } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      await artifacts.stop();
      await database.kysely.updateTable('artifacts').set({ state: 'pending', bytes: 0, next_try_at: 0 }).execute();
      // There is no folder for the file.
      await rm(join(directory, 'incoming'), { recursive: true });
      await writeFile(join(directory, 'incoming'), '');
      artifacts.start({ openVideo: async () => undefined });
      while (((await fixture.row('task_1'))?.tries ?? 0) < 2) await pause(10);
      await artifacts.stop();
      const links = await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      );
      assert.deepEqual(
        links.filter((path) => path.startsWith(join(directory, 'files'))),
        [],
      );
    });

    it('a process that died before it confirmed a file leaves the file to the next', async () => {
      const { artifacts } = fixture;
      artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      await database.kysely.updateTable('artifacts').set({ state: 'pending', bytes: 0, next_try_at: 0 }).execute();
      await artifacts.stop();
      // The vendor no longer has the video.
      artifacts.start({ openVideo: async () => undefined });
      await fixture.waitFor('stored', 'task_1');
      assert.deepEqual((await read('task_1'))?.bytes, CLIP);
      assert.equal(await fixture.diskBytes(), CLIP.length);
    });
  });
});
