import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { TokenStore } from './tokens.ts';

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  before(async () => {
    service = await startAccounts(await open());
  });
  after(() => service.close());

  it('removes revoked keys with their limits after the retention time, oldest first', async () => {
    const dee = await service.newUser('dee');
    const { kysely } = service.database;
    const store = new TokenStore(service.database);
    for (const [hash, revoked_at] of [
      ['newer', 7],
      ['older', 5],
      ['kept', 9],
      ['alive', null],
    ] as const) {
      const key = { user_id: dee.id, kind: 'sk', name: hash, hash, hint: '', models: null } as const;
      const row = await kysely
        .insertInto('tokens')
        .values({ ...key, created_at: 0, revoked_at })
        .returning('id')
        .executeTakeFirstOrThrow();
      await kysely.insertInto('token_limits').values({ token_id: row.id, quota_limit: 1, used: 0 }).execute();
    }
    const left = async () => {
      const rows = await kysely
        .selectFrom('tokens')
        .innerJoin('token_limits', 'token_limits.token_id', 'tokens.id')
        .select('name')
        .where('user_id', '=', dee.id)
        .orderBy('name')
        .execute();
      const limits = await kysely.selectFrom('token_limits').select('token_id').execute();
      assert.equal(limits.length, rows.length);
      return rows.map(({ name }) => name);
    };
    assert.equal(await store.deleteRevokedBefore(5, 10), 0);
    assert.equal(await store.deleteRevokedBefore(9, 1), 1);
    assert.deepEqual(await left(), ['alive', 'kept', 'newer']);
    assert.equal(await store.deleteRevokedBefore(9, 10), 1);
    assert.deepEqual(await left(), ['alive', 'kept']);
  });
});
