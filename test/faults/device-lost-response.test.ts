import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, it } from 'node:test';
import type { TestUser } from '../accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

/** Posts JSON and closes the connection once `most` bytes of the response have arrived; returns those bytes. */
async function cut(origin: string, path: string, body: unknown, most: number): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const gone = once(socket, 'close');
  const payload = JSON.stringify(body);
  let got = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    got += chunk.toString('latin1');
    if (got.length >= most) socket.destroy();
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(payload)}\r\n\r\n${payload}`,
    () => {
      if (most === 0) socket.destroy();
    },
  );
  await gone;
  return got.slice(0, most);
}

/** Step between two cuts, in bytes; a response has about 900. `npm run hammer` sets less. */
const STEP = Number(process.env.LOST_RESPONSE_STEP ?? '29');
const LONGEST = 1_000;

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
  });
  after(() => service.app.close());

  const living = async (): Promise<readonly [devices: number, keys: number]> => {
    const { kysely } = service.app.database;
    const devices = await kysely.selectFrom('device_authorizations').select('id').execute();
    const keys = await kysely
      .selectFrom('tokens')
      .select('id')
      .where('kind', '=', 'llm')
      .where('revoked_at', 'is', null)
      .execute();
    return [devices.length, keys.length];
  };

  /** The service may still be sending the response to the closed connection. */
  const settled = async (user_code: string): Promise<unknown> => {
    for (let i = 0; i < 200; i++) {
      const status = await service.status(user_code);
      if (status === 'used') return status;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return service.status(user_code);
  };

  it('T12: tokens lost at any byte of the response leave no orphan after the next approval', async () => {
    for (let most = 0; most < LONGEST; most += STEP) {
      const code = await service.code({ device_id: 'train' });
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      assert.deepEqual(await living(), [0, 0], 'the approval ended what was lost before it');
      await cut(service.url, '/api/auth/device/token', { device_code: code.device_code, ...CLI }, most);
      // The code counts as used however much of the response arrived: a second poll would otherwise issue a second set
      // of tokens.
      assert.equal(await settled(code.user_code), 'used');
      assert.equal((await service.poll(code.device_code)).error, 'invalid_grant');
      assert.deepEqual(await living(), [1, 1]);
    }
    const { access_token, llm_token } = await service.signIn(ada, { device_id: 'train' });
    assert.deepEqual(await living(), [1, 1]);
    assert.equal(await service.acceptsModelKey(llm_token), true);
    assert.equal((await service.sendAsDevice({ access_token }, ada.id, 'GET', '/api/user/self')).status, 200);
  });

  it('T31: a token pair lost at any byte of the response ends no device, and a retry is only refused', async () => {
    for (let most = 0; most < LONGEST; most += STEP) {
      const tokens = await service.signIn(ada, { device_id: 'train' });
      await cut(service.url, '/api/auth/device/refresh', { refresh_token: tokens.refresh_token, ...CLI }, most);
      const retried = await service.refresh(tokens.refresh_token);
      assert.ok(retried.success || retried.error === 'invalid_grant');
      assert.deepEqual(await living(), [1, 1]);
      assert.equal(await service.acceptsModelKey(tokens.llm_token), true);
      service.clock.advance(5_000);
      assert.equal((await service.refresh(tokens.refresh_token)).error, 'invalid_grant');
      assert.deepEqual(await living(), [1, 1], 'a retry within the window ends nothing');
    }
  });
});
