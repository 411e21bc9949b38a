import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { insertAccounts } from '../../../test/accounts/insert-accounts.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { SESSION_MS, SessionService, SessionStore } from './sessions.ts';

describe('login sessions', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      await insertAccounts(database, [1, 2]);
      const clock = manualClock(1_000 * HOUR_MS);
      const store = new SessionStore(database);
      const sessions = new SessionService({ store, clock });
      return {
        clock,
        store,
        sessions,
        logIn: (userId: number, client = { address: '192.0.2.1', userAgent: 'Browser' }) =>
          database.transaction((trx) => sessions.start(trx, userId, client)),
        endAll: (userId: number, keepId?: number) =>
          database.transaction((trx) =>
            store.endOfUser(trx, userId, { reason: 'password_changed', ended_at: clock.now() }, keepId),
          ),
        endByToken: (token: string) => database.transaction((trx) => sessions.endByToken(trx, token)),
        idsOf: async (userId: number, page = { page: 1, offset: 0, pageSize: 9 }) =>
          (await sessions.list(userId, page)).rows.map(({ id }) => id),
        countRows: async () => (await database.kysely.selectFrom('sessions').selectAll().execute()).length,
      };
    };
    type Started = Awaited<ReturnType<typeof start>>;
    const idOf = async ({ sessions }: Started, token: string) => (await sessions.find(token))?.id ?? -1;

    it('expire a week after their last use, which is recorded at most once an hour', async () => {
      const { clock, sessions, logIn } = await start();
      const token = await logIn(1);
      clock.advance(HOUR_MS - 1);
      assert.equal((await sessions.find(token))?.renewed, false);
      clock.advance(1);
      const used = await sessions.find(token);
      assert.deepEqual([used?.renewed, used?.user_id, used?.role, used?.status], [true, 1, 'user', 1]);
      assert.equal((await sessions.find(token))?.renewed, false);
      clock.advance(SESSION_MS - 1);
      assert.equal((await sessions.find(token))?.renewed, true);
      clock.advance(SESSION_MS);
      assert.equal(await sessions.find(token), undefined);
      assert.equal(await sessions.find(`${token}x`), undefined);
    });

    it('are extended by their own use only, not by another session of the account', async () => {
      const { clock, sessions, logIn } = await start();
      const [used, idle] = [await logIn(1), await logIn(1)];
      clock.advance(SESSION_MS - 1);
      assert.equal((await sessions.find(used))?.renewed, true);
      clock.advance(1);
      assert.ok(await sessions.find(used));
      assert.equal(await sessions.find(idle), undefined);
    });

    it('are listed by account while active, newest first and paged', async () => {
      const started = await start();
      const { clock, logIn, idsOf, sessions } = started;
      const tokens = [await logIn(1), await logIn(1), await logIn(1)];
      await logIn(2);
      const ids = await Promise.all(tokens.map((token) => idOf(started, token)));
      assert.deepEqual(await idsOf(1), ids.toReversed());
      assert.deepEqual(await idsOf(1, { page: 2, offset: 1, pageSize: 1 }), [ids[1]]);
      const { rows, total } = await sessions.list(1, { page: 1, offset: 0, pageSize: 1 });
      assert.deepEqual([total, rows[0]?.address, rows[0]?.user_agent], [3, '192.0.2.1', 'Browser']);
      clock.advance(SESSION_MS);
      assert.deepEqual(await idsOf(1), []);
    });

    it('end one by one, for their own account only', async () => {
      const started = await start();
      const { sessions, store, logIn, endByToken } = started;
      const [one, two] = [await logIn(1), await logIn(1)];
      const id = await idOf(started, one);
      assert.deepEqual(await store.findStart(id), { created_at: 1_000 * HOUR_MS });
      assert.equal(await sessions.end(2, id), false);
      assert.equal(await sessions.end(1, id), true);
      assert.equal(await sessions.end(1, id), false);
      assert.equal(await store.findStart(id), undefined);
      assert.ok(await sessions.find(two));
      await endByToken(one);
      assert.ok(await sessions.find(two));
      await endByToken(two);
      assert.equal(await sessions.find(two), undefined);
    });

    it('end all at once except the one to keep', async () => {
      const started = await start();
      const { logIn, endAll, idsOf } = started;
      const [one, two, other] = [await logIn(1), await logIn(1), await logIn(2)];
      const kept = await idOf(started, two);
      await endAll(1, kept);
      assert.deepEqual(await idsOf(1), [kept]);
      assert.equal(await idOf(started, one), -1);
      await endAll(1);
      assert.deepEqual(await idsOf(1), []);
      assert.notEqual(await idOf(started, other), -1);
    });

    it('are removed once they have ended', async () => {
      const { clock, sessions, logIn, countRows } = await start();
      await logIn(1);
      clock.advance(1);
      await logIn(1);
      clock.advance(SESSION_MS - 1);
      await sessions.deleteExpired();
      assert.equal(await countRows(), 1);
    });

    it('truncate the user agent a browser sends', async () => {
      const { sessions, logIn } = await start();
      await logIn(1, { address: 'a'.repeat(1_000), userAgent: `${'u'.repeat(999)}x` });
      const [row] = (await sessions.list(1, { page: 1, offset: 0, pageSize: 1 })).rows;
      assert.match(row?.address ?? '', /^a{10,999}$/);
      assert.match(row?.user_agent ?? '', /^u{10,999}$/);
    });
  });
});

const TRACE = { address: '127.0.0.1', requestId: 'r' };

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let count = 0;
  let whileEnding = async (): Promise<void> => {};
  before(async () => {
    service = await startAccounts(await open(), {
      dependencies: { linkedLogins: [{ revokeAll: () => whileEnding() }] },
    });
  });
  after(() => service.close());

  /** An authenticated request that has not been handled yet. */
  const authenticate = (userId: number, with_: { readonly session?: string; readonly token?: string }) =>
    service.accounts.authenticator.account('owner', {
      headers: {
        'service-api-user': String(userId),
        ...(with_.token === undefined ? {} : { authorization: `Bearer ${with_.token}` }),
      },
      session: with_.session,
      clientIp: TRACE.address,
    });
  const changePassword = async (owner: TestUser, from: string, to: string): Promise<void> => {
    await owner.ok('PUT', '/api/user/self', { password: to, original_password: from });
  };
  const storedFor = async (userId: number) =>
    service.database.kysely.selectFrom('user_tokens').select('hash').where('user_id', '=', userId).execute();

  it('issues no token for a request authenticated before its session or token ended', async () => {
    const owner = await service.newUser(`owner-${count++}`);
    const { access_token: token } = await owner.ok<{ access_token: string }>('POST', '/api/user/token');
    const thief = service.anonymous();
    await thief.logIn(`owner-${count - 1}`);
    const [bySession, byToken] = [
      await authenticate(owner.id, { session: thief.cookies.get('session') }),
      await authenticate(owner.id, { token }),
    ];
    await changePassword(owner, PASSWORD, 'another fine password');
    const { managementTokens } = service.accounts;
    await assert.rejects(managementTokens.reissue(bySession, TRACE), { code: 'unauthorized' });
    await assert.rejects(managementTokens.reissue(byToken, TRACE), { code: 'unauthorized' });
    assert.deepEqual(await storedFor(owner.id), []);
    const program = await owner.withManagementToken();
    await assert.rejects(managementTokens.reissue(byToken, TRACE), { code: 'unauthorized' });
    await program.ok('GET', '/api/user/self');
  });

  it('turns two-step verification neither on nor off for a request authenticated before its session ended', async () => {
    const username = `owner-${count++}`;
    const owner = await service.newUser(username);
    const thief = service.anonymous();
    await thief.logIn(username);
    const { twoFactors } = service.accounts;
    const { secret } = await thief.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = () => totp.generate({ timestamp: service.clock.now() });
    const change = { caller: await authenticate(owner.id, { session: thief.cookies.get('session') }), origin: TRACE };
    await changePassword(owner, PASSWORD, 'another fine password');
    await assert.rejects(twoFactors.enable(change, code()), { code: 'unauthorized' });
    await owner.ok('POST', '/api/user/2fa/enable', { code: code() });
    service.clock.advance(60_000);
    await assert.rejects(twoFactors.disable(change, code()), { code: 'unauthorized' });
    await owner.ok('POST', '/api/user/2fa/disable', { code: code() });
  });

  it('leaves no token behind that was requested during a password change', async () => {
    const username = `owner-${count++}`;
    const owner = await service.newUser(username);
    const thief = service.anonymous();
    await thief.logIn(username);
    const logoutBegun = Promise.withResolvers<void>();
    whileEnding = async () => {
      logoutBegun.resolve();
      // Long enough for the token to be created if no lock delayed it until the change commits.
      await setTimeout(200);
    };
    const change = changePassword(owner, PASSWORD, 'another fine password');
    await logoutBegun.promise;
    const asked = await thief.send('POST', '/api/user/token');
    await change;
    whileEnding = async () => {};
    assert.equal(asked.status, 401);
    assert.deepEqual(await storedFor(owner.id), []);
  });
});
