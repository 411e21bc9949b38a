import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { OutboundError } from '../../src/server/platform/outbound/outbound.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { startWebhookService, type WebhookFixture, walletEvent } from './webhook-fixture.ts';

describe('permitted webhook URLs', () => {
  /** URLs that are refused when they are entered, with the reason. */
  const REFUSED = [
    'http://example.com/hook',
    'https://127.0.0.1/hook',
    'https://localhost/hook',
    'https://10.0.0.7/hook',
    'https://[::1]/hook',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://user:password@example.com/',
    'https://example.com:22/',
    'https://example.com:25/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'nonsense',
    '',
  ];
  let service: WebhookFixture;
  let ada: TestUser;
  before(async () => {
    // Names of Docker Compose services may have an underscore.
    service = await startWebhookService('sqlite::memory:', { hosts: ['n8n_worker:5678'] });
    ada = await service.signUp('ada');
  });
  after(() => service.stop());

  it('T47: refuses private addresses and schemes other than https when they are entered', async () => {
    for (const url of REFUSED) await ada.fails(400, 'POST', '/api/webhooks', { url });
    const { id } = await service.addEndpoint(ada, '/fine');
    for (const url of REFUSED) await ada.fails(400, 'PUT', `/api/webhooks/${id}`, { url });
    for (const url of ['https://example.com/hook', 'https://example.com:8443/hook?token=1', 'http://n8n_worker:5678/a'])
      await ada.ok('PUT', `/api/webhooks/${id}`, { url });
    await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('T48: checks the dialled address again, whatever the host name resolved to before', async () => {
    const outbound = openOutbound({ resolveUntrusted: async () => [{ address: '127.0.0.1', family: 4 }] });
    const post = (url: string, allowHttp = false) =>
      outbound.postUntrusted({
        url,
        body: '{}',
        headers: {},
        allowHttp,
        allowedPrivateHosts: [],
        totalTimeoutMs: 2_000,
      });
    for (const url of ['https://rebound.example/hook', 'https://127.0.0.1:4433/', 'http://public.example/'])
      await assert.rejects(post(url), (error) => error instanceof OutboundError && error.phase === 'blocked');
    await assert.rejects(post('http://rebound.example:8080/', true), { phase: 'blocked' });
    await outbound.close();
  });

  it('receivers that never respond do not delay others', async () => {
    const sockets = new Set<Socket>();
    const tarpit: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => tarpit.listen(0, '127.0.0.1', resolve));
    const hasSocket = async () => {
      while (sockets.size === 0) await new Promise((resolve) => tarpit.once('connection', resolve));
      return true;
    };
    const host = `127.0.0.1:${(tarpit.address() as AddressInfo).port}`;
    const slow = await startWebhookService('sqlite::memory:', { hosts: [host] });
    try {
      const owners: TestUser[] = [];
      for (let index = 0; index < 10; index++) owners.push(await slow.signUp(`dead-${index}`));
      for (const owner of owners)
        for (let index = 0; index < 10; index++)
          await owner.ok('POST', '/api/webhooks', { url: `http://${host}/dead` });
      const healthy = await slow.signUp('healthy');
      await slow.addEndpoint(healthy, '/alive');
      for (let round = 0; round < 3; round++) for (const owner of owners) await slow.report(walletEvent(owner.id));
      assert.ok(await hasSocket());
      const begun = performance.now();
      await slow.report(walletEvent(healthy.id));
      await slow.receiver.waitFor('/alive', 1);
      assert.ok(performance.now() - begun < 5_000);
    } finally {
      for (const socket of sockets) socket.destroy();
      await slow.stop();
      tarpit.close();
    }
  });
});
