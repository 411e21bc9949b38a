import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import { type App, makeApp } from '../../src/server/app.ts';
import { describeStartFailure, loadConfig, parseConfig } from '../../src/server/platform/config.ts';
import { AlreadyServedError } from '../../src/server/platform/db/database.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { ConfigError } from '../../src/server/platform/setting-readers.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService } from '../test-service.ts';
import { freePort, SERVER, ServerProcess } from './server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'rg-guards-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const KEY = Buffer.alloc(32, 7).toString('base64');

const start = (env: Readonly<Record<string, string>>): Promise<App> =>
  makeApp(parseConfig({ PORT: '0', ...env }), { log: openLog('silent') });

describe('a SQLite file', () => {
  it('serves one process at a time, with a clear error for the second; commands may use it in parallel', async () => {
    const env = { DATABASE_URL: `sqlite:${join(folder, 'one', 'one.db')}`, MASTER_KEY: KEY };
    const first = await start(env);
    await assert.rejects(start(env), (error) => error instanceof AlreadyServedError && /one\.db/.test(error.message));
    await first.close(0);
    const next = await start(env);
    await next.close(0);
  });

  it('is readable only by its owner, sidecar files included', async () => {
    const home = join(folder, 'modes');
    const app = await start({ DATABASE_URL: `sqlite:${join(home, 'x.db')}` });
    const readable = readdirSync(home, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0);
    assert.deepEqual(
      readable.map(({ name }) => name),
      [],
    );
    await app.close(0);
  });

  it('restored without its key prevents startup, and no new key is written', async () => {
    const home = join(folder, 'key');
    const env = { DATABASE_URL: `sqlite:${join(home, 'x.db')}` };
    await (await start(env)).close(0);
    rmSync(join(home, 'master.key'));
    await assert.rejects(
      start(env),
      (error) => error instanceof ConfigError && /master\.key is missing/.test(error.message),
    );
    assert.ok(!readdirSync(home).includes('master.key'));
  });
});

describe('an unusable path', () => {
  const home = join(folder, 'paths');
  const letter = join(home, 'letter.txt');
  const pipe = join(home, 'pipe');
  before(() => {
    mkdirSync(join(home, 'directory'), { recursive: true });
    writeFileSync(letter, 'hello, I am a letter\n'.repeat(200), { mode: 0o644 });
    symlinkSync(join(home, 'loop'), join(home, 'loop'));
    execFileSync('mkfifo', [pipe]);
  });
  const good = () => ({ DATABASE_URL: `sqlite:${join(home, 'good.db')}`, MASTER_KEY: KEY });
  const lineOf = async (env: Readonly<Record<string, string>>) =>
    describeStartFailure(
      await start(env).then(
        () => 'it started',
        (error: unknown) => error,
      ),
    );

  it('for the database: one line that names the setting; nothing is touched or waited for', async () => {
    const listed = () => new Set(readdirSync(home, { recursive: true, encoding: 'utf8' }));
    const names = listed();
    for (const [path, problem] of [
      [letter, /is not a SQLite database/],
      [join(home, 'directory'), /is a directory/],
      [pipe, /is not a regular file/],
      ['/dev/null', /is not a regular file/],
      [join(letter, 'x.db'), /not a directory \(ENOTDIR\)/],
      [join(letter, 'deeper', 'x.db'), /not a directory \(ENOTDIR\)/],
      [join(home, 'loop'), /loop of symbolic links/],
      [join(home, 'loop', 'x.db'), /loop of symbolic links/],
      [join(home, 'n'.repeat(300)), /too long/],
      ['/proc/nowhere/x.db', /does not exist|may not be used/],
      ['', /names no file/],
    ] as const) {
      const line = await lineOf({ DATABASE_URL: `sqlite:${path}`, MASTER_KEY: KEY });
      assert.match(line, /^DATABASE_URL: [^\n]*$/, path);
      assert.match(line, problem, path);
      assert.deepEqual(listed(), names, path);
    }
    assert.equal(statSync(letter).mode & 0o777, 0o644);
  });

  it('for any other setting: one line that names it', async () => {
    for (const [name, path, problem] of [
      ['ARTIFACTS_DIR', letter, /not a directory/],
      ['ARTIFACTS_DIR', join(letter, 'videos'), /not a directory/],
      ['ARTIFACTS_DIR', join(home, 'loop', 'x'), /loop of symbolic links/],
      ['ARTIFACTS_DIR', '/proc/nowhere/videos', /does not exist|may not be used/],
      ['JOURNAL_DIR', letter, /not a directory/],
      ['JOURNAL_DIR', join(letter, 'deeper', 'journal'), /not a directory/],
    ] as const) {
      const line = await lineOf({ ...good(), [name]: path });
      assert.match(line, new RegExp(`^${name}: [^\\n]*$`), `${name}=${path}`);
      assert.match(line, problem, `${name}=${path}`);
    }
    assert.throws(() => loadConfig({}, join(home, 'directory')), /^ConfigError: .*directory: .*is a directory/);
  });

  it('prints one line if a key or a database cannot be read', async () => {
    const { DATABASE_URL } = good();
    mkdirSync(join(home, 'master.key'));
    assert.match(await lineOf({ DATABASE_URL }), /^MASTER_KEY: [^\n]*master\.key is a directory \(EISDIR\)$/);
    writeFileSync(join(home, 'broken.db'), `SQLite format 3\0${'x'.repeat(8_000)}`);
    const line = await lineOf({ DATABASE_URL: `sqlite:${join(home, 'broken.db')}`, MASTER_KEY: KEY });
    assert.match(line, /^DATABASE_URL: SQLite cannot use this file: [^\n]*$/);
  });

  // Only root can become another user.
  it('in the folder of another user: one line', { skip: process.getuid?.() !== 0 }, () => {
    const [uid, gid] = [65_534, 65_534];
    const foreign = mkdtempSync(join(tmpdir(), 'rg-foreign-'));
    try {
      chmodSync(foreign, 0o755);
      const env = { PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1' };
      const options = { encoding: 'utf8', cwd: foreign, env, uid, gid } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER], options);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, /^reelgate cannot start: DATABASE_URL: [^\n]*\(EACCES\)\n$/);
      assert.deepEqual(readdirSync(foreign), []);
    } finally {
      rmSync(foreign, { recursive: true });
    }
  });

  it('an old Node version: one line', () => {
    const version = '20.20.2';
    const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', old, SERVER], {
      encoding: 'utf8',
      cwd: home,
    });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      new RegExp(`^reelgate cannot start: reelgate needs Node 24\\.15 or newer and this is ${version};[^\\n]*\\n$`),
    );
  });
});

describe('an installation without development packages and without the server bundle', () => {
  const main = join(import.meta.dirname, '../../src/server/main.ts');
  const { packages } = lock as { readonly packages: Readonly<Record<string, { readonly dev?: boolean }>> };
  const { devDependencies } = manifest as { readonly devDependencies: Readonly<Record<string, string>> };
  // One that a library of production depends on too is installed.
  const absent = Object.keys(devDependencies).filter((name) => packages[`node_modules/${name}`]?.dev === true);
  /** Hides every development package, as `npm ci --omit=dev` leaves the installation. */
  const hook = `
    import { registerHooks } from 'node:module';
    const absent = new Set(${JSON.stringify(absent)});
    registerHooks({
      resolve(specifier, context, next) {
        const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
        if (absent.has(name)) throw Object.assign(new Error(name + ' is absent'), { code: 'ERR_MODULE_NOT_FOUND' });
        return next(specifier, context);
      },
    });`;
  const program = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, main];
  const url = (name: string): string => `sqlite:${join(folder, 'production', `${name}.db`)}`;

  it('starts the server', async () => {
    const server = new ServerProcess(url('plain'), await freePort(), { SANDBOX: '0' }, program);
    try {
      await server.untilReady();
    } finally {
      await server.stop();
    }
  });

  it("refuses the sandbox's mail server in one line that names the setting", async () => {
    const server = new ServerProcess(url('mail'), await freePort(), { MAIL_BACKEND: 'sandbox' }, program);
    assert.equal(await server.ended, 1);
    assert.match(server.output, /MAIL_BACKEND: sandbox needs the development packages/);
  });
});

describe('a start with an unreachable database', () => {
  it('names the cause in one line, without the password', async () => {
    const url = `postgres://somebody:secret-word@127.0.0.1:${await freePort()}/films`;
    const error = await start({ DATABASE_URL: url, MASTER_KEY: KEY }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const line = describeStartFailure(error);
    assert.match(line, /^cannot connect to PostgreSQL at 127\.0\.0\.1:\d+\/films: .*ECONNREFUSED.*is it running/);
    assert.doesNotMatch(line, /secret-word|\n/);
  });

  it('refuses an unusable URL, naming the setting', () => {
    for (const [DATABASE_URL, problem] of [
      ['mysql://a/b', /must start with sqlite: or postgres/],
      ['postgres://a:1,,b:2/x', /empty host/],
      ['postgres://a,b/x?target_session_attrs=standby', /target_session_attrs must be one of/],
      ['postgres://a/x?poolMax=0', /poolMax must be/],
    ] as const)
      assert.throws(
        () => parseConfig({ DATABASE_URL, MASTER_KEY: KEY }),
        (error) => error instanceof ConfigError && /^DATABASE_URL: /.test(error.message) && problem.test(error.message),
        DATABASE_URL,
      );
    assert.throws(() => parseConfig({ DATABASE_DIRECT_URL: 'postgres://a/x' }), /DATABASE_DIRECT_URL: /);
  });
});

forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
  it('a newer schema that lacks a column this release uses prevents startup, with one line', async () => {
    const url = await emptyUrl();
    const service = await startTestService(url);
    await sql`alter table tasks drop column fail_reason`.execute(service.app.database.kysely);
    await sql`insert into schema_migrations (id, applied_at) values ('9001-tickets', 1)`.execute(
      service.app.database.kysely,
    );
    await service.stop();
    const error = await start({ DATABASE_URL: url, MASTER_KEY: service.masterKey }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.match(describeStartFailure(error), /^the database was changed by a newer release: .*tasks\.fail_reason/);
  });

  if (name === 'sqlite') return;
  it('the sandbox runs in one process on a shared database', async () => {
    const env = { DATABASE_URL: await emptyUrl(), MASTER_KEY: KEY, SANDBOX: '1', ADMIN_PASSWORD: 'root-password-1' };
    const first = await start(env);
    await first.listen();
    await assert.rejects(start(env), (error) => error instanceof ConfigError && /^SANDBOX: /.test(error.message));
    const without = await start({ ...env, SANDBOX: '0' });
    await without.close(0);
    await first.close(0);
    const next = await start(env);
    await next.close(0);
  });
});
