import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CLI, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

forEachDatabase((_name, _open, freshUrl) => {
  it('signs a device in, refreshes and logs out, with exactly the documented keys', async () => {
    const service = await startDeviceService(await freshUrl());
    const ada = await service.newUser('ada');
    const answer = await service.anonymous().send('POST', '/api/auth/device/code', {
      client_id: CLI.client_id,
      client_name: 'Laptop of Ada',
      device_id: 'device-1',
    });
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'success']);
    const code = answer.body.data as Awaited<ReturnType<typeof service.code>>;
    assert.match(code.device_code, /^[0-9A-Za-z]{32}$/);
    assert.match(code.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.deepEqual([code.expires_in, code.interval], [600, 5]);
    assert.equal(code.verification_uri_complete, `${code.verification_uri}?code=${code.user_code}`);
    assert.equal(new URL(code.verification_uri).pathname, '/authorize');

    const verified = await service.verify(code.user_code);
    assert.deepEqual(Object.keys(verified.body).sort(), ['message', 'status', 'success']);
    assert.equal(verified.body.success, true);
    const pending = await service.poll(code.device_code);
    assert.deepEqual(Object.keys(pending).sort(), ['error', 'message', 'success']);
    assert.equal(pending.error, 'authorization_pending');

    const approved = await ada.send('POST', '/api/auth/device/approve', { user_code: code.user_code });
    assert.deepEqual(Object.keys(approved.body).sort(), ['message', 'success']);
    assert.equal(approved.body.success, true);
    assert.equal(await service.status(code.user_code), 'approved');
    service.clock.advance(60_000);

    const collected = await service.poll(code.device_code);
    assert.deepEqual(Object.keys(collected).sort(), ['data', 'success']);
    const tokens = collected.data;
    assert.ok(tokens);
    assert.deepEqual(Object.keys(tokens).sort(), [
      'access_token',
      'display_name',
      'expires_in',
      'llm_token',
      'refresh_token',
      'token_type',
      'user_id',
      'username',
    ]);
    assert.match(tokens.llm_token, /^sk-/);
    // The lifetime counts from the approval.
    assert.equal(tokens.expires_in, 30 * 86_400 - 60);
    assert.deepEqual([tokens.token_type, tokens.user_id, tokens.username], ['Bearer', ada.id, 'ada']);
    assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
    assert.equal(await service.status(code.user_code), 'used');

    assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).body.success, true);
    assert.equal(await service.acceptsModelKey(tokens.llm_token), true);

    const refreshed = await service.refresh(tokens.refresh_token);
    assert.deepEqual(Object.keys(refreshed.data ?? {}).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ]);
    assert.equal(refreshed.data?.expires_in, 30 * 86_400);
    assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 401);
    const fresh = refreshed.data;
    assert.ok(fresh);
    const devices = await service.sendAsDevice(fresh, ada.id, 'GET', '/api/user/devices');
    assert.equal(devices.body.total, 1);
    assert.partialDeepStrictEqual((devices.body.data as unknown[])[0], {
      client: 'Reelgate CLI',
      name: 'Laptop of Ada',
      device_id: 'device-1',
      address: '127.0.0.1',
      current: true,
    });

    const out = await service.anonymous().send('POST', '/api/auth/device/logout', undefined, {
      authorization: `Bearer ${fresh.access_token}`,
    });
    assert.deepEqual(Object.keys(out.body).sort(), ['message', 'success']);
    assert.equal(out.body.success, true);
    assert.equal((await service.sendAsDevice(fresh, ada.id, 'GET', '/api/user/self')).status, 401);
    assert.equal(await service.acceptsModelKey(tokens.llm_token), false);
    assert.equal((await service.refresh(fresh.refresh_token)).error, 'invalid_grant');
    await service.app.close();
  });
});
