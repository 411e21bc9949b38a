import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import {
  CLI,
  type DeviceAuthFixture,
  startDeviceService,
  type Tokens,
} from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { DAY_MS } from '../../contract/time-units.ts';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let liv: TestUser;
  let kept: Tokens;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    liv = await service.newUser('liv');
  });
  after(() => service.app.close());

  /** Logs in first, because sessions expire within a week and the clock is advanced further. */
  const signIn = async (): Promise<Tokens> => {
    await liv.logIn('liv');
    return service.signIn(liv);
  };
  const renew = async (): Promise<void> => {
    const { data, message = '' } = await service.refresh(kept.refresh_token);
    assert.ok(data, message);
    kept = { ...kept, ...data };
  };
  const lives = async (): Promise<boolean[]> => [
    (await service.sendAsDevice(kept, liv.id, 'GET', '/api/user/self')).status === 200,
    await service.acceptsModelKey(kept.llm_token),
  ];
  const listed = async () => {
    await liv.logIn('liv');
    return liv.ok<{ id: number; created_time: number; expires_time: number }[]>('GET', '/api/user/devices');
  };
  const ends = () =>
    service.app.database.kysely
      .selectFrom('audit_log')
      .select(['target', 'actor_id'])
      .where('action', '=', 'device.year-over')
      .execute();

  it('T30: a sign-in ends a year after its approval, however often it was renewed', async () => {
    const code = await service.code();
    await liv.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const end = service.clock.now() + 365 * DAY_MS;
    const moveTo = (time: number) => service.clock.advance(time - service.clock.now());
    // Collecting late does not move the expiry.
    service.clock.advance(DAY_MS / 2);
    const { data } = await service.poll(code.device_code);
    assert.ok(data);
    kept = data;
    assert.equal(kept.expires_in, (30 - 0.5) * 86_400);
    for (const left of [320, 250, 180, 110, 40]) {
      moveTo(end - left * DAY_MS);
      await renew();
      assert.equal(kept.expires_in, 30 * 86_400);
      const [device] = await listed();
      assert.equal(device?.expires_time, Math.floor(Math.min(service.clock.now() + 90 * DAY_MS, end) / 1000));
    }
    // In the last weeks the reported lifetime of each token is limited by the end of the sign-in.
    for (const left of [20 * DAY_MS, 5_500]) {
      moveTo(end - left);
      await renew();
      assert.equal(kept.expires_in, Math.floor(left / 1000));
      assert.deepEqual(await lives(), [true, true]);
    }
    const [device] = await listed();
    moveTo(end);
    assert.deepEqual(await lives(), [false, true], 'the llm_token by itself has no end');
    const refused = await Promise.all(Array.from({ length: 4 }, () => service.refresh(kept.refresh_token)));
    refused.push(await service.refresh(kept.refresh_token));
    assert.deepEqual(await lives(), [false, false]);
    assert.deepEqual(await listed(), []);
    assert.deepEqual(await ends(), [{ target: `device:${device?.id}`, actor_id: null }], 'once');

    kept = await signIn();
    service.clock.advance(90 * DAY_MS);
    const expired = await service.refresh(kept.refresh_token);
    assert.equal(expired.error, 'invalid_grant');
    for (const answer of refused) assert.deepEqual(answer, expired, 'as with an expired token, as often as it asks');
    assert.deepEqual(
      await lives(),
      [false, true],
      'short of the year an expired refresh_token ends no more than itself',
    );
  });

  it('T30: tokens issued before this rule end after a year too', async () => {
    kept = await signIn();
    const [device] = await listed();
    await service.app.database.kysely
      .updateTable('device_authorizations')
      .set({ created_at: service.clock.now() - 365 * DAY_MS })
      .where('id', '=', device?.id ?? 0)
      .execute();
    const { error, message } = await service.refresh(kept.refresh_token);
    assert.deepEqual([error, message], ['invalid_grant', formatMessage('refresh_token_expired', 'en')]);
    assert.deepEqual(await lives(), [false, false]);
  });

  it('T30: the OAuth endpoints enforce the same maximum lifetime', async () => {
    kept = await signIn();
    const ask = async (refresh_token: string) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token, ...CLI });
      const response = await fetch(`${service.url}/oauth/token`, { method: 'POST', body });
      return (await response.json()) as { error?: string; expires_in?: number; refresh_token?: string };
    };
    let last = kept.refresh_token;
    for (const days of [80, 80, 80, 80, 44]) {
      service.clock.advance(days * DAY_MS);
      const answer = await ask(last);
      last = answer.refresh_token ?? '';
      assert.equal(answer.expires_in, days === 44 ? 86_400 : 30 * 86_400);
    }
    service.clock.advance(DAY_MS);
    assert.equal((await ask(last)).error, 'invalid_grant');
    assert.equal(await service.acceptsModelKey(kept.llm_token), false);
  });
});
