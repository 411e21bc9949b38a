import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { AdminClient } from '../admin-client.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import { CliMachine, type ProcessResult, parseJsonOutput } from '../cli-process-harness.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { findPostgres } from '../start-postgres.ts';
import { temporarySqlitePath } from '../temporary-sqlite-path.ts';

const PASSPHRASE = 'a heron on the jetty';

/** The environment of an operator who keeps the key beside the database or, with `MASTER_KEY`, in the environment. */
function operatorEnvironment(url: string, more: Record<string, string> = {}): Record<string, string> {
  const { MASTER_KEY: _, ...env } = testEnvironment(url);
  return { ...env, REELGATE_BACKUP_PASSPHRASE: PASSPHRASE, ...more };
}

/** Signs a device in to the operator's account. */
async function signInDevice(operator: AdminClient) {
  const { id: client_id, secret: client_secret } = CLI_OAUTH_CLIENT;
  const code = await operator.requestData<{ device_code: string; user_code: string }>('POST', '/api/auth/device/code', {
    client_id,
  });
  await operator.requestData('POST', '/api/auth/device/approve', { user_code: code.user_code });
  const poll = { client_id, client_secret, device_code: code.device_code };
  return operator.requestData<{ user_id: number; access_token: string; refresh_token: string }>(
    'POST',
    '/api/auth/device/token',
    poll,
  );
}

const fileModes = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );

describe('a SQLite backup', () => {
  const path = temporarySqlitePath();
  const folder = dirname(path);
  const file = join(folder, 'saved.backup');
  const machines: CliMachine[] = [];
  let app: App;
  let device: { readonly user_id: number; readonly access_token: string; readonly refresh_token: string };

  const admin = (url: string, words: readonly string[], env: Record<string, string> = {}): Promise<ProcessResult> => {
    const machine = new CliMachine('http://127.0.0.1:1', operatorEnvironment(url, env));
    machines.push(machine);
    return machine.run('admin', ...words, '--json');
  };
  const start = async (databasePath: string): Promise<App> => {
    const started = await makeApp(parseConfig(operatorEnvironment(`sqlite:${databasePath}`)), {
      passwordCost: CHEAP_PASSWORD_HASHING,
    });
    await started.listen();
    return started;
  };
  const channelsOf = async (running: App): Promise<unknown> => {
    const { port } = running.http.fastify.server.address() as { port: number };
    const operator = await new AdminClient(`http://127.0.0.1:${port}`).signIn();
    return operator.requestData('GET', '/api/admin/channels');
  };

  before(async () => {
    app = await start(path);
    const { port } = app.http.fastify.server.address() as { port: number };
    const operator = await new AdminClient(`http://127.0.0.1:${port}`).signIn();
    const channel = {
      vendor: 'sora',
      base_url: 'http://127.0.0.1:9',
      credentials: { api_key: 'k' },
      models: ['sora-2'],
    };
    await operator.addChannel(channel);
    device = await signInDevice(operator);
  });
  after(async () => {
    await app.close(0);
    for (const machine of machines) machine.remove();
  });

  it('is taken while the service runs, readable only by its owner, and replaces an older one only on request', async () => {
    const made = await admin(`sqlite:${path}`, ['backup', file]);
    assert.equal(made.code, 0, made.stdout);
    const { bytes, withKey } = parseJsonOutput<{ bytes: number; withKey: boolean }>(made);
    assert.equal(bytes, statSync(file).size);
    assert.equal(withKey, true);
    assert.equal(fileModes(folder)['saved.backup'], '600');
    const key = readFileSync(join(folder, 'master.key'), 'utf8').trim();
    assert.equal(readFileSync(file).includes(key), false, 'the key is not in it in clear');
    assert.match((await admin(`sqlite:${path}`, ['backup', file])).stdout, /exists; give another name, or --force/);
    assert.equal((await admin(`sqlite:${path}`, ['backup', file, '--force'])).code, 0);
    const without = join(folder, 'without.backup');
    const short = await admin(`sqlite:${path}`, ['backup', without], { REELGATE_BACKUP_PASSPHRASE: 'short' });
    assert.match(short.stdout, /at least 12 characters/);
    assert.equal((await admin(`sqlite:${path}`, ['backup', without], { REELGATE_BACKUP_PASSPHRASE: '' })).code, 2);
    assert.equal((await admin(`sqlite:${path}`, ['backup', without, '--without-key'])).code, 0);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  it('restores elsewhere with its key, and the service starts on it', async () => {
    const target = temporarySqlitePath();
    const url = `sqlite:${target}`;
    const wrong = await admin(url, ['restore', file], { REELGATE_BACKUP_PASSPHRASE: 'another passphrase' });
    assert.match(wrong.stdout, /The passphrase is not the one/);
    assert.match((await admin(url, ['restore', join(folder, 'without.backup')])).stdout, /was created without its key/);
    assert.match((await admin(url, ['restore', join(folder, 'master.key')])).stdout, /is not a backup made by/);
    assert.deepEqual(readdirSync(dirname(target)), [], 'nothing was written by then');
    assert.equal((await admin(url, ['restore', file])).code, 0);
    assert.deepEqual(fileModes(dirname(target)), { 'reelgate.db': '600', 'master.key': '600' });
    assert.equal((await admin(url, ['check'])).code, 0);
    const restored = await start(target);
    try {
      assert.deepEqual(await channelsOf(restored), await channelsOf(app));
      const { port } = restored.http.fastify.server.address() as { port: number };
      const headers = {
        authorization: `Bearer ${device.access_token}`,
        'service-api-user': String(device.user_id),
        'content-type': 'application/json',
      };
      assert.equal((await fetch(`http://127.0.0.1:${port}/api/user/self`, { headers })).status, 200);
      const { id: client_id, secret: client_secret } = CLI_OAUTH_CLIENT;
      const body = JSON.stringify({ client_id, client_secret, refresh_token: device.refresh_token });
      const refresh = `http://127.0.0.1:${port}/api/auth/device/refresh`;
      const renewed = await fetch(refresh, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      assert.equal(((await renewed.json()) as { success: boolean }).success, true, 'sign-ins survive');
    } finally {
      await restored.close(0);
    }
  });

  it('replaces no database in use, no other without confirmation, and keeps the replaced one', async () => {
    const url = `sqlite:${path}`;
    assert.match((await admin(url, ['restore', file, '--force'])).stdout, /in use by another process/);
    await app.close(0);
    assert.match((await admin(url, ['restore', file])).stdout, /There is a database at .* With --force/);
    // Simulates a disk fault, with a leftover log of the old file.
    writeFileSync(path, 'not a database');
    writeFileSync(`${path}-wal`, 'a log of the old one');
    const done = await admin(url, ['restore', file, '--force']);
    assert.equal(done.code, 0, done.stdout);
    const { replaced } = parseJsonOutput<{ replaced: string }>(done);
    assert.equal(readFileSync(replaced, 'utf8'), 'not a database');
    assert.equal(existsSync(`${path}-wal`), false);
    app = await start(path);
    assert.equal((await admin(url, ['check'])).code, 0, 'the service may run');
  });

  it('ends at the first Ctrl-C, while it waits for the database, and leaves no half of a copy', async () => {
    await app.close(0);
    const lock = new DatabaseSync(path);
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    const drafts = new EventEmitter();
    const watcher = watch(folder, (_event, name) => name === 'half.backup.part' && drafts.emit('made'));
    const machine = new CliMachine('http://127.0.0.1:1', operatorEnvironment(`sqlite:${path}`));
    machines.push(machine);
    try {
      const made = once(drafts, 'made');
      const command = machine.start('admin', 'backup', join(folder, 'half.backup'));
      await made;
      command.interrupt();
      const { code, stdout, stderr } = await command.exited;
      // By the signal itself, which a shell reports as 130.
      assert.deepEqual([code, stdout, stderr], [null, '', '']);
    } finally {
      watcher.close();
      lock.close();
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('half')),
      [],
    );
    app = await start(path);
  });

  it('fails verification if its ledger, rows or encrypted values are inconsistent', async () => {
    await app.close(0);
    const change = (statement: string) => {
      const database = new DatabaseSync(path);
      database.exec(statement);
      database.close();
    };
    change('update wallets set balance = balance + 1');
    insertTaskOfChannel(path, 77);
    change(`update channels set credentials = credentials || 'A'`);
    const checked = await admin(`sqlite:${path}`, ['check']);
    assert.equal(checked.code, 1);
    const { findings } = parseJsonOutput<{ findings: { rule: string; at: string }[] }>(checked);
    assert.deepEqual(findings.map(({ rule, at }) => `${rule}: ${at}`).sort(), [
      'an encrypted value opens with the master key: channels 1 credentials',
      'balance is the sum of its entries: 1',
      'the channel of a task exists: tasks t',
    ]);
    app = await start(path);
  });
});

/** Inserts a finished task of a channel that may not exist; every other column has an empty value of its type. */
function insertTaskOfChannel(path: string, channelId: number): void {
  const database = new DatabaseSync(path);
  const columns = database.prepare('select name, type, "notnull" as required from pragma_table_info(\'tasks\')').all();
  const values = columns.map(({ name, type, required }) => {
    if (name === 'channel_id') return channelId;
    if (name === 'status') return 'SUCCESS';
    if (name === 'id' || name === 'public_id') return 't';
    if (required === 0) return null;
    return /int/i.test(String(type)) ? 1 : name === 'request' || name === 'data' ? '{}' : '';
  });
  database.prepare(`insert into tasks values (${values.map(() => '?').join(', ')})`).run(...values);
  database.close();
}

describe('a PostgreSQL backup', () => {
  forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
    if (name === 'sqlite') return;

    it('uses pg_dump and pg_restore, with commands that contain no password', async () => {
      const [url, copy] = [await emptyUrl(), await emptyUrl()];
      const app = await makeApp(parseConfig(testEnvironment(url)), { passwordCost: CHEAP_PASSWORD_HASHING });
      await app.listen();
      await app.close(0);
      const folder = mkdtempSync(join(tmpdir(), 'rg-dump-'));
      const file = join(folder, `it's.dump`);
      const commandOf = async (word: string, databaseUrl: string): Promise<string> => {
        const withPassword = new URL(databaseUrl);
        withPassword.password = 'secret';
        // pg_dump and pg_restore bypass a pooler. A socket needs no host, which makes no URL for WHATWG.
        const direct = withPassword.href.replace('@localhost', '@');
        const env = testEnvironment('postgres://pooler.example/x', { DATABASE_DIRECT_URL: direct });
        const machine = new CliMachine('http://127.0.0.1:1', env);
        const done = await machine.run('admin', word, file);
        machine.remove();
        assert.equal(done.code, 0, done.stderr);
        assert.doesNotMatch(done.stdout + done.stderr, /secret/);
        return done.stdout.trim();
      };
      const PATH = [findPostgres(), process.env.PATH].join(delimiter);
      try {
        execFileSync('sh', ['-c', await commandOf('backup', url)], { env: { PATH } });
        execFileSync('sh', ['-c', await commandOf('restore', copy)], { env: { PATH } });
      } finally {
        rmSync(folder, { recursive: true });
      }
      const machine = new CliMachine('http://127.0.0.1:1', testEnvironment(copy));
      assert.equal((await machine.run('admin', 'check')).code, 0);
      machine.remove();
    });
  });
});
