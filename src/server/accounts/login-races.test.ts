import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { CHEAP_PASSWORD_HASHING } from '../../../test/cheap-password-hashing.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { PasswordHasher } from './passwords.ts';

forEachDatabase((_name, open) => {
  /** Simulates a change between a successful password check and the creation of the session. */
  const startWith = async () => {
    const service = await startAccounts(await open());
    let between = async (): Promise<unknown> => undefined;
    const { logins, passwords } = service.accounts;
    const withPermit: PasswordHasher['withPermit'] = passwords.withPermit.bind(passwords);
    passwords.withPermit = (work) =>
      withPermit((hasher) =>
        work({
          ...hasher,
          verify: async (...parts) => {
            const isRight = await hasher.verify(...parts);
            await between();
            return isRight;
          },
        }),
      );
    const logIn = () =>
      logins.logIn({ username: 'racer', password: PASSWORD, client: { address: '127.0.0.1', userAgent: '' } });
    const racer = await service.newUser('racer');
    const root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
    const meanwhile = (change: object) => {
      between = () => root.ok('PUT', `/api/admin/users/${racer.id}`, change);
    };
    return { service, logIn, meanwhile };
  };

  it('lets concurrent logins in that all replace a hash of another cost', async () => {
    const { service, logIn } = await startWith();
    const hash = await new PasswordHasher({ ...CHEAP_PASSWORD_HASHING, passes: 2 }).hash(PASSWORD);
    await service.database.kysely.updateTable('passwords').set({ hash }).execute();
    const logins = await Promise.all(Array.from({ length: 3 }, logIn));
    assert.deepEqual(
      logins.map(({ step }) => step),
      ['done', 'done', 'done'],
    );
    await service.close();
  });

  for (const [what, change, code] of [
    ['changed', { password: 'quite another one' }, 'wrong_login'],
    ['disabled', { status: 2 }, 'account_disabled'],
  ] as const) {
    it(`creates no session when the account is ${what} while its password is checked`, async () => {
      const { service, logIn, meanwhile } = await startWith();
      assert.equal((await logIn()).step, 'done');
      meanwhile(change);
      await assert.rejects(logIn(), { code });
      const sessions = await service.database.kysely.selectFrom('sessions').select('user_id').execute();
      assert.equal(sessions.length, 1, 'only the administrator is logged in');
      await service.close();
    });
  }
});
