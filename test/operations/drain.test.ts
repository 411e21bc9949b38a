import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { PortLifecycle } from '../../src/server/platform/http/lifecycle.ts';
import { AdminClient } from '../admin-client.ts';
import { chatBody } from '../chat/chat-fixture.ts';
import { startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { addChatModelOf, prepare } from '../faults/submit-steps.ts';
import { startSandboxService } from '../service-with-sandbox.ts';
import { startPostgres } from '../start-postgres.ts';
import { temporarySqlitePath } from '../temporary-sqlite-path.ts';
import { startTestService } from '../test-service.ts';
import { freePort, ServerProcess } from './server-process.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly connection: string | undefined;
}

/** Sends one GET with any `Host`, over a reused connection if an agent is given. */
function get(baseUrl: string, path: string, host = 'localhost', agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { headers: { host }, ...(agent && { agent }) };
    const sent = httpRequest(`${baseUrl}${path}`, options, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      const { statusCode: status = 0, headers } = response;
      response.on('end', () => resolve({ status, body, connection: headers.connection }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

it('health checks accept an IP address and any host name, other requests do not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-probes-'));
  const service = await startTestService(`sqlite:${join(folder, 'x.db')}`);
  for (const host of ['10.42.0.7:3000', 'reelgate.default.svc', '[fd00::1]:3000']) {
    assert.deepEqual((await get(service.url, '/livez', host)).status, 200);
    const ready = await get(service.url, '/readyz', host);
    assert.deepEqual([ready.status, ready.body], [200, '{"ready":true}']);
    assert.equal((await get(service.url, '/api/status', host)).status, 421);
  }
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('a port that is open before the service reports live and migrating, and holds requests until it is ready', async () => {
  const port = new PortLifecycle();
  const { port: number } = await port.listen('127.0.0.1', 0);
  const baseUrl = `http://127.0.0.1:${number}`;
  assert.equal((await get(baseUrl, '/livez', '10.0.0.1')).status, 200);
  const ready = await get(baseUrl, '/readyz', '10.0.0.1');
  assert.deepEqual([ready.status, ready.body], [503, '{"ready":false,"reason":"migrating"}']);
  const arrived = new Promise((resolve) => port.server.on('request', resolve));
  const waiting = get(baseUrl, '/v1/videos');
  await arrived;
  port.serve((request, response) => response.end(`served ${request.url}`));
  assert.equal((await waiting).body, 'served /v1/videos');
  assert.equal((await get(baseUrl, '/v1/models')).body, 'served /v1/models');
  await port.close(0);
});

describe('a process that receives SIGTERM', () => {
  let sandbox: Sandbox;
  let folder: string;
  let server: ServerProcess;
  let key: string;
  before(async () => {
    sandbox = await startSandbox({ simulators: ALL_SIMULATORS, latencyMs: 10 });
    folder = mkdtempSync(join(tmpdir(), 'rg-drain-'));
    server = await start();
    key = await prepare(server.baseUrl, sandbox);
    const operator = await new AdminClient(server.baseUrl).signIn();
    await addChatModelOf(sandbox, operator);
  });
  after(async () => {
    await server?.stop();
    await sandbox?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (pollMs?: number) =>
    new ServerProcess(`sqlite:${join(folder, 'x.db')}`, await freePort(), { DRAIN_SECONDS: '1' }).untilReady(pollMs);
  /** Starts a streamed response of about this many milliseconds; resolves with its first bytes. */
  const stream = (ms: number) =>
    fetch(`${server.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody(`[chunks=${ms / 100}] [delay=100]`, { stream: true })),
    });

  it('keeps serving while it drains, closes connections after their responses, then finishes streams and exits', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal((await get(server.baseUrl, '/api/status', 'localhost', agent)).connection, 'keep-alive');
    const streamed = await stream(2_500);
    server.signal('SIGTERM');
    await untilDraining(server);
    const drained = await get(server.baseUrl, '/readyz', '10.42.0.7:3000');
    assert.deepEqual([drained.status, drained.body], [503, '{"ready":false,"reason":"draining"}']);
    const kept = await get(server.baseUrl, '/api/status', 'localhost', agent);
    assert.deepEqual([kept.status, kept.connection], [200, 'close']);
    assert.equal((await get(server.baseUrl, '/livez')).status, 200);
    assert.match(await streamed.text(), /data: \[DONE\]\n\n$/);
    assert.equal(await server.ended, 0, server.output);
    agent.destroy();
  });

  it('handles a signal that arrives just as it becomes ready', async () => {
    for (let round = 0; round < 3; round++) {
      server = await start(1);
      server.signal('SIGINT');
      assert.equal(await server.ended, 0, server.output);
    }
  });

  it('takes a Ctrl-C that the terminal and npm both pass on for one', async () => {
    server = await start();
    const streamed = await stream(1_500);
    server.signal('SIGINT');
    while (await get(server.baseUrl, '/livez').then(Boolean, () => false)) await pause(5);
    server.signal('SIGINT');
    assert.match(await streamed.text(), /data: \[DONE\]\n\n$/);
    assert.equal(await server.ended, 0, server.output);
  });

  it('skips the drain on SIGINT, and exits at once on a second signal', async () => {
    server = await start();
    const startedAt = performance.now();
    server.signal('SIGINT');
    assert.equal(await server.ended, 0);
    assert.ok(performance.now() - startedAt < 1_000 + 2_000, 'it did not wait for load balancers');

    server = await start();
    const cut = stream(20_000).then((response) => response.text());
    const failed = assert.rejects(cut);
    await pause(500);
    server.signal('SIGTERM');
    await untilDraining(server);
    server.signal('SIGTERM');
    assert.equal(await server.ended, 1);
    await failed;
  });
});

it('a stop closes the port while a line of a batch waits for its upstream, and stores what comes', async () => {
  const path = temporarySqlitePath();
  const env = { ARTIFACTS: 'disk', ARTIFACTS_MIN_FREE_GB: '0' };
  const service = await startSandboxService(`sqlite:${path}`, { env });
  const upstream = await startScriptedUpstream();
  const called = Promise.withResolvers<ServerResponse>();
  upstream.respondWith((response) => called.resolve(response));
  const { baseUrl, operator } = service;
  const price = { input_per_million: 1_000_000, output_per_million: 1_000_000 };
  const model = { id: 'held-chat', kind: 'chat', vendor: 'openai', price };
  await operator.requestData('POST', '/api/admin/models', model);
  const channel = { base_url: upstream.url, credentials: { api_key: 'k' }, models: ['held-chat'] };
  await operator.addChannel({ vendor: 'openai', ...channel, options: { private: true } });
  await operator.grantQuota(1_000_000_000);
  const openai = new OpenAI({ apiKey: await operator.makeToken(), baseURL: `${baseUrl}/v1`, maxRetries: 0 });
  const body = { model: 'held-chat', messages: [{ role: 'user', content: 'hello' }] };
  const line = { custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body };
  const file = await toFile(Buffer.from(JSON.stringify(line)), 'lines.jsonl');
  await openai.batches.create({
    input_file_id: (await openai.files.create({ file, purpose: 'batch' })).id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const response = await called.promise;
  const closing = service.app.close(600_000);
  for (let tries = 0; await get(baseUrl, '/livez').then(Boolean, () => false); tries++) {
    assert.ok(tries < 600, 'the port is still open');
    await pause(20);
  }
  const message = { role: 'assistant', content: 'yes' };
  const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'chat', choices: [{ index: 0, message }] };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  await closing;
  const database = new DatabaseSync(path, { readOnly: true });
  assert.deepEqual({ ...database.prepare('select state from batch_lines').get() }, { state: 'completed' });
  database.close();
  await service.sandbox.stop();
  await upstream.stop();
});

/** Half a minute each; `npm run hammer` runs them. */
if (process.env.OUTAGES_ALL === '1')
  describe('a process that receives SIGTERM always exits within its grace period', () => {
    const GRACE_MS = 1_000 + 30_000 + 5_000;
    async function endsInTime(server: ServerProcess): Promise<void> {
      const startedAt = performance.now();
      server.signal('SIGTERM');
      await server.ended;
      const passedMs = performance.now() - startedAt;
      console.log(`ended after ${Math.round(passedMs)} ms`);
      assert.ok(passedMs < GRACE_MS + 2_000, server.output);
    }

    it('although a response never ends', async () => {
      const sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
      const folder = mkdtempSync(join(tmpdir(), 'rg-grace-'));
      const url = `sqlite:${join(folder, 'x.db')}`;
      const server = await new ServerProcess(url, await freePort(), { DRAIN_SECONDS: '1' }).untilReady();
      const key = await prepare(server.baseUrl, sandbox);
      const operator = await new AdminClient(server.baseUrl).signIn();
      await addChatModelOf(sandbox, operator);
      const endless = fetch(`${server.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(chatBody('[chunks=9000] [delay=100]', { stream: true })),
      }).then((response) => response.text());
      const cut = assert.rejects(endless);
      await pause(500);
      await endsInTime(server);
      await cut;
      await sandbox.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('although the database is frozen', async () => {
      const postgres = await startPostgres();
      const server = await new ServerProcess(postgres.url, await freePort(), { DRAIN_SECONDS: '1' }).untilReady();
      postgres.signalAll('SIGSTOP');
      const asked = fetch(`${server.baseUrl}/v1/videos`, { headers: { authorization: 'Bearer sk-x' } }).catch(() => {});
      await endsInTime(server);
      await asked;
      postgres.signalAll('SIGCONT');
      await postgres.stop();
    });
  });

async function untilDraining(server: ServerProcess): Promise<void> {
  while ((await get(server.baseUrl, '/readyz')).status === 200) await pause(10);
}
