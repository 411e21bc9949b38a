import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { forEachDatabase } from '../../../test/databases.ts';
import { DISABLED } from '../accounts/account-store.ts';
import { TokenStore } from '../accounts/tokens/token-store.ts';
import { createRateLimits } from '../platform/limits/rate-limits.ts';
import { openLog } from '../platform/log.ts';
import { makeDeviceAccess, makeDeviceAuth } from './make.ts';

const ORIGIN = { address: '127.0.0.1', requestId: 'r' };

forEachDatabase((_name, open) => {
  /** Device authorization beside accounts, without the HTTP layer, which would refuse a disabled account before. */
  const startWith = ({ database, clock, accounts }: AccountsFixture) => {
    const deviceAccess = makeDeviceAccess({
      database,
      clock,
      log: openLog('silent'),
      tokens: new TokenStore(database),
      onRevoked: async () => {},
    });
    const config = {
      deviceCodesPerAddress: 100,
      deviceCodesPerClient: 100,
      deviceLiveCodesPerAddress: 100,
      deviceCodeTtlSeconds: 600,
      refreshReuseWindowSeconds: 60,
    };
    const notifier = { notify: async () => {} };
    const limits = createRateLimits({ clock });
    return makeDeviceAuth({ config, database, clock, limits, notifier, deviceAccess, accounts });
  };

  it('T13: an account that was disabled after its request was authenticated decides nothing', async () => {
    const accounts = await startAccounts(await open());
    const { codes } = startWith(accounts);
    const person = await accounts.newUser('banned');
    const device = { clientId: 'reelgate-cli', clientName: '', deviceId: '', userAgent: '', address: '127.0.0.1' };
    const { userCode } = await codes.issue(device);
    await accounts.database.kysely
      .updateTable('accounts')
      .set({ status: DISABLED })
      .where('id', '=', person.id)
      .execute();
    const caller = { kind: 'session', userId: person.id, role: 'user', sessionId: 1 } as const;
    const approver = { caller, loggedInAt: accounts.clock.now() };
    await assert.rejects(codes.approve(userCode, approver, ORIGIN, undefined), { code: 'unauthorized' });
    await assert.rejects(codes.deny(userCode, person.id, ORIGIN), { code: 'unauthorized' });
    assert.equal((await codes.lookUp(userCode, '127.0.0.1')).status, 'pending');
    await accounts.close();
  });
});
