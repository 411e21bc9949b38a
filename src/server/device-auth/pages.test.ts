import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../../../test/device-auth/scriptless-browser.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let bob: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    await service.newUser('ada');
    bob = await service.newUser('bob');
  });
  after(() => service.app.close());
  const open = async (user_code: string, address?: string): Promise<ScriptlessBrowser> => {
    const tab = new ScriptlessBrowser(service, address);
    await tab.go('GET', `/authorize?code=${user_code}`);
    return tab;
  };

  it('T03: shows the requesting client, its origin and the access, and approves only on a click', async () => {
    const code = await service.code({ client_name: 'Kitchen' }, '203.0.113.9');
    const tab = await open(code.user_code);
    assert.doesNotMatch(tab.html, /203\.0\.113\.9|Kitchen/, 'nothing before the login');
    await tab.logIn('ada');
    assert.equal(tab.status, 200);
    for (const shown of [
      code.user_code,
      'Reelgate CLI',
      'Kitchen',
      '203.0.113.9',
      'ada',
      'a different network',
      'UTC',
    ]) {
      assert.ok(tab.html.includes(shown), shown);
    }
    assert.doesNotMatch(tab.html, /autofocus|<script/);
    await tab.go('GET', `/authorize?code=${code.user_code}`);
    assert.equal(await service.status(code.user_code), 'pending');
    await tab.submit('approve');
    assert.match(tab.html, /Return to your device/);
    assert.match(tab.html, /href="\/account\/devices"/);
    assert.equal((await service.poll(code.device_code)).data?.username, 'ada');
  });

  it('T04: claims the code on login, by page or embedded endpoint, but not on viewing', async () => {
    const viewed = await service.code();
    await open(viewed.user_code);
    await bob.ok('POST', '/api/auth/device/approve', { user_code: viewed.user_code });
    const claimed = await service.code();
    const tab = await open(claimed.user_code);
    await tab.logIn('ada');
    for (const action of ['approve', 'deny']) {
      const message = await bob.fails(200, 'POST', `/api/auth/device/${action}`, { user_code: claimed.user_code });
      assert.match(message, /already approved or denied/);
    }
    const other = await open(claimed.user_code);
    await other.logIn('bob');
    assert.match(other.html, /already approved or denied/);
    const earlier = new ScriptlessBrowser(service);
    earlier.cookies.set('session', bob.cookies.get('session') ?? '');
    await earlier.go('GET', `/authorize?code=${claimed.user_code}`);
    assert.match(earlier.html, /already approved or denied/, 'to an account that was logged in before');
    await tab.submit('deny');
    assert.equal(await service.status(claimed.user_code), 'denied');

    const embedded = await service.code();
    const answer = await service.anonymous().send('POST', '/api/auth/device/login', {
      user_code: embedded.user_code,
      username: 'ada',
      password: PASSWORD,
    });
    assert.deepEqual(Object.keys(answer.body.data as object).sort(), ['id', 'username']);
    assert.ok(answer.cookies.some((line) => /^session=.*HttpOnly.*SameSite=Lax/i.test(line)));
    await bob.fails(200, 'POST', '/api/auth/device/approve', { user_code: embedded.user_code });
  });

  it('T06: rejects forms that another site could have made', async () => {
    const code = await service.code();
    const tab = await open(code.user_code);
    await tab.logIn('ada');
    const good = tab.fields('approve');
    const page = tab.html;
    const tries: readonly [Record<string, string>, Record<string, string>][] = [
      [{ ...good, form: '' }, {}],
      [{ ...good, form: `${good.form}x` }, {}],
      [{ ...good, form: tab.fields('deny').form ?? '' }, {}],
      [{ ...good, form: `9${good.form}` }, {}],
      [good, { 'sec-fetch-site': 'cross-site' }],
      [good, { 'sec-fetch-site': 'same-site' }],
      [good, { origin: 'https://evil.example' }],
    ];
    for (const [form, headers] of tries) {
      await tab.go('POST', '/authorize/approve', form, headers);
      assert.equal(tab.status, 403, JSON.stringify([form.form, headers]));
    }
    const otherTab = new ScriptlessBrowser(service);
    await otherTab.go('POST', '/authorize/approve', good);
    assert.equal(otherTab.status, 403, 'a form of another browser');
    await tab.go('GET', '/authorize/approve');
    assert.equal(tab.status, 405);
    assert.equal(await service.status(code.user_code), 'pending');
    tab.html = page;
    service.clock.advance(60 * 60_000);
    await tab.submit('approve');
    assert.equal(tab.status, 403, 'a form of an hour ago');
    const session = tab.cookies.get('session');
    for (const action of ['switch', 'second-step', 'deny', 'name', 'report']) {
      const form = { code: code.user_code, form: 'x', otp: '000000', name: 'Mine' };
      await tab.go('POST', `/authorize/${action}`, form);
      assert.equal(tab.status, 403, action);
      assert.equal(tab.cookies.get('session'), session, action);
    }
    // Login forms are protected too, so that no other site can log a browser in to an attacker's account.
    const fresh = await service.code();
    const victim = new ScriptlessBrowser(service);
    await victim.go('POST', '/authorize/login', {
      code: fresh.user_code,
      form: 'x',
      username: 'bob',
      password: PASSWORD,
    });
    assert.equal(victim.status, 403);
    assert.equal(victim.cookies.get('session'), undefined);
  });

  it('T06: rejects forms shown before the login in this browser changed', async () => {
    const code = await service.code();
    const tab = await open(code.user_code);
    await tab.logIn('bob');
    const shownToBob = tab.fields('approve');
    const bobsSession = tab.cookies.get('session') ?? '';
    await tab.submit('switch');
    await tab.go('POST', '/authorize/approve', shownToBob);
    assert.equal(tab.status, 403, 'after the logout');
    const ofAda = await service.newUser(`ada-${code.user_code.slice(0, 4).toLowerCase()}`);
    tab.cookies.set('session', ofAda.cookies.get('session') ?? '');
    await tab.go('POST', '/authorize/approve', shownToBob);
    assert.equal(tab.status, 403, 'with the session of somebody else');
    assert.notEqual(tab.cookies.get('session'), bobsSession);
    assert.equal(await service.status(code.user_code), 'pending');
  });

  it('T06: approves nothing on API requests that another site can make a browser send', async () => {
    const carol = await service.newUser('carol');
    const { user_code } = await service.code();
    const session = `session=${carol.cookies.get('session')}`;
    const json = JSON.stringify({ user_code });
    const inject = (headers: Record<string, string>, payload: string, method: 'GET' | 'POST' = 'POST', query = '') =>
      service.app.http.fastify.inject({
        method,
        url: `/api/auth/device/approve${query}`,
        headers: { cookie: session, ...headers },
        ...(method === 'POST' && { payload }),
      });
    // fetch in mode no-cors, sendBeacon and forms can set only these types, and no custom headers.
    const types = [
      'text/plain',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ];
    for (const type of types) {
      for (const site of [undefined, 'cross-site', 'same-site']) {
        const headers = { 'content-type': type, ...(site !== undefined && { 'sec-fetch-site': site }) };
        assert.notEqual((await inject(headers, json)).statusCode, 200, `${type} ${site}`);
        assert.notEqual((await inject(headers, `user_code=${user_code}`)).statusCode, 200, `${type} ${site}`);
      }
    }
    const own = { 'content-type': 'application/json', 'service-api-user': String(carol.id) };
    assert.equal((await inject({ 'content-type': 'application/json' }, json)).statusCode, 401, 'without the header');
    assert.equal((await inject({ ...own, 'sec-fetch-site': 'cross-site' }, json)).statusCode, 403);
    assert.equal((await inject({ ...own, origin: 'https://evil.example' }, json)).statusCode, 403);
    assert.notEqual((await inject(own, '', 'GET', `?user_code=${user_code}`)).statusCode, 200);
    const overridden = { ...own, 'x-http-method-override': 'POST' };
    assert.notEqual((await inject(overridden, '', 'GET', `?user_code=${user_code}&_method=POST`)).statusCode, 200);
    assert.equal(await service.status(user_code), 'pending');
    assert.equal((await inject(own, json)).statusCode, 200);
    assert.equal(await service.status(user_code), 'approved');
  });

  it('works for browsers without fetch metadata, which post with a null origin', async () => {
    const code = await service.code();
    const tab = await open(code.user_code);
    await tab.submit('login', { username: 'ada', password: PASSWORD }, { origin: 'null' });
    await tab.submit('approve', {}, { origin: 'null' });
    assert.equal(await service.status(code.user_code), 'approved');
    const body = { user_code: code.user_code };
    await bob.fails(403, 'POST', '/api/auth/device/deny', body, { origin: 'null' });
  });

  it('T05 and T07: sends every page, failures included, with isolating headers', async () => {
    const code = await service.code();
    const tab = new ScriptlessBrowser(service);
    const visits: readonly [string, number][] = [
      ['/authorize', 200],
      [`/authorize?code=${code.user_code}`, 200],
      ['/authorize?code=BBBB-BBBB', 400],
      ['/authorize?code=a&code=b', 400],
      [`/authorize?code=${'x'.repeat(65)}`, 400],
      ['/authorize/nothing', 404],
    ];
    for (const [url, status] of visits) {
      await tab.go('GET', url);
      assert.equal(tab.status, status, url);
      assert.match(String(tab.headers['content-type']), /^text\/html/, url);
      assert.match(String(tab.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/, url);
      assert.equal(tab.headers['referrer-policy'], 'no-referrer', url);
      assert.equal(tab.headers['x-frame-options'], 'DENY', url);
      assert.equal(tab.headers['cache-control'], 'no-store', url);
      assert.match(String(tab.headers['x-robots-tag']), /noindex/, url);
    }
  });

  it('shows the outcome of a code, and to others no more than verify does', async () => {
    const code = await service.code({ client_name: 'Kitchen' });
    await bob.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const otherTab = await open(code.user_code);
    assert.doesNotMatch(otherTab.html, /bob|Kitchen/);
    await service.poll(code.device_code);
    assert.match((await open(code.user_code)).html, /has signed in/);
    const expired = await service.code();
    service.clock.advance(600_000);
    assert.match((await open(expired.user_code)).html, /expired/);
  });

  it('names the approved device, before and after it collects its tokens', async () => {
    const code = await service.code({ client_name: 'host-7f3a' });
    const tab = await open(code.user_code);
    await tab.logIn('ada');
    await tab.submit('approve');
    assert.match(tab.html, /name="name"[^>]*value="host-7f3a"/);
    await tab.submit('name', { name: "Ada's <b>laptop</b>" });
    assert.match(tab.html, /role="status"/);
    assert.match(tab.html, /value="Ada&#39;s &#60;b&#62;laptop&#60;\/b&#62;"/);
    await service.poll(code.device_code);
    await tab.submit('name', { name: 'Laptop' });
    assert.match(tab.html, /has signed in/);
    assert.match(tab.html, /value="Laptop"/);
    const ada = service.anonymous();
    await ada.logIn('ada');
    const [device] = await ada.ok<{ name: string }[]>('GET', '/api/user/devices');
    assert.equal(device?.name, 'Laptop');
    // Another browser that opens the page cannot set the name.
    const form = tab.fields('name');
    const otherTab = await open(code.user_code);
    assert.doesNotMatch(otherTab.html, /Laptop|name="name"/);
    await otherTab.go('POST', '/authorize/name', { ...form, name: 'Mine' });
    assert.equal(otherTab.status, 403);
    await tab.go('POST', '/authorize/name', { ...form, form: 'x', name: 'Mine' });
    assert.equal(tab.status, 403);
    assert.equal((await ada.ok<{ name: string }[]>('GET', '/api/user/devices'))[0]?.name, 'Laptop');
  });

  it('lets another account log in by "Not you?"', async () => {
    const code = await service.code();
    const other = await service.code();
    const tab = await open(other.user_code);
    await tab.logIn('ada');
    const session = tab.cookies.get('session');
    await tab.go('GET', `/authorize?code=${code.user_code}`);
    await tab.submit('switch');
    assert.match(tab.html, /action="\/authorize\/login"/);
    await tab.logIn('bob');
    assert.match(tab.html, /<strong>bob<\/strong>/);
    assert.notEqual(tab.cookies.get('session'), session);
    await tab.submit('approve');
    assert.equal((await service.poll(code.device_code)).data?.username, 'bob');
  });

  it('lets another account log in for the same code by "Not you?", and nobody without it', async () => {
    const code = await service.code();
    const tab = await open(code.user_code);
    await tab.logIn('ada');
    const other = await open(code.user_code);
    await other.logIn('bob');
    assert.match(other.html, /this code was already approved or denied/);
    await tab.submit('switch');
    await tab.logIn('bob');
    assert.match(tab.html, /<strong>bob<\/strong>/);
    await tab.submit('approve');
    assert.equal((await service.poll(code.device_code)).data?.username, 'bob');
  });

  it('T03: notifies the owner of every new device', async () => {
    const cyd = await service.newUser('cyd');
    const listed = async () => (await cyd.send('GET', '/api/notifications/')).body.data as Record<string, unknown>[];
    const code = await service.code({ client_name: 'Kitchen' }, '203.0.113.9');
    assert.deepEqual(await listed(), []);
    await cyd.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const [notice, ...others] = await listed();
    assert.deepEqual(others, []);
    assert.equal(notice?.type, 'system');
    assert.equal(notice?.target_url, '/account/devices');
    assert.match(String(notice?.content), /Reelgate CLI.*Kitchen.*203\.0\.113\.9/);
  });

  it('T03: requires the second step again for an old login, sooner if the request came from another network', async () => {
    const dee = await service.newUser('dee');
    const { secret } = await dee.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const token = () => totp.generate({ timestamp: service.clock.now() });
    await dee.ok('POST', '/api/user/2fa/enable', { code: token() });
    service.clock.advance(60_000);
    const tab = await open((await service.code()).user_code);
    await tab.logIn('dee');
    await tab.submit('second-step', { otp: token() });
    assert.doesNotMatch(tab.html, /name="otp"/, 'it was shown just now');
    for (const [address, ageMs] of [
      ['203.0.113.9', 11 * 60_000],
      ['127.0.0.1', 12 * 60 * 60_000],
    ] as const) {
      service.clock.advance(ageMs);
      const code = await service.code({}, address);
      await tab.go('GET', `/authorize?code=${code.user_code}`);
      assert.match(tab.html, /name="otp"/);
      for (const otp of [undefined, '', '000000']) {
        await tab.submit('approve', otp === undefined ? {} : { otp });
        assert.match(tab.html, /id="error"/);
        assert.equal(await service.status(code.user_code), 'pending');
      }
      await tab.submit('approve', { otp: token() });
      assert.equal(await service.status(code.user_code), 'approved');
    }
    const last = await service.code({}, '203.0.113.9');
    await tab.go('GET', `/authorize?code=${last.user_code}`);
    await tab.submit('deny');
    assert.equal(await service.status(last.user_code), 'denied', 'to deny nothing is asked');
  });

  it('blocks the origin of a code that was denied and reported', async () => {
    const code = await service.code({}, '203.0.113.77');
    const ask = async (address: string) =>
      (await service.anonymous(address).send('POST', '/api/auth/device/code', { client_id: CLI.client_id })).status;
    const tab = await open(code.user_code);
    await tab.logIn('ada');
    const approvable = tab.fields('approve');
    await tab.submit('deny');
    const reportable = tab.fields('report');
    await tab.go('POST', '/authorize/report', approvable);
    assert.equal(tab.status, 403, 'the form of another action');
    assert.equal(await ask('203.0.113.77'), 200);
    const otherTab = await open((await service.code()).user_code);
    await otherTab.logIn('bob');
    await otherTab.go('GET', `/authorize?code=${code.user_code}`);
    assert.deepEqual(otherTab.fields('report'), {}, 'another account has nothing to report');
    await tab.go('POST', '/authorize/report', reportable);
    assert.match(tab.html, /Reported/);
    assert.equal(await ask('203.0.113.77'), 429);
    assert.equal(await ask('203.0.113.78'), 200);
    service.clock.advance(60 * 60_000);
    assert.equal(await ask('203.0.113.77'), 200);
    // The reporter's own network is not blocked.
    const own = await service.code();
    await tab.go('GET', `/authorize?code=${own.user_code}`);
    await tab.submit('deny');
    await tab.submit('report');
    assert.equal(await ask('127.0.0.1'), 200);
  });

  it('reports only a request that this account has denied', async () => {
    const code = await service.code({}, '198.51.100.77');
    const tab = await open(code.user_code);
    await tab.logIn('ada');
    await tab.submit('deny');
    const form = tab.fields('report');
    const approved = await service.code({}, '198.51.100.77');
    await tab.go('GET', `/authorize?code=${approved.user_code}`);
    await tab.submit('approve');
    await tab.go('POST', '/authorize/report', { ...form, code: approved.user_code });
    assert.notEqual(tab.status, 200);
    const request = await service.anonymous('198.51.100.77').send('POST', '/api/auth/device/code', CLI);
    assert.equal(request.status, 200, 'its network is not blocked');
  });

  it('T19: new codes allow no further password guesses, and five wrong ones close a code', async () => {
    await service.anonymous().register('target');
    let evaluated = 0;
    for (let i = 0; i < 30; i++) {
      const code = await service.code();
      const body = { user_code: code.user_code, username: 'target', password: `wrong-${i}` };
      const { status } = await service.anonymous(`192.0.2.${i}`).send('POST', '/api/auth/device/login', body);
      if (status !== 429) evaluated += 1;
    }
    assert.equal(evaluated, 10);
    const login = { username: 'target', password: PASSWORD };
    await service.anonymous('192.0.2.200').fails(429, 'POST', '/api/user/login', login);

    const code = await service.code();
    const tries = async (i: number) =>
      (
        await service.anonymous(`198.51.100.${i}`).send('POST', '/api/auth/device/login', {
          user_code: code.user_code,
          username: `nobody-${i}`,
          password: 'x',
        })
      ).status;
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push(await tries(i));
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    await bob.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
  });
});
