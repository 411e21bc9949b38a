import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertAccounts } from '../../../test/accounts/insert-accounts.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Trx } from '../tables.ts';
import { BindingStore } from './bindings.ts';
import { ManagementTokenStore, PendingLoginStore } from './sessions.ts';
import { TokenStore } from './tokens.ts';
import { TwoFactorStore } from './two-factor.ts';

/** Covers conditional writes: which row each one changes, and when it changes none. */
describe('credential storage', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      await insertAccounts(database, [1, 2]);
      return { database, run: <R>(work: (trx: Trx) => Promise<R>) => database.transaction(work) };
    };

    it('keeps a second factor pending until it is enabled with the secret that was checked', async () => {
      const { database, run } = await start();
      const store = new TwoFactorStore(database);
      assert.equal(await store.putSecret(1, 'old'), true);
      assert.equal(await store.putSecret(1, 'new'), true);
      await store.putSecret(2, 'new');
      assert.equal(await run((trx) => store.consumeTotpStep(trx, 1, 'new', 9)), false, 'not yet enabled');
      assert.equal(await run((trx) => store.disable(trx, 1)), false);
      assert.equal(await run((trx) => store.enable(trx, 1, 'old', 5, 100)), false);
      assert.equal(await run((trx) => store.enable(trx, 1, 'new', 5, 100)), true);
      assert.equal(await run((trx) => store.enable(trx, 1, 'new', 5, 200)), false);
      assert.deepEqual(await store.find(1), { secret: 'new', last_step: 5, enabled_at: 100 });
      assert.deepEqual(await store.find(2), { secret: 'new', last_step: 0, enabled_at: null });
      assert.equal(await store.putSecret(1, 'other'), false, 'it is on');
      assert.deepEqual([...(await store.findUsersWithTwoFactor([1, 2]))], [1]);
      assert.deepEqual([...(await store.findUsersWithTwoFactor([2]))], []);
      assert.deepEqual([...(await store.findUsersWithTwoFactor([]))], []);
    });

    it('accepts each TOTP step and each backup code once', async () => {
      const { database, run } = await start();
      const store = new TwoFactorStore(database);
      for (const id of [1, 2]) {
        await store.putSecret(id, 'secret');
        await run((trx) => store.enable(trx, id, 'secret', 5, 100));
        await run((trx) => store.replaceBackupCodes(trx, id, ['a', 'b']));
      }
      const step = (at: number, secret = 'secret') => run((trx) => store.consumeTotpStep(trx, 1, secret, at));
      assert.deepEqual(
        [await step(5), await step(4), await step(6, 'other'), await step(6), await step(6)],
        [false, false, false, true, false],
      );
      assert.equal((await store.find(2))?.last_step, 5);
      const code = (userId: number, hash: string) => run((trx) => store.consumeBackupCode(trx, userId, hash));
      assert.deepEqual(
        [await code(1, 'a'), await code(1, 'a'), await code(1, 'c'), await code(2, 'a')],
        [true, false, false, true],
      );
      await run((trx) => store.replaceBackupCodes(trx, 1, ['c']));
      assert.deepEqual([await code(1, 'b'), await code(2, 'b')], [false, true]);
      await run((trx) => store.replaceBackupCodes(trx, 2, ['d']));
      assert.equal(await run((trx) => store.disable(trx, 1)), true);
      assert.deepEqual([await store.find(1), await code(1, 'c'), await code(2, 'd')], [undefined, false, true]);
      assert.ok(await store.find(2));
    });

    it('counts attempts at a pending login until it expires, and completes it once', async () => {
      const { database, run } = await start();
      const store = new PendingLoginStore(database);
      const pending = { user_id: 1, purpose: 'login', subject: 's', created_at: 0, expires_at: 100 };
      await run((trx) => store.insert(trx, { ...pending, hash: 'one' }));
      await run((trx) => store.insert(trx, { ...pending, hash: 'two', user_id: 2 }));
      const attempt = (now: number) => store.countAttempt('one', 2, now);
      assert.equal(await attempt(100), undefined);
      assert.deepEqual(await attempt(99), { hash: 'one', user_id: 1, purpose: 'login', subject: 's', wrong: 1 });
      assert.equal((await attempt(99))?.wrong, 2);
      assert.equal(await attempt(99), undefined);
      assert.equal((await store.countAttempt('two', 2, 99))?.wrong, 1);
      const consume = (hash: string) => run((trx) => store.consume(trx, hash));
      assert.deepEqual([await consume('one'), await consume('one'), await consume('two')], [true, false, true]);
      for (const [hash, expires_at] of [
        ['ended', 100],
        ['lasting', 101],
      ] as const)
        await run((trx) => store.insert(trx, { ...pending, hash, expires_at }));
      await store.deleteExpired(100);
      assert.deepEqual([await consume('ended'), await consume('lasting')], [false, true]);
      await run((trx) => store.insert(trx, { ...pending, hash: 'one' }));
      await run((trx) => store.insert(trx, { ...pending, hash: 'two', user_id: 2 }));
      await run((trx) => store.deleteOfUser(trx, 1));
      assert.deepEqual([await consume('one'), await consume('two')], [false, true]);
    });

    it('binds a phone or messaging account to one account, and a code to one phone', async () => {
      const { database, run } = await start();
      const store = new BindingStore(database);
      const put = (userId: number, kind: 'phone' | 'messaging', value: string) =>
        run((trx) => store.put(trx, userId, kind, value, 0));
      assert.equal(await put(1, 'phone', '+1'), true);
      assert.equal(await put(1, 'messaging', 'm'), true);
      assert.equal(await put(2, 'phone', '+1'), false);
      assert.equal(await put(1, 'phone', '+2'), true, 'in place of the one before');
      assert.equal(await put(2, 'phone', '+1'), true);
      const found = await store.find([1]);
      assert.deepEqual(
        [...found].map(([id, kinds]) => [id, [...kinds].sort()]),
        [[1, ['messaging', 'phone']]],
      );
      assert.deepEqual([...(await store.find([]))], []);
      const code = (userId: number, text: string) => ({ user_id: userId, phone: '+9', code: text, expires_at: 100 });
      await store.putPhoneCode(code(1, 'old'));
      await store.countPhoneAttempt(1, '+9', 2, 0);
      await store.putPhoneCode(code(1, 'new'));
      await store.putPhoneCode(code(2, 'other'));
      const attempt = (phone: string, now: number) => store.countPhoneAttempt(1, phone, 2, now);
      assert.equal(await attempt('+8', 99), undefined);
      assert.equal(await attempt('+9', 100), undefined);
      assert.deepEqual(await attempt('+9', 99), { code: 'new' });
      assert.deepEqual(await attempt('+9', 99), { code: 'new' });
      assert.equal(await attempt('+9', 99), undefined);
      const others = () => store.countPhoneAttempt(2, '+9', 2, 99);
      assert.deepEqual(
        [await others(), await others(), await others()],
        [{ code: 'other' }, { code: 'other' }, undefined],
      );
      const consume = (userId: number, text: string) => run((trx) => store.consumePhoneCode(trx, userId, text));
      assert.deepEqual(
        [await consume(1, 'old'), await consume(2, 'new'), await consume(1, 'new')],
        [false, false, true],
      );
      assert.equal(await consume(2, 'other'), true);
    });

    it('keeps one management token per account', async () => {
      const { database, run } = await start();
      const store = new ManagementTokenStore(database);
      await run((trx) => store.put(trx, 1, 'a', 5));
      await run((trx) => store.put(trx, 2, 'b', 6));
      await run((trx) => store.put(trx, 1, 'c', 7));
      assert.equal(await store.findByHash('a'), undefined);
      assert.deepEqual(await store.findByHash('c'), { user_id: 1, role: 'user', status: 1 });
      assert.deepEqual(
        [await store.findStart('b'), await store.findStart('c')],
        [{ created_at: 6 }, { created_at: 7 }],
      );
      await run((trx) => store.deleteOfUser(trx, 1));
      assert.deepEqual([await store.findByHash('c'), (await store.findByHash('b'))?.user_id], [undefined, 2]);
    });

    it('finds, changes and revokes a key only for its own account and kind', async () => {
      const { database, run } = await start();
      const store = new TokenStore(database);
      const insert = (user_id: number, hash: string, kind: 'sk' | 'llm' = 'sk') =>
        run((trx) =>
          store.insert(trx, {
            kind,
            user_id,
            actor_id: null,
            name: hash,
            hash,
            hint: '',
            models: null,
            allowed_addresses: null,
            requests_per_minute: 3,
            tokens_per_minute: null,
            concurrent_calls: null,
            concurrent_tasks: null,
            queued_tasks: null,
            expires_at: 9,
            created_at: 0,
          }),
        );
      const [one, two, llm, other] = [
        await insert(1, 'a'),
        await insert(1, 'b'),
        await insert(1, 'c', 'llm'),
        await insert(2, 'd'),
      ];
      const namesOf = async (userId: number, offset = 0) =>
        (await store.list({ userId }, { page: 1 + offset, offset, pageSize: 1 + 8 * Number(offset === 0) })).rows.map(
          ({ name }) => name,
        );
      assert.deepEqual([await namesOf(1), await namesOf(1, 1), await namesOf(2)], [['b', 'a'], ['a'], ['d']]);
      assert.equal((await store.list({ userId: 1 }, { page: 1, offset: 0, pageSize: 1 })).total, 2);
      assert.deepEqual(await store.findByHash('a'), {
        id: one,
        user_id: 1,
        actor_id: null,
        models: null,
        expires_at: 9,
        allowed_addresses: null,
        requests_per_minute: 3,
        tokens_per_minute: null,
        concurrent_calls: null,
        concurrent_tasks: null,
        queued_tasks: null,
        status: 1,
      });
      const atOnce = await Promise.all(['a', 'none', 'd', 'a'].map((hash) => store.findByHash(hash)));
      assert.deepEqual(
        atOnce.map((row) => row?.user_id),
        [1, undefined, 2, 1],
      );
      const rename = (userId: number, id: number, columns: { name?: string } = { name: 'x' }) =>
        run((trx) => store.update(trx, { userId }, id, columns));
      assert.deepEqual(
        [await rename(2, one), await rename(1, llm), await rename(1, 999), await rename(1, one, {})],
        [false, false, false, true],
      );
      assert.equal(await rename(1, one), true);
      assert.deepEqual([await namesOf(1), await namesOf(2)], [['b', 'x'], ['d']]);
      const { kysely } = database;
      assert.equal(await store.revoke({ userId: 2 }, one, 5), false);
      assert.equal(await store.revoke({ userId: 1 }, llm, 5), false);
      await run((trx) => store.revokeLlm(trx, [one], 5));
      assert.deepEqual(
        [await store.revoke({ userId: 1 }, one, 5), await store.revoke({ userId: 1 }, one, 6)],
        [true, false],
      );
      assert.deepEqual([await rename(1, one), await store.findByHash('a')], [false, undefined]);
      await store.recordUse([two], 77);
      const rows = await kysely
        .selectFrom('tokens')
        .select(['hash', 'last_used_at', 'revoked_at'])
        .orderBy('hash')
        .execute();
      assert.deepEqual(
        rows.map((row) => [row.hash, row.last_used_at, row.revoked_at]),
        [
          ['a', null, 5],
          ['b', 77, null],
          ['c', null, null],
          ['d', null, null],
        ],
      );
      await run((trx) => store.revokeAll(trx, 1, 8));
      const revoked = await kysely.selectFrom('tokens').select('revoked_at').orderBy('hash').execute();
      assert.deepEqual(
        revoked.map((row) => row.revoked_at),
        [5, 8, 8, null],
      );
      assert.equal((await store.findByHash('d'))?.id, other);
    });
  });
});
