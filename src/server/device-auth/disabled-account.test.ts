import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startBareDeviceAuth } from '../../../test/device-auth/bare-device-auth.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DISABLED } from '../../contract/account-fields.ts';

const ORIGIN = { address: '127.0.0.1', requestId: 'r' };

forEachDatabase((_name, open) => {
  it('T13: an account disabled after its request was authenticated cannot decide a code', async () => {
    const { accounts, codes } = await startBareDeviceAuth(await open());
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
    await assert.rejects(codes.approve(userCode, approver, ORIGIN, {}), { code: 'unauthorized' });
    await assert.rejects(codes.deny(userCode, person.id, ORIGIN), { code: 'unauthorized' });
    assert.equal((await codes.lookUp(userCode, '127.0.0.1')).status, 'pending');
    await accounts.close();
  });
});
