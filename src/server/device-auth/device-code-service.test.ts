import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { CLI, type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DeviceCodeStore } from './code-store.ts';
import { formatUserCode, newUserCode } from './codes.ts';

/** Random codes tried from one network. */
const WRONG_CODES = Number(process.env.WRONG_CODES ?? '1000');

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  let bob: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
    bob = await service.newUser('bob');
  });
  after(() => service.app.close());
  const clean = (address: string): TestUser => {
    const person = service.anonymous(address);
    person.id = ada.id;
    for (const [name, value] of ada.cookies) person.cookies.set(name, value);
    return person;
  };

  it('T01: checks ten wrong codes from an IP over all five endpoints, then answers 429, even to correct codes', async () => {
    const code = await service.code();
    const user_code = code.user_code;
    const wrong = 'BBBB-BBBB';
    const here = clean('198.51.100.7');
    // Requests with an existing code do not count against the limit.
    for (let i = 0; i < 30; i++) assert.equal((await service.verify(user_code, here.address)).body.success, true);
    const ways = [
      () => here.send('GET', `/api/auth/device/verify?user_code=${wrong}`),
      () => here.send('POST', '/api/auth/device/login', { user_code: wrong, username: 'ada', password: 'x' }),
      () => here.send('POST', '/api/auth/device/approve', { user_code: wrong }),
      () => here.send('POST', '/api/auth/device/deny', { user_code: wrong }),
      async () => {
        const page = await service.app.http.fastify.inject({
          url: `/authorize?code=${wrong}`,
          remoteAddress: here.address,
        });
        return { status: page.statusCode, headers: page.headers };
      },
    ];
    for (let i = 0; i < 2; i++) for (const way of ways) assert.notEqual((await way()).status, 429);
    for (const way of ways) {
      const refused = await way();
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers['retry-after']) > 0);
    }
    assert.equal((await service.verify(user_code, here.address)).status, 429, 'a guesser learns of no hit');
    assert.equal((await service.verify(user_code, '198.51.100.8')).body.success, true);
    service.clock.advance(600_000);
    assert.equal((await service.verify(wrong, here.address)).status, 200);
  });

  it(`T01: checks 10 of ${WRONG_CODES} wrong codes from one IP, and counts a /64 as one IP`, async () => {
    let answered = 0;
    // More concurrent requests would wait so long for a connection on a busy machine that the process falls back to its
    // own counter, which allows five more.
    const atOnce = 50;
    for (let done = 0; done < WRONG_CODES; done += atOnce) {
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, i) =>
          service.verify(formatUserCode(newUserCode()), `2001:db8:7:7::${(done + i).toString(16)}`),
        ),
      );
      for (const { status, headers } of answers) {
        if (status === 200) answered += 1;
        else assert.ok(status === 429 && Number(headers['retry-after']) > 0, `${status}, ${headers['retry-after']}`);
      }
    }
    assert.equal(answered, 10);
  });

  it('T01: no two live records share a code', async () => {
    const { user_code } = await service.code();
    const { kysely } = service.app.database;
    const store = new DeviceCodeStore(service.app.database);
    const { id: _, ...row } = await kysely
      .selectFrom('device_codes')
      .selectAll()
      .where('user_code', '=', user_code.replace('-', ''))
      .executeTakeFirstOrThrow();
    assert.equal(await store.insert({ ...row, device_code_hash: 'another' }), false);
    assert.equal(await store.insert({ ...row, device_code_hash: 'another', user_code: newUserCode() }), true);
  });

  it('T14: deletes the pending codes of the same device, whichever client requested them, and nothing else', async () => {
    const root = await service.root();
    const other = await root.ok<{ client_id: string }>('POST', '/api/admin/device-clients', { name: 'Other' });
    const mine = { device_id: 'laptop' };
    const older = await service.code(mine);
    const elsewhere = await service.code({ device_id: 'desktop' });
    const foreign = await service.code({ ...mine, client_id: other.client_id });
    assert.equal(await service.status(older.user_code), 'invalid');
    const denied = await service.code(mine);
    await ada.ok('POST', '/api/auth/device/deny', { user_code: denied.user_code });
    assert.equal(await service.status(foreign.user_code), 'invalid');
    const approved = await service.code(mine);
    await ada.ok('POST', '/api/auth/device/approve', { user_code: approved.user_code });
    const fresh = await service.code(mine);
    const states = [elsewhere, denied, approved, fresh].map((code) => service.status(code.user_code));
    assert.deepEqual(await Promise.all(states), ['pending', 'denied', 'approved', 'pending']);
  });

  it('T14: an empty device_id matches nothing; ids are cut after 100 code points', async () => {
    const codes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => service.code(i % 2 ? {} : { device_id: '' })),
    );
    await service.code({ device_id: '' });
    const states = await Promise.all(codes.map((code) => service.status(code.user_code)));
    assert.ok(states.every((state) => state === 'pending'));
    const astral = `${'x'.repeat(99)}😀`;
    const first = await service.code({ device_id: `${astral}one` });
    const second = await service.code({ device_id: `${astral}two` });
    assert.equal(await service.status(first.user_code), 'invalid', 'equal after the cut');
    await service.code({ device_id: `${'x'.repeat(99)}😁` });
    assert.equal(await service.status(second.user_code), 'pending', 'the hundredth differs');
  });

  it('T14: ends older sign-ins of the same device and account at approval', async () => {
    const body = { device_id: 'tablet' };
    const old = await service.signIn(ada, body);
    const others = await service.signIn(bob, body);
    const uncollected = await service.code({ ...body, device_id: 'phone' });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: uncollected.user_code });
    const code = await service.code(body);
    assert.equal(await service.acceptsModelKey(old.llm_token), true, 'asking for a code ends nothing');
    await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    assert.equal(await service.acceptsModelKey(old.llm_token), false);
    assert.equal((await service.sendAsDevice(old, ada.id, 'GET', '/api/user/self')).status, 401);
    assert.equal(await service.acceptsModelKey(others.llm_token), true);
    assert.equal((await service.poll(uncollected.device_code)).success, true, 'another device of the account');
  });

  it('T12: a lost response leaves no orphan after the next approval', async () => {
    const lost = await service.signIn(ada, { device_id: 'train' });
    await service.signIn(ada, { device_id: 'train' });
    assert.equal(await service.acceptsModelKey(lost.llm_token), false);
    assert.equal((await service.refresh(lost.refresh_token)).error, 'invalid_grant');
  });

  it('T18: enforces expiry to the millisecond, for verify, login, approve, deny and token alike', async () => {
    const code = await service.code();
    service.clock.advance(599_999);
    assert.equal(await service.status(code.user_code), 'pending');
    service.clock.advance(1);
    const body = { user_code: code.user_code };
    assert.equal(await service.status(code.user_code), 'expired');
    assert.equal((await service.poll(code.device_code)).error, 'expired_token');
    assert.match(await ada.fails(200, 'POST', '/api/auth/device/approve', body), /expired/);
    assert.match(await ada.fails(200, 'POST', '/api/auth/device/deny', body), /expired/);
    const login = { ...body, username: 'ada', password: 'wrong' };
    assert.match(await service.anonymous().fails(200, 'POST', '/api/auth/device/login', login), /expired/);
  });

  it('T14: ends an uncollected approval when the same device is approved again', async () => {
    const first = await service.code({ device_id: 'one' });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: first.user_code });
    const again = await service.code({ device_id: 'one' });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: again.user_code });
    assert.equal((await service.poll(first.device_code)).error, 'invalid_grant');
    assert.equal((await service.poll(again.device_code)).data?.username, 'ada');
  });

  it('T14 and T18: the deciding writes check the expiry and the device_id themselves', async () => {
    const { user_code } = await service.code();
    const { database } = service.app;
    const store = new DeviceCodeStore(database);
    const plain = user_code.replace('-', '');
    const end = service.clock.now() + 600_000;
    const decision = {
      status: 'denied' as const,
      user_id: ada.id,
      access_expires_at: null,
      refresh_expires_at: null,
      organization_id: null,
      sweep_at: end,
    };
    const decide = (at: number) =>
      database.transaction((trx) => store.decide(trx, plain, { ...decision, decided_at: at }));
    assert.equal(await database.transaction((trx) => store.claim(trx, plain, ada.id, end)), false);
    assert.equal(await decide(end), undefined);
    await database.transaction((trx) => store.deletePendingOfDevice(trx, '', service.clock.now()));
    assert.equal(await service.status(user_code), 'pending');
    assert.equal((await decide(end - 1))?.status, 'denied');
  });

  it('keeps ended codes for 24 hours, and no uncollected approval for longer', async () => {
    const make = () => service.code();
    const [expired, denied, used, uncollected] = [await make(), await make(), await make(), await make()];
    await ada.ok('POST', '/api/auth/device/deny', { user_code: denied.user_code });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: used.user_code });
    const tokens = (await service.poll(used.device_code)).data;
    assert.ok(tokens);
    await ada.ok('POST', '/api/auth/device/approve', { user_code: uncollected.user_code });
    const errors = async () =>
      Promise.all([expired, denied, used].map(async (code) => (await service.poll(code.device_code)).error));
    service.clock.advance(24 * 3600_000 - 1_000);
    assert.deepEqual(await errors(), ['expired_token', 'access_denied', 'invalid_grant']);
    assert.equal(await service.status(used.user_code), 'used');
    service.clock.advance(2_000);
    assert.equal((await service.poll(uncollected.device_code)).error, 'invalid_grant');
    assert.equal(await service.status(denied.user_code), 'invalid');
    const store = new DeviceCodeStore(service.app.database);
    assert.ok((await store.deleteExpired(service.clock.now(), 1_000)) >= 4);
    assert.equal(await store.deleteExpired(service.clock.now(), 1_000), 0);
    assert.equal(
      (await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status,
      200,
      'the device goes on',
    );
  });

  it('T21: rejects values that are not text, in the envelope, with 400', async () => {
    const visitor = service.anonymous();
    for (const junk of [['A'], {}, 7, null, true, '']) {
      for (const [path, field] of [
        ['/api/auth/device/code', 'client_id'],
        ['/api/auth/device/login', 'user_code'],
      ] as const) {
        const body = { client_id: CLI.client_id, user_code: 'BBBB-BBBB', username: 'a', password: 'b', [field]: junk };
        await visitor.fails(400, 'POST', path, body);
      }
      await ada.fails(400, 'POST', '/api/auth/device/approve', { user_code: junk });
      for (const path of ['/api/auth/device/token', '/api/auth/device/refresh']) {
        const answer = await visitor.send('POST', path, { ...CLI, device_code: junk, refresh_token: junk });
        assert.deepEqual([answer.status, answer.body.error, answer.body.success], [200, 'invalid_request', false]);
      }
    }
    await visitor.fails(400, 'GET', '/api/auth/device/verify');
    await visitor.fails(400, 'GET', '/api/auth/device/verify?user_code=A&user_code=B');
    await visitor.fails(400, 'GET', `/api/auth/device/verify?user_code=${'B'.repeat(65)}`);
    await visitor.fails(400, 'POST', '/api/auth/device/code', { client_id: CLI.client_id, client_name: 'a\u0000b' });
    for (const payload of ['{', '', '[1', 'a=b']) {
      const answer = await service.app.http.fastify.inject({
        method: 'POST',
        url: '/api/auth/device/token',
        headers: { 'content-type': 'application/json' },
        payload,
      });
      assert.equal(answer.json().error, 'invalid_request', payload);
      if (payload !== '') assert.equal(answer.statusCode, 400, payload);
    }
    const form = await service.app.http.fastify.inject({
      method: 'POST',
      url: '/api/auth/device/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'device_code=x',
    });
    assert.equal(form.statusCode, 415);
  });
});

describe('code creation limits', () => {
  it('T17: limits codes per IP and per client over ten minutes, and adds no rows beyond that', async (t) => {
    const codeLimits = { perIp: 20, perClient: 50 };
    const service = await startDeviceService('sqlite::memory:', { codeLimits });
    t.after(() => service.app.close());
    const ask = async (address: string) =>
      service.anonymous(address).send('POST', '/api/auth/device/code', { client_id: CLI.client_id });
    for (let i = 0; i < 100; i++) {
      const answer = await ask('192.0.2.1');
      assert.equal(answer.status, i < 20 ? 200 : 429);
      if (i >= 20) assert.ok(Number(answer.headers['retry-after']) > 0);
    }
    for (let i = 0; i < 100; i++) await ask(`192.0.2.${i + 2}`);
    const { n } = await service.app.database.kysely
      .selectFrom('device_codes')
      .select((row) => row.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    assert.equal(Number(n), 50);
    service.clock.advance(600_000);
    assert.equal((await ask('192.0.2.1')).status, 200);
  });
});
