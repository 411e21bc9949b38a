import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

forEachDatabase((_name, open) => {
  it('removes expired sessions, pending logins, e-mail links and phone codes', async () => {
    const service = await startAccounts(await open());
    const { accounts, clock, database } = service;
    const { kysely } = database;
    const ada = await service.newUser('ada');
    await kysely.deleteFrom('sessions').execute();
    const now = clock.now();
    for (const expires_at of [now + 1, now + 2]) {
      const own = { user_id: ada.id, hash: `hash-${expires_at}`, created_at: now, expires_at };
      await kysely
        .insertInto('sessions')
        .values({ ...own, address: '', user_agent: '', last_used_at: now })
        .execute();
      await kysely
        .insertInto('pending_logins')
        .values({ ...own, purpose: 'login', subject: '', wrong: 0 })
        .execute();
      const { created_at: _, ...link } = own;
      await kysely
        .insertInto('phone_codes')
        .values({ user_id: expires_at, phone: '+4915112345678', code: 'sealed', wrong: 0, expires_at })
        .execute();
      await kysely
        .insertInto('email_tokens')
        .values({ ...link, purpose: 'reset', email: 'ada@example.org', issued_by: null })
        .execute();
    }
    const tables = ['sessions', 'pending_logins', 'email_tokens', 'phone_codes'] as const;
    const left = async () => {
      await accounts.removeExpired();
      return Promise.all(
        tables.map(async (table) => (await kysely.selectFrom(table).select('user_id').execute()).length),
      );
    };
    assert.deepEqual(await left(), [2, 2, 2, 2]);
    clock.advance(1);
    assert.deepEqual(await left(), [1, 1, 1, 1]);
    clock.advance(1);
    assert.deepEqual(await left(), [0, 0, 0, 0]);
    await service.close();
  });
});
