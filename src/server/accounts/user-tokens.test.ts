import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { PASSWORD, type Person } from '../../../test/accounts/person.ts';
import { type Service, startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';

const TRACE = { address: '127.0.0.1', requestId: 'r' };

forEachDatabase((_name, open) => {
  let service: Service;
  let count = 0;
  let whileEnding = async (): Promise<void> => {};
  before(async () => {
    service = await startService(await open(), { parts: { endsWithAccount: [{ endAll: () => whileEnding() }] } });
  });
  after(() => service.close());

  /** A request that was let in, and stands before its work. */
  const letIn = (userId: number, with_: { readonly session?: string | undefined; readonly token?: string }) =>
    service.accounts.authenticator.account('owner', {
      headers: {
        'service-api-user': String(userId),
        ...(with_.token === undefined ? {} : { authorization: `Bearer ${with_.token}` }),
      },
      session: with_.session,
      address: TRACE.address,
    });
  const changePassword = async (owner: Person, from: string, to: string): Promise<void> => {
    await owner.ok('PUT', '/api/user/self', { password: to, original_password: from });
  };
  const storedFor = async (userId: number) =>
    service.database.kysely.selectFrom('user_tokens').select('hash').where('user_id', '=', userId).execute();

  it('makes none for a request that was let in before its session or token ended', async () => {
    const owner = await service.person(`owner-${count++}`);
    const { access_token: token } = await owner.ok<{ access_token: string }>('POST', '/api/user/token');
    const thief = service.visitor();
    await thief.logIn(`owner-${count - 1}`);
    const [bySession, byToken] = [
      await letIn(owner.id, { session: thief.jar.get('session') }),
      await letIn(owner.id, { token }),
    ];
    await changePassword(owner, PASSWORD, 'another fine password');
    const { renew } = service.accounts.userTokens;
    await assert.rejects(renew(bySession, TRACE), { code: 'unauthorized' });
    await assert.rejects(renew(byToken, TRACE), { code: 'unauthorized' });
    assert.deepEqual(await storedFor(owner.id), []);
    const program = await owner.program();
    await assert.rejects(renew(byToken, TRACE), { code: 'unauthorized' });
    await program.ok('GET', '/api/user/self');
  });

  it('leaves none behind that was asked for while the password was being changed', async () => {
    const username = `owner-${count++}`;
    const owner = await service.person(username);
    const thief = service.visitor();
    await thief.logIn(username);
    const ending = Promise.withResolvers<void>();
    whileEnding = async () => {
      ending.resolve();
      // Long enough for a token to be made, if nothing held it back until the change is there.
      await setTimeout(200);
    };
    const change = changePassword(owner, PASSWORD, 'another fine password');
    await ending.promise;
    const asked = await thief.send('POST', '/api/user/token');
    await change;
    whileEnding = async () => {};
    assert.equal(asked.status, 401);
    assert.deepEqual(await storedFor(owner.id), []);
  });
});
