import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forOneDatabase } from '../for-each-database.ts';

const image = Buffer.concat([loadMedia('image.png').bytes, Buffer.alloc(6_000_000, 'image')]).toString('base64');
const AT_ONCE = 8;

describe('a vendor that responds before reading a large image', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let readAll = false;
    const vendor = createServer((request, response) => {
      const isOver = () => response.writeHead(400, { 'content-type': 'application/json' }).end('{"code":1201}');
      if (readAll) request.resume().once('end', isOver);
      else isOver();
    });
    before(async () => {
      await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve));
      service = await startVideoService(await freshUrl(), {}, []);
      await service.operator.addChannel({
        name: 'hasty',
        vendor: 'kling',
        base_url: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`,
        credentials: { access_key: 'a', secret_key: 'b' },
        models: ['kling-v1-6'],
        options: { private: true },
      });
    });
    after(async () => {
      await service.stop();
      vendor.closeAllConnections();
      await new Promise((resolve) => vendor.close(resolve));
    });

    for (const reads of [false, true])
      it(`${reads ? 'once it has read it: the caller pays nothing' : 'and reads nothing: the caller gets an error'}, and the service stays up`, async () => {
        readAll = reads;
        const { quota } = await service.operator.quota();
        const answers = await Promise.all(
          Array.from({ length: AT_ONCE }, () =>
            service.caller.request('POST', '/v1/videos', { model: 'kling-v1-6', prompt: 'hasty', image }),
          ),
        );
        for (const { status, body } of answers) {
          assert.ok(status >= 400 && status !== 500, `${status} ${JSON.stringify(body)}`);
          assert.equal(typeof body.code, 'string');
        }
        const { status } = await service.caller.request('GET', '/v1/videos');
        assert.equal(status, 200);
        if (reads) assert.equal((await service.operator.quota()).quota, quota);
      });
  });
});
