import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

/** Runs many operations concurrently, spread over the processes. */
const race = <T>(times: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => run(index)));

/** `npm run hammer` sets more rounds for releases. */
const ROUNDS = Number(process.env.RACE_ROUNDS ?? '5');

forEachDatabase((dialect, _open, freshUrl) => {
  /** Two processes' worth of the service on PostgreSQL; SQLite has one process. */
  let services: DeviceAuthFixture[];
  let first: DeviceAuthFixture;
  let ada: TestUser;
  let bob: TestUser;
  const on = (index: number): DeviceAuthFixture => services[index % services.length] ?? first;

  before(async () => {
    const url = await freshUrl();
    const masterKey = randomBytes(32).toString('base64');
    first = await startDeviceService(url, { masterKey });
    services = [first];
    if (dialect === 'postgres') services.push(await startDeviceService(url, { masterKey, clock: first.clock }));
    ada = await first.newUser('ada');
    bob = await first.newUser('bob');
  });
  after(async () => {
    for (const service of services) await service.app.close();
  });

  const as = (service: DeviceAuthFixture, person: TestUser): TestUser => {
    const same = service.anonymous();
    same.id = person.id;
    for (const [name, value] of person.cookies) same.cookies.set(name, value);
    return same;
  };
  const count = async (table: 'device_authorizations' | 'device_refresh_tokens', id: number): Promise<number> => {
    const rows = await first.app.database.kysely
      .selectFrom(table)
      .select((row) => row.fn.countAll<number>().as('n'))
      .where(table === 'device_authorizations' ? 'device_authorizations.id' : 'authorization_id', '=', id as never)
      .executeTakeFirstOrThrow();
    return Number(rows.n);
  };
  const codeId = async (user_code: string): Promise<number> =>
    (
      await first.app.database.kysely
        .selectFrom('device_codes')
        .select('id')
        .where('user_code', '=', user_code.replace('-', ''))
        .executeTakeFirstOrThrow()
    ).id;
  const llmTokens = async (): Promise<number> => {
    const row = await first.app.database.kysely
      .selectFrom('tokens')
      .select((each) => each.fn.countAll<number>().as('n'))
      .where('kind', '=', 'llm')
      .executeTakeFirstOrThrow();
    return Number(row.n);
  };

  it('T08: of 50 concurrent polls of one code exactly one gets tokens', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const code = await first.code();
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const before = await llmTokens();
      const answers = await race(50, (index) => on(index).poll(code.device_code));
      assert.equal(answers.filter((answer) => answer.success).length, 1);
      assert.equal(answers.filter((answer) => answer.error === 'invalid_grant').length, 49);
      assert.equal((await llmTokens()) - before, 1);
      assert.equal(await count('device_authorizations', await codeId(code.user_code)), 1);
      assert.equal(await count('device_refresh_tokens', await codeId(code.user_code)), 1);
    }
  });

  it('T09: of concurrent approve and deny one succeeds, and the other returns the outcome', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const code = await first.code();
      const body = { user_code: code.user_code };
      const [approved, denied] = await Promise.all([
        as(on(0), ada).send('POST', '/api/auth/device/approve', body),
        as(on(1), ada).send('POST', '/api/auth/device/deny', body),
      ]);
      assert.notEqual(approved.body.success, denied.body.success);
      const polled = await first.poll(code.device_code);
      assert.equal(polled.success, approved.body.success);
      if (denied.body.success) assert.equal(polled.error, 'access_denied');
    }
  });

  it('T04: of two accounts that claim a code one succeeds', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const code = await first.code();
      const answers = await race(10, (index) =>
        as(on(index), index % 2 === 0 ? ada : bob).send('POST', '/api/auth/device/approve', {
          user_code: code.user_code,
        }),
      );
      assert.equal(answers.filter((answer) => answer.body.success).length, 1);
    }
  });

  it('T31: of 20 concurrent refreshes one succeeds and the chain stays valid', async () => {
    let tokens = await first.signIn(ada);
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await race(20, (index) => on(index).refresh(tokens.refresh_token));
      const won = answers.filter((answer) => answer.success);
      assert.equal(won.length, 1);
      assert.equal(answers.filter((answer) => answer.error === 'invalid_grant').length, 19);
      tokens = { ...tokens, ...won[0]?.data };
      for (const service of services) {
        assert.equal((await service.sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 200);
      }
    }
    assert.equal(await first.acceptsModelKey(tokens.llm_token), true);
  });

  it('T13: a concurrent ban and poll leave no valid tokens', async () => {
    const root = await first.root();
    for (let round = 0; round < ROUNDS; round++) {
      // A new address per round, because registrations by address are limited.
      const victim = await first.newUser(`victim${round}`, `10.0.${round >> 8}.${round & 255}`);
      const code = await first.code();
      await victim.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const [polled] = await Promise.all([
        on(1).poll(code.device_code),
        root.ok('PUT', `/api/admin/users/${victim.id}`, { status: 2 }),
      ]);
      await root.ok('PUT', `/api/admin/users/${victim.id}`, { status: 1 });
      if (polled.data !== undefined) {
        assert.equal((await first.sendAsDevice(polled.data, victim.id, 'GET', '/api/user/self')).status, 401);
        assert.equal(await first.acceptsModelKey(polled.data.llm_token), false);
      }
      assert.equal((await first.poll(code.device_code)).success, false);
    }
  });

  it('T33: a logout takes effect immediately on every replica', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const tokens = await first.signIn(ada);
      const headers = { authorization: `Bearer ${tokens.access_token}` };
      assert.equal((await on(1).sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 200);
      assert.equal(await on(1).acceptsModelKey(tokens.llm_token), true);
      assert.equal(
        (await on(0).anonymous().send('POST', '/api/auth/device/logout', undefined, headers)).body.success,
        true,
      );
      assert.equal((await on(1).sendAsDevice(tokens, ada.id, 'GET', '/api/user/self')).status, 401);
      assert.equal(await on(1).acceptsModelKey(tokens.llm_token), false);
      assert.equal((await on(1).refresh(tokens.refresh_token)).success, false);
    }
  });

  it('of two concurrent logouts, one finds the device', async () => {
    const tokens = await first.signIn(ada);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const answers = await race(10, (index) =>
      on(index).anonymous().send('POST', '/api/auth/device/logout', undefined, headers),
    );
    assert.equal(answers.filter((answer) => answer.body.success).length, 1);
  });
});
