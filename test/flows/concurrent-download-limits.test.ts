import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { MAX_DOWNLOADS_EACH } from '../../src/server/video/content.ts';
import { TestUser } from '../accounts/test-user-client.ts';
import { ENDLESS_VIDEO_START, smallVideo } from '../artifacts/unique-clip.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { ApiCaller, idOf, startVideoService, type VideoService } from './video-fixture.ts';

type Host = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends as fast as the client reads, without end. */
const endless: Host = (_, response) => {
  response.writeHead(200, { 'content-type': 'video/mp4' });
  response.write(ENDLESS_VIDEO_START);
  const chunk = Buffer.alloc(256 * 1024);
  const more = () => {
    while (!response.closed && response.write(chunk));
  };
  response.on('drain', more);
  more();
};
const short: Host = (_, response) =>
  response.writeHead(200, { 'content-type': 'video/mp4' }).end(smallVideo('a video'));

describe('T66: concurrent downloads of one account', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let database: ReturnType<typeof openReadOnly>;
    let other: ApiCaller;
    let own: string;
    let others: string;
    let answer: Host = endless;
    const host = createServer((request, response) => answer(request, response));
    const readers = new Set<ClientRequest>();

    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, {}, [{ name: 'kling', model: 'kling-v1-6' }]);
      database = openReadOnly(url);
      host.listen(0, '127.0.0.1');
      await once(host, 'listening');
      const person = new TestUser(service.app.http.fastify, '127.0.0.1');
      await person.register('other');
      await person.logIn('other');
      await service.operator.grantQuota(1_000_000_000, person.id);
      other = new ApiCaller(
        service.baseUrl,
        (await person.ok<{ key: string }>('POST', '/api/tokens', { name: 'o' })).key,
      );
      own = await placed(service.caller);
      others = await placed(other);
    });
    after(async () => {
      leaveAll();
      host.closeAllConnections();
      host.close();
      await database.close();
      await service.stop();
    });

    /** Creates a finished video whose file is on the test's host. */
    async function placed(viewer: ApiCaller): Promise<string> {
      const id = idOf(await viewer.submit({ model: 'kling-v1-6', prompt: 'a file' }));
      await viewer.waitUntilEnded(id);
      const artifact = JSON.stringify({
        kind: 'url',
        url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/file`,
      });
      await database.kysely.updateTable('tasks').set({ artifact }).where('public_id', '=', id).execute();
      return id;
    }

    const path = (id: string) => `/v1/videos/${id}/content`;

    /** Requests a file and stops reading after the response headers. */
    async function standStill(to = path(own), viewer = service.caller): Promise<IncomingMessage> {
      const call = request(`${service.baseUrl}${to}`, { headers: { authorization: `Bearer ${viewer.key}` } });
      readers.add(call);
      call.on('error', () => {});
      const [response] = (await once(call.end(), 'response')) as [IncomingMessage];
      return response.on('error', () => {}).pause();
    }
    function leaveAll(): void {
      for (const call of readers) call.destroy();
      readers.clear();
    }
    async function fill(): Promise<void> {
      answer = endless;
      const heads = await Promise.all(Array.from({ length: MAX_DOWNLOADS_EACH }, () => standStill()));
      assert.deepEqual([...new Set(heads.map(({ statusCode }) => statusCode))], [200]);
    }
    /** Retries until a download is accepted, because the service may notice a freed slot with a short delay. */
    async function letIn(): Promise<void> {
      answer = short;
      for (let tries = 0; tries < 200; tries += 1) {
        const file = await service.caller.fetchRaw(path(own));
        await file.text();
        if (file.status === 200) return;
        await pause(50);
      }
      assert.fail('never let in again');
    }
    /** Asserts that every slot is free and none is in excess: all can be taken, and the next download is refused. */
    async function allAreFree(): Promise<void> {
      for (let tries = 0; ; tries += 1) {
        answer = endless;
        const heads = await Promise.all(Array.from({ length: MAX_DOWNLOADS_EACH }, () => standStill()));
        const refused = heads.filter(({ statusCode }) => statusCode !== 200).length;
        if (refused === 0) break;
        leaveAll();
        assert.ok(tries < 50, `${refused} places are never given back`);
        await pause(100);
      }
      assert.equal((await standStill()).statusCode, 429);
      leaveAll();
      await letIn();
    }

    it('are refused to a client that stalls, but to no other, and allowed again once it has left', async () => {
      const { play_url } = await service.operator.requestData<{ play_url: string }>('GET', `/api/videos/${own}`);
      await fill();
      const refused = await service.caller.request('GET', path(own));
      assert.equal(refused.status, 429);
      assert.deepEqual([refused.body.code, refused.body.data], ['rate_limit_exceeded', null]);
      assert.deepEqual(Object.keys(refused.body).sort(), ['code', 'data', 'error', 'message']);
      assert.match(String(refused.headers.get('retry-after')), /^[1-9]\d*$/);
      assert.equal((await service.caller.fetchRaw(path(own), { method: 'HEAD' })).status, 429);
      const played = await fetch(`${service.baseUrl}${play_url}`);
      assert.equal(played.status, 429);
      await played.text();
      answer = short;
      const file = await other.fetchRaw(path(others));
      assert.deepEqual([file.status, await file.text()], [200, smallVideo('a video').toString()]);
      leaveAll();
      await letIn();
    });

    it('are counted together for API keys and signed URLs', async () => {
      const { play_url } = await service.operator.requestData<{ play_url: string }>('GET', `/api/videos/${own}`);
      answer = endless;
      for (let index = 0; index < MAX_DOWNLOADS_EACH; index += 1)
        assert.equal((await standStill(index % 2 === 0 ? play_url : path(own))).statusCode, 200);
      assert.equal((await standStill()).statusCode, 429);
      leaveAll();
      await letIn();
    });

    const get = async (init: { method?: string; headers?: Record<string, string> } = {}): Promise<void> => {
      await (await service.caller.fetchRaw(path(own), init)).arrayBuffer().catch(() => undefined);
    };
    const OUTCOMES: Readonly<Record<string, { readonly host: Host; readonly ask?: () => Promise<void> }>> = {
      'read to the end': { host: short },
      'of which only the head is asked': { host: endless, ask: () => get({ method: 'HEAD' }) },
      'of a range': {
        host: (_, response) => response.writeHead(206, { 'content-range': 'bytes 0-1/9' }).end('ab'),
        ask: () => get({ headers: { range: 'bytes=0-1' } }),
      },
      'of a range there is not': {
        host: (_, response) => response.writeHead(416, { 'content-range': 'bytes */9' }).end(),
        ask: () => get({ headers: { range: 'bytes=99-' } }),
      },
      'the host knows nothing new of': {
        host: (_, response) => response.writeHead(304).end(),
        ask: () => get({ headers: { 'if-none-match': '"a"' } }),
      },
      'the host fails at': { host: (_, response) => response.writeHead(500).end('no') },
      'the host packs': { host: (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no') },
      'the host hangs up on': { host: ({ socket }) => void socket.destroy() },
      'the host breaks off with the head': {
        host: (_, response) => {
          response.writeHead(200, { 'content-length': '1000000' }).flushHeaders();
          response.socket?.end();
        },
      },
      'the host breaks off in the middle': {
        host: (_, response) => {
          response.writeHead(200, { 'content-length': '1000000' });
          response.write(Buffer.concat([ENDLESS_VIDEO_START, Buffer.alloc(500_000)]), () => response.destroy());
        },
      },
      'the client leaves before the head': {
        host: () => {},
        ask: async () => {
          const arrived = once(host, 'request');
          const call = request(`${service.baseUrl}${path(own)}`, {
            headers: { authorization: `Bearer ${service.caller.key}` },
          });
          call.on('error', () => {}).end();
          await arrived;
          call.destroy();
        },
      },
      'the client leaves in the middle': {
        host: endless,
        ask: async () => void (await standStill()).destroy(),
      },
    };
    it('release their slots, once each, however they end', async () => {
      for (const [name, { host: does, ask = get }] of Object.entries(OUTCOMES)) {
        for (let round = 0; round < 8; round += 1) {
          answer = does;
          await ask().catch((error: unknown) => assert.fail(`${name}: ${String(error)}`));
        }
      }
      leaveAll();
      await allAreFree();
    });
  });
});
