import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Diagnosis } from '../../src/server/commands/doctor.ts';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { startTestService, type TestService } from '../test-service.ts';

describe('reelgate doctor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-doctor-'));
  const databaseUrl = `sqlite:${join(folder, 'reelgate.db')}`;
  let service: TestService;
  before(async () => {
    service = await startTestService(databaseUrl);
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (env: Readonly<Record<string, string>> = {}) => {
    const machine = new CliMachine(service.url, {
      DATABASE_URL: databaseUrl,
      MASTER_KEY: service.masterKey,
      BASE_URL: service.url,
      ...env,
    });
    const result = await machine.run('doctor', '--json');
    const found = parseJsonOutput<Diagnosis[]>(result);
    const states = Object.fromEntries(found.map(({ subject, state }) => [subject, state]));
    return { code: result.code, found, states, text: JSON.stringify(found) };
  };

  it('finds a healthy service in order and lists the remaining steps', async () => {
    const { code, states, text } = await run();
    assert.deepEqual(states, {
      configuration: 'warning',
      database: 'ok',
      'master key': 'ok',
      vendors: 'warning',
      mail: 'warning',
      proxy: 'ok',
    });
    assert.equal(code, 0);
    assert.match(text, /Set BASE_URL to the address people use/);
    assert.match(text, /No channel is enabled/);
  });

  it('names the invalid setting', async () => {
    const { code, found } = await run({ PORT: 'eighty' });
    assert.equal(code, 1);
    assert.deepEqual([found.length, found[0]?.subject, found[0]?.state], [1, 'configuration', 'error']);
    assert.match(found[0]?.message ?? '', /PORT/);
  });

  it('distinguishes a missing database, a wrong key, and a mail server and a base URL that lead nowhere', async () => {
    const missing = await run({ DATABASE_URL: `sqlite:${join(folder, 'none.db')}` });
    assert.deepEqual([missing.states.database, missing.code], ['error', 1]);
    assert.doesNotMatch(missing.text, /quickstart/);
    writeFileSync(join(folder, 'quickstart.db'), '');
    const introduced = await run({ DATABASE_URL: `sqlite:${join(folder, 'none.db')}` });
    assert.match(introduced.text, /Set DATABASE_URL=sqlite:\.\/data\/quickstart\.db/);
    const wrong = await run({ MASTER_KEY: Buffer.alloc(32, 1).toString('base64') });
    assert.deepEqual([wrong.states.database, wrong.states['master key']], ['ok', 'error']);
    const port = await closedPort();
    const nowhere = await run({
      BASE_URL: `http://127.0.0.1:${port}`,
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      SMTP_FROM: 'no-reply@example.com',
    });
    assert.deepEqual([nowhere.states.mail, nowhere.states.proxy, nowhere.code], ['error', 'error', 1]);
    const tls = await run({ BASE_URL: `https://127.0.0.1:${port}` });
    assert.match(tls.text, /TRUST_PROXY does not name it/);
  });

  it('reports an unreachable vendor, and prints the remedy below each finding', async () => {
    const port = await closedPort();
    await service.root.ok('POST', '/api/admin/channels', {
      name: 'Away',
      vendor: 'vidu',
      base_url: `http://127.0.0.1:${port}`,
      credentials: { api_key: 'k' },
      options: { private: true },
      models: ['viduq2'],
    });
    const { code, states, found } = await run();
    assert.deepEqual([code, states.vendors], [1, 'error']);
    assert.match(found.find(({ subject }) => subject === 'vendors')?.message ?? '', /^Away: .* cannot be reached/);
    const env = { DATABASE_URL: databaseUrl, MASTER_KEY: service.masterKey, BASE_URL: service.url };
    const { stdout } = await new CliMachine(service.url, env).run('doctor');
    assert.match(stdout, /^✗ vendors {7}Away: .*\n {16}→ Check the channel's base URL/m);
  });
});

/** A local port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
