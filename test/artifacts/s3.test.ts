import assert from 'node:assert/strict';
import { appendFile, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { ArtifactStore } from '../../src/server/artifacts/artifact-store.ts';
import { createFileStorage } from '../../src/server/artifacts/create-storage.ts';
import { moveToS3 } from '../../src/server/commands/move-artifacts.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type ArtifactFixture, CLIP, makeArtifactFixture, openWholeClip } from './artifact-fixture.ts';
import { startS3Server } from './s3-server.ts';

describe('copies in S3', () => {
  let server: Awaited<ReturnType<typeof startS3Server>>;
  const outbound = openOutbound();
  before(async () => {
    server = await startS3Server();
  });
  after(async () => {
    await outbound.close();
    await server.stop();
  });
  const opened = (directory: string, env = server.env) => {
    const files = createFileStorage(parseConfig({ ...env, ARTIFACTS_DIR: directory }), outbound);
    assert.ok(files?.s3 !== undefined);
    return { ...files, s3: files.s3 };
  };
  const idsIn = async (files: ReturnType<typeof opened>['s3']) => {
    const ids: string[] = [];
    for await (const batch of files.list()) ids.push(...batch.map(({ id }) => id));
    return ids;
  };
  const read = async ({ artifacts }: ArtifactFixture, taskId: string, range?: string) => {
    const file = await artifacts.storedFiles.open(taskId, { range });
    return file && { status: file.status, bytes: await buffer(file.body) };
  };

  forEachDatabase((_name, open) => {
    it('are written, read, listed and removed there, and nothing is left on disk', async (t) => {
      const fixture = await makeArtifactFixture(await open(), server.env);
      t.after(() => fixture.stop());
      const { s3 } = opened(fixture.directory);
      for (const left of await idsIn(s3)) await s3.remove(left);
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.enqueue('task_2');
      await fixture.waitFor('stored', 'task_1', 'task_2');
      assert.equal(await fixture.diskBytes(), 0);
      assert.deepEqual(await read(fixture, 'task_1'), { status: 200, bytes: CLIP });
      assert.deepEqual(await read(fixture, 'task_1', 'bytes=7-11'), { status: 206, bytes: CLIP.subarray(7, 12) });
      assert.equal((await idsIn(s3)).length, 2);
      // An object without a row, as a restored database would leave.
      const orphan = 'orphanorphanorphanorphan';
      const known = (await idsIn(s3))[0] ?? '';
      const path = `${fixture.directory}/orphan`;
      await writeFile(path, 'x');
      const sha256 = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881';
      await s3.put(orphan, path, { bytes: 1, sha256 });
      assert.equal(await s3.size(orphan), 1);
      fixture.clock.advance(2 * HOUR_MS);
      await fixture.artifacts.jobs[0]?.run(AbortSignal.timeout(60_000));
      assert.equal(await s3.size(orphan), 1);
      fixture.clock.advance(7 * 24 * HOUR_MS);
      await fixture.artifacts.jobs[0]?.run(AbortSignal.timeout(60_000));
      assert.equal(await s3.size(orphan), undefined);
      assert.equal(await s3.size(known), CLIP.length);
      fixture.clock.advance(31 * 24 * HOUR_MS);
      await fixture.artifacts.removeEnded();
      assert.deepEqual(await idsIn(s3), []);
      assert.equal(await read(fixture, 'task_1'), undefined);
    });

    it('expired copies that may not be deleted are no longer served, stay known, and are removed later', async (t) => {
      const fixture = await makeArtifactFixture(await open(), server.env);
      t.after(() => fixture.stop());
      t.after(() => server.denied.clear());
      const { s3 } = opened(fixture.directory);
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      const before = await idsIn(s3);
      server.denied.add('DELETE');
      fixture.clock.advance(31 * 24 * HOUR_MS);
      await fixture.artifacts.removeEnded();
      assert.equal(await read(fixture, 'task_1'), undefined);
      const row = await fixture.row('task_1');
      assert.equal(row?.state, 'removing');
      assert.match(row?.last_error ?? '', /403.*AccessDenied/);
      assert.deepEqual([await idsIn(s3), await fixture.artifacts.countUnremovable()], [before, 1]);
      server.denied.clear();
      fixture.clock.advance(HOUR_MS);
      await fixture.artifacts.removeEnded();
      assert.deepEqual([await fixture.row('task_1'), await fixture.artifacts.countUnremovable()], [undefined, 0]);
    });

    it('with a wrong key nothing is copied or given up, and administrators are notified', async (t) => {
      const fixture = await makeArtifactFixture(await open(), { ...server.env, ARTIFACTS_S3_SECRET_KEY: 'wrong' });
      t.after(() => fixture.stop());
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      while (fixture.notices.length === 0) await pause(10);
      assert.deepEqual(new Set(fixture.notices), new Set(['The stored videos cannot be reached']));
      assert.match(fixture.noticeTexts[0] ?? '', /^s3:.* cannot be read or written: “S3 answered 403: .*Signature/);
      assert.equal(await fixture.artifacts.isAvailable(), false);
      const row = await fixture.row('task_1');
      assert.deepEqual([row?.state, row?.tries], ['pending', 0]);
    });

    it('are moved from disk by one command and served throughout; a damaged file stays', async (t) => {
      const database = await open();
      const disk = await makeArtifactFixture(database);
      t.after(() => disk.stop());
      disk.artifacts.start({ openVideo: openWholeClip });
      const tasks = ['task_1', 'task_2', 'task_3'];
      for (const task of tasks) await disk.enqueue(task);
      await disk.waitFor('stored', ...tasks);
      await disk.artifacts.stop();
      const s3 = await makeArtifactFixture(database, { ...server.env, ARTIFACTS_DIR: disk.directory });
      t.after(() => s3.stop());
      assert.deepEqual(await read(s3, 'task_1'), { status: 200, bytes: CLIP });
      const places = opened(disk.directory);
      const store = new ArtifactStore(database);
      const damaged = await store.findByTask('task_3');
      await appendFile(places.disk.pathOf(damaged?.id ?? ''), 'x');
      const report = await moveToS3(store, places.disk, places.s3);
      assert.deepEqual(report, { moved: 2, bytes: 2 * CLIP.length, skipped: 0, bad: ['task_3'] });
      assert.equal(await disk.diskBytes(), CLIP.length + 1);
      for (const task of ['task_1', 'task_2']) assert.deepEqual((await read(s3, task))?.bytes, CLIP);
      assert.deepEqual(await moveToS3(store, places.disk, places.s3), {
        moved: 0,
        bytes: 0,
        skipped: 2,
        bad: ['task_3'],
      });
    });
  });
});
