import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import {
  CLI,
  type Credentials,
  type DeviceAuthFixture,
  startDeviceService,
  type Tokens,
} from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { DeviceCodeRow } from './code-store.ts';
import { toDeviceCodeStatus } from './codes.ts';
import { findPollFailure, isComplete, POLL_CHECKS } from './tokens.ts';

describe('device token service', () => {
  forEachDatabase((_dialect, _open, freshUrl) => {
    let service: DeviceAuthFixture;
    let ada: TestUser;
    let other: Credentials;
    before(async () => {
      service = await startDeviceService(await freshUrl());
      ada = await service.newUser('ada');
      const root = await service.root();
      other = await root.ok<Credentials>('POST', '/api/admin/device-clients', { name: 'Other' });
    });
    after(() => service.app.close());

    const lives = async (tokens: Tokens, userId = ada.id): Promise<boolean[]> => [
      (await service.sendAsDevice(tokens, userId, 'GET', '/api/user/self')).status === 200,
      await service.acceptsModelKey(tokens.llm_token),
    ];
    const audited = async (action: string): Promise<number> => {
      const row = await service.app.database.kysely
        .selectFrom('audit_log')
        .select((each) => each.fn.countAll<number>().as('n'))
        .where('action', '=', action)
        .executeTakeFirstOrThrow();
      return Number(row.n);
    };

    it('checks a poll in the documented order', async () => {
      assert.deepEqual(
        POLL_CHECKS.map((check) => check.failure),
        [
          'invalid_client',
          'device_code_invalid',
          'device_code_invalid',
          'device_code_used',
          'access_denied',
          'expired_token',
          'authorization_pending',
          'record_incomplete',
        ],
      );
      const code = await service.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      // With a wrong secret the response reveals nothing about the code, whatever its state.
      for (const device_code of [code.device_code, 'z'.repeat(32)]) {
        assert.equal((await service.poll(device_code, { ...CLI, client_secret: 'no' })).error, 'invalid_client');
        assert.equal((await service.poll(device_code, { ...CLI, client_id: 'nobody' })).error, 'invalid_client');
      }
      // The format of the request is checked first.
      const bare = await service.anonymous().send('POST', '/api/auth/device/token', { device_code: code.device_code });
      assert.equal(bare.body.error, 'invalid_request');
    });

    it('T02: gives another client with valid credentials neither tokens nor the code', async () => {
      const code = await service.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const foreign = await service.poll(code.device_code, other);
      const unknown = await service.poll('q'.repeat(32), other);
      assert.deepEqual(foreign, unknown);
      assert.equal(foreign.error, 'invalid_grant');
      const mine = await service.poll(code.device_code);
      assert.equal(mine.success, true);
      assert.equal((await service.refresh(mine.data?.refresh_token ?? '', other)).error, 'invalid_grant');
      assert.equal((await service.refresh(mine.data?.refresh_token ?? '')).success, true);
    });

    it('distinguishes an unknown code from a used one', async () => {
      const code = await service.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      await service.poll(code.device_code);
      const [used, unknown] = [await service.poll(code.device_code), await service.poll('q'.repeat(32))];
      assert.deepEqual([used.error, unknown.error], ['invalid_grant', 'invalid_grant']);
      assert.notEqual(used.message, unknown.message);
    });

    it('asks early pollers to wait by header only, and always reports the outcome', async () => {
      const code = await service.code();
      const ask = () =>
        service.anonymous().send('POST', '/api/auth/device/token', { device_code: code.device_code, ...CLI });
      assert.equal((await ask()).headers['retry-after'], undefined);
      const early = await ask();
      assert.deepEqual(
        [early.status, early.body.error, early.headers['retry-after']],
        [200, 'authorization_pending', '5'],
      );
      service.clock.advance(5_000);
      assert.equal((await ask()).headers['retry-after'], undefined);
      const flood = await Promise.all(Array.from({ length: 200 }, ask));
      assert.ok(
        flood.every(({ body, status }) => body.error === 'authorization_pending' && (status === 200 || status === 429)),
      );
      assert.ok(flood.some(({ status }) => status === 429));
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      assert.equal((await ask()).body.success, true);
    });

    it('T11: issues no token for an approval that is never collected', async () => {
      const rows = () =>
        service.app.database.kysely.selectFrom('tokens').select('id').where('kind', '=', 'llm').execute();
      const before = await rows();
      const code = await service.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      assert.equal((await rows()).length, before.length);
      service.clock.advance(24 * 3600_000 + 1);
      assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
    });

    it('T13: a ban between approval and poll removes everything, and lifting it restores nothing', async () => {
      const root = await service.root();
      const eve = await service.newUser('eve');
      const living = await service.signIn(eve);
      const code = await service.code();
      await eve.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      await root.ok('PUT', `/api/admin/users/${eve.id}`, { status: 2 });
      assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
      assert.deepEqual(
        await lives(living, eve.id),
        [false, true].map(() => false),
      );
      assert.equal((await service.refresh(living.refresh_token)).error, 'invalid_grant');
      await root.ok('PUT', `/api/admin/users/${eve.id}`, { status: 1 });
      assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
      assert.deepEqual(await lives(living, eve.id), [false, false]);
    });

    it('T13: rechecks the account when tokens are issued and when they are renewed', async () => {
      const mia = await service.newUser('mia');
      const living = await service.signIn(mia);
      const code = await service.code();
      await mia.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      // Written directly, bypassing the code that revokes sign-ins on a ban.
      const { kysely } = service.app.database;
      await kysely.updateTable('accounts').set({ status: 2 }).where('id', '=', mia.id).execute();
      assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
      assert.equal((await service.refresh(living.refresh_token)).error, 'invalid_grant');
    });

    it('T34: ends the device sign-ins when the password changes', async () => {
      const zoe = await service.newUser('zoe');
      const tokens = await service.signIn(zoe);
      await zoe.ok('PUT', '/api/user/self', { password: 'another password 2', original_password: PASSWORD });
      assert.deepEqual(await lives(tokens, zoe.id), [false, false]);
    });

    it('T31: within the window a second use fails and ends nothing', async () => {
      const tokens = await service.signIn(ada);
      const next = (await service.refresh(tokens.refresh_token)).data;
      assert.ok(next);
      service.clock.advance(60_000);
      const again = await service.refresh(tokens.refresh_token);
      assert.equal(again.error, 'invalid_grant');
      assert.deepEqual(await lives({ ...tokens, ...next }), [true, true]);
      assert.equal((await service.refresh(next.refresh_token)).success, true);
    });

    it('T30: after the window a second use ends all three tokens, is audited and notifies the owner', async () => {
      const tokens = await service.signIn(ada);
      const second = (await service.refresh(tokens.refresh_token)).data;
      const third = (await service.refresh(second?.refresh_token ?? '')).data;
      assert.ok(second && third);
      const before = await audited('device.refresh-reuse');
      service.clock.advance(60_001);
      // Reuse of any ancestor counts, not only of the last token.
      assert.equal((await service.refresh(tokens.refresh_token)).error, 'invalid_grant');
      assert.deepEqual(await lives({ ...tokens, ...third }), [false, false]);
      assert.equal((await service.refresh(third.refresh_token)).error, 'invalid_grant');
      assert.equal((await audited('device.refresh-reuse')) - before, 1);
      await service.refresh(second.refresh_token);
      assert.equal((await audited('device.refresh-reuse')) - before, 1, 'once');
    });

    it('distinguishes three kinds of bad refresh_token', async () => {
      const tokens = await service.signIn(ada);
      const later = await service.signIn(ada);
      await service.refresh(tokens.refresh_token);
      const spent = await service.refresh(tokens.refresh_token);
      const unknown = await service.refresh(`rgrt_${'x'.repeat(48)}`);
      service.clock.advance(90 * DAY_MS);
      const expired = await service.refresh(later.refresh_token);
      assert.deepEqual([spent.error, unknown.error, expired.error], Array(3).fill('invalid_grant'));
      assert.equal(new Set([spent.message, unknown.message, expired.message]).size, 3);
      assert.equal(await service.acceptsModelKey(later.llm_token), true, 'the llm_token lives until the logout');
      // An expired access_token is still accepted for the logout.
      const headers = { authorization: `Bearer ${later.access_token}` };
      assert.equal((await service.sendAsDevice(later, ada.id, 'GET', '/api/user/self')).status, 401);
      assert.equal(
        (await service.anonymous().send('POST', '/api/auth/device/logout', undefined, headers)).body.success,
        true,
      );
      assert.equal(await service.acceptsModelKey(later.llm_token), false);
      // The session has expired in those 90 days too.
      await ada.logIn('ada');
    });

    it('logs out with the access_token alone', async () => {
      const tokens = await service.signIn(ada);
      const logOut = (headers: Record<string, string>) =>
        service.anonymous().send('POST', '/api/auth/device/logout', undefined, headers);
      const none = await logOut({});
      assert.deepEqual([none.status, none.body.success], [200, false]);
      for (const token of [tokens.refresh_token, tokens.llm_token, 'rgat_unknown', ada.cookies.get('session') ?? '']) {
        const answer = await logOut({ authorization: `Bearer ${token}` });
        assert.deepEqual([answer.status, answer.body.success], [200, false]);
        assert.notEqual(answer.body.message, none.body.message);
      }
      assert.deepEqual(await lives(tokens), [true, true]);
      assert.equal((await logOut({ authorization: `Bearer ${tokens.access_token}` })).body.success, true);
      assert.deepEqual(await lives(tokens), [false, false]);
    });

    it("lists devices and revokes one, only for the caller's account", async () => {
      const ben = await service.newUser('ben');
      const tokens = await service.signIn(ben, { client_name: 'Phone\u202E of Ben' });
      const { data } = (await ben.send('GET', '/api/user/devices')).body as { data?: { id: number; name: string }[] };
      const [device] = data ?? [];
      assert.equal(device?.name, 'Phone of Ben');
      await ada.fails(200, 'DELETE', `/api/user/devices/${device?.id}`);
      await service.anonymous().fails(401, 'GET', '/api/user/devices');
      assert.deepEqual(await lives(tokens, ben.id), [true, true]);
      await ben.ok('DELETE', `/api/user/devices/${device?.id}`);
      assert.deepEqual(await lives(tokens, ben.id), [false, false]);
      assert.equal((await ben.send('GET', '/api/user/devices')).body.total, 0);
      await ben.fails(200, 'DELETE', `/api/user/devices/${device?.id}`);
    });

    it('T29: stores no secret in clear in any table', async () => {
      const code = await service.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const tokens = (await service.poll(code.device_code)).data;
      assert.ok(tokens);
      const secrets = [
        code.device_code,
        tokens.access_token,
        tokens.refresh_token,
        tokens.llm_token,
        other.client_secret,
      ];
      const { kysely } = service.app.database;
      const tables = await kysely.introspection.getTables();
      for (const { name } of tables) {
        const rows = JSON.stringify(
          await kysely
            .selectFrom(name as 'tokens')
            .selectAll()
            .execute(),
        );
        for (const secret of [...secrets, CLI.client_secret])
          assert.ok(!rows.includes(secret), `${name} holds a secret`);
      }
    });

    it('T20: rotates a secret without a gap, and disables a client immediately', async () => {
      const root = await service.root();
      const made = await root.ok<Credentials>('POST', '/api/admin/device-clients', {
        client_id: 'my.app',
        name: 'My app',
      });
      const path = '/api/admin/device-clients/my.app';
      const second = await root.ok<{ id: number; client_secret: string }>('POST', `${path}/secrets`);
      await root.fails(200, 'POST', `${path}/secrets`);
      const code = await service.code({ client_id: 'my.app' });
      const ask = async (client_secret: string) =>
        (await service.poll(code.device_code, { client_id: 'my.app', client_secret })).error;
      assert.equal(await ask(made.client_secret), 'authorization_pending');
      assert.equal(await ask(second.client_secret), 'authorization_pending');
      const { secrets } = await root.ok<{ secrets: { id: number }[] }>('GET', path);
      await root.ok('DELETE', `${path}/secrets/${secrets[0]?.id}`);
      assert.equal(await ask(made.client_secret), 'invalid_client');
      assert.equal(await ask(second.client_secret), 'authorization_pending');
      await root.fails(200, 'DELETE', `${path}/secrets/${second.id}`);
      await root.ok('PUT', path, { enabled: false });
      assert.equal(await ask(second.client_secret), 'invalid_client');
      const refused = await service.anonymous().fails(200, 'POST', '/api/auth/device/code', { client_id: 'my.app' });
      assert.match(refused, /unknown or disabled/);
      await root.ok('PUT', path, { enabled: true, name: 'My own app' });
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const tokens = (await service.poll(code.device_code, { ...made, client_secret: second.client_secret })).data;
      assert.ok(tokens);
      assert.equal((await root.ok<{ devices: number }>('GET', path)).devices, 1);
      await root.ok('DELETE', path);
      assert.deepEqual(await lives(tokens), [false, false]);
      await root.fails(200, 'GET', path);
      await ada.fails(403, 'GET', '/api/admin/device-clients');
    });

    it('T20: limits guesses of a secret, but not valid credentials', async () => {
      let limited = 0;
      for (let i = 0; i < 320; i++) {
        // Polls and refreshes count together.
        const [path, token] = i % 2 === 0 ? ['token', 'device_code'] : ['refresh', 'refresh_token'];
        const body = { [token ?? '']: 'q'.repeat(32), ...CLI, client_secret: `guess-${i}` };
        const answer = await service.anonymous('203.0.113.50').send('POST', `/api/auth/device/${path}`, body);
        assert.equal(answer.body.error, 'invalid_client');
        if (answer.status === 429) limited += 1;
      }
      assert.equal(limited, 20);
      assert.equal((await service.poll('q'.repeat(32), CLI, '203.0.113.50')).error, 'invalid_grant');
    });
  });
});

describe('the state of a code', () => {
  it('is expired once its lifetime is over, unless it was decided', () => {
    assert.equal(toDeviceCodeStatus(undefined, 0), 'invalid');
    assert.equal(toDeviceCodeStatus({ status: 'pending', expires_at: 5 }, 4), 'pending');
    assert.equal(toDeviceCodeStatus({ status: 'pending', expires_at: 5 }, 5), 'expired');
    for (const status of ['approved', 'denied', 'used'] as const)
      assert.equal(toDeviceCodeStatus({ status, expires_at: 5 }, 9), status);
  });

  const complete = {
    client_id: 'c',
    status: 'approved',
    expires_at: 5,
    user_id: 1,
    decided_at: 1,
    access_expires_at: 1,
    refresh_expires_at: 1,
  } as DeviceCodeRow;
  const client = { id: 'c', name: 'C' };

  it('determines the response to a poll, the first failure first', () => {
    const failure = (code: DeviceCodeRow | undefined, by: typeof client | undefined = client) =>
      findPollFailure({ client: by, code, now: 9 });
    assert.equal(failure(complete), undefined);
    assert.equal(findPollFailure({ client: undefined, code: undefined, now: 9 }), 'invalid_client');
    assert.equal(failure(undefined), 'device_code_invalid');
    assert.equal(failure(complete, { id: 'other', name: '' }), 'device_code_invalid');
    assert.equal(failure({ ...complete, status: 'used' }), 'device_code_used');
    assert.equal(failure({ ...complete, status: 'denied' }), 'access_denied');
    assert.equal(failure({ ...complete, status: 'pending' }), 'expired_token');
    assert.equal(failure({ ...complete, status: 'pending', expires_at: 10 }), 'authorization_pending');
  });

  it('issues no tokens from an incomplete record', () => {
    assert.equal(isComplete(complete), true);
    for (const column of ['user_id', 'decided_at', 'access_expires_at', 'refresh_expires_at'] as const) {
      const code = { ...complete, [column]: null };
      assert.equal(isComplete(code), false, column);
      assert.equal(findPollFailure({ client, code, now: 9 }), 'record_incomplete');
    }
  });
});
