import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { TestUser } from '../accounts/test-user-client.ts';
import { ENDLESS_VIDEO_START } from '../artifacts/unique-clip.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { ApiCaller, idOf, startVideoService, type VideoService } from './video-fixture.ts';

/** The promised limit, and the tolerance for a loaded machine. */
const PROMISED_MS = 1_000;
const TOLERANCE_MS = 1_500;

/** A video of a separate account, with its owner's means of access. */
interface Owner {
  readonly user: TestUser;
  readonly key: string;
  readonly keyId: number;
  readonly videoId: string;
}

describe('T33, T34: access to a video ends with the credential it was granted to', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: VideoService;
    let second: App | undefined;
    /** Links are used and downloads run on a different process from the one that revokes access. */
    let elsewhere: string;
    let database: ReturnType<typeof openReadOnly>;
    let owners = 0;
    const host = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4' }).write(ENDLESS_VIDEO_START);
      const timer = setInterval(() => response.write(Buffer.alloc(1024)), 50);
      response.on('close', () => clearInterval(timer));
    });

    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, {}, [{ name: 'kling', model: 'kling-v1-6' }]);
      database = openReadOnly(url);
      elsewhere = service.baseUrl;
      if (name === 'postgres') {
        second = await makeApp(parseConfig(testEnvironment(url)), { log: openLog('silent') });
        elsewhere = `http://127.0.0.1:${(await second.listen()).port}`;
      }
      host.listen(0, '127.0.0.1');
      await once(host, 'listening');
    });
    after(async () => {
      host.closeAllConnections();
      host.close();
      await database.close();
      await second?.close(1_000);
      await service.stop();
    });

    async function makeOwner(): Promise<Owner> {
      owners += 1;
      const user = new TestUser(service.app.http.fastify, `10.0.0.${owners}`);
      await user.register(`owner${owners}`);
      await user.logIn(`owner${owners}`);
      await service.operator.grantQuota(1_000_000_000, user.id);
      const { id: keyId, key } = await user.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'k' });
      const caller = new ApiCaller(service.baseUrl, key);
      const videoId = idOf(await caller.submit({ model: 'kling-v1-6', prompt: 'a long film' }));
      await caller.waitUntilEnded(videoId);
      const artifact = JSON.stringify({
        kind: 'url',
        url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/endless`,
      });
      await database.kysely.updateTable('tasks').set({ artifact }).where('public_id', '=', videoId).execute();
      return { user, key, keyId, videoId };
    }

    const linkOf = async (user: TestUser, { videoId }: Owner): Promise<string> =>
      (await user.ok<{ play_url: string }>('GET', `/api/videos/${videoId}`)).play_url;

    /** Starts a download; resolves with a function that waits for its end, in milliseconds after `since()`. */
    async function begin(path: string, headers: Record<string, string> = {}): Promise<() => Promise<void>> {
      const call = request(`${elsewhere}${path}`, { headers });
      call.on('error', () => {});
      const [response] = (await once(call.end(), 'response')) as [IncomingMessage];
      assert.equal(response.statusCode, 200);
      response.on('error', () => {}).resume();
      const closed = new Promise<void>((resolve) => response.on('close', resolve));
      return () => closed;
    }

    const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> => {
      const abort = new AbortController();
      const response = await fetch(`${elsewhere}${path}`, { headers, signal: abort.signal });
      abort.abort();
      return response.status;
    };

    async function endsInTime(closed: () => Promise<void>, startedAt: number, what: string): Promise<void> {
      const result = await Promise.race([closed().then(() => 'closed'), pause(10_000, 'open', { ref: false })]);
      assert.equal(result, 'closed', `${what} is still open after ten seconds`);
      const took = performance.now() - startedAt;
      assert.ok(took < PROMISED_MS + TOLERANCE_MS, `${what} ended after ${Math.round(took)} ms`);
    }

    const EVENTS: Readonly<Record<string, (owner: Owner) => Promise<unknown>>> = {
      'the session logs out': ({ user }) => user.ok('POST', '/api/user/logout'),
      'the account is disabled': ({ user }) =>
        service.operator.requestData('PUT', `/api/admin/users/${user.id}`, { status: 2 }),
      'the account is deleted': ({ user }) => service.operator.requestData('DELETE', `/api/admin/users/${user.id}`),
    };
    for (const [event, end] of Object.entries(EVENTS)) {
      it(`play links and their playback, when ${event}`, async () => {
        const owner = await makeOwner();
        const link = await linkOf(owner.user, owner);
        const closed = await begin(link);
        const startedAt = performance.now();
        await end(owner);
        await endsInTime(closed, startedAt, 'the download');
        assert.equal(await statusOf(link), 403);
      });
    }

    it('a link of one session keeps working when another session of the account signs out', async () => {
      const owner = await makeOwner();
      const other = new TestUser(service.app.http.fastify, '10.0.1.1');
      await other.logIn(`owner${owners}`);
      const links = { own: await linkOf(owner.user, owner), other: await linkOf(other, owner) };
      assert.notEqual(links.own, links.other);
      await other.ok('POST', '/api/user/logout');
      assert.deepEqual([await statusOf(links.own), await statusOf(links.other)], [200, 403]);
      // A link cannot be rewritten to another session.
      const swapped = links.other.replace(/credential=s\d+/, String(/credential=s\d+/.exec(links.own)?.[0]));
      assert.equal(await statusOf(swapped), 403);
    });

    it('a link created with the management token, when the token is replaced', async () => {
      const owner = await makeOwner();
      const program = await owner.user.withManagementToken();
      const link = await linkOf(program, owner);
      const closed = await begin(link);
      const startedAt = performance.now();
      await owner.user.ok('POST', '/api/user/token');
      await endsInTime(closed, startedAt, 'the download');
      assert.equal(await statusOf(link), 403);
    });

    it('downloads with a key, when the key is revoked or the account disabled', async () => {
      const [revoked, banned] = [await makeOwner(), await makeOwner()];
      for (const [owner, end] of [
        [revoked, () => revoked.user.ok('DELETE', `/api/tokens/${revoked.keyId}`)],
        [banned, () => service.operator.requestData('PUT', `/api/admin/users/${banned.user.id}`, { status: 2 })],
      ] as const) {
        const path = `/v1/videos/${owner.videoId}/content`;
        const closed = await begin(path, { authorization: `Bearer ${owner.key}` });
        const startedAt = performance.now();
        await end();
        await endsInTime(closed, startedAt, 'the download');
      }
    });

    it('no other sign-in is affected', async () => {
      const [leaving, staying] = [await makeOwner(), await makeOwner()];
      const closed = await begin(await linkOf(staying.user, staying));
      await leaving.user.ok('POST', '/api/user/logout');
      const result = await Promise.race([closed().then(() => 'closed'), pause(1_500, 'open')]);
      assert.equal(result, 'open');
      await staying.user.ok('POST', '/api/user/logout');
      await closed();
    });
  });
});
