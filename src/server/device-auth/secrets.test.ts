import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { CLI, freePort, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { DEVICE_GRANT } from '../../contract/oauth.ts';
import { openLog } from '../platform/log.ts';

describe('secrecy of a sign-in', () => {
  it('T05 and T29: no code, token or secret reaches the log, not even at the most verbose level', async (t) => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    const service = await startDeviceService('sqlite::memory:', { log: openLog('trace', sink) });
    t.after(() => service.app.close());
    const ada = await service.newUser('ada');
    const visit = async (method: 'GET' | 'POST', path: string, form?: Record<string, string>): Promise<number> => {
      const response = await fetch(service.url + path, {
        method,
        redirect: 'manual',
        ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      });
      await response.text();
      return response.status;
    };
    const code = await service.code();
    await service.verify(code.user_code);
    await visit('GET', `/authorize?code=${code.user_code}`);
    await visit('GET', `/authorize?code=${code.user_code}&code=twice`);
    await visit('POST', '/authorize/approve', { code: code.user_code, form: 'x' });
    await visit('POST', '/oauth/token', { grant_type: DEVICE_GRANT, device_code: code.device_code, ...CLI });
    await visit('POST', '/oauth/token', { grant_type: 'password', ...CLI, refresh_token: 'rgrt_whatever-this-is' });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const { data: tokens } = await service.poll(code.device_code);
    assert.ok(tokens);
    const { data: fresh } = await service.refresh(tokens.refresh_token);
    assert.ok(fresh);
    await service.sendAsDevice(fresh, ada.id, 'GET', '/api/user/self');
    await visit('GET', `/nowhere?access_token=${fresh.access_token}&code=${code.user_code}`);
    await service.anonymous().send('POST', '/api/auth/device/logout', undefined, {
      authorization: `Bearer ${fresh.access_token}`,
    });
    assert.ok(lines.length > 10, 'the log was talkative');
    const log = lines.join('');
    const secrets: Record<string, string | undefined> = {
      device_code: code.device_code,
      user_code: code.user_code,
      plain_user_code: code.user_code.replace('-', ''),
      access_token: tokens.access_token,
      refresh_token: tokens.refresh_token,
      llm_token: tokens.llm_token,
      fresh_access: fresh.access_token,
      fresh_refresh: fresh.refresh_token,
      secret: CLI.client_secret,
      password: PASSWORD,
      session: ada.cookies.get('session'),
    };
    for (const [name, secret] of Object.entries(secrets)) {
      assert.ok(secret !== undefined && !log.includes(secret), `the log holds ${name}`);
    }
  });

  it('T33: a logout takes effect immediately even if the configured Valkey is down', async (t) => {
    const env = { VALKEY_URL: `redis://127.0.0.1:${await freePort()}` };
    const service = await startDeviceService('sqlite::memory:', { env });
    t.after(() => service.app.close());
    const ada = await service.newUser('ada');
    const tokens = await service.signIn(ada);
    assert.equal(await service.acceptsModelKey(tokens.llm_token), true);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const { body } = await service.anonymous().send('POST', '/api/auth/device/logout', undefined, headers);
    assert.equal(body.success, true);
    assert.equal(await service.acceptsModelKey(tokens.llm_token), false);
    assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 401);
    assert.equal((await service.refresh(tokens.refresh_token)).error, 'invalid_grant');
  });
});
