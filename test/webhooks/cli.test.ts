import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { AdminClient } from '../admin-client.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { WebhookReceiver } from './receiver.ts';
import { walletEvent } from './webhook-fixture.ts';

describe('reelgate webhooks and listen', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-webhooks-'));
  let service: TestService;
  let receiver: WebhookReceiver;
  let owner: CliMachine;
  before(async () => {
    receiver = await new WebhookReceiver().listen();
    service = await startTestService(`sqlite:${join(folder, 'reelgate.db')}`, { WEBHOOK_PRIVATE_HOSTS: receiver.host });
    const { access_token } = await service.root.ok<{ access_token: string }>('POST', '/api/user/token');
    owner = new CliMachine(service.url, {
      REELGATE_ACCESS_TOKEN: access_token,
      REELGATE_USER_ID: String(service.root.id),
    });
  });
  after(async () => {
    await service.stop();
    await receiver.close();
    owner.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('adds, tests, lists and removes a webhook', async () => {
    const url = receiver.url('/cli');
    const created = await owner.run('webhooks', 'create', url, '--event', 'wallet.low', '--json');
    const { id, secret } = parseJsonOutput<{ id: number; secret: string }>(created);
    await owner.run('webhooks', 'test', String(id));
    const [webhook] = await receiver.waitFor('/cli', 1);
    new Webhook(secret).verify(webhook?.body ?? '', (webhook?.headers ?? {}) as Record<string, string>);
    assert.match((await owner.run('webhooks')).stdout, /wallet\.low\tworks/);
    const shown = parseJsonOutput<unknown>(await owner.run('webhooks', 'deliveries', String(id), '--json'));
    assert.equal((shown as { event_type: string }[])[0]?.event_type, 'webhook.test');
    assert.equal((await owner.run('webhooks', 'remove', String(id))).code, 0);
    assert.match((await owner.run('webhooks')).stderr, /No webhooks/);
    assert.equal((await owner.run('webhooks', 'create', 'http://example.com/')).code, 1);
  });

  it('forwards new events, signed, with only a device sign-in', async () => {
    const machine = new CliMachine(service.url);
    await machine.storeCredentials(await new AdminClient(service.url).signIn());
    const report = (quota: number) =>
      service.app.database.transaction((trx) =>
        service.app.events.eventLog.write(trx, walletEvent(service.root.id, { data: { quota } })),
      );
    await report(1);
    const listening = machine.start('listen', '--forward', receiver.url('/forwarded'));
    const secret = await listening.waitForStderr(/signed with (whsec_\S+)\./);
    await report(2);
    const [webhook] = await receiver.waitFor('/forwarded', 1);
    const payload = new Webhook(secret).verify(webhook?.body ?? '', (webhook?.headers ?? {}) as Record<string, string>);
    assert.deepEqual((payload as { data: object }).data, { quota: 2 });
    listening.interrupt();
    assert.equal((await listening.exited).code, 130);
    machine.remove();
  });

  it('says why an event could not be forwarded', async () => {
    const service = await startLateService();
    const env = { REELGATE_ACCESS_TOKEN: 'any', REELGATE_USER_ID: '1', NODE_OPTIONS: TWO_ADDRESSES };
    const machine = new CliMachine(service.url, env);
    const closed = await new WebhookReceiver().listen();
    const url = closed.url('/hook').replace('127.0.0.1', 'localhost');
    await closed.close();
    const listening = machine.start('listen', '--forward', url, '--json');
    await listening.waitForStderr(/signed with (whsec_\S+)\./);
    service.report();
    while (listening.stdout === '') await pause(20);
    assert.equal(JSON.parse(listening.stdout).answer, 'ECONNREFUSED');
    listening.interrupt();
    assert.equal((await listening.exited).code, 130);
    machine.remove();
    await service.stop();
  });

  it('forwards events of a service whose clock is behind, and outlasts its absence', async () => {
    const service = await startLateService();
    const machine = new CliMachine(service.url, { REELGATE_ACCESS_TOKEN: 'any', REELGATE_USER_ID: '1' });
    const listening = machine.start('listen', '--forward', receiver.url('/late'));
    await listening.waitForStderr(/signed with (whsec_\S+)\./);
    service.breakDown();
    await listening.waitForStderr(/Trying again/);
    service.report();
    const [webhook] = await receiver.waitFor('/late', 1);
    assert.equal(JSON.parse(webhook?.body ?? '{}').type, 'wallet.low');
    listening.interrupt();
    assert.equal((await listening.exited).code, 130);
    machine.remove();
    await service.stop();
  });
});

/** Makes a name have two addresses, as `localhost` has on most machines. */
const TWO_ADDRESSES = `--import=data:text/javascript,${encodeURIComponent(`
  import dns from 'node:dns';
  const addresses = [1, 2].map((last) => ({ address: '127.0.0.' + last, family: 4 }));
  const { lookup } = dns;
  dns.lookup = (name, ...rest) => (name === 'localhost' ? rest.at(-1)(null, addresses) : lookup(name, ...rest));`)}`;

/** A service whose clock is ten minutes behind. It answers 503 from `breakDown` until it has an event to report. */
async function startLateService() {
  const now = (): number => Date.now() - 600_000;
  const events: { id: string; type: string; timestamp: string; data: object }[] = [];
  let isBroken = false;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const since = Number(url.searchParams.get('since')) * 1_000;
    const found = events.filter(({ timestamp }) => Date.parse(timestamp) >= since);
    response.writeHead(isBroken ? 503 : 200, { date: new Date(now()).toUTCString(), 'retry-after': '0' });
    response.end(JSON.stringify({ success: !isBroken, data: { events: found, next: null } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakDown: () => {
      isBroken = true;
    },
    report: () => {
      events.push({ id: 'evt_1', type: 'wallet.low', timestamp: new Date(now()).toISOString(), data: {} });
      isBroken = false;
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}
