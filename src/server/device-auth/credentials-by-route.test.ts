import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type DeviceAuthFixture,
  startDeviceService,
  type Tokens,
} from '../../../test/device-auth/device-auth-fixture.ts';

/**
 * T10 and T32: the routes each kind of credential can access. `in`: 2xx or a business failure; otherwise the status.
 */
const ROUTES = [
  ['approve', 'POST', '/api/auth/device/approve'],
  ['deny', 'POST', '/api/auth/device/deny'],
  ['self', 'GET', '/api/user/self'],
  ['devices', 'GET', '/api/user/devices'],
  ['user token', 'POST', '/api/user/token'],
  ['tokens', 'GET', '/api/tokens'],
  ['new token', 'POST', '/api/tokens'],
  ['2fa', 'POST', '/api/user/2fa/setup'],
  ['phone', 'POST', '/api/user/bindings/phone/code'],
  ['clients', 'GET', '/api/admin/device-clients'],
  ['models', 'GET', '/v1/models'],
] as const;

const TABLE: Readonly<Record<string, readonly (number | 'in')[]>> = {
  //             approve deny self devices token tokens new 2fa phone clients models
  'user token': ['in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 403, 401],
  // Listed after the user token, because a session creates a new one, which voids the old.
  session: ['in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 403, 401],
  'device access_token': [403, 403, 'in', 'in', 403, 403, 403, 403, 403, 403, 401],
  'old access_token': [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
  refresh_token: [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
  llm_token: [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 'in'],
  'sk- token': [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 'in'],
  device_code: [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
  'client secret': [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
  'pending login': [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
  nothing: [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401],
};

describe('T10 and T32: credentials and routes', () => {
  let service: DeviceAuthFixture;
  let userId: number;
  const credentials = new Map<string, string>();

  before(async () => {
    service = await startDeviceService('sqlite::memory:');
    const ada = await service.newUser('ada');
    userId = ada.id;
    const old = await service.signIn(ada);
    const fresh = (await service.refresh(old.refresh_token)).data as Tokens;
    const { device_code } = await service.code();
    const root = await service.root();
    const client = await root.ok<{ client_secret: string }>('POST', '/api/admin/device-clients', { name: 'X' });
    const { key } = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' });
    const { access_token } = await ada.ok<{ access_token: string }>('POST', '/api/user/token');
    credentials
      .set('session', ada.cookies.get('session') ?? '')
      .set('user token', access_token)
      .set('device access_token', fresh.access_token)
      .set('old access_token', old.access_token)
      .set('refresh_token', fresh.refresh_token)
      .set('llm_token', old.llm_token)
      .set('sk- token', key)
      .set('device_code', device_code)
      .set('client secret', client.client_secret)
      .set('pending login', 'rgpl_0123456789012345678901234567890123456789012');
  });
  after(() => service.app.close());

  for (const [kind, row] of Object.entries(TABLE)) {
    it(kind, async () => {
      const credential = credentials.get(kind);
      for (const [index, [name, method, url]] of ROUTES.entries()) {
        if (kind === 'user token' && name === 'user token') continue; // The token would void itself.
        const body = method === 'POST' ? { user_code: 'BBBB-BBBB', name: 'n', phone: '+4915112345678' } : undefined;
        const headers = {
          'service-api-user': String(userId),
          ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
        };
        const { status } = await service.anonymous(`198.51.100.${index}`).send(method, url, body, headers);
        const outcome = status === 401 || status === 403 ? status : 'in';
        assert.equal(outcome, row[index], `${name}: ${status}`);
        assert.ok(status < 500 || url.startsWith('/v1/'), `${name}: ${status}`);
      }
    });
  }
});
