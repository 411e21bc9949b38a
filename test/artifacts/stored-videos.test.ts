import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { getStorage } from '../../src/contract/own-videos.ts';
import type { MediaFile } from '../../src/sandbox/media.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { bytesBelow, CLIP } from './artifact-fixture.ts';

describe('stored videos, through the whole service', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let folder: string;
    let served = CLIP;
    const fileOf = (file: MediaFile): MediaFile =>
      file.bytes.toString('latin1', 4, 8) === 'ftyp' ? { ...file, bytes: served } : file;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-stored-'));
      const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
      service = await startVideoService(await freshUrl(), { env, sandbox: { fileOf } }, [
        { name: 'kling', model: 'kling-v1-6' },
      ]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const contentOf = (id: string, headers: Record<string, string> = {}) =>
      service.caller.fetchRaw(`/v1/videos/${id}/content`, { headers });
    const finished = async (prompt: string) => {
      const id = idOf(await service.caller.submit({ model: 'kling-v1-6', prompt }));
      assert.equal((await service.caller.waitUntilEnded(id)).status, 'completed');
      return id;
    };
    /** Our ETag has 32 hexadecimal digits and comes with the time of the copy; the vendor's date differs. */
    const untilStored = async (id: string) => {
      for (;;) {
        const file = await contentOf(id);
        assert.deepEqual(Buffer.from(await file.arrayBuffer()), served);
        if (file.headers.get('last-modified')?.includes('00:00:00') === false) return file;
        await pause(20);
      }
    };

    it('are served from the copy after the vendor has lost the file, with validators and ranges', async () => {
      const id = await finished('a kept video');
      const etag = (await untilStored(id)).headers.get('etag') ?? '';
      service.sandbox.control.fault({ kind: '403', operation: 'content', times: Number.POSITIVE_INFINITY });
      const cut = await contentOf(id, { range: 'bytes=10-19', 'if-range': etag });
      assert.deepEqual([cut.status, Buffer.from(await cut.arrayBuffer())], [206, CLIP.subarray(10, 20)]);
      assert.equal((await contentOf(id, { 'if-none-match': etag })).status, 304);
      const failed = await contentOf(id, { 'if-match': '"another"' });
      assert.equal(failed.status, 412);
      assert.equal(((await failed.json()) as { error: { code: string } }).error.code, 'precondition_failed');
      assert.equal((await contentOf(id, { 'if-match': etag })).status, 200);
      const other = await contentOf(id, { range: 'bytes=10-19', 'if-range': '"another"' });
      assert.deepEqual([other.status, (await other.arrayBuffer()).byteLength], [200, CLIP.length]);
      service.sandbox.control.clearFaults();
    });

    it('come from the vendor while the disk is not mounted, and are refused for the moment if it has lost them', async () => {
      const id = await finished('a video on a disk');
      await untilStored(id);
      const aside = join(folder, 'aside');
      await rename(join(folder, 'files'), aside);
      const served = await contentOf(id);
      assert.deepEqual([served.status, Buffer.from(await served.arrayBuffer())], [200, CLIP]);
      service.sandbox.control.fault({ kind: '403', operation: 'content', times: Number.POSITIVE_INFINITY });
      const refused = await contentOf(id);
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '60']);
      assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'unavailable');
      assert.equal((await service.operator.request('GET', `/api/videos/${id}`)).success, true);
      await rename(aside, join(folder, 'files'));
      assert.deepEqual(Buffer.from(await (await contentOf(id)).arrayBuffer()), CLIP);
      service.sandbox.control.clearFaults();
    });

    it('say what the file says of its origin, and keep it byte for byte', async () => {
      const marksOf = async (id: string) => {
        const url = `/api/videos/${id}`;
        return (await service.operator.requestData<{ provenance: object | null }>('GET', url)).provenance;
      };
      const plain = await finished('a video without marks');
      await untilStored(plain);
      assert.deepEqual(await marksOf(plain), { c2pa: 'absent', signer: '', aigc: false });
      // A box `uuid` with a C2PA manifest behind `ftyp`.
      const manifest = Buffer.from(`0000002075756964${'d8fec3d61b0e483c92975828877ec481'}${'00'.repeat(8)}`, 'hex');
      const first = CLIP.readUInt32BE(0);
      served = Buffer.concat([CLIP.subarray(0, first), manifest, CLIP.subarray(first)]);
      const marked = await finished('a video with a manifest');
      await untilStored(marked);
      assert.deepEqual(await marksOf(marked), { c2pa: 'present', signer: '', aigc: false });
      served = readFileSync(join(import.meta.dirname, 'signed/es256.mp4'));
      const signed = await finished('a video whose manifest is valid');
      await untilStored(signed);
      assert.deepEqual(await marksOf(signed), { c2pa: 'valid', signer: 'Example Camera Works', aigc: false });
      const { kysely } = service.app.database;
      const kept = kysely.selectFrom('artifacts').select('provenance').where('provenance', 'is not', null);
      assert.equal((await kept.execute()).length, 3, 'a file is read once');
      assert.deepEqual(Buffer.from(await (await contentOf(signed)).arrayBuffer()), served);
      served = CLIP;
    });

    for (const kind of ['html', 'malformed', 'truncated', 'empty', 'drop'] as const)
      it(`a vendor that responds with ${kind}: an error or a broken download, never a wrong file served as complete`, async () => {
        const handle = service.sandbox.control.fault({ kind, operation: 'content', times: 8 });
        const id = await finished(`a video behind ${kind}`);
        for (let read = 0; read < 3; read++) {
          const file = await contentOf(id);
          const bytes = await file.arrayBuffer().then(
            (whole) => Buffer.from(whole),
            () => undefined,
          );
          if (file.status === 200 && bytes !== undefined) assert.deepEqual(bytes, CLIP);
          else assert.ok(file.status === 200 || file.status >= 500 || file.status === 404, String(file.status));
        }
        assert.ok(handle.timesUsed > 0);
        service.sandbox.control.clearFaults();
      });

    it('an account sees its storage, and deleting a video frees it', async () => {
      const id = await finished('a video to delete');
      await untilStored(id);
      const storage = () =>
        service.operator.requestData<Static<typeof getStorage.response>['data']>('GET', '/api/storage');
      const before = await storage();
      assert.equal(before.enabled, true);
      assert.equal(before.limit_bytes, 5 * 1024 ** 3);
      assert.equal(before.days, 30);
      assert.equal((await service.caller.request('DELETE', `/v1/videos/${id}`)).status, 200);
      assert.equal((await contentOf(id)).status, 404);
      assert.ok((await storage()).used_bytes < before.used_bytes + CLIP.length);
      // Videos of earlier tests may still be being copied.
      while ((await storage()).used_bytes !== (await bytesBelow(join(folder, 'files')))) await pause(20);
    });
  });
});
