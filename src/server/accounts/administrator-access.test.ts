import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { migrations, type Tables, type Trx } from '../tables.ts';
import { resetPassword } from './administrator-access.ts';

forEachDatabase((_name, open, freshUrl) => {
  it('T36: creates one root when several first starts race, and shows its password once', async () => {
    const url = await freshUrl();
    const databases = [1, 2, 3].map(() => openDatabase<Tables>(url));
    for (const database of databases) await migrate(database, migrations);
    const services = await Promise.all(
      databases.map((database, index) =>
        startAccounts(database, { config: { adminPassword: undefined, adminUsername: `chief-${index % 2}` } }),
      ),
    );
    const shown = services.flatMap((service) => service.printed);
    assert.equal(shown.length, 1);
    const [, username = '', password = ''] = /administrator: (\S+) {2}password: (\S+)/.exec(shown[0] ?? '') ?? [];
    const [service] = services;
    assert.ok(service);
    const root = service.anonymous();
    assert.equal((await root.logIn(username, password)).role, 'root');
    assert.equal((await root.send('GET', '/api/admin/users')).body.total, 1);
    for (const each of services) await each.close();
    for (const database of databases) await database.close();
  });

  it('creates no second administrator at a later start, even if the first was removed', async () => {
    const database = await open();
    const first = await startAccounts(database);
    const root = first.anonymous();
    await root.logIn('root', 'root-password-1');
    await root.ok('POST', '/api/admin/users', { username: 'heir', password: 'heir-password', role: 'root' });
    const heir = first.anonymous();
    await heir.logIn('heir', 'heir-password');
    await heir.ok('DELETE', `/api/admin/users/${root.id}`);
    const second = await startAccounts(database, { config: { adminPassword: undefined } });
    assert.deepEqual(second.printed, []);
    await second.anonymous().fails(200, 'POST', '/api/user/login', { username: 'root', password: 'root-password-1' });
    await first.close();
    await second.close();
  });

  it('resets a password on the server and ends the logins of the old one', async () => {
    const database = await open();
    const service = await startAccounts(database);
    const person = await service.newUser('forgetful');
    const program = await person.withManagementToken();
    const ended: number[] = [];
    const dependencies = {
      database,
      clock: service.clock,
      linkedLogins: [{ revokeAll: async (_trx: Trx, userId: number) => void ended.push(userId) }],
      notices: { notify: async () => {} },
    };
    const { password } = await resetPassword(dependencies, 'forgetful');
    assert.deepEqual(ended, [person.id]);
    await person.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
    await person.fails(200, 'POST', '/api/user/login', { username: 'forgetful', password: 'correct horse battery' });
    await person.logIn('forgetful', password);
    await assert.rejects(resetPassword(dependencies, 'missing'), { code: 'not_exist' });
    await service.close();
  });

  it('resets to a given password only if it is long enough and uncommon, and keeps two-step verification on', async () => {
    const database = await open();
    const service = await startAccounts(database);
    const person = await service.newUser('chooser');
    const dependencies = { database, clock: service.clock, linkedLogins: [], notices: { notify: async () => {} } };
    for (const password of ['x'.repeat(7), 'x'.repeat(129)])
      await assert.rejects(resetPassword(dependencies, 'chooser', { password }), { code: 'invalid_request' });
    await assert.rejects(resetPassword(dependencies, 'chooser', { password: 'password1' }), {
      code: 'password_too_common',
    });
    await person.ok('GET', '/api/user/self');
    const { kysely } = database;
    await kysely
      .insertInto('two_factors')
      .values({ user_id: person.id, secret: 's', last_step: 0, enabled_at: 1 })
      .execute();
    const factors = async () => (await kysely.selectFrom('two_factors').select('user_id').execute()).length;
    const given = { password: 'a password of my own' };
    assert.deepEqual(await resetPassword(dependencies, 'chooser', given), { username: 'chooser', ...given });
    assert.equal(await factors(), 1);
    const stored = await kysely.selectFrom('passwords').select('generated').where('user_id', '=', person.id).execute();
    assert.deepEqual(stored, [{ generated: 0 }]);
    await resetPassword(dependencies, 'chooser', { withoutTwoFactor: true });
    assert.equal(await factors(), 0);
    await service.close();
  });
});

const COMMON = [
  'password',
  '12345678',
  'Password1',
  'QWERTYUIOP',
  'iloveyou',
  'aaaaaaaa',
  'AbcdabcD',
  'xyxyxyxyx',
  'fghijklmno',
  '字字字字字字字字',
];

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  before(async () => {
    service = await startAccounts(await open());
  });
  after(() => service.close());

  it('rejects the most commonly guessed passwords wherever a password is set', async () => {
    const person = await service.newUser('careful');
    const root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
    const dependencies = {
      database: service.database,
      clock: service.clock,
      linkedLogins: [],
      notices: { notify: async () => {} },
    };
    for (const password of COMMON) {
      const refusals = [
        await service.anonymous().fails(200, 'POST', '/api/user/register', { username: 'common', password }),
        await person.fails(200, 'PUT', '/api/user/self', { password, original_password: PASSWORD }),
        await root.fails(200, 'POST', '/api/admin/users', { username: 'common', password }),
        await root.fails(200, 'PUT', `/api/admin/users/${person.id}`, { password }),
      ];
      for (const message of refusals) assert.match(message, /easily guessed/);
      await assert.rejects(resetPassword(dependencies, 'careful', { password }), { code: 'password_too_common' });
    }
    await service.anonymous().logIn('careful');
  });

  it("rejects the account's own user name as a password", async () => {
    const body = { username: 'very-own-name', password: 'Very-Own-Name' };
    await service.anonymous().fails(200, 'POST', '/api/user/register', body);
  });
});
