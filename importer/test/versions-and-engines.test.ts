import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { PasswordHasher } from '../../src/server/accounts/passwords.ts';
import { twoFactorSecretCell } from '../../src/server/accounts/two-factor.ts';
import { decryptCredentials } from '../../src/server/channels/credentials.ts';
import { normalizeCode } from '../../src/server/plans/codes.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { hasMariadb } from '../../test/mariadb.ts';
import type { ImportReport } from '../report.ts';
import { assertEndedTasks, assertUnfinishedTasks } from './assert-imported-tasks.ts';
import {
  makeTestImporter,
  newPostgresUrl,
  newSqliteUrl,
  provideSources,
  requestFor,
  stateOf,
  VAULT,
} from './imported-rows.ts';
import { OLD_PASSWORD, oldKey } from './source-rows.ts';
import { GENERATIONS } from './source-schemas.ts';
import { writeSource } from './write-source.ts';

forEachDatabase((name, open, freshUrl) => {
  // The source engine is independent of the target, so the other engines are read in only one of the two suites.
  const sources = provideSources(name === 'postgres' && (hasMariadb() || Boolean(process.env.CI)));

  const engines = name === 'sqlite' ? (['sqlite'] as const) : (['postgres', 'mariadb'] as const);
  for (const generation of GENERATIONS)
    for (const engine of engines) {
      const isOneApi = generation.startsWith('one-api');
      const skip = engine === 'mariadb' && !hasMariadb() && !process.env.CI ? 'MariaDB is not installed' : false;
      describe(`${generation} on ${engine}`, { skip }, () => {
        let database: Database<Tables>;
        let from: string;
        let applied: ImportReport;
        before(async () => {
          database = await open();
          from =
            engine === 'sqlite'
              ? newSqliteUrl(sources.folder)
              : engine === 'postgres'
                ? await newPostgresUrl(await freshUrl())
                : ((await sources.mariadb?.freshUrl()) ?? '');
          await writeSource(from, generation);
        });
        const request = () => requestFor(from, generation);
        const account = (username: string) =>
          database.kysely
            .selectFrom('accounts')
            .innerJoin('wallets', 'wallets.user_id', 'accounts.id')
            .selectAll()
            .where('username', '=', username)
            .executeTakeFirst();

        it('a dry run writes nothing and reports exactly what an import then does', async () => {
          const before = await stateOf(database);
          const dry = await makeTestImporter(database).dryRun(request());
          assert.equal(await stateOf(database), before);
          assert.equal(dry.generation, generation);
          applied = await makeTestImporter(database).apply(request());
          assert.deepEqual([dry.counts, dry.sums], [applied.counts, applied.sums]);
          assert.deepEqual(
            dry.findings.map(({ kind, source, text }) => `${kind} ${source} ${text}`).sort(),
            applied.findings.map(({ kind, source, text }) => `${kind} ${source} ${text}`).sort(),
          );
          assert.doesNotMatch(JSON.stringify([dry, applied]), /must-not-show/);
        });

        it("keeps each account's balance, and the sums match", async () => {
          assert.deepEqual(applied.proof, { discrepancies: [], changes: [] });
          assert.equal(BigInt(applied.sums.balance), BigInt(applied.sums.granted) - BigInt(applied.sums.debts));
          assert.equal(applied.sums.debts, isOneApi ? '260' : '250');
          assert.equal(applied.sums.leftBehind, '9');
          assert.equal((await account('alice'))?.balance, 2_000);
          assert.equal((await account('alice-3'))?.balance, 5);
          assert.equal((await account('negative'))?.balance, 0);
          assert.equal((await account('小明'))?.balance, isOneApi ? 5_000 : 5_040);
          assert.equal((await account('boss'))?.balance, isOneApi ? 0 : 50);
          assert.deepEqual([(await account('root'))?.role, (await account('boss'))?.role], ['user', 'user']);
          const ranks = applied.findings.filter(({ text }) => text.includes('--keep-roles'));
          assert.deepEqual(
            ranks.map(({ kind, source, text }) => `${kind} ${source}: ${text}`),
            [
              'user 1: root is root there and user here; only --keep-roles keeps ranks',
              'user 9: boss is admin there and user here; only --keep-roles keeps ranks',
            ],
          );
          assert.equal((await account('user-6'))?.status, 2);
        });

        it('old passwords open their accounts, except the published default', async () => {
          const alice = await account('alice');
          const stored = await database.kysely
            .selectFrom('passwords')
            .select('hash')
            .where('user_id', '=', alice?.id ?? 0)
            .executeTakeFirstOrThrow();
          const hasher = new PasswordHasher();
          assert.equal(await hasher.verify(OLD_PASSWORD, stored.hash), true);
          assert.equal(await hasher.verify('another', stored.hash), false);
          assert.ok(hasher.needsRehash(stored.hash));
          assert.match(applied.warnings.join('\n'), /^root still has the password 123456.*\n.*or root there: 2;/);
          const root = await account('root');
          const none = await database.kysely
            .selectFrom('passwords')
            .selectAll()
            .where('user_id', '=', root?.id ?? 0)
            .execute();
          assert.deepEqual(none, []);
        });

        it('keeps old keys with their limits, expiry, models and addresses, and lists unusable ones', async () => {
          const find = (id: number) =>
            database.kysely
              .selectFrom('tokens')
              .leftJoin('token_limits', 'token_id', 'tokens.id')
              .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
              .select(['username', 'quota_limit', 'used', 'expires_at', 'models', 'allowed_addresses'])
              .where('hash', '=', hashToken(`sk-${oldKey(id)}`))
              .executeTakeFirst();
          const plain = {
            username: 'alice',
            quota_limit: null,
            used: null,
            expires_at: null,
            models: null,
            allowed_addresses: null,
          };
          assert.deepEqual(await find(1), plain);
          assert.deepEqual(await find(2), { ...plain, quota_limit: 500, used: 200 });
          const limited = generation === 'one-api, first' ? null : '["gpt-4o","sora-2"]';
          assert.deepEqual(await find(3), { ...plain, expires_at: 4_000_000_000_000, models: limited });
          const ranges = generation === 'one-api, first' ? null : '["203.0.113.0/24","198.51.100.7"]';
          assert.deepEqual(await find(8), { ...plain, allowed_addresses: ranges });
          assert.ok(((await find(5))?.expires_at ?? 0) < Date.now());
          assert.deepEqual((await find(11))?.quota_limit, 10);
          const skipped = applied.findings.filter(({ kind, result }) => kind === 'key' && result === 'skipped');
          const expected = generation === 'one-api, first' ? ['4', '6', '7', '10'] : ['4', '6', '7', '9', '10'];
          assert.deepEqual(
            skipped.map(({ source }) => source),
            expected,
          );
        });

        it('imports channels, models, prices, codes and usage', async () => {
          const { kysely } = database;
          const channels = await kysely.selectFrom('channels').selectAll().orderBy('id').execute();
          const named = (part: string) => channels.filter((channel) => channel.name.startsWith(part));
          assert.deepEqual(
            named('Channel 1 ').map(({ vendor, models }) => [vendor, models]),
            [
              ['sora', '["sora-2"]'],
              ['openai', '["gpt-4o","odd-ratio","no-completion","dall-e-3"]'],
            ],
          );
          assert.equal(named('Channel 2')[0]?.model_mapping, '{"gpt-4o":"b","a":"b"}');
          assert.deepEqual([named('Channel 3'), named('Channel 4')], [[], []]);
          assert.equal(named('Channel 7')[0]?.base_url, 'https://example.com/with/a/path');
          assert.deepEqual([named('Channel 5')[0]?.options, named('Channel 5')[0]?.enabled], ['{"private":true}', 0]);
          assert.ok(
            applied.findings.some(
              ({ source, text }) => source === '5' && /10\.1\.2\.3:8000 is a private one or/.test(text),
            ),
          );
          const hasKeyLists = GENERATIONS.indexOf(generation) >= 3;
          const credentialsOf = (part: string) =>
            named(part).map((row) =>
              decryptCredentials(VAULT, row).items.map(({ enabled, values }) => [enabled, values]),
            );
          assert.deepEqual(credentialsOf('Channel 6'), [
            hasKeyLists
              ? [
                  [true, { api_key: 'multi-one' }],
                  [false, { api_key: 'multi-two' }],
                ]
              : [[true, { api_key: '[" multi-one ","multi-two","multi-one"]' }]],
          ]);
          const pair = (number: number) => [true, { access_key: `access-${number}`, secret_key: `secret-${number}` }];
          assert.deepEqual(credentialsOf('Channel 13'), hasKeyLists ? [[pair(1), pair(2)]] : []);
          assert.equal(named('Channel 9').length, GENERATIONS.indexOf(generation) >= 2 ? 0 : 1);
          const prices = new Map(
            (await kysely.selectFrom('models').select(['id', 'price']).execute()).map(({ id, price }) => [
              id,
              JSON.parse(price ?? 'null'),
            ]),
          );
          assert.deepEqual(prices.get('gpt-4o'), {
            input_per_million: 1_250_000,
            output_per_million: 5_000_000,
            cached_input_per_million: 625_000,
          });
          assert.deepEqual(prices.get('odd-ratio'), { input_per_million: 123_457, output_per_million: 411_518 });
          assert.deepEqual(prices.get('dall-e-3'), { per_call: 20_000 });
          assert.equal(prices.get('sora-2').per_second, 50_000);
          assert.deepEqual(prices.get('no-completion'), {
            input_per_million: 2_000_000,
            output_per_million: 2_000_000,
          });
          assert.deepEqual(prices.get('deepseek-chat')?.input_per_million, isOneApi ? 71_000 : 135_000);
          const codes = await kysely.selectFrom('redemption_codes').selectAll().execute();
          assert.deepEqual(
            codes.map(({ hash, quota }) => [hash, quota]),
            [[hashToken(normalizeCode('01'.repeat(16))), 1_000]],
          );
          const usage = await kysely.selectFrom('usage_daily').selectAll().execute();
          assert.deepEqual(
            usage.map(({ requests, quota, token_id }) => [requests, quota, token_id]),
            isOneApi ? [] : [[3, 11, -1]],
          );
        });

        it('a second step works with the same authenticator, and needs new backup codes', async () => {
          const { kysely } = database;
          const rows = await kysely
            .selectFrom('two_factors')
            .innerJoin('accounts', 'accounts.id', 'two_factors.user_id')
            .select(['username', 'user_id', 'secret', 'enabled_at'])
            .execute();
          if (GENERATIONS.indexOf(generation) < 3) assert.deepEqual(rows, []);
          else {
            assert.deepEqual([rows.length, rows[0]?.username], [1, 'alice']);
            const id = rows[0]?.user_id ?? 0;
            assert.equal(VAULT.open(rows[0]?.secret ?? '', twoFactorSecretCell(id)), 'JBSWY3DPEHPK3PXP');
            assert.ok((rows[0]?.enabled_at ?? 0) > 0);
            assert.match(JSON.stringify(applied.findings), /backup codes do not: make new ones/);
          }
        });

        it('polls unfinished videos, holding the amount paid for them', () =>
          assertUnfinishedTasks({ database, generation, applied }));

        it('keeps ended videos as history, with cost and file, without ledger entries', () =>
          assertEndedTasks({ database, generation, applied }));

        it('the report lists the paths clients called, if the source records them, with their equivalents here', () => {
          const paths = applied.findings.filter(({ kind }) => kind === 'path');
          const isNoted = GENERATIONS.indexOf(generation) >= 4;
          assert.deepEqual(
            paths.map(({ source, result }) => [source, result]),
            isNoted
              ? [
                  ['/suno/submit/{id}', 'skipped'],
                  ['/v1/video/generations', 'different'],
                ]
              : [],
          );
          if (isNoted)
            assert.match(paths[1]?.text ?? '', /1 of the newest 13 videos .* served here under the same path/);
        });

        it('the report lists options and rows without a counterpart one by one, without their secrets', () => {
          const listed = (wanted: string) =>
            applied.findings.filter(({ kind }) => kind === wanted).map(({ source }) => source);
          assert.deepEqual(listed('option'), ['AutoGroups', 'SMTPToken', 'UserUsableGroups']);
          const age = GENERATIONS.indexOf(generation);
          assert.deepEqual(listed('table'), [
            ...(age >= 2 ? ['midjourneys 1', 'top_ups 1'] : []),
            'logs',
            ...(age >= 5 ? ['login_encryption_keys', 'a_fork_of_ours', 'a_fork_of_ours 1'] : []),
            ...(age >= 4 ? ['user_subscriptions 1'] : []),
          ]);
        });

        it('groups become plans with their price factor and channels, to which their accounts are subscribed', async () => {
          const { kysely } = database;
          const plans = await kysely
            .selectFrom('plans')
            .selectAll()
            .where('package_code', 'like', 'group-%')
            .orderBy('package_code')
            .execute();
          assert.deepEqual(
            plans.map(({ package_code, price_factor }) => [package_code, price_factor]),
            [['group-vip', 0.8]],
          );
          const all = await kysely.selectFrom('channels').select(['id', 'name']).orderBy('id').execute();
          const serving = all.filter(({ name: title }) => !title.startsWith('Channel 10')).map(({ id }) => id);
          assert.ok(serving.length < all.length);
          assert.deepEqual(JSON.parse(plans[0]?.channels ?? ''), serving);
          const subscribed = await kysely
            .selectFrom('subscriptions')
            .innerJoin('accounts', 'accounts.id', 'subscriptions.user_id')
            .select(['username', 'plan_id', 'state'])
            .execute();
          assert.deepEqual(subscribed, [{ username: 'github', plan_id: plans[0]?.id, state: 'active' }]);
        });

        it('the report lists groups without accounts, factors of pairs of groups, and keys of other groups', () => {
          const textsOf = (wanted: string, part: RegExp) =>
            applied.findings
              .filter(({ kind, text }) => kind === wanted && part.test(text))
              .map(({ source, text }) => `${source}: ${text}`);
          const channels = /of (\d+) channels/.exec(textsOf('group', /no account/).join())?.[1];
          assert.deepEqual(textsOf('group', /./), [
            'default: with keys of the group vip its accounts paid prices × 0.5; here the factor of their plan counts',
            `sold: no account is in it, so that it becomes no plan (prices × 0.6, 0 of ${channels} channels, named by 0 keys)`,
          ]);
          const here = "here its owner's plan counts";
          const expected = [
            `12: it used the group vip (prices × 0.5); ${here}`,
            `14: it tried the groups of the setting AutoGroups in turn (vip, default); ${here}`,
          ];
          assert.deepEqual(textsOf('key', /plan counts/), GENERATIONS.indexOf(generation) >= 2 ? expected : []);
        });

        it('a verification detects changed channels, models, prices, limits and plans', async () => {
          const { kysely } = database;
          const changes = async () => (await makeTestImporter(database).verify(request())).proof?.changes ?? [];
          assert.deepEqual(await changes(), []);
          const [channel] = await kysely.selectFrom('channels').selectAll().orderBy('id').execute();
          const model = await kysely
            .selectFrom('models')
            .selectAll()
            .where('id', '=', 'gpt-4o')
            .executeTakeFirstOrThrow();
          const limit = await kysely
            .selectFrom('token_limits')
            .selectAll()
            .where('quota_limit', '=', 500)
            .executeTakeFirstOrThrow();
          const put = async (shift: 0 | 1) => {
            const updated_at = (channel?.updated_at ?? 0) + shift;
            await kysely
              .updateTable('channels')
              .set({ updated_at })
              .where('id', '=', channel?.id ?? 0)
              .execute();
            const price = shift === 1 ? '{"input_per_million":1,"output_per_million":2}' : model.price;
            await kysely.updateTable('models').set({ price }).where('id', '=', 'gpt-4o').execute();
            const enabled = shift === 1 ? 0 : 1;
            await kysely.updateTable('models').set({ enabled }).where('id', '=', 'dall-e-3').execute();
            await kysely
              .updateTable('token_limits')
              .set({ quota_limit: 500 + shift })
              .where('token_id', '=', limit.token_id)
              .execute();
            const price_factor = shift === 1 ? 0.9 : 0.8;
            await kysely.updateTable('plans').set({ price_factor }).where('package_code', '=', 'group-vip').execute();
          };
          await put(1);
          assert.deepEqual((await changes()).map(({ kind, source }) => `${kind} ${source}`).sort(), [
            'channel 1',
            'group vip',
            'key 2',
            'model dall-e-3',
            'model gpt-4o',
          ]);
          await put(0);
          assert.deepEqual(await changes(), []);
        });

        it('a second import changes nothing, a tampered target is detected, and an undo leaves no trace of unused accounts', async () => {
          const before = await stateOf(database);
          await makeTestImporter(database).apply(request());
          assert.equal(await stateOf(database), before);
          const { kysely } = database;
          const alice = await account('alice');
          await kysely
            .updateTable('wallets')
            .set({ balance: 1_999 })
            .where('user_id', '=', alice?.id ?? 0)
            .execute();
          assert.match(
            JSON.stringify((await makeTestImporter(database).verify(request())).proof?.discrepancies),
            /ledger/,
          );
          await kysely
            .updateTable('wallets')
            .set({ balance: 2_000 })
            .where('user_id', '=', alice?.id ?? 0)
            .execute();
          const hash = hashToken(`sk-${oldKey(1)}`);
          const boss = await account('boss');
          await kysely
            .updateTable('tokens')
            .set({ user_id: boss?.id ?? 0 })
            .where('hash', '=', hash)
            .execute();
          assert.match(
            JSON.stringify((await makeTestImporter(database).verify(request())).proof?.discrepancies),
            /belongs to account/,
          );
          await kysely
            .updateTable('tokens')
            .set({ user_id: alice?.id ?? 0 })
            .where('hash', '=', hash)
            .execute();
          assert.deepEqual((await makeTestImporter(database).verify(request())).proof?.discrepancies, []);
          const ended = () =>
            kysely.selectFrom('tasks').select(['id', 'price']).where('seq', '<', 0).orderBy('seq').execute();
          const [paid] = await ended();
          if (paid !== undefined) {
            const setPrice = (price: number) =>
              kysely.updateTable('tasks').set({ price }).where('id', '=', paid.id).execute();
            await setPrice(69);
            assert.deepEqual((await makeTestImporter(database).verify(request())).proof?.discrepancies, [
              { kind: 'ended-task', source: '1', text: '70 was paid for it and 69 is shown' },
            ]);
            await setPrice(70);
          }

          const spend = {
            kind: 'grant',
            amount: 1,
            plan_amount: 0,
            charged: 0,
            token_id: null,
            model: null,
            note: null,
          };
          await kysely
            .insertInto('ledger')
            .values({ ...spend, user_id: boss?.id ?? 0, ref: `later:${boss?.id}`, created_at: 1 })
            .execute();
          await kysely
            .updateTable('wallets')
            .set({ balance: (boss?.balance ?? 0) + 1 })
            .where('user_id', '=', boss?.id ?? 0)
            .execute();
          const undone = await makeTestImporter(database).undoAll(request());
          assert.deepEqual(
            undone.kept.map(({ kind, name }) => [kind, name]),
            [['user', 'boss']],
          );
          assert.equal(undone.removed['ended-task'], isOneApi ? undefined : 4);
          assert.deepEqual(await ended(), []);
          const left = await kysely
            .selectFrom('accounts')
            .select('username')
            .where('username', 'is not', null)
            .execute();
          assert.deepEqual(left, [{ username: 'boss' }]);
          assert.deepEqual(await kysely.selectFrom('channels').select('id').execute(), []);
          assert.deepEqual(
            await kysely.selectFrom('plans').select('id').where('package_code', 'like', 'group-%').execute(),
            [],
          );
          const { sum } = await kysely
            .selectFrom('ledger')
            .select(({ fn }) => fn.sum('amount').as('sum'))
            .executeTakeFirstOrThrow();
          assert.equal(Number(sum), (boss?.balance ?? 0) + 1);
          const again = await makeTestImporter(database).apply(request());
          assert.deepEqual(again.proof?.discrepancies, []);
          assert.equal((await account('boss'))?.balance, (boss?.balance ?? 0) + 1);
          assert.equal((await account('alice'))?.balance, 2_000);
        });
      });
    }
});
