import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PASSWORD } from '../../../test/accounts/person.ts';
import { ROOT, startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';
import { migrations } from '../migrations.ts';
import { handClock } from '../platform/clock.ts';
import { type Database, openDatabase } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { makeLimits } from '../platform/limits/limits.ts';
import type { Tables } from '../tables.ts';

forEachDatabase((name, _open, freshUrl) => {
  const startTwo = async () => {
    const url = await freshUrl();
    const clock = handClock();
    const databases = [openDatabase<Tables>(url), openDatabase<Tables>(url)] as const;
    await migrate(databases[0], migrations);
    // As the app does it: limits are shared where the database is a server.
    const limitsOf = (database: Database<Tables>) =>
      makeLimits({ clock, sharedDatabase: name === 'postgres' ? (database.kysely as never) : undefined });
    const one = await startService(databases[0], { clock, parts: { limits: limitsOf(databases[0]) } });
    const two = await startService(databases[1], { clock, parts: { limits: limitsOf(databases[1]) } });
    const close = async () => {
      for (const service of [one, two]) await service.close();
      for (const database of databases) await database.close();
    };
    return { one, two, close };
  };

  it('ends sessions, keys and bans for the next request on the other replica', async () => {
    const { one, two, close } = await startTwo();
    const here = await one.person('replicated');
    const root = two.visitor();
    await root.logIn(ROOT.username, ROOT.password);
    const there = two.visitor();
    for (let round = 0; round < 30; round++) {
      await here.logIn('replicated');
      there.id = here.id;
      there.jar.set('session', here.jar.get('session') ?? '');
      const made = await here.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'k' });
      const headers = { 'x-api-key': made.key };
      const byKey = () => two.accounts.authenticator.model({ headers, session: undefined, address: '127.0.0.1' });
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

  // SQLite serves one process, which has its counters to itself.
  if (name === 'sqlite') return;

  it('shares one budget of wrong passwords, and lets the owner in when it is whole again', async () => {
    const { one, two, close } = await startTwo();
    const owner = await one.person('attacked');
    let guesses = 0;
    const guessAtOnce = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => {
          const guess = guesses++;
          return (guess % 2 === 0 ? one : two)
            .visitor(`10.2.${guess >> 8}.${guess & 255}`)
            .send('POST', '/api/user/login', { username: 'attacked', password: `guess ${guess}` });
        }),
      );
    const right = { username: 'attacked', password: PASSWORD };
    for (let window = 0; window < 2; window++) {
      const answers = [...(await guessAtOnce(40)), ...(await guessAtOnce(40)), ...(await guessAtOnce(40))];
      assert.equal(answers.filter((answer) => answer.status === 200).length, 10);
      const refused = await two.visitor('10.3.0.1').send('POST', '/api/user/login', right);
      assert.equal(refused.status, 429);
      // Who is logged in already is kept out of nothing.
      await owner.ok('GET', '/api/user/self');
      const seconds = Number(refused.headers['retry-after']);
      assert.ok(seconds > 0 && seconds <= 900, String(seconds));
      one.clock.advance(seconds * 1000);
      for (const replica of [one, two]) await replica.visitor('10.3.0.1').ok('POST', '/api/user/login', right);
    }
    await close();
  });

  it('shares one budget of registrations', async () => {
    const { one, two, close } = await startTwo();
    await one.visitor().register('taken-name');
    const body = { username: 'taken-name', password: PASSWORD };
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        (index % 2 === 0 ? one : two).visitor('10.4.0.1').send('POST', '/api/user/register', body),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 200).length, 100);
    await two.visitor('10.4.0.1').fails(429, 'POST', '/api/user/register', { ...body, username: 'free-name' });
    await close();
  });
});
