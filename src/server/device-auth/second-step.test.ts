import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { HOUR_MS } from '../../contract/time-units.ts';

const STEP_MS = 30_000;

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  let totp: TOTP;
  /** Steps the clock on every call, because a TOTP step counts once. */
  const freshCode = (): string => {
    service.clock.advance(STEP_MS);
    return totp.generate({ timestamp: service.clock.now() });
  };
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
    const { secret } = await ada.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await ada.ok('POST', '/api/user/2fa/enable', { code: totp.generate({ timestamp: service.clock.now() }) });
  });
  after(() => service.app.close());

  const approve = (person: TestUser, user_code: string, code?: string) =>
    person.send('POST', '/api/auth/device/approve', { user_code, ...(code !== undefined && { code }) });

  it('T03: an old session can approve by the API only after repeating its second step', async () => {
    await ada.ok('GET', '/api/user/self');
    for (let hours = 0; hours < 13; hours++) service.clock.advance(HOUR_MS);
    const { user_code, device_code } = await service.code();
    const without = await approve(ada, user_code);
    assert.equal(without.body.success, false);
    assert.match(String(without.body.message), /authenticator/);
    assert.equal((await approve(ada, user_code, '000000')).body.success, false);
    assert.equal(await service.status(user_code), 'pending');
    assert.equal((await approve(ada, user_code, freshCode())).body.success, true);
    assert.equal((await service.poll(device_code)).data?.username, 'ada');
  });

  it('T03: an old management token needs the second step too', async () => {
    const program = await ada.withManagementToken();
    const young = await service.code();
    assert.equal((await approve(program, young.user_code)).body.success, true);
    service.clock.advance(13 * HOUR_MS);
    const { user_code } = await service.code();
    assert.equal((await approve(program, user_code)).body.success, false);
    assert.equal(await service.status(user_code), 'pending');
    assert.equal((await approve(program, user_code, freshCode())).body.success, true);
  });

  it('T03: requires the second step after ten minutes if the request comes from another network, and never to deny', async () => {
    const person = service.anonymous();
    await person.logIn('ada');
    const answer = await person.send('POST', '/api/user/login/2fa', { code: freshCode() });
    person.id = (answer.body.data as { id: number }).id;
    const isApproved = async (address?: string) => {
      const { user_code } = await service.code({}, address);
      return (await approve(person, user_code)).body.success;
    };
    service.clock.advance(10 * 60_000);
    assert.deepEqual([await isApproved(), await isApproved('203.0.113.9')], [true, true]);
    service.clock.advance(1);
    assert.deepEqual([await isApproved(), await isApproved('203.0.113.9')], [true, false]);
    service.clock.advance(12 * HOUR_MS - 10 * 60_000 - 1);
    assert.equal(await isApproved(), true);
    service.clock.advance(1);
    assert.equal(await isApproved(), false, 'on the same network after twelve hours');
    const far = await service.code({}, '203.0.113.9');
    await person.ok('POST', '/api/auth/device/deny', { user_code: far.user_code });
  });

  it('requires no second step of accounts without two-step verification', async () => {
    const bob = await service.newUser('bob');
    service.clock.advance(13 * HOUR_MS);
    const { user_code } = await service.code();
    assert.equal((await approve(bob, user_code)).body.success, true);
  });
});
