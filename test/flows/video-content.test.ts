import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { loadMedia } from '../../src/sandbox/media.ts';
import { ENDLESS_VIDEO_START } from '../artifacts/unique-clip.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { ApiCaller, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const CLIP = loadMedia('sea-1-silent.mp4').bytes;
const SAFE = {
  'cache-control': 'private, max-age=86400',
  vary: 'Authorization',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};
const MAY_PASS = new Set([
  ...Object.keys(SAFE),
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'content-disposition',
  'etag',
  'last-modified',
  // Added by this service.
  'x-request-id',
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
]);

describe('downloading files', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let database: ReturnType<typeof openReadOnly>;
    let id: string;
    /** A storage host of the vendor, controlled by the test. */
    let host: Server;
    let hostUrl: string;
    let answer: (request: IncomingMessage, response: ServerResponse) => void = () => {};
    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, {}, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'jimeng', model: 'jimeng_t2v_v30' },
        { name: 'sora', model: 'sora-2' },
      ]);
      database = openReadOnly(url);
      host = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
      await once(host, 'listening');
      hostUrl = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
      id = await finished('kling-v1-6', 'a file');
    });
    after(async () => {
      host.closeAllConnections();
      host.close();
      await database.close();
      await service.stop();
    });

    async function finished(model: string, prompt: string): Promise<string> {
      const submitted = await service.caller.submit({ model, prompt });
      assert.equal((await service.caller.waitUntilEnded(idOf(submitted))).status, 'completed');
      return idOf(submitted);
    }
    const get = (headers: Record<string, string> = {}, method = 'GET') =>
      service.caller.fetchRaw(`/v1/videos/${id}/content`, { method, headers });
    const change = (task: string, fields: { artifact?: string; handle?: string; finish_time?: number }) =>
      database.kysely.updateTable('tasks').set(fields).where('public_id', '=', task).execute();
    const place = (url: string) => change(id, { artifact: JSON.stringify({ kind: 'url', url }) });

    describe('from an honest host', () => {
      it('T52: in full, with headers that prevent rendering as a page', async () => {
        const file = await get();
        assert.equal(file.status, 200);
        assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
        assert.equal(file.headers.get('content-type'), 'video/mp4');
        assert.equal(file.headers.get('content-length'), String(CLIP.length));
        for (const [name, value] of Object.entries(SAFE)) assert.equal(file.headers.get(name), value, name);
      });

      it('HEAD: the same headers, no body', async () => {
        const [head, whole] = [await get({}, 'HEAD'), await get()];
        assert.deepEqual([head.status, await head.text()], [200, '']);
        for (const name of ['content-type', 'content-length', 'etag', 'accept-ranges'])
          assert.equal(head.headers.get(name), whole.headers.get(name), name);
        await whole.body?.cancel();
      });

      const LAST = CLIP.length - 1;
      for (const [range, status, first, last] of [
        ['bytes=0-99', 206, 0, 99],
        ['bytes=100-', 206, 100, LAST],
        ['bytes=-50', 206, CLIP.length - 50, LAST],
        [`bytes=0-${CLIP.length * 2}`, 206, 0, LAST],
        [`bytes=${CLIP.length}-`, 416, 0, 0],
        ['bytes=999999999999-', 416, 0, 0],
        // Multiple and invalid ranges are ignored.
        ['bytes=0-1,2-3', 200, 0, LAST],
        [`bytes=${'0-0,'.repeat(1_000)}0-0`, 200, 0, LAST],
        ['bytes=5-2', 200, 0, LAST],
        ['bytes=-', 200, 0, LAST],
        ['bytes=a-b', 200, 0, LAST],
        ['bytes=-1-5', 200, 0, LAST],
        ['bytes=99999999999999999999-', 200, 0, LAST],
        ['lines=0-5', 200, 0, LAST],
      ] as const) {
        it(`T58: Range: ${range.slice(0, 30)}`, async () => {
          const file = await get({ range });
          const bytes = Buffer.from(await file.arrayBuffer());
          assert.equal(file.status, status);
          if (status === 416) return assert.match(String(file.headers.get('content-range')), /^bytes \*\/\d+$/);
          assert.ok(bytes.equals(CLIP.subarray(first, last + 1)));
          const expected = status === 206 ? `bytes ${first}-${last}/${CLIP.length}` : null;
          assert.equal(file.headers.get('content-range'), expected);
        });
      }

      it('If-Range: another version is sent in full', async () => {
        const file = await get({ range: 'bytes=0-9', 'if-range': '"another"' });
        assert.deepEqual([file.status, (await file.arrayBuffer()).byteLength], [200, CLIP.length]);
      });

      it('H: thumbnail and spritesheet', async () => {
        const sora = await finished('sora-2', 'with images');
        for (const [variant, type] of [
          ['video', 'video/mp4'],
          ['thumbnail', 'image/webp'],
          ['spritesheet', 'image/jpeg'],
        ] as const) {
          const file = await service.caller.fetchRaw(`/v1/videos/${sora}/content?variant=${variant}`);
          assert.deepEqual([file.status, file.headers.get('content-type')], [200, type]);
          await file.body?.cancel();
        }
        const junk = await service.caller.request('GET', `/v1/videos/${sora}/content?variant=../x`);
        assert.equal(junk.status, 400);
      });

      it('a variant the vendor does not have: 404', async () => {
        for (const variant of ['spritesheet', 'thumbnail']) {
          const { status, body } = await service.caller.request('GET', `/v1/videos/${id}/content?variant=${variant}`);
          assert.deepEqual([status, body.code], [404, 'content_not_found'], variant);
        }
      });
    });

    describe('without a file', () => {
      it('unfinished and failed: 400; unknown: 404; foreign: the same bytes as unknown', async () => {
        const running = await service.caller.submit({ model: 'kling-v1-6', prompt: 'file later [stuck]' });
        const failed = await service.caller.submit({ model: 'kling-v1-6', prompt: 'file never [fail]' });
        await service.caller.waitUntilEnded(idOf(failed));
        for (const task of [running, failed]) {
          const { status, body } = await service.caller.request('GET', `/v1/videos/${idOf(task)}/content`);
          assert.deepEqual([status, body.code], [400, 'task_not_completed']);
        }
        const other = new ApiCaller(service.baseUrl, await service.operator.makeToken());
        const unknown = await other.fetchRaw('/v1/videos/task_none/content');
        const foreign = await other.fetchRaw(`/v1/videos/${id}/content`);
        assert.deepEqual([unknown.status, foreign.status], [404, 404]);
        assert.equal(await foreign.text(), await unknown.text());
      });
    });

    describe('from a hostile host', () => {
      beforeEach(() => place(`${hostUrl}/file`));

      for (const type of ['text/html', 'text/xml', 'application/json', 'video/mp4', '']) {
        it(`a page or message of type "${type}" is not accepted as a video`, async () => {
          answer = (_, response) =>
            response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(' <script>');
          const file = await get();
          assert.equal(file.status, 502);
          assert.equal(((await file.json()) as { code: string }).code, 'content_unavailable');
        });
      }

      for (const type of [
        'image/svg+xml',
        'application/javascript',
        'text/html',
        'text/plain',
        'video/mp4\u00e9',
        '',
      ]) {
        const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
        it(`a video of type "${type}" is accepted, in full and in ranges, and never served as a page`, async () => {
          answer = (_, response) => response.writeHead(200, headers).end(CLIP);
          const file = await get();
          assert.deepEqual([file.status, file.headers.get('content-type')], [200, 'video/mp4']);
          assert.equal(file.headers.get('x-content-type-options'), 'nosniff');
          assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
          const range = { 'content-range': `bytes 10-19/${CLIP.length}`, 'content-length': '10' };
          answer = (_, response) => response.writeHead(206, { ...headers, ...range }).end(CLIP.subarray(10, 20));
          const part = await get({ range: 'bytes=10-19' });
          assert.deepEqual([part.status, part.headers.get('content-type')], [206, 'video/mp4']);
          assert.ok(Buffer.from(await part.arrayBuffer()).equals(CLIP.subarray(10, 20)));
        });
      }

      it('bytes that are not a video are refused whatever their type', async () => {
        for (const bytes of [Buffer.alloc(4_096, 7), Buffer.from('alert(1)'), Buffer.from('short'), Buffer.alloc(0)]) {
          answer = (_, response) => response.writeHead(200, { 'content-type': 'video/mp4' }).end(bytes);
          const file = await get();
          assert.deepEqual([file.status, ((await file.json()) as { code: string }).code], [502, 'content_unavailable']);
        }
      });

      it('a few bytes after the last box are sent with the video', async () => {
        const padded = Buffer.concat([CLIP, Buffer.from('\r\n')]);
        answer = (_, response) => response.writeHead(200, { 'content-length': padded.length }).end(padded);
        assert.ok(Buffer.from(await (await get()).arrayBuffer()).equals(padded));
      });

      it('a content coding that is unknown or was not applied is ignored', async () => {
        for (const coding of ['aws-chunked', 'utf-8', 'UTF-8', 'binary', 'none', 'identity', '', 'gzip', 'br']) {
          answer = (_, response) =>
            response.writeHead(200, { 'content-encoding': coding, 'content-length': CLIP.length }).end(CLIP);
          const file = await get();
          assert.deepEqual([file.status, file.headers.get('content-length')], [200, String(CLIP.length)], coding);
          assert.equal(file.headers.get('content-encoding'), null);
          assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP), coding);
        }
      });

      it('a video compressed without request is decoded, and no range of it is served', async () => {
        for (const [coding, bytes] of [
          ['gzip', gzipSync(CLIP)],
          ['x-gzip', gzipSync(CLIP)],
          ['deflate', deflateSync(CLIP)],
          ['BR', brotliCompressSync(CLIP)],
          ['zstd', zstdCompressSync(CLIP)],
        ] as const) {
          answer = (_, response) => response.writeHead(200, { 'content-encoding': coding }).end(bytes);
          const file = await get();
          assert.equal(file.status, 200, coding);
          assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP), coding);
          const range = { 'content-range': `bytes 0-9/${bytes.length}`, 'content-encoding': coding };
          answer = (_, response) => response.writeHead(206, range).end(bytes.subarray(0, 10));
          assert.equal((await get({ range: 'bytes=0-9' })).status, 502, coding);
        }
      });

      it('206 to a request without Range: the whole file, or an error', async () => {
        const last = CLIP.length - 1;
        for (const [range, status] of [
          [`bytes 0-${last}/${CLIP.length}`, 200],
          [undefined, 200],
          [`bytes 0-${last - 1}/${CLIP.length}`, 502],
          [`bytes 1-${last}/${CLIP.length}`, 502],
        ] as const) {
          answer = (_, response) =>
            response.writeHead(206, range === undefined ? {} : { 'content-range': range }).end(CLIP);
          const file = await get();
          assert.deepEqual([file.status, file.headers.get('content-range')], [status, null], String(range));
          if (status === 200) assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
        }
      });

      it('a redirect whose Location is raw UTF-8 is followed, like a percent-encoded one', async () => {
        for (const [path, encoding] of [
          ['/视频/雪.mp4', 'utf8'],
          ['/caf%C3%A9.mp4', 'utf8'],
        ] as const) {
          const location = Buffer.from(path, encoding).toString('latin1');
          answer = ({ url = '' }, response) => {
            if (url === '/file') response.writeHead(302, { location }).end();
            else response.writeHead(decodeURIComponent(url) === decodeURIComponent(path) ? 200 : 404).end(CLIP);
          };
          const file = await get();
          assert.equal(file.status, 200, path);
          assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
        }
      });

      it('T53: only headers that describe the file are forwarded', async () => {
        answer = (_, response) =>
          response
            .writeHead(200, {
              'content-type': 'video/mp4',
              'set-cookie': ['session=stolen', 'b=c'],
              'x-api-key': 'sk-upstream',
              'cache-control': 'public, max-age=31536000',
              'content-security-policy': 'default-src *',
              'access-control-allow-origin': '*',
              location: 'https://evil.example/',
              'content-disposition': 'inline; filename="a.html"',
              'strict-transport-security': 'max-age=0',
              'x-long': 'y'.repeat(8_000),
              link: '<https://evil.example/>; rel=preload',
              refresh: '0;url=https://evil.example/',
            })
            .end(CLIP);
        const file = await get();
        for (const [name, value] of file.headers) {
          assert.ok(MAY_PASS.has(name), `${name}: ${value}`);
          if (name in SAFE) assert.equal(value, SAFE[name as keyof typeof SAFE]);
        }
        assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
      });

      it('an unrequested content coding is refused, not forwarded as a video', async () => {
        answer = (_, response) =>
          response.writeHead(200, { 'content-type': 'video/mp4', 'content-encoding': 'gzip' }).end('no gzip');
        const file = await get();
        assert.equal(file.status, 502);
        assert.equal(((await file.json()) as { code: string }).code, 'content_unavailable');
      });

      it('T49: redirects to internal hosts are not followed, even for a private channel', async () => {
        let canary = 0;
        const inside = createServer((_, response) => {
          canary += 1;
          response.end('secret');
        }).listen(0, '127.0.0.1');
        await once(inside, 'listening');
        const { port } = inside.address() as AddressInfo;
        for (const status of [301, 302, 303, 307, 308]) {
          for (const to of [
            `http://127.0.0.1:${port}/`,
            `http://localhost:${port}/`,
            `http://[::ffff:7f00:1]:${port}/`,
          ]) {
            answer = (_, response) => response.writeHead(status, { location: to }).end();
            const file = await get();
            assert.equal(file.status, 502, `${status} ${to}`);
            await file.body?.cancel();
          }
        }
        inside.close();
        assert.equal(canary, 0);
      });

      it('an expired URL is requested from the vendor again, once, and the new one is stored', async () => {
        const before = await service.caller.video(id);
        let asked = 0;
        answer = (_, response) => {
          asked += 1;
          response.writeHead(403).end('expired');
        };
        for (let round = 0; round < 2; round += 1) {
          const file = await get();
          assert.deepEqual([file.status, file.headers.get('content-type'), asked], [200, 'video/mp4', 1]);
          assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
        }
        // `completed_at` is omitted: the vendor returns the time of the request in it.
        const { metadata, completed_at: _, ...rest } = await service.caller.video(id);
        assert.match((metadata as { url: string }).url, new RegExp(service.sandbox.artifactHost));
        const { metadata: old, completed_at: __, ...same } = before;
        assert.equal((old as { url: string }).url, `${hostUrl}/file`);
        assert.deepEqual(rest, same, 'nothing else has changed');
      });

      it('a vendor that is unreachable, or no longer has the file', async () => {
        answer = (_, response) => void response.writeHead(403).end('expired');
        service.sandbox.control.fault({ vendor: 'kling', operation: 'query', kind: '503' });
        assert.equal((await get()).status, 502);
        const lost = await finished('kling-v1-6', 'kept no longer');
        const handle = JSON.stringify({ family: 'text2video', id: 'nobody' });
        await change(lost, { handle, artifact: JSON.stringify({ kind: 'url', url: `${hostUrl}/file` }) });
        const file = await service.caller.fetchRaw(`/v1/videos/${lost}/content`);
        assert.deepEqual([file.status, ((await file.json()) as { code: string }).code], [404, 'content_not_found']);
        assert.equal((await service.caller.video(lost)).status, 'completed');
      });

      it('B: a URL older than an hour is renewed once, before it is returned', async () => {
        const old = await finished('jimeng_t2v_v30', 'long ago');
        const { completed_at: completedAt, metadata } = await service.caller.video(old);
        const address = `${hostUrl}/dead`;
        await change(old, {
          artifact: JSON.stringify({ kind: 'url', url: address }),
          finish_time: Date.now() - 3_600_000,
        });
        const polls = () => service.sandbox.control.requests({ vendor: 'jimeng', operation: 'query' }).length;
        const before = polls();
        const seen = await Promise.all(Array.from({ length: 5 }, () => service.caller.video(old)));
        // Concurrent requests during the renewal may still get the old URL.
        assert.ok(seen.some((video) => (video.metadata as { url: string }).url !== address));
        const video = await service.caller.video(old);
        assert.deepEqual([video.metadata, video.completed_at, video.status], [metadata, completedAt, 'completed']);
        assert.equal((await service.caller.unified(old)).fail_reason, (metadata as { url: string }).url);
        assert.equal(polls(), before + 1);
      });

      it('a truncated file is truncated for the client too', async () => {
        answer = (_, response) => {
          response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': '1000000' });
          response.write(Buffer.concat([ENDLESS_VIDEO_START, Buffer.alloc(500_000)]), () => response.destroy());
        };
        const file = await get();
        assert.equal(file.status, 200);
        await assert.rejects(file.arrayBuffer());
      });

      it('a client that disconnects closes the upstream connection', async () => {
        const left = new Promise<void>((resolve) => {
          answer = (_, response) => {
            response.writeHead(200, { 'content-type': 'video/mp4' }).write(ENDLESS_VIDEO_START);
            const timer = setInterval(() => response.write(Buffer.alloc(65_536)), 5);
            response.once('close', () => {
              clearInterval(timer);
              resolve();
            });
          };
        });
        const { port } = new URL(service.baseUrl);
        const call = request({
          port,
          path: `/v1/videos/${id}/content`,
          headers: { authorization: `Bearer ${service.caller.key}` },
        }).end();
        const [response] = (await once(call, 'response')) as [IncomingMessage];
        await once(response, 'data');
        call.destroy();
        await left;
      });
    });

    describe('for a browser', () => {
      const detail = (task: string) =>
        service.operator.requestData<{ play_url: string; refunded: boolean; status: string }>(
          'GET',
          `/api/videos/${task}`,
        );

      it('play_url plays without a key', async () => {
        const played = await finished('kling-v1-6', 'to be played');
        const { play_url: path } = await detail(played);
        const file = await fetch(`${service.baseUrl}${path}`, { headers: { range: 'bytes=0-9' } });
        assert.deepEqual([file.status, (await file.arrayBuffer()).byteLength], [206, 10]);
        const other = await finished('kling-v1-6', 'another to be played');
        const url = new URL(path, service.baseUrl);
        const expires = url.searchParams.get('expires') ?? '';
        const credential = `credential=${url.searchParams.get('credential') ?? ''}`;
        const signature = url.searchParams.get('signature') ?? '';
        const flipped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
        for (const tampered of [
          `/play/${other}?expires=${expires}&${credential}&signature=${signature}`,
          `/play/${played}?expires=${Number(expires) + 60_000}&${credential}&signature=${signature}`,
          `/play/${played}?expires=${expires}&${credential}&signature=${flipped}`,
          `/play/${played}?expires=${expires}&${credential}&signature=${signature}x`,
          `/play/${played}?expires=${expires}&${credential}&signature=`,
          `/play/${played}?expires=0&${credential}&signature=${signature}`,
          `/play/${played}?expires=${expires}&credential=s999999&signature=${signature}`,
        ]) {
          const { status } = await fetch(`${service.baseUrl}${tampered}`);
          assert.equal(status, 403, tampered);
        }
        for (const broken of [`/play/${played}`, `/play/${played}?expires=-1&${credential}&signature=${signature}`])
          assert.equal((await fetch(`${service.baseUrl}${broken}`)).status, 400, broken);
      });
    });
  });
});
