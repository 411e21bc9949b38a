import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { startWebhookService, walletEvent } from './webhook-fixture.ts';

const ROOT = join(import.meta.dirname, '..', '..');

it('the receiver of docs/webhooks.md accepts only signed deliveries', async () => {
  const text = readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8');
  const [, code = ''] =
    /^<!-- run by test\/webhooks\/documented-receiver\.test\.ts -->\n```js\n([\s\S]*?)^```$/m.exec(text) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'rg-receiver-'));
  writeFileSync(join(folder, 'receiver.mjs'), code);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const port = await freePort();
  const service = await startWebhookService('sqlite::memory:', { hosts: [`127.0.0.1:${port}`] });
  const ada = await service.signUp('ada');
  const url = `http://127.0.0.1:${port}/`;
  const { id, secret } = await ada.ok<{ id: number; secret: string }>('POST', '/api/webhooks', { url });
  const receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'listening');
    await service.report(walletEvent(ada.id, { data: { quota: 7 } }));
    assert.equal((await lines.next()).value, 'wallet.low {"quota":7}');
    await service.waitForDeliveries(ada, id, (rows) => rows.every(({ status }) => status === 'delivered'));
    assert.equal((await fetch(url, { method: 'POST', body: '{"type":"wallet.low"}' })).status, 400);
  } finally {
    receiver.kill();
    await once(receiver, 'exit');
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
