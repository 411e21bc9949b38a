import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AccountStore } from '../../src/server/accounts/account-store.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { normalizeName } from '../../src/server/platform/text.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { hasMariadb } from '../../test/mariadb.ts';
import type { Generation } from '../source.ts';
import { makeTestImporter, newSqliteUrl, provideSources, requestFor } from './imported-rows.ts';
import { NOW_SECONDS, OLD_PASSWORD_HASH } from './source-rows.ts';
import { openWriter, type SourceWriter, writeSource } from './write-source.ts';

const GENERATION: Generation = 'new-api with task ids';

forEachDatabase((name, open) => {
  const sources = provideSources(name === 'postgres' && (hasMariadb() || Boolean(process.env.CI)));

  async function importOf(change: (writer: SourceWriter) => Promise<void>, from = newSqliteUrl(sources.folder)) {
    await writeSource(from, GENERATION);
    const writer = await openWriter(from);
    await change(writer);
    await writer.close();
    const database = await open();
    const request = requestFor(from, GENERATION);
    const dry = await makeTestImporter(database).dryRun(request);
    const applied = await makeTestImporter(database).apply(request);
    assert.deepEqual(applied.proof, { discrepancies: [], changes: [] });
    assert.deepEqual(dry.findings, applied.findings);
    return { ...database, applied };
  }

  it('imports the usage of years', async () => {
    const { kysely } = await importOf(async ({ run }) => {
      await run('begin');
      for (let day = 0; day < 730; day++)
        for (const model of ['gpt-4o', 'claude-x', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
          await run(
            'insert into quota_data (user_id, model_name, created_at, token_used, count, quota) values (3, ?, ?, 10, 1, 5)',
            [model, NOW_SECONDS - day * 86_400],
          );
      await run('commit');
    });
    const { sum } = await kysely
      .selectFrom('usage_daily')
      .innerJoin('accounts', 'accounts.id', 'user_id')
      .select(({ fn }) => fn.sum<number>('quota').as('sum'))
      .where('username', '=', 'alice-3')
      .executeTakeFirstOrThrow();
    assert.equal(Number(sum), 730 * 11 * 5);
  });

  it('imports balances whose sum exceeds 64 bits', async () => {
    const { kysely, applied } = await importOf(async ({ run }) => {
      for (let id = 100; id < 120; id++)
        await run(
          `insert into users (id, username, password, role, status, quota, aff_quota, used_quota, "group", aff_code)
           values (?, ?, ?, 1, 1, 999999999999999999, 0, 0, 'default', ?)`,
          [id, `rich${id}`, OLD_PASSWORD_HASH, `rich${id}`],
        );
    });
    const rich = await kysely.selectFrom('accounts').select('id').where('username', 'like', 'rich%').execute();
    assert.deepEqual(rich, []);
    const why = applied.findings.filter(
      ({ text }) => text === 'its balance of 999999999999999999 is more than an account holds',
    );
    assert.equal(why.length, 20);
  });

  it('imports names in full-width and composed letters as login reads them', async () => {
    const names = ['小明１', 'ＡＢＣ', 'Jose\u0301'];
    const { kysely } = await importOf(async ({ run }) => {
      for (const [index, each] of names.entries())
        await run('update users set username = ? where id = ?', [each, index + 2]);
    });
    const accounts = new AccountStore({ kysely } as Database<Tables>);
    for (const each of names) assert.ok(await accounts.findByLogin(normalizeName(each)), each);
  });

  const subscribers = ({ kysely }: Awaited<ReturnType<typeof importOf>>) =>
    kysely
      .selectFrom('subscriptions')
      .innerJoin('plans', 'plans.id', 'plan_id')
      .innerJoin('accounts', 'accounts.id', 'user_id')
      .select(['username', 'plans.name', 'price_factor'])
      .orderBy('username')
      .execute();

  it('imports groups whose names differ only in case as plans of their own', async () => {
    const imported = await importOf(async ({ run }) => {
      await run(`update options set value = '{"VIP":0.5,"Vip":0.6,"vip":0.8}' where "key" = 'GroupRatio'`);
      for (const [group, id] of [
        ['VIP', 2],
        ['Vip', 3],
        ['vip', 4],
      ] as const)
        await run('update users set "group" = ? where id = ?', [group, id]);
    });
    assert.deepEqual(
      (await subscribers(imported)).map((row) => Object.values(row).join(' ')),
      ['alice VIP 0.5', 'alice-3 Vip 0.6', 'github vip 0.8', 'negative vip 0.8'],
    );
  });

  const noMariadb = !hasMariadb() && !process.env.CI ? 'MariaDB is not installed' : false;
  // Its server takes seconds to start, and what it sends does not depend on the target.
  if (name === 'postgres')
    it('tells names apart that MariaDB takes for equal', { skip: noMariadb }, async () => {
      const imported = await importOf(
        async ({ run }) => {
          await run('update options set value = \'{"VIP":0.5,"vip":0.8}\' where `key` = \'GroupRatio\'');
          await run("update users set `group` = 'VIP' where id = 2");
          await run("update users set `group` = 'vip' where id = 4");
          await run("update tasks set task_id = 'Task_Failed' where id = 1");
          for (const [id, model] of ['Model', 'model', 'model '].entries())
            await run(
              'insert into quota_data (id, user_id, model_name, created_at, token_used, count, quota) values (?, 3, ?, ?, 10, 1, 5)',
              [100 + id, model, NOW_SECONDS],
            );
        },
        await sources.mariadb?.freshUrl(),
      );
      assert.deepEqual(
        (await subscribers(imported)).map((row) => Object.values(row).join(' ')),
        ['alice VIP 0.5', 'github vip 0.8', 'negative vip 0.8'],
      );
      const tasks = await imported.kysely.selectFrom('tasks').select('public_id').where('seq', '<', 0).execute();
      const ids = tasks.map(({ public_id: id }) => id).filter((id) => /^task_failed$/i.test(id));
      assert.deepEqual(ids.sort(), ['Task_Failed', 'task_failed']);
      const usage = await imported.kysely
        .selectFrom('usage_daily')
        .select(['model', 'quota'])
        .where('model', '<>', 'gpt-4o')
        .orderBy('quota')
        .execute();
      assert.deepEqual(usage, [
        { model: 'Model', quota: 5 },
        { model: 'model', quota: 10 },
      ]);
    });

  it('imports no header and no key that a request cannot carry', async () => {
    const { kysely, applied } = await importOf(async ({ run }) => {
      await run(`update channels set header_override = '{"X-Title":"标题"}' where id = 2`);
      await run('update channels set "key" = ? where id = 6', ['["good-key","sk-…3f9","br\\noken"]']);
      await run('update channels set "key" = \'sk-…3f9\' where id = 10');
    });
    const channels = await kysely.selectFrom('channels').select('name').execute();
    const names = channels.map(({ name: title }) => title);
    for (const number of [2, 10]) assert.ok(!names.includes(`Channel ${number}`), String(number));
    assert.ok(names.includes('Channel 6'));
    const texts = applied.findings
      .filter(({ kind }) => kind === 'channel')
      .map(({ source, text }) => `${source} ${text}`);
    for (const part of [
      /^2 extra_headers\.X-Title does not have the expected form\.$/,
      /^6 1 of its keys have characters that no key has and are left out$/,
      /^10 credentials contain characters that no key has/,
    ])
      assert.ok(
        texts.some((text) => part.test(text)),
        `${part}: ${texts.join('; ')}`,
      );
  });

  it('gives a model the vendor of the channel that the source tries first', async () => {
    const { kysely, applied } = await importOf(async ({ run }) => {
      for (const [id, type, status, priority] of [
        [100, 1, 2, 99],
        [101, 1, 1, 0],
        [102, 14, 1, 5],
      ] as const)
        await run(
          `insert into channels (id, type, "key", status, name, priority, weight, base_url, models, "group")
           values (?, ?, 'some-key', ?, 'c', ?, 0, '', 'claude-x', 'default')`,
          [id, type, status, priority],
        );
    });
    const claude = await kysely.selectFrom('models').select('vendor').where('id', '=', 'claude-x').executeTakeFirst();
    assert.equal(claude?.vendor, 'anthropic');
    const texts = applied.findings
      .filter(({ kind }) => kind === 'model')
      .map(({ source, text }) => `${source}: ${text}`);
    assert.ok(texts.includes('claude-x: channels of anthropic serve it here, those of openai do not'));
  });

  it('lists the models here that it replaces, in the dry run too', async () => {
    const database = await open();
    const price = '{"per_call":7}';
    const row = { vendor: 'openai' as const, kind: 'image' as const, price, alias_of: null, enabled: 1 as const };
    await database.kysely
      .insertInto('models')
      .values({ ...row, id: 'dall-e-3', input_schema: null, created_at: 1, updated_at: 1 })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
    const from = newSqliteUrl(sources.folder);
    await writeSource(from, GENERATION);
    const importer = makeTestImporter(database);
    const dry = await importer.dryRun(requestFor(from, GENERATION));
    const applied = await importer.apply(requestFor(from, GENERATION));
    assert.deepEqual(dry.findings, applied.findings);
    const found = applied.findings.find(({ kind, source }) => kind === 'model' && source === 'dall-e-3');
    assert.equal(found?.text, `it replaces the model of this name here: image of openai, price ${price}`);
    assert.deepEqual((await importer.verify(requestFor(from, GENERATION))).findings, applied.findings);
  });

  it('imports keys and codes that are equal here once', async () => {
    const { applied } = await importOf(async ({ run }) => {
      await run('update tokens set "key" = (select "key" from tokens where id = 1) || ? where id = 2', ['\n']);
      for (const [id, key] of ['HAPPY-2026', 'happy2O26'].entries())
        await run(
          'insert into redemptions (id, user_id, "key", status, name, quota, created_time) values (?, 1, ?, 1, ?, 7, 1)',
          [50 + id, key, 'spring'],
        );
    });
    const listed = applied.findings.filter(({ text }) => /the same value/.test(text));
    assert.deepEqual(
      listed.map(({ kind, source }) => `${kind} ${source}`),
      ['key 2', 'code 51'],
    );
    assert.equal(applied.sums.codes, '1007');
  });

  it('lists a video without a state, and passes over a number that is no id of a key', async () => {
    const { applied } = await importOf(async ({ run }) => {
      await run("update tasks set status = null, progress = '100%' where id = 2");
      await run(`update tasks set private_data = '{"token_id":1.5}' where id = 1`);
      await run(`update tasks set private_data = '{"token_id":1e300}' where id = 20`);
    });
    const listed = applied.findings.filter(({ kind, source }) => kind === 'task' && source === '2');
    assert.match(listed[0]?.text ?? '', /paid 71 for task_open, which is not finished/);
  });
});
