import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { CHEAP_PASSWORD_HASHING } from '../../test/cheap-password-hashing.ts';
import { CliMachine, parseJsonOutput } from '../../test/cli-process-harness.ts';
import { freePort } from '../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { testEnvironment } from '../../test/service-with-sandbox.ts';
import { newSqliteUrl } from './imported-rows.ts';
import { OLD_PASSWORD, oldKey } from './source-rows.ts';
import { openWriter, writeSource } from './write-source.ts';

forEachDatabase((name, _open, freshUrl, emptyUrl) => {
  let folder: string;
  let from: string;
  let app: App;
  let cli: CliMachine;
  let baseUrl: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
    from = newSqliteUrl(folder);
    await writeSource(from, 'new-api with several keys');
    const [url, port] = [await freshUrl(), String(await freePort())];
    baseUrl = `http://127.0.0.1:${port}`;
    const env = testEnvironment(url, { PORT: port, BASE_URL: baseUrl });
    app = await makeApp(parseConfig(env), { passwordCost: CHEAP_PASSWORD_HASHING });
    await app.listen();
    cli = new CliMachine(baseUrl, env);
  });
  after(async () => {
    await app.close(1_000);
    cli.remove();
    rmSync(folder, { recursive: true });
  });
  const run = (...more: string[]) => cli.run('import', 'new-api', '--from', from, '--watch', '1', ...more);

  it('is a dry run by default, and writes a page', async () => {
    const page = join(folder, 'report.html');
    const { code, stdout } = await run('--report', page);
    assert.equal(code, 0);
    assert.match(stdout, /Nothing was written/);
    assert.match(readFileSync(page, 'utf8'), /<h1>What an import would do<\/h1>.*channel<td>3<td>skipped/s);
  });

  it('writes the page in the language of the locale', async () => {
    const page = join(folder, 'chinese.html');
    cli.env.LC_ALL = 'zh_CN.UTF-8';
    try {
      assert.equal((await run('--report', page)).code, 0);
    } finally {
      delete cli.env.LC_ALL;
    }
    const text = readFileSync(page, 'utf8');
    assert.match(text, /<html lang="zh-CN">.*<h1>导入预演<\/h1>.*<tr><td>渠道<td>3<td>跳过<td>/s);
    const labels = [...text.matchAll(/<(?:title|h1|h2|th)>([^<]+)/g)].map(([, label]) => label ?? '');
    assert.ok(labels.length > 7);
    assert.deepEqual(
      labels.filter((label) => !/\p{Script=Han}/u.test(label)),
      [],
    );
  });

  it('rejects a database that the service was never started on, and creates no tables in it', async () => {
    const url = await emptyUrl();
    if (name === 'sqlite') writeFileSync(url.slice('sqlite:'.length), '');
    const elsewhere = new CliMachine(baseUrl, testEnvironment(url));
    try {
      for (const mode of ['--apply', '--dry-run']) {
        const { code, stderr } = await elsewhere.run('import', 'new-api', '--from', from, '--watch', '1', mode);
        assert.equal(code, 1);
        assert.match(stderr, /never started on this database: it has no tables yet/);
      }
    } finally {
      elsewhere.remove();
    }
  });

  it('imports into a running service: old passwords and keys work immediately', async () => {
    const applied = await run('--apply', '--json');
    assert.equal(applied.code, 0, applied.stdout + applied.stderr);
    assert.deepEqual(parseJsonOutput(applied).proof, { discrepancies: [], changes: [] });
    const headers = { authorization: `Bearer sk-${oldKey(1)}` };
    const models = (await (await fetch(`${baseUrl}/v1/models`, { headers })).json()) as { data: { id: string }[] };
    assert.ok(models.data.some(({ id }) => id === 'gpt-4o'));
    assert.equal(
      (await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer sk-${oldKey(4)}` } })).status,
      401,
    );
    assert.equal(
      (await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer sk-${oldKey(8)}` } })).status,
      403,
    );
    const hashOf = async () => {
      const { kysely } = app.database;
      const { id } = await kysely
        .selectFrom('accounts')
        .select('id')
        .where('username', '=', 'alice')
        .executeTakeFirstOrThrow();
      return (await kysely.selectFrom('passwords').select('hash').where('user_id', '=', id).executeTakeFirstOrThrow())
        .hash;
    };
    assert.match(await hashOf(), /^\$2a\$/);
    for (const [password, success] of [
      ['wrong-password', false],
      [OLD_PASSWORD, true],
      [OLD_PASSWORD, true],
    ] as const) {
      const answer = await fetch(`${baseUrl}/api/user/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'Alice', password }),
      });
      assert.equal(((await answer.json()) as { success: boolean }).success, success);
    }
    assert.match(await hashOf(), /^\$argon2id\$/);
  });

  it("verifies, rejects another program's source or one used since, and undoes unused objects", async () => {
    assert.equal((await run('--verify')).code, 0);
    const other = await cli.run('import', 'one-api', '--from', from);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /a database of new-api, not of one-api/);
    assert.equal((await run('--verify', '--undo')).code, 2);
    const writer = await openWriter(from);
    await writer.run('update users set quota = quota - 1, used_quota = used_quota + 1 where id = 2');
    await writer.close();
    const changed = await run('--apply');
    assert.equal(changed.code, 1);
    assert.match(changed.stderr, /The source has changed since it was imported/);
    const verified = await run('--verify');
    assert.equal(verified.code, 1);
    assert.match(verified.stdout, /user 2: 1999 should have come over and 2000 did/);
    const later = await openWriter(from);
    await later.run("insert into users (id, username, password, role, status, quota) values (90, 'late', '', 1, 1, 5)");
    await later.close();
    const grown = await run('--apply');
    assert.equal(grown.code, 1, grown.stdout);
    assert.match(grown.stderr, /The source has changed since it was imported/);
    const undone = await run('--undo');
    assert.equal(undone.code, 0);
    assert.match(undone.stdout, /1 stay, because they were used or changed since:\n {2}user 2 alice/);
  });
});
