import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { CLIP } from '../artifacts/artifact-fixture.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { isInstalled, PUBLIC_HOST, type RunningProxy, startReverseProxy } from './reverse-proxies.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/**
 * Headers of a single response or of the connection; besides, nginx does not repeat `accept-ranges` on a partial
 * response.
 */
const OWN_HEADERS = [
  'accept-ranges',
  'date',
  'server',
  'connection',
  'keep-alive',
  'x-request-id',
  'transfer-encoding',
];
const ORIGIN = 'https://page.example';
const FORWARDED = { 'x-forwarded-for': '198.51.100.7' };

const skip = isInstalled('nginx') || process.env.CI ? false : 'nginx is not installed';
describe('stored videos sent by nginx', { skip }, () => {
  let service: VideoService;
  let folder: string;
  let nginx: RunningProxy;
  let task: string;
  let etag: string;
  const insecure = new Agent({ connect: { rejectUnauthorized: false, servername: PUBLIC_HOST } });
  const plain = new Agent();

  const call = async (origin: string, path: string, headers: Record<string, string>, method = 'GET') => {
    const isDirect = origin.startsWith('http:');
    const dispatcher = isDirect ? plain : insecure;
    const host = isDirect ? new URL(origin).host : PUBLIC_HOST;
    const {
      statusCode,
      headers: received,
      body,
    } = await dispatcher.request({
      origin,
      path,
      method: method as 'GET',
      headers: { host, authorization: `Bearer ${service.caller.key}`, ...headers },
    });
    return { status: statusCode, headers: received, body: Buffer.from(await body.arrayBuffer()) } satisfies Answer;
  };
  const direct = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    call(service.baseUrl, path, headers, method);
  const proxied = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    call(`https://127.0.0.1:${nginx.port}`, path, headers, method);
  const content = () => `/v1/videos/${task}/content`;
  const comparable = ({ status, headers, body }: Answer) => ({
    status,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name))),
    body: body.toString('latin1'),
  });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rg-accel-'));
    // nginx reads the files as another user.
    await chmod(folder, 0o755);
    const env = {
      ARTIFACTS: 'disk',
      ARTIFACTS_DIR: folder,
      ARTIFACTS_MIN_FREE_GB: '0',
      ARTIFACTS_ACCEL_PROXIES: '127.0.0.1',
      TRUST_PROXY: '127.0.0.1',
      BASE_URL: `https://${PUBLIC_HOST}`,
      CORS_ORIGINS: ORIGIN,
    };
    service = await startVideoService('sqlite::memory:', { env, overrides: { ffmpeg: join(folder, 'none') } }, [
      { name: 'kling', model: 'kling-v1-6' },
    ]);
    nginx = await startReverseProxy('nginx', new URL(service.baseUrl).host, join(folder, 'files'));
    task = idOf(await service.caller.submit({ model: 'kling-v1-6', prompt: 'a video for nginx' }));
    assert.equal((await service.caller.waitUntilEnded(task)).status, 'completed');
    for (;;) {
      const redirected = await direct(content(), FORWARDED);
      if (redirected.headers['x-accel-redirect'] !== undefined) break;
      await pause(20);
    }
    etag = String((await direct(content())).headers.etag);
    // From here on only the stored copy can deliver the bytes.
    service.sandbox.control.fault({ kind: '403', operation: 'content', times: Number.POSITIVE_INFINITY });
  });
  after(async () => {
    await nginx?.stop();
    await service?.stop();
    await insecure.close();
    await plain.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('equal those sent by the service: status, headers and bytes', async () => {
    const modified = String((await direct(content())).headers['last-modified']);
    const requests: Record<string, string>[] = [
      {},
      { origin: ORIGIN },
      ...[
        '0-',
        '0-99',
        '100-4999',
        '-7',
        '-999999999',
        `5-${CLIP.length}`,
        `${CLIP.length}-`,
        '9-2',
        '0-1,4-5',
        'x',
      ].map((range) => ({ range: `bytes=${range}` })),
      { range: 'bytes=10-19', 'if-range': etag },
      { range: 'bytes=10-19', 'if-range': modified },
      { range: 'bytes=10-19', 'if-range': '"of another file"' },
      { range: 'bytes=10-19', 'if-range': new Date(0).toUTCString() },
      { 'if-none-match': etag },
      { 'if-none-match': '"of another file"' },
      { 'if-modified-since': new Date(Date.now() + 86_400_000).toUTCString() },
      { 'if-match': '"of another file"' },
      { 'if-unmodified-since': new Date(0).toUTCString() },
    ];
    for (const headers of requests)
      for (const method of ['GET', 'HEAD'])
        assert.deepEqual(
          comparable(await proxied(content(), headers, method)),
          comparable(await direct(content(), headers, method)),
          `${method} ${JSON.stringify(headers)}`,
        );
    const whole = await proxied(content());
    assert.ok(whole.body.equals(CLIP));
    assert.match(String(whole.headers['x-request-id']), /^\S{8,}$/);
  });

  it('are sent by nginx: the service responds with a path and no bytes, however many clients request them', async () => {
    // More than an account may download at the same time.
    for (let times = 0; times < 70; times += 1) {
      const { status, headers, body } = await direct(content(), FORWARDED);
      assert.deepEqual([status, body.length, headers['content-length']], [200, 0, '0']);
      assert.match(String(headers['x-accel-redirect']), /^\/stored-videos\/([\w-]{2})\/\1[\w-]{22}$/);
    }
    assert.equal((await proxied(content())).headers['x-accel-redirect'], undefined);
  });

  it("are sent for the console's links too", async () => {
    const { play_url } = await service.operator.requestData<{ play_url: string }>('GET', `/api/videos/${task}`);
    const { pathname, search } = new URL(play_url, service.baseUrl);
    const link = pathname + search;
    assert.match(String((await direct(link, FORWARDED)).headers['x-accel-redirect']), /^\/stored-videos\//);
    assert.deepEqual((await proxied(link, { range: 'bytes=5-9' })).body, CLIP.subarray(5, 10));
  });

  it("T99: cannot be reached from outside at nginx's internal address", async () => {
    const names = await readdir(join(folder, 'files'), { recursive: true });
    const stored = names.find((name) => name.includes('/')) ?? assert.fail('nothing is stored');
    const headerSets: Record<string, string>[] = [{}, { 'x-accel-redirect': `/stored-videos/${stored}` }];
    for (const prefix of ['/stored-videos/', '//stored-videos/', '/x/../stored-videos/', '/%73tored-videos/'])
      for (const headers of headerSets) {
        const { status, body } = await proxied(prefix + stored, headers);
        assert.equal(status, 404, prefix);
        assert.ok(!body.includes(CLIP.subarray(0, 32)), prefix);
      }
  });

  it('T99: are refused exactly as without nginx', async () => {
    const other = await service.operator.makeToken();
    for (const [authorization, status] of [
      [`Bearer ${other}`, 404],
      ['Bearer sk-nonsense', 401],
    ] as const) {
      const refused = await proxied(content(), { authorization });
      assert.equal(refused.status, status);
      assert.match(String(refused.headers['content-type']), /json/);
    }
  });

  it('T99: are sent by the service where a link may end at any time, and where the request did not come through nginx', async () => {
    const { url } = await service.operator.requestData<{ url: string }>('POST', `/api/videos/${task}/shares`, {});
    const requests: [string, Record<string, string>][] = [
      [`${new URL(url).pathname}/video`, FORWARDED],
      [content(), {}],
    ];
    for (const [path, headers] of requests) {
      const answer = await direct(path, headers);
      assert.equal(answer.headers['x-accel-redirect'], undefined);
      assert.ok(answer.body.equals(CLIP));
    }
  });
});
