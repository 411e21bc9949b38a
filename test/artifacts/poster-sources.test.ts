import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { loadMedia } from '../../src/sandbox/media.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { CLIP, makeArtifactFixture, openWholeClip } from './artifact-fixture.ts';

const COVER = loadMedia('sea-1.webp').bytes;
const FRAME = loadMedia('spritesheet.jpg').bytes;

describe('posters', () => {
  forEachDatabase((_name, open, freshUrl) => {
    let service: VideoService;
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-posters-'));
      const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
      const overrides = { ffmpeg: join(folder, 'none') };
      service = await startVideoService(await freshUrl(), { env, overrides }, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'vidu', model: 'viduq2' },
      ]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });
    interface Row {
      readonly task_id: string;
      readonly poster_url: string;
    }
    const finished = async (model: string): Promise<Row> => {
      const id = idOf(await service.caller.submit({ model, prompt: 'a video with a poster' }));
      assert.equal((await service.caller.waitUntilEnded(id)).status, 'completed');
      return rowOf(id);
    };
    const rowOf = (id: string) => service.operator.requestData<Row>('GET', `/api/videos/${id}`);
    const untilPoster = async (id: string) => {
      for (;;) {
        const { poster_url } = await rowOf(id);
        if (poster_url !== '') return poster_url;
        await pause(20);
      }
    };
    const thumbnail = (id: string) => service.caller.fetchRaw(`/v1/videos/${id}/content?variant=thumbnail`);
    const put = (id: string, image: Buffer) =>
      fetch(`${service.baseUrl}/api/videos/${id}/thumbnail`, {
        method: 'PUT',
        headers: { ...service.operator.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ image: image.toString('base64') }),
      });

    it('come from the vendor if it has one, also after the vendor has lost it', async () => {
      const { task_id: id } = await finished('viduq2');
      const url = await untilPoster(id);
      const poster = await fetch(`${service.baseUrl}${url}`);
      assert.deepEqual([poster.status, poster.headers.get('content-type')], [200, 'image/webp']);
      assert.deepEqual(Buffer.from(await poster.arrayBuffer()), COVER);
      // Waits until the poster is stored with the video.
      while ((await thumbnail(id)).headers.get('last-modified')?.includes('00:00:00') !== false) await pause(20);
      service.sandbox.control.fault({ kind: '403', operation: 'content', times: Number.POSITIVE_INFINITY });
      assert.deepEqual(Buffer.from(await (await thumbnail(id)).arrayBuffer()), COVER);
      service.sandbox.control.clearFaults();
    });

    it("are uploaded by the owner's browser if there is none, once, and only as images", async () => {
      const { task_id: id, poster_url } = await finished('kling-v1-6');
      assert.equal(poster_url, '');
      assert.equal((await thumbnail(id)).status, 404);
      for (const bad of [CLIP.subarray(0, 1_000), COVER.subarray(0, -2), Buffer.from('<svg onload="alert(1)"/>')])
        assert.equal((await put(id, bad)).status, 400);
      // The management API reports success in its body.
      const isDone = async (response: Response) => ((await response.json()) as { success: boolean }).success;
      assert.equal(await isDone(await put('task_other', FRAME)), false);
      assert.equal(await isDone(await put(id, FRAME)), true);
      assert.equal(await isDone(await put(id, COVER)), false);
      const poster = await fetch(`${service.baseUrl}${await untilPoster(id)}`);
      assert.equal(poster.headers.get('content-type'), 'image/jpeg');
      assert.deepEqual(Buffer.from(await poster.arrayBuffer()), FRAME);
      assert.equal((await service.caller.request('DELETE', `/v1/videos/${id}`)).status, 200);
      assert.equal((await thumbnail(id)).status, 404);
    });

    it('are whole when several are stored at once: one of them is kept', async (t) => {
      const fixture = await makeArtifactFixture(await open());
      t.after(() => fixture.stop());
      const images = [COVER, FRAME, COVER, FRAME];
      for (let n = 0; n < 10; n++) {
        const owner = { taskId: `task_${n}`, userId: 1 };
        const outcomes = await Promise.all(images.map((image) => fixture.artifacts.putPoster(owner, image)));
        assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, 1, String(outcomes));
        assert.equal(outcomes.filter((outcome) => outcome === 'exists').length, images.length - 1);
        const poster = await fixture.artifacts.storedFiles.openPoster(owner.taskId, {});
        assert.deepEqual(poster && (await buffer(poster.body)), images[outcomes.indexOf('stored')]);
      }
    });

    it('replace one whose process died while it was stored', async (t) => {
      const database = await open();
      const fixture = await makeArtifactFixture(database);
      t.after(() => fixture.stop());
      const owner = { taskId: 'task_1', userId: 1 };
      assert.equal(await fixture.artifacts.putPoster(owner, COVER), 'stored');
      await database.kysely.updateTable('artifacts').set({ state: 'pending' }).execute();
      assert.equal(await fixture.artifacts.putPoster(owner, FRAME), 'exists');
      fixture.clock.advance(120_000);
      const outcomes = await Promise.all([1, 2].map(() => fixture.artifacts.putPoster(owner, FRAME)));
      assert.ok(outcomes.includes('exists') && outcomes.includes('stored'), String(outcomes));
      const poster = await fixture.artifacts.storedFiles.openPoster('task_1', {});
      assert.deepEqual(poster && (await buffer(poster.body)), FRAME);
    });

    it('are extracted by ffmpeg if it is installed, and its output is verified', async (t) => {
      const ffmpeg = join(folder, 'ffmpeg');
      const frame = join(folder, 'frame.jpg');
      await writeFile(frame, FRAME);
      // A stand-in for ffmpeg that outputs a frame of the given file.
      await writeFile(ffmpeg, `#!/bin/sh\nfor last; do :; done\n[ "$last" = pipe:1 ] && exec cat ${frame}\n`);
      await chmod(ffmpeg, 0o755);
      const fixture = await makeArtifactFixture(await open(), {}, ffmpeg);
      t.after(() => fixture.stop());
      fixture.artifacts.start({ openVideo: openWholeClip });
      await fixture.enqueue('task_1');
      await fixture.waitFor('stored', 'task_1');
      const poster = await fixture.artifacts.storedFiles.openPoster('task_1', {});
      assert.deepEqual(poster && (await buffer(poster.body)), FRAME);
      assert.deepEqual(await fixture.artifacts.usage(1), { bytes: CLIP.length + FRAME.length, files: 1 });
      assert.equal(await fixture.diskBytes(), CLIP.length + FRAME.length);
      await writeFile(frame, 'no image');
      await fixture.enqueue('task_2');
      await fixture.waitFor('stored', 'task_2');
      assert.equal(await fixture.artifacts.storedFiles.openPoster('task_2', {}), undefined);
    });
  });
});
