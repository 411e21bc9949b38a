import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { manualClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { createRateLimits } from '../platform/limits/rate-limits.ts';
import { migrations, type Tables } from '../tables.ts';

forEachDatabase((name, _open, freshUrl) => {
  const startTwo = async () => {
    const url = await freshUrl();
    const clock = manualClock();
    const databases = [openDatabase<Tables>(url), openDatabase<Tables>(url)] as const;
    await migrate(databases[0], migrations);
    // As in the app: limits are shared if the database is a server.
    const limitsOf = (database: Database<Tables>) =>
      createRateLimits({ clock, sharedDatabase: name === 'postgres' ? (database.kysely as never) : undefined });
    const one = await startAccounts(databases[0], { clock, dependencies: { limits: limitsOf(databases[0]) } });
    const two = await startAccounts(databases[1], { clock, dependencies: { limits: limitsOf(databases[1]) } });
    const close = async () => {
      for (const service of [one, two]) await service.close();
      for (const database of databases) await database.close();
    };
    return { one, two, close };
  };

  it('ends sessions, keys and bans for the next request on the other replica', async () => {
    const { one, two, close } = await startTwo();
    const here = await one.newUser('replicated');
    const root = two.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
    const there = two.anonymous();
    for (let round = 0; round < 30; round++) {
      await here.logIn('replicated');
      there.id = here.id;
      there.cookies.set('session', here.cookies.get('session') ?? '');
      const made = await here.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'k' });
      const headers = { 'x-api-key': made.key };
      const byKey = () => two.accounts.authenticator.model({ headers, session: undefined, clientIp: '127.0.0.1' });
      await there.ok('GET', '/api/user/self');
      await byKey();
      await here.ok('DELETE', `/api/tokens/${made.id}`);
      await assert.rejects(byKey(), { code: 'invalid_api_key' });
      await here.ok('POST', '/api/user/logout');
      await there.fails(401, 'GET', '/api/user/self');
    }
    await here.logIn('replicated');
    await root.ok('PUT', `/api/admin/users/${here.id}`, { status: 2 });
    await here.fails(401, 'GET', '/api/user/self');
    await close();
  });

  it('applies a change of a key to the next request on every replica', async () => {
    const { one, two, close } = await startTwo();
    const owner = await one.newUser('changing');
    const expires_at = Math.floor(one.clock.now() / 1000) + 3_600;
    const made = await owner.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'k', expires_at });
    const calls = (replica: typeof one) =>
      replica.accounts.authenticator.model({
        headers: { 'x-api-key': made.key },
        session: undefined,
        clientIp: '192.0.2.7',
      });
    const change = (settings: object) => owner.ok('PUT', `/api/tokens/${made.id}`, settings);
    for (const replica of [one, two]) assert.deepEqual((await calls(replica)).models, []);

    await change({ models: ['a-model'], requests_per_minute: 5, concurrent_tasks: 2 });
    for (const replica of [one, two]) {
      const { models, limits } = await calls(replica);
      assert.deepEqual(models, ['a-model']);
      assert.deepEqual([limits?.requestsPerMinute, limits?.concurrentTasks], [5, 2]);
    }
    await change({ allowed_addresses: ['198.51.100.0/24'] });
    for (const replica of [one, two]) await assert.rejects(calls(replica), { code: 'address_not_allowed' });
    await change({ allowed_addresses: [], expires_at: expires_at - 3_000 });
    for (const replica of [one, two]) await calls(replica);
    one.clock.advance(600_000);
    for (const replica of [one, two]) await assert.rejects(calls(replica), { code: 'invalid_api_key' });
    await close();
  });

  // Skipped on SQLite, which serves one process with its own counters.
  if (name === 'sqlite') return;

  it('shares one limit on wrong passwords, and lets the owner log in after its window has ended', async () => {
    const { one, two, close } = await startTwo();
    const owner = await one.newUser('attacked');
    let guesses = 0;
    const guessAtOnce = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => {
          const guess = guesses++;
          return (guess % 2 === 0 ? one : two)
            .anonymous(`10.2.${guess >> 8}.${guess & 255}`)
            .send('POST', '/api/user/login', { username: 'attacked', password: `guess ${guess}` });
        }),
      );
    const right = { username: 'attacked', password: PASSWORD };
    for (let window = 0; window < 2; window++) {
      const answers = [...(await guessAtOnce(40)), ...(await guessAtOnce(40)), ...(await guessAtOnce(40))];
      assert.equal(answers.filter((answer) => answer.status === 200).length, 10);
      const refused = await two.anonymous(`10.3.1.${window}`).send('POST', '/api/user/login', right);
      assert.equal(refused.status, 429);
      // An existing session is not affected.
      await owner.ok('GET', '/api/user/self');
      const seconds = Number(refused.headers['retry-after']);
      assert.ok(seconds > 0 && seconds <= 900, String(seconds));
      one.clock.advance(seconds * 1000);
      for (const replica of [one, two]) await replica.anonymous('10.3.0.1').ok('POST', '/api/user/login', right);
    }
    await close();
  });

  it('shares one limit on registrations', async () => {
    const { one, two, close } = await startTwo();
    await one.anonymous().register('taken-name');
    const body = { username: 'taken-name', password: PASSWORD };
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        (index % 2 === 0 ? one : two).anonymous('10.4.0.1').send('POST', '/api/user/register', body),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 200).length, 100);
    await two.anonymous('10.4.0.1').fails(429, 'POST', '/api/user/register', { ...body, username: 'free-name' });
    await close();
  });
});
