import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../src/contract/time-units.ts';
import { ArtifactStore } from '../../src/server/artifacts/artifact-store.ts';
import { createFileStorage } from '../../src/server/artifacts/create-storage.ts';
import { moveToS3 } from '../../src/server/commands/move-artifacts.ts';
import { isAppError } from '../../src/server/platform/app-error.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type ArtifactFixture, CLIP, makeArtifactFixture, openWholeClip } from './artifact-fixture.ts';
import { startS3Server } from './s3-server.ts';

const isUnavailable = (error: unknown): boolean =>
  isAppError(error, 'unavailable') && error.options.retryAfterSeconds === 60;
const read = async ({ artifacts }: ArtifactFixture, taskId: string) => {
  const file = await artifacts.storedFiles.open(taskId, {});
  return file && buffer(file.body);
};

describe('a disk of stored files that is not mounted', () => {
  forEachDatabase((_name, open) => {
    let database: Awaited<ReturnType<typeof open>>;
    let fixture: ArtifactFixture;
    let files: string;
    let aside: string;
    beforeEach(async () => {
      database = await open();
      fixture = await makeArtifactFixture(database);
      files = join(fixture.directory, 'files');
      aside = join(fixture.directory, 'aside');
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
    });
    afterEach(() => fixture.stop());
    const states = async () =>
      (await database.kysely.selectFrom('artifacts').select(['task_id', 'state']).orderBy('task_id').execute()).map(
        ({ task_id, state }) => `${task_id} ${state}`,
      );

    for (const [name, unmount] of [
      ['gone', async () => {}],
      ['empty', () => mkdir(files)],
    ] as const)
      it(`${name}: reads fail for the moment, nothing is marked or written, and all is there afterwards`, async () => {
        const { artifacts, clock } = fixture;
        const body = Readable.from(['an uploaded file']);
        const received = await artifacts.uploads?.receive(1, { body, announcedBytes: undefined }, () => {});
        const kept = { fileId: 'upload_1', mimeType: 'text/plain', expiresAt: clock.now() + 100 * HOUR_MS };
        await received?.keep(kept, async () => {});
        await received?.release();
        assert.equal(await artifacts.isAvailable(), true);
        // The copier may have found the disk just before it goes, and would claim the next video.
        await artifacts.stop();
        await rename(files, aside);
        await unmount();
        artifacts.start({ openVideo: openWholeClip });
        await assert.rejects(read(fixture, 'task_1'), isUnavailable);
        await assert.rejects(artifacts.storedFiles.openUpload('upload_1', {}), isUnavailable);
        assert.equal(await artifacts.storedFiles.findProvenance('task_1'), undefined);
        assert.equal(await artifacts.isAvailable(), false);
        const later = { body: Readable.from(['x']), announcedBytes: undefined };
        await assert.rejects(async () => artifacts.uploads?.receive(1, later, () => {}), isUnavailable);
        await fixture.enqueue('task_2');
        await database.transaction((trx) => artifacts.removeWithTask(trx, 'task_none'));
        clock.advance(2 * HOUR_MS);
        await artifacts.removeEnded();
        assert.deepEqual(await states(), ['task_1 stored', 'task_2 pending', 'upload_1 stored']);
        assert.equal((await fixture.row('task_2'))?.tries, 0);
        assert.deepEqual(
          [await readdir(files).catch(() => []), await readdir(join(fixture.directory, 'incoming'))],
          [[], []],
        );
        const days = [clock.now() - 2 * HOUR_MS, clock.now()].map((time) => Math.floor(time / DAY_MS));
        assert.deepEqual(new Set(fixture.noticeKeys), new Set(days.map((day) => `storage.gone:${day}`)));
        assert.deepEqual(new Set(fixture.notices), new Set(['The stored videos cannot be reached']));
        await rm(files, { recursive: true, force: true });
        await rename(aside, files);
        artifacts.wake();
        await fixture.waitFor('stored', 'task_2');
        assert.deepEqual(await read(fixture, 'task_1'), CLIP);
        const upload = await artifacts.storedFiles.openUpload('upload_1', {});
        assert.equal(upload && String(await buffer(upload.body)), 'an uploaded file');
      });

    it('files of a release without markers are recognized', async () => {
      await rm(join(files, '.reelgate-files'));
      await fixture.enqueue('task_2');
      await fixture.waitFor('stored', 'task_2');
      assert.ok((await readdir(files)).includes('.reelgate-files'));
      assert.deepEqual(fixture.notices, []);
    });

    it('that was lost for good is replaced by one that an operator marks', async () => {
      await rm(files, { recursive: true });
      await assert.rejects(read(fixture, 'task_1'), isUnavailable);
      await mkdir(files);
      await writeFile(join(files, '.reelgate-files'), '');
      assert.equal(await read(fixture, 'task_1'), undefined);
      await fixture.waitFor('stored', 'task_1');
      assert.deepEqual(await read(fixture, 'task_1'), CLIP);
    });
  });
});

describe('a bucket that is another one', () => {
  let server: Awaited<ReturnType<typeof startS3Server>>;
  const outbound = openOutbound();
  before(async () => {
    server = await startS3Server();
  });
  after(async () => {
    await outbound.close();
    await server.stop();
  });

  forEachDatabase((name, open) => {
    it('makes reads fail for the moment and marks nothing', async (t) => {
      const database = await open();
      const fixture = await makeArtifactFixture(database, server.env);
      t.after(() => fixture.stop());
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      const other = await makeArtifactFixture(database, { ...server.env, ARTIFACTS_S3_PREFIX: `other-${name}/` });
      t.after(() => other.stop());
      await assert.rejects(read(other, 'task_1'), isUnavailable);
      assert.equal(await other.artifacts.isAvailable(), false);
      assert.equal((await fixture.row('task_1'))?.state, 'stored');
      assert.deepEqual(await read(fixture, 'task_1'), CLIP);
      // A bucket whose rules delete old objects also deletes the marker.
      const s3 = createFileStorage(parseConfig({ ...server.env, ARTIFACTS_DIR: fixture.directory }), outbound)?.s3;
      await s3?.remove('.reelgate-files');
      const later = await makeArtifactFixture(database, server.env);
      t.after(() => later.stop());
      assert.equal(await later.artifacts.isAvailable(), true);
      assert.equal(await s3?.isMarked(), true);
    });

    it('needs the disk until all files have been moved from it, and then no longer', async (t) => {
      const database = await open();
      const disk = await makeArtifactFixture(database);
      t.after(() => disk.stop());
      disk.artifacts.start({ openVideo: openWholeClip });
      await disk.enqueue('task_1');
      await disk.waitFor('stored', 'task_1');
      await disk.artifacts.stop();
      const env = { ...server.env, ARTIFACTS_S3_PREFIX: `moved-${name}/`, ARTIFACTS_DIR: disk.directory };
      const begun = await makeArtifactFixture(database, env);
      t.after(() => begun.stop());
      assert.equal(await begun.artifacts.isAvailable(), true);
      begun.artifacts.start({ openVideo: openWholeClip });
      await begun.enqueue('task_2');
      await begun.waitFor('stored', 'task_2');
      await begun.artifacts.stop();

      const [files, aside] = [join(disk.directory, 'files'), join(disk.directory, 'aside')];
      await rename(files, aside);
      const unmounted = await makeArtifactFixture(database, env);
      t.after(() => unmounted.stop());
      await assert.rejects(read(unmounted, 'task_1'), isUnavailable);
      assert.equal((await unmounted.row('task_1'))?.state, 'stored');
      assert.deepEqual(await read(unmounted, 'task_2'), CLIP);
      assert.ok(unmounted.noticeTexts[0]?.includes(`${join(files, '.reelgate-files')} is missing`));
      await rename(aside, files);
      assert.deepEqual(await read(unmounted, 'task_1'), CLIP);

      const places = createFileStorage(parseConfig(env), outbound);
      assert.ok(places?.s3 !== undefined);
      assert.deepEqual((await moveToS3(new ArtifactStore(database), places.disk, places.s3)).bad, []);
      await rm(files, { recursive: true });
      const moved = await makeArtifactFixture(database, env);
      t.after(() => moved.stop());
      assert.equal(await moved.artifacts.isAvailable(), true);
      assert.deepEqual(await read(moved, 'task_1'), CLIP);
    });

    it('that does not answer makes reads fail for the moment', async (t) => {
      const database = await open();
      const fixture = await makeArtifactFixture(database, server.env);
      t.after(() => fixture.stop());
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      server.denied.add('GET');
      t.after(() => server.denied.clear());
      await assert.rejects(read(fixture, 'task_1'), isUnavailable);
      assert.equal((await fixture.row('task_1'))?.state, 'stored');
    });
  });
});
