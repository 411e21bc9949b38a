import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { sealedTwoFactorSecrets } from './two-factor.ts';

forEachDatabase((_name, open) => {
  it('lists the secrets of all accounts once, and replaces one only if unchanged since it was read', async () => {
    const { kysely } = await open();
    const ids = [1, 2, 3];
    // Both accounts have the same text, so the account alone decides which one is replaced.
    for (const user_id of ids)
      await kysely
        .insertInto('two_factors')
        .values({ user_id, secret: user_id === 3 ? 'other' : 'same', last_step: 0, enabled_at: null })
        .execute();
    const column = sealedTwoFactorSecrets(kysely);
    const after = async (id: number) => (await column.readAfter(id)).map((cell) => [cell.id, cell.sealed]);
    assert.deepEqual(await after(0), [
      [1, 'same'],
      [2, 'same'],
      [3, 'other'],
    ]);
    assert.deepEqual(await after(2), [[3, 'other']]);
    assert.deepEqual(await after(3), []);
    const [first, , third] = await column.readAfter(0);
    assert.ok(first !== undefined && third !== undefined);
    assert.deepEqual(first.context, { table: 'two_factors', row: 1, column: 'secret' });
    await column.replace(first, 'new');
    await column.replace({ ...third, sealed: 'what it was before' }, 'lost');
    assert.deepEqual(await after(0), [
      [1, 'new'],
      [2, 'same'],
      [3, 'other'],
    ]);
  });
});
