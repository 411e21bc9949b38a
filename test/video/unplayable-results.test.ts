import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { MediaFile } from '../../src/sandbox/media.ts';
import { findBrokenRows } from '../../src/server/commands/check-database.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { smallVideo } from '../artifacts/unique-clip.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VideoService } from '../flows/video-fixture.ts';
import { forOneDatabase } from '../for-each-database.ts';

const PLAYABLE = smallVideo('a film');
const WITHOUT_MOVIE = Buffer.concat([PLAYABLE.subarray(0, 8), PLAYABLE.subarray(16)]);
const PAGE = Buffer.from('<!DOCTYPE html><title>Gateway</title>');

describe('a video that its vendor reports as finished', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let database: Database<Tables>;
    let chosen: (nth: number) => Buffer = () => PLAYABLE;
    const reads = new Map<string, number>();
    const fileOf = (file: MediaFile, jobId: string): MediaFile => {
      if (file.bytes.toString('latin1', 4, 8) !== 'ftyp') return file;
      const nth = (reads.get(jobId) ?? 0) + 1;
      reads.set(jobId, nth);
      return { ...file, bytes: chosen(nth) };
    };
    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, { sandbox: { fileOf }, pollPeriodSeconds: 0.25 });
      database = openReadOnly(url);
    });
    after(async () => {
      await database.close();
      await service.stop();
    });
    const balance = async () => (await service.operator.requestData<{ quota: number }>('GET', '/api/user/self')).quota;
    async function run(model: string, prompt: string) {
      const before = await balance();
      const id = idOf(await service.caller.submit({ model, prompt }));
      const video = await service.caller.waitUntilEnded(id);
      return { id, video, charged: before - (await balance()) };
    }

    for (const { name, model } of VENDOR_MODELS.filter(({ name }) => ['kling', 'veo', 'sora'].includes(name)))
      for (const [kind, bytes] of [
        ['random bytes', Buffer.alloc(4_096, 7)],
        ['a file without a movie', WITHOUT_MOVIE],
      ] as const)
        it(`${name}: ${kind} instead of the video: failed and refunded, once`, async () => {
          chosen = () => bytes;
          const { id, video, charged } = await run(model, `${name} ${kind}`);
          assert.equal(video.status, 'failed');
          assert.match(JSON.stringify(video.error), /not a playable video/);
          assert.equal(charged, 0);
          const content = await service.caller.request('GET', `/v1/videos/${id}/content`);
          assert.deepEqual([content.status, content.body.code], [400, 'task_not_completed']);
        });

    it('wrong bytes twice, or a page for a while, and then the video: completed and charged', async () => {
      for (const [until, bytes] of [
        [2, Buffer.alloc(4_096, 7)],
        [5, PAGE],
      ] as const) {
        chosen = (nth) => (nth <= until ? bytes : PLAYABLE);
        const { id, video, charged } = await run('kling-v1-6', `late by ${until}`);
        assert.equal(video.status, 'completed');
        assert.ok(charged > 0);
        const file = await service.caller.fetchRaw(`/v1/videos/${id}/content`);
        assert.deepEqual(Buffer.from(await file.arrayBuffer()), PLAYABLE);
      }
    });

    it('leaves the ledger consistent', async () => {
      assert.deepEqual(await findBrokenRows(database), []);
    });
  });
});
