import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { resetPassword } from './administrator-access.ts';

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
