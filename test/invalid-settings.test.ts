import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeApp } from '../src/server/app.ts';
import { loadConfig, parseConfig } from '../src/server/platform/config.ts';
import { type MetaTables, metaMigrations, migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { openLog } from '../src/server/platform/log.ts';
import { assertMasterKey } from '../src/server/platform/master-key.ts';
import { ConfigError } from '../src/server/platform/setting-readers.ts';
import { forEachDatabase } from './for-each-database.ts';

const newKey = () => randomBytes(32);
const isAbout = (setting: string) => (error: unknown) =>
  error instanceof ConfigError && error.message.startsWith(`${setting}: `);

describe('service start', () => {
  it('names the setting that prevents it', () => {
    for (const [setting, values] of Object.entries({
      TRUST_PROXY: ['nonsense', '10.0.0.0/33', '10.0.0.1,evil.example', '::1/129', '10.0.0.0/-1'],
      ARTIFACTS_ACCEL_PROXIES: ['localhost', '10.0.0.0/33'],
      SANDBOX: ['maybe', '2', 'sandbox'],
      MASTER_KEY: ['short', Buffer.alloc(31).toString('base64')],
      OTEL_EXPORTER_OTLP_HEADERS: ['x-key=100%'],
      OTEL_RESOURCE_ATTRIBUTES: ['team=a%2,b=c', 'team=%FF'],
      OTEL_TRACES_SAMPLER_ARG: ['5%', '1.1', '-1', 'half', '.', '11'],
    }))
      for (const value of values) assert.throws(() => parseConfig({ [setting]: value }), isAbout(setting), value);
    assert.throws(() => parseConfig({ DATABASE_URL: 'postgres://localhost/x' }), isAbout('MASTER_KEY'));
    assert.throws(() => parseConfig({ BASE_URL: 'http://video.example' }), isAbout('BASE_URL'));
    const withoutFiles = { ARTIFACTS: 'off', ARTIFACTS_ACCEL_PROXIES: '127.0.0.1' };
    assert.throws(() => parseConfig(withoutFiles), isAbout('ARTIFACTS_ACCEL_PROXIES'));
    assert.deepEqual(parseConfig({ TRUST_PROXY: ' 10.0.0.0/8 , ::1 ' }).trustProxy, ['10.0.0.0/8', '::1']);
  });

  it('warns about settings of earlier releases and other products, and reads none of them', () => {
    const given = { SITE_NAME: 'Film studio', CHAT_IDLE_SECONDS: '5', SQL_DSN: 'x', MAIL_MAILCOW_URL: '', PORT: '1' };
    const { config, hints } = loadConfig(given, '');
    assert.equal(config.siteDefaults.siteName, 'Reelgate');
    assert.deepEqual(
      hints.map((hint) => hint.split(' ')[0]),
      ['SQL_DSN', 'SITE_NAME', 'CHAT_IDLE_SECONDS'],
    );
    assert.match(hints[1] ?? '', /no longer a setting of the environment.*console/);
  });

  it('asks for the encoding of a password that would be taken for a host', () => {
    for (const [setting, scheme] of Object.entries({
      VALKEY_URL: 'redis',
      SMTP_URL: 'smtp',
      DATABASE_URL: 'postgres',
    })) {
      for (const password of ['secret#1', '1#secret', 'secret/1', '1?secret'])
        assert.throws(
          () => parseConfig({ [setting]: `${scheme}://user:${password}@host` }),
          (error) => isAbout(setting)(error) && /%23/.test(String(error)) && !/secret/.test(String(error)),
        );
    }
    const SMTP_URL = 'smtp://me@a.example:p@ss%23@host:587/?name=me@a.example';
    assert.equal(parseConfig({ SMTP_URL, SMTP_FROM: 'a@b.example' }).smtpUrl, SMTP_URL);
  });

  it('warns of a SQLite file on a file system of another machine', (t) => {
    let type = 0xef53;
    const mocked = t.mock.method(fs, 'statfsSync', () => ({ type }));
    syncBuiltinESMExports();
    t.after(() => {
      mocked.mock.restore();
      syncBuiltinESMExports();
    });
    const hintsOf = (DATABASE_URL: string) =>
      loadConfig({ DATABASE_URL, MASTER_KEY: newKey().toString('base64') }, '').hints;
    assert.deepEqual(hintsOf('sqlite:/missing/folder/x.db'), []);
    // Node gives the type as a signed number on some systems.
    for (type of [0x6969, 0xff534d42, 0xff534d42 | 0, 0x65735546])
      assert.match(hintsOf('sqlite:/missing/folder/x.db').join(), /^DATABASE_URL: \/ is on (NFS|SMB|FUSE), .*volume/);
    for (const url of ['sqlite::memory:', 'postgres://localhost/x']) assert.deepEqual(hintsOf(url), []);
  });

  it('removes quotes that Docker passes on', () => {
    const config = parseConfig({
      PORT: '"3001"',
      SMTP_URL: "'smtp://host'",
      SMTP_FROM: '"Reelgate <a@b.example>"',
      VALKEY_URL: '""',
      TIME_ZONE: "''",
    });
    assert.deepEqual(
      [config.port, config.smtpUrl, config.smtpFrom, config.valkeyUrl],
      [3001, 'smtp://host', 'Reelgate <a@b.example>', undefined],
    );
    assert.deepEqual([...config.environmentNames].sort(), ['PORT', 'SMTP_FROM', 'SMTP_URL']);
    assert.equal(parseConfig({ SMTP_FROM: '"Films" <a@b.example>' }).smtpFrom, '"Films" <a@b.example>');
  });

  it('reads .env with and without quotes, and refuses one in UTF-16', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'rg-env-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, '.env');
    writeFileSync(path, '\ufeffPORT="3001"\r\nexport SMTP_URL=smtp://host\r\nSMTP_FROM=\'a@b.example\'\r\n# HOST=x');
    const { config } = loadConfig({}, path);
    assert.deepEqual([config.port, config.smtpUrl, config.smtpFrom], [3001, 'smtp://host', 'a@b.example']);
    writeFileSync(path, '\ufeffPORT=3001\r\n', 'utf16le');
    assert.throws(() => loadConfig({}, path), /\.env: is not UTF-8/);
  });

  it("reads the mail API's key from its URL", () => {
    assert.deepEqual(parseConfig({ MAIL_API_URL: 'https://:a%2Fb@mail.example/' }).mailApiUrl, {
      url: 'https://mail.example',
      key: 'a/b',
    });
    for (const url of ['https://mail.example', 'ftp://:key@mail.example', 'mail.example', 'https://:%E0@mail.example'])
      assert.throws(() => parseConfig({ MAIL_API_URL: url }), isAbout('MAIL_API_URL'), url);
  });

  it('leaves the sandbox off unless it is enabled', () => {
    for (const SANDBOX of ['', ' ', '0', 'false', 'no', 'off']) {
      const config = parseConfig({ SANDBOX });
      assert.deepEqual([config.sandbox, config.mailBackend], [false, undefined], SANDBOX);
    }
  });

  forEachDatabase((_name, _open, _freshUrl, emptyUrl) => {
    it('writes nothing with a wrong key, not even a newer schema', async () => {
      const url = await emptyUrl();
      const database = openDatabase<MetaTables>(url);
      try {
        await migrate(database, metaMigrations);
        await assertMasterKey(database, newKey());
        const config = parseConfig({ DATABASE_URL: url, MASTER_KEY: newKey().toString('base64') });
        await assert.rejects(makeApp(config, { log: openLog('silent') }), isAbout('MASTER_KEY'));
        const tables = (await database.kysely.introspection.getTables()).map(({ name }) => name);
        assert.ok(!tables.includes('accounts'), tables.join(' '));
      } finally {
        await database.close();
      }
    });
  });
});
