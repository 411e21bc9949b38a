import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FakeProvider } from '../identity-providers/fake-provider.ts';
import { startTestService, type TestService } from '../test-service.ts';

interface AnonymousRequest {
  readonly method?: 'POST';
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
}

const WRONG_CLIENT = { client_id: 'reelgate-cli', client_secret: 'wrong' };

/** Requests accepted from one IP address in ten minutes, as docs/security.md says. */
const LIMITS: Readonly<Record<string, AnonymousRequest & { readonly most: number }>> = {
  'starts of a sign-in at a provider': { most: 300, url: '/auth/company/start' },
  'failed returns from a provider': { most: 100, url: '/auth/company/callback?state=x' },
  'invalid logout tokens': {
    most: 100,
    method: 'POST',
    url: '/auth/company/backchannel-logout',
    form: { logout_token: 'x' },
  },
  'wrong client credentials of a refresh': {
    most: 300,
    method: 'POST',
    url: '/oauth/token',
    form: { ...WRONG_CLIENT, grant_type: 'refresh_token', refresh_token: 'x' },
  },
  'wrong client credentials of a revocation': {
    most: 300,
    method: 'POST',
    url: '/oauth/revoke',
    form: { ...WRONG_CLIENT, token: 'x' },
  },
  'pending codes of Claude Code': {
    most: 50,
    method: 'POST',
    url: '/claude-code/oauth/device_authorization',
    form: {},
  },
  'pending codes of devices': {
    most: 50,
    method: 'POST',
    url: '/oauth/device_authorization',
    form: { client_id: 'reelgate-cli' },
  },
};

describe('anonymous sign-in requests', () => {
  let provider: FakeProvider;
  let service: TestService;
  before(async () => {
    provider = await FakeProvider.start();
    const OIDC_PROVIDERS = JSON.stringify([provider.settings('company')]);
    service = await startTestService('sqlite::memory:', { OIDC_PROVIDERS, CLAUDE_CODE_SIGN_IN: '1' });
  });
  after(async () => {
    await service.stop();
    await provider.stop();
  });

  for (const [index, [name, { most, method = 'GET', url, form }]] of Object.entries(LIMITS).entries())
    it(`${name}: ${most} per IP address, then 429 with Retry-After`, async () => {
      const send = (remoteAddress: string) =>
        service.app.http.fastify.inject({
          method,
          url,
          remoteAddress,
          ...(form !== undefined && {
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            payload: new URLSearchParams(form).toString(),
          }),
        });
      const here = `192.0.2.${index}`;
      for (let count = 0; count < most; count++) assert.notEqual((await send(here)).statusCode, 429, `${count}`);
      const refused = await send(here);
      assert.equal(refused.statusCode, 429);
      assert.ok(Number(refused.headers['retry-after']) > 0);
      assert.notEqual((await send(`198.51.100.${index}`)).statusCode, 429);
    });
});
