import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Reelgate } from '../../src/sdk/index.ts';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { CHILD_PROCESS_ENVIRONMENT } from '../child-process-environment.ts';
import { fixtureProgram } from '../fixture-programs.ts';

const run = promisify(execFile);

describe('reelgate mailbox', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-cli-'));
  let app: App;
  let environment: Record<string, string>;
  before(async () => {
    app = await makeApp(
      parseConfig({
        PORT: '0',
        DATABASE_URL: `sqlite:${join(folder, 'reelgate.db')}`,
        MAIL_BACKEND: 'sandbox',
        ADMIN_USERNAME: 'ada',
        ADMIN_PASSWORD: 'correct horse battery',
        LOG_LEVEL: 'silent',
      }),
    );
    const { port } = await app.listen();
    const baseUrl = `http://127.0.0.1:${port}`;
    const login = await fetch(`${baseUrl}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'ada', password: 'correct horse battery' }),
    });
    const { data } = (await login.json()) as { data: { id: number } };
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const headers = { cookie, 'service-api-user': String(data.id) };
    const token = await fetch(`${baseUrl}/api/user/token`, { method: 'POST', headers });
    const { data: made } = (await token.json()) as { data: { access_token: string } };
    await app.database.kysely
      .insertInto('bindings')
      .values({ user_id: data.id, kind: 'messaging', value: 'x', created_at: 0 })
      .execute();
    environment = {
      ...CHILD_PROCESS_ENVIRONMENT,
      REELGATE_URL: baseUrl,
      REELGATE_ACCESS_TOKEN: made.access_token,
      REELGATE_USER_ID: String(data.id),
      REELGATE_CONFIG_DIR: folder,
    };
  });
  after(async () => {
    await app.close(1_000);
    rmSync(folder, { recursive: true, force: true });
  });

  const cli = async (...args: string[]) =>
    (await run(process.execPath, [fixtureProgram('src/cli/main.ts'), ...args], { env: environment })).stdout;

  it('displays and applies for a mailbox, and creates and displays the application password', async () => {
    assert.match(await cli('mailbox'), /No mailbox yet/);
    assert.match(await cli('mailbox', 'apply', 'ada.lovelace'), /ada\.lovelace@mail\.localhost\nPassword\t\w{24}\n/);
    assert.equal(await cli('mailbox', 'apply'), 'Address\tada.lovelace@mail.localhost\n');
    assert.match(await cli('mailbox'), /Address\tada\.lovelace@mail\.localhost\nPassword\thidden/);
    assert.match(await cli('mailbox', '--reveal'), /Password\t\w{24}\n/);
    assert.match(await cli('mailbox', 'app-password'), /app-password --regenerate/);
    const made = JSON.parse(await cli('mailbox', 'app-password', '--regenerate', '--json')) as { app_password: string };
    const shown = await cli('mailbox', 'app-password');
    assert.ok(shown.includes(made.app_password));
    assert.match(shown, /IMAP\tlocalhost, port \d+, SSL\/TLS/);
  });

  it('reports why an application fails', async () => {
    const { REELGATE_URL: baseUrl = '', REELGATE_ACCESS_TOKEN: accessToken } = environment;
    const sdk = new Reelgate({ baseUrl, credentials: { accessToken, userId: Number(environment.REELGATE_USER_ID) } });
    assert.equal((await sdk.mailbox.apply('A B')).email, 'ada.lovelace@mail.localhost');
    assert.equal((await sdk.mailbox.get()).email, 'ada.lovelace@mail.localhost');
    await assert.rejects(new Reelgate({ baseUrl }).mailbox.get(), { status: 401 });
  });
});
