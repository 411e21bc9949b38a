import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

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
