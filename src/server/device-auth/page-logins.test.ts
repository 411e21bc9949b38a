import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
  });
  after(() => service.app.close());

  const open = async (user_code: string): Promise<ScriptlessBrowser> => {
    const tab = new ScriptlessBrowser(service);
    await tab.go('GET', `/authorize?code=${user_code}`);
    return tab;
  };
  const sessionsOf = async (userId: number) =>
    (await service.app.database.kysely.selectFrom('sessions').select('id').where('user_id', '=', userId).execute())
      .length;

  it('T06: forms of an ended login decide nothing and lead to the login', async () => {
    const decided = await service.code();
    const pending = await service.code({ client_name: 'Kitchen' });
    const tab = await open(decided.user_code);
    await tab.logIn('ada');
    await tab.submit('approve');
    const name = tab.fields('name');
    await tab.go('GET', `/authorize?code=${pending.user_code}`);
    const forms = { approve: tab.fields('approve'), deny: tab.fields('deny'), name, switch: tab.fields('switch') };
    await service.app.database.kysely.deleteFrom('sessions').where('user_id', '=', ada.id).execute();
    for (const [action, form] of Object.entries(forms)) {
      await tab.go('POST', `/authorize/${action}`, { ...form, name: 'Changed' });
      assert.equal(tab.status, 200, action);
    }
    assert.equal(await service.status(pending.user_code), 'pending');
    const row = await service.app.database.kysely
      .selectFrom('device_codes')
      .select('client_name')
      .where('user_code', '=', decided.user_code.replace('-', ''))
      .executeTakeFirst();
    assert.equal(row?.client_name, '');
    await tab.go('GET', `/authorize?code=${pending.user_code}`);
    assert.match(tab.html, /action="\/authorize\/login"/);
    await ada.logIn('ada');
  });

  it('"Not you?" ends the session itself, not only its cookie', async () => {
    const bob = await service.newUser('bob');
    const before = await sessionsOf(bob.id);
    const tab = await open((await service.code()).user_code);
    await tab.logIn('bob');
    assert.equal(await sessionsOf(bob.id), before + 1);
    await tab.submit('switch');
    assert.equal(tab.cookies.get('session'), undefined);
    assert.equal(await sessionsOf(bob.id), before, "the page's own session, and no other");
  });

  it("keeps the browser's form cookie, unless it is longer than one the service issues", async () => {
    const { user_code } = await service.code();
    const tab = await open(user_code);
    const first = tab.cookies.get('authorize_form');
    assert.match(first ?? '', /^rgf_[0-9A-Za-z]{32}$/);
    await tab.go('GET', `/authorize?code=${user_code}`);
    assert.equal(tab.cookies.get('authorize_form'), first);
    tab.cookies.set('authorize_form', 'x'.repeat(100));
    await tab.go('GET', `/authorize?code=${user_code}`);
    assert.match(tab.cookies.get('authorize_form') ?? '', /^rgf_[0-9A-Za-z]{32}$/);
  });

  it('T06: hides the form cookie from scripts and other sites', async () => {
    const tab = await open((await service.code()).user_code);
    const cookie = [tab.headers['set-cookie'] ?? []].flat().map(String);
    assert.match(cookie.find((line) => line.startsWith('authorize_form=')) ?? '', /Path=\/; HttpOnly; SameSite=Lax/);
  });

  it('clears the pending login after the second step', async () => {
    const fay = await service.newUser('fay');
    const { secret } = await fay.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const otp = () => totp.generate({ timestamp: service.clock.now() });
    await fay.ok('POST', '/api/user/2fa/enable', { code: otp() });
    service.clock.advance(60_000);
    const tab = await open((await service.code()).user_code);
    await tab.logIn('fay');
    const half = [...tab.cookies.keys()];
    await tab.submit('second-step', { otp: otp() });
    assert.match(tab.html, /<strong>fay<\/strong>/);
    assert.deepEqual(
      half.filter((name) => !tab.cookies.has(name)),
      ['pending_login'],
    );
  });

  it('shows both names of an account, and no disabled account', async () => {
    const gus = await service.newUser('gus');
    const { user_code } = await service.code();
    const tab = new ScriptlessBrowser(service);
    tab.cookies.set('session', gus.cookies.get('session') ?? '');
    const visit = () => tab.go('GET', `/authorize?code=${user_code}`);
    await visit();
    assert.match(tab.html, /<strong>gus<\/strong>/);
    await gus.ok('PUT', '/api/user/self', { display_name: 'Gustav' });
    await visit();
    assert.match(tab.html, /<strong>Gustav \(gus\)<\/strong>/);
    // Written directly: a ban by an administrator would end the session as well.
    await service.app.database.kysely.updateTable('accounts').set({ status: 2 }).where('id', '=', gus.id).execute();
    await visit();
    assert.match(tab.html, /action="\/authorize\/login"/);
  });

  it('tells others only that an approved code needs no further action, with no retry time', async () => {
    const { user_code } = await service.code();
    await ada.ok('POST', '/api/auth/device/approve', { user_code });
    const tab = await open(user_code);
    assert.match(tab.html, /<h1>Nothing to do here<\/h1>/);
    await tab.go('GET', '/authorize?code=BBBB-BBBB');
    assert.deepEqual([tab.status, tab.headers['retry-after']], [400, undefined]);
  });

  it('logs in for a code by the embedded endpoint, with the second step if the account has one', async () => {
    const dee = await service.newUser('dee');
    const { secret } = await dee.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const otp = () => totp.generate({ timestamp: service.clock.now() });
    await dee.ok('POST', '/api/user/2fa/enable', { code: otp() });
    service.clock.advance(60_000);
    const code = await service.code();
    const login = async (username: string, user_code: string) => {
      const person = service.anonymous();
      const answer = await person.send('POST', '/api/auth/device/login', { user_code, username, password: PASSWORD });
      assert.deepEqual([answer.status, answer.body.success], [200, true]);
      return { person, data: answer.body.data };
    };
    const { person, data } = await login('dee', code.user_code);
    assert.deepEqual(data, { require_2fa: true });
    assert.equal(person.cookies.get('session'), undefined, 'not before the second step');
    await ada.fails(200, 'POST', '/api/auth/device/approve', { user_code: 'BBBB-BBBB' });
    const finished = await person.ok<{ id: number }>('POST', '/api/user/login/2fa', { code: otp() });
    assert.equal(finished.id, dee.id);
    const message = await ada.fails(200, 'POST', '/api/auth/device/approve', { user_code: code.user_code });
    assert.match(message, /already approved or denied/, 'the second step claimed the code');
    const plain = await login('ada', (await service.code()).user_code);
    assert.deepEqual(plain.data, { id: ada.id, username: 'ada' });
  });

  it('T19: five wrong passwords close a code to logins, correct ones do not', async () => {
    const { user_code } = await service.code();
    const login = async (password: string) =>
      (await service.anonymous().send('POST', '/api/auth/device/login', { user_code, username: 'ada', password }))
        .status;
    for (let i = 0; i < 8; i++) assert.equal(await login(PASSWORD), 200);
    for (let i = 0; i < 5; i++) assert.equal(await login(`wrong-${i}`), 200);
    assert.equal(await login(PASSWORD), 429);
  });

  it("T02: reads a client's id from the authorization header, or from a form that agrees with it", async () => {
    const ask = async (authorization: string, form: Record<string, string> = {}) => {
      const answer = await service.app.http.fastify.inject({
        method: 'POST',
        url: form.token === undefined ? '/oauth/device_authorization' : '/oauth/revoke',
        payload: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', authorization },
      });
      return [answer.statusCode, answer.json().error];
    };
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    const right = basic(`${CLI.client_id}:${CLI.client_secret}`);
    assert.deepEqual(await ask(right), [200, undefined]);
    assert.deepEqual(await ask(basic(`${encodeURIComponent(CLI.client_id)}:`)), [200, undefined], 'needs no secret');
    assert.deepEqual(await ask(basic(`${CLI.client_id}x`)), [401, 'invalid_client'], 'no colon');
    const token = { token: 'rgat_unknown' };
    assert.deepEqual(await ask(right, token), [200, undefined]);
    assert.deepEqual(await ask(right, { ...token, client_id: CLI.client_id }), [200, undefined]);
    assert.deepEqual(await ask(right, { ...token, client_id: 'other' }), [401, 'invalid_client']);
    const parts: Record<string, string>[] = [{ client_id: CLI.client_id }, { client_secret: CLI.client_secret }];
    for (const part of parts) {
      const answer = await service.app.http.fastify.inject({
        method: 'POST',
        url: '/oauth/revoke',
        payload: new URLSearchParams({ ...token, ...part }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      assert.deepEqual([answer.statusCode, answer.json().error], [401, 'invalid_client']);
    }
  });
});
