import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PASSWORD } from '../../../test/accounts/person.ts';
import { ROOT, startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';
import { makeLimits } from '../platform/limits/limits.ts';
import { makeBudgets } from './budgets.ts';
import { makeLogins } from './logins.ts';
import { makePasswords, type Passwords } from './passwords.ts';

forEachDatabase((_name, open) => {
  /** Logins where something happens right after a password turned out right, before there is a session. */
  const startWith = async () => {
    const service = await startService(await open());
    let between = async (): Promise<unknown> => undefined;
    const real = makePasswords();
    const passwords: Passwords = {
      ...real,
      withPermit: (work) =>
        real.withPermit((held) =>
          work({
            ...held,
            verify: async (...parts) => {
              const right = await held.verify(...parts);
              await between();
              return right;
            },
          }),
        ),
    };
    const { database, clock, accounts } = service;
    const { sessions, twoFactors } = accounts;
    const budgets = makeBudgets(makeLimits({ clock }));
    const logins = makeLogins({ database, clock, passwords, budgets, sessions, twoFactors });
    const logIn = () =>
      logins.logIn({ username: 'racer', password: PASSWORD, from: { address: '127.0.0.1', userAgent: '' } });
    const racer = await service.person('racer');
    const root = service.visitor();
    await root.logIn(ROOT.username, ROOT.password);
    const meanwhile = (change: object) => {
      between = () => root.ok('PUT', `/api/admin/users/${racer.id}`, change);
    };
    return { service, logIn, meanwhile };
  };

  for (const [what, change, code] of [
    ['changed', { password: 'quite another one' }, 'wrong_login'],
    ['disabled', { status: 2 }, 'account_disabled'],
  ] as const) {
    it(`makes no session when the account is ${what} while its password is checked`, async () => {
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
