import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { SoftwareAuthenticator } from '../../../test/accounts/software-authenticator.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { fetchMetrics, METRICS_TOKEN } from '../../../test/operations/fetch-metrics.ts';
import type { CreationOptions, RequestOptions } from '../../contract/passkeys.ts';
import { HOUR_MS } from '../../contract/time-units.ts';

const ORIGIN = 'https://ai.example.org';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  before(async () => {
    service = await startDeviceService(await freshUrl(), { env: { BASE_URL: ORIGIN, METRICS_TOKEN } });
  });
  after(() => service.app.close());

  const withPasskey = async (username: string): Promise<[TestUser, SoftwareAuthenticator]> => {
    const person = await service.newUser(username);
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const options = await person.ok<CreationOptions>('POST', '/api/user/passkeys/options', { password: PASSWORD });
    await person.ok('POST', '/api/user/passkeys', { name: 'Laptop', credential: authenticator.create(options) });
    return [person, authenticator];
  };
  /** The passkey field as the page's script fills it in. */
  const passkeyField = async (authenticator: SoftwareAuthenticator, deviation = {}): Promise<string> => {
    const options = await service.anonymous().ok<RequestOptions>('POST', '/api/user/login/passkey/options');
    return JSON.stringify(authenticator.use(options, deviation));
  };
  const open = async () => {
    const browser = new ScriptlessBrowser(service);
    const { user_code } = await service.code();
    await browser.go('GET', `/authorize?code=${user_code}`);
    return { browser, user_code };
  };

  it('a passkey signs in on the page, and the code is then claimed by its account', async () => {
    const [, authenticator] = await withPasskey('ada');
    const { browser, user_code } = await open();
    assert.match(String(browser.headers['content-security-policy']), /script-src 'self'; connect-src 'self'/);
    assert.match(browser.html, /<form method="post" action="\/authorize\/passkey" hidden data-passkeys/);
    await browser.submit('passkey', { passkey: await passkeyField(authenticator, { forged: true }) });
    assert.match(browser.html, /could not be verified/);
    await browser.submit('passkey', { passkey: 'not json' });
    assert.match(browser.html, /could not be verified/);
    const passkey = await passkeyField(authenticator);
    await browser.submit('passkey', { passkey, form: 'forged' });
    assert.equal(await service.status(user_code), 'pending');
    await browser.submit('passkey', { passkey });
    assert.match(browser.html, /Signed in as <strong>ada/);
    await browser.submit('approve');
    assert.equal(await service.status(user_code), 'approved');
  });

  it('T03: an old session approves after the second step by a passkey of its own account', async () => {
    const [, own] = await withPasskey('bob');
    const [, foreign] = await withPasskey('eve');
    const { browser } = await open();
    await browser.logIn('bob');
    service.clock.advance(12 * HOUR_MS + 1);
    const { user_code } = await service.code();
    await browser.go('GET', `/authorize?code=${user_code}`);
    assert.match(browser.html, /Confirm with your passkey/);
    assert.doesNotMatch(browser.html, /id="otp"/);
    assert.match(browser.html, /data-passkeys="\[\{&#34;id&#34;/);
    await browser.submit('approve');
    assert.equal(await service.status(user_code), 'pending');
    await browser.submit('approve', { passkey: await passkeyField(foreign) });
    assert.match(browser.html, /could not be verified/);
    const used = await passkeyField(own);
    await service.anonymous().send('POST', '/api/user/login/passkey', { credential: JSON.parse(used) });
    await browser.submit('approve', { passkey: used });
    assert.match(browser.html, /has expired or was used already/);
    assert.equal(await service.status(user_code), 'pending');
    await browser.submit('approve', { passkey: await passkeyField(own) });
    assert.equal(await service.status(user_code), 'approved');
  });

  it('T03: with two-step verification on, a code works without scripts and a passkey with them', async () => {
    const [person, authenticator] = await withPasskey('joy');
    const { secret } = await person.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = () => totp.generate({ timestamp: service.clock.now() });
    await person.ok('POST', '/api/user/2fa/enable', { code: code() });
    service.clock.advance(60_000);
    const { browser } = await open();
    await browser.logIn('joy');
    await browser.submit('second-step', { passkey: await passkeyField(authenticator) });
    assert.match(browser.html, /Signed in as <strong>joy/);
    const proofs: readonly (() => Promise<Record<string, string>>)[] = [
      async () => ({ otp: code() }),
      async () => ({ passkey: await passkeyField(authenticator) }),
    ];
    for (const proof of proofs) {
      service.clock.advance(12 * HOUR_MS + 1);
      const { user_code } = await service.code();
      await browser.go('GET', `/authorize?code=${user_code}`);
      assert.match(browser.html, /id="otp"[\s\S]*Allow with a passkey/);
      await browser.submit('approve', await proof());
      assert.equal(await service.status(user_code), 'approved');
    }
  });

  it('T03: an old session lets an application in after a passkey of its own account, within the typed limits', async () => {
    const [person, own] = await withPasskey('ann');
    const [, foreign] = await withPasskey('mallory');
    const root = await service.root();
    const client = { client_id: 'app', name: 'App', type: 'public', redirect_uris: ['https://app.example/cb'] };
    await root.ok('POST', '/api/admin/device-clients', client);
    const request = new URLSearchParams({
      client_id: 'app',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'models',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const browser = new ScriptlessBrowser(service);
    const show = () => browser.go('GET', `/oauth/authorize?${request}`);
    await show();
    await browser.submit('passkey', { passkey: await passkeyField(own) });
    assert.match(browser.html, /Let this application in/);
    assert.doesNotMatch(browser.html, /data-passkeys/, 'a passkey was just used');
    service.clock.advance(12 * HOUR_MS + 1);
    await show();
    assert.match(
      browser.html,
      /<form id="approve"[^>]* action="\/oauth\/authorize\/approve" hidden data-passkeys="\[\{/,
    );
    assert.match(browser.html, /Not you\?/, 'the way out without scripts');
    const limits = { spend_limit_amount: '5', expires_in_days: '7' };
    const refusals: readonly [Record<string, string>, RegExp][] = [
      [{}, /code/],
      [{ passkey: await passkeyField(foreign) }, /could not be verified/],
      [{ passkey: 'not json' }, /could not be verified/],
    ];
    for (const [proof, message] of refusals) {
      await browser.submit('approve', { ...limits, ...proof });
      assert.deepEqual([browser.status, browser.leftTo], [400, undefined]);
      assert.match(browser.html, message);
      assert.match(browser.html, /value="5"[\s\S]*value="7"/, 'keeps the limits entered before');
    }
    await browser.submit('approve', { ...limits, passkey: await passkeyField(own) });
    assert.match(String(browser.leftTo), /[?&]code=/);
    const page = await fetchMetrics(service.url);
    assert.match(page, /reelgate_passkey_uses_total\{outcome="ok"\} [1-9]/);
    assert.match(page, /reelgate_passkey_uses_total\{outcome="wrong_passkey"\} [1-9]/);
    assert.ok(person.id > 0);
  });

  it('T173: leads to setting up a required second factor, and does not approve before', async () => {
    const root = service.anonymous();
    const kim = await service.newUser('kim');
    const { browser, user_code } = await open();
    await browser.logIn('kim');
    const approval = browser.fields('approve');
    await root.logIn('root', 'root-password-1');
    const application = {
      client_id: 'late-app',
      name: 'Late',
      type: 'public',
      redirect_uris: ['https://app.example/cb'],
    };
    await root.ok('POST', '/api/admin/device-clients', application);
    await root.ok('PUT', '/api/admin/settings/REQUIRE_SECOND_FACTOR', { value: 'all' });
    await browser.go('POST', '/authorize/approve', approval);
    assert.match(browser.html, /href="\/sign-in\/second-factor\?back=%2Fauthorize%3Fcode%3D/);
    assert.equal(await service.status(user_code), 'pending');
    const request = new URLSearchParams({
      client_id: 'late-app',
      redirect_uri: 'https://app.example/cb',
      response_type: 'code',
      scope: 'models',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const tab = new ScriptlessBrowser(service);
    tab.cookies.set('session', kim.cookies.get('session') ?? '');
    await tab.go('GET', `/oauth/authorize?${request}`);
    assert.match(tab.html, /Set up a second factor first/);
    assert.doesNotMatch(tab.html, /action="\/oauth\/authorize\/approve"/);
    const back = /second-factor\?back=([^"]*)"/.exec(tab.html)?.[1] ?? '';
    assert.match(decodeURIComponent(back), /^\/oauth\/authorize\?client_id=late-app&/);
  });
});
