import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { availableParallelism } from 'node:os';
import { after, before, describe, it, mock } from 'node:test';
import { startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { CHEAP_PASSWORD_HASHING } from '../../../test/cheap-password-hashing.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { AppError } from '../platform/app-error.ts';
import { BcryptThreads, PASSWORD_COST, PasswordHasher } from './passwords.ts';

describe('login flood', () => {
  const LOGINS = 200;
  /** The queue's capacity plus one running hash per core. */
  const MOST_TAKEN = 64 + 4;

  forEachDatabase((name, _open, freshUrl) => {
    // Hashing does not use the database, so one database suffices.
    if (name === 'postgres') return;
    let running: TestService;
    before(async () => {
      running = await startTestService(await freshUrl(), {}, { passwordCost: PASSWORD_COST });
    });
    after(() => running.stop());

    it('T24: tries some logins of a flood, rejects the rest immediately, and serves other requests meanwhile', async () => {
      const { fastify } = running.app.http;
      const memory = process.memoryUsage().rss;
      const flood = Array.from({ length: LOGINS }, async (_, n) => {
        const answer = await fastify.inject({
          method: 'POST',
          url: '/api/user/login',
          remoteAddress: `198.51.${100 + (n >> 7)}.${n & 127}`,
          payload: { username: `nobody-${n}`, password: 'wrong-password-1' },
        });
        return { status: answer.statusCode, retry: Number(answer.headers['retry-after']) };
      });
      const startedAt = performance.now();
      assert.equal((await fetch(`${running.url}/api/status`)).status, 200);
      const waited = performance.now() - startedAt;
      const answers = await Promise.all(flood);
      const away = answers.filter(({ status }) => status === 503);
      const tried = answers.filter(({ status }) => status === 200);
      assert.equal(
        away.length + tried.length,
        LOGINS,
        JSON.stringify(
          Map.groupBy(answers, ({ status }) => status)
            .keys()
            .toArray(),
        ),
      );
      assert.ok(away.length > 0 && tried.length >= 64, `${tried.length} were tried`);
      assert.ok(tried.length <= 2 * MOST_TAKEN, `${tried.length} were tried`);
      assert.ok(away.every(({ retry }) => retry > 0));
      assert.ok(waited < 5_000, `others waited ${waited} ms`);
      assert.ok(process.memoryUsage().rss - memory < 200 * 1024 ** 2);
      await running.signUp('ada');
    });
  });
});

describe('password hasher queue', () => {
  it('hashes a few passwords at a time, queues others in order and rejects those beyond the queue', async () => {
    const hasher = new PasswordHasher(CHEAP_PASSWORD_HASHING);
    const gate = Promise.withResolvers<void>();
    const order: number[] = [];
    let running = 0;
    let most = 0;
    const enter = (index: number) =>
      hasher.withPermit(async () => {
        running += 1;
        most = Math.max(most, running);
        await gate.promise;
        order.push(index);
        running -= 1;
      });
    const outcomes: Promise<unknown>[] = [];
    const refused: unknown[] = [];
    for (let index = 0; refused.length === 0; index++) {
      assert.ok(index < 1_000, 'there is a bound');
      outcomes.push(enter(index).catch((error: unknown) => refused.push(error)));
      await new Promise(setImmediate);
    }
    const permits = running;
    assert.ok(permits >= 1 && permits <= availableParallelism());
    assert.equal(outcomes.length - 1 - permits, 64, 'so many may wait');
    const [error] = refused;
    assert.ok(error instanceof AppError && error.code === 'unavailable' && error.options.retryAfterSeconds === 2);
    gate.resolve();
    await Promise.all(outcomes);
    assert.equal(most, permits);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.equal(order.length, permits + 64);
    await enter(-1);
    assert.equal(await hasher.verify('x', await hasher.hash('x')), true, 'the places are free again');
  });
});

describe('password hasher', () => {
  const hasher = new PasswordHasher(CHEAP_PASSWORD_HASHING);

  it('accepts the same password typed in different Unicode forms', async () => {
    const stored = await hasher.hash('Cafe\u0301 \uff11\uff12\uff13');
    assert.equal(await hasher.verify('Caf\u00e9 123', stored), true);
    assert.equal(await hasher.verify('Cafe 123', stored), false);
  });

  it('does not compute a stored hash that costs more than this service ever requires', async () => {
    const stored = await hasher.hash('correct horse battery');
    assert.equal(await hasher.verify('correct horse battery', stored), true);
    for (const cost of ['m=65537,t=1,p=1', 'm=64,t=7,p=1', 'm=64,t=1,p=5', 'm=9999999,t=999,p=999']) {
      const expensive = stored.replace(/m=\d+,t=\d+,p=\d+/, cost);
      const startedAt = performance.now();
      assert.equal(await hasher.verify('correct horse battery', expensive), false, cost);
      assert.ok(performance.now() - startedAt < 2_000, cost);
      assert.equal(hasher.needsRehash(expensive), true);
    }
  });

  it('accepts hashes of the maximum cost, and none that exceeds any of its parameters', async () => {
    const verifies = async (cost: object): Promise<boolean> => {
      const stored = await new PasswordHasher({ ...CHEAP_PASSWORD_HASHING, ...cost }).hash('correct horse battery');
      return hasher.verify('correct horse battery', stored);
    };
    for (const cost of [{ memory: 65_536 }, { passes: 6 }, { parallelism: 4 }])
      assert.equal(await verifies(cost), true, JSON.stringify(cost));
    for (const cost of [{ memory: 65_544 }, { passes: 7 }, { parallelism: 5 }])
      assert.equal(await verifies(cost), false, JSON.stringify(cost));
  });

  it('rejects every password for a stored value that is not a hash', async () => {
    for (const stored of [
      undefined,
      '',
      'correct horse battery',
      '$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$dGFn',
      '$2b$10$x',
    ])
      assert.equal(await hasher.verify('correct horse battery', stored), false, String(stored));
  });

  it('salts each hash, and recognizes hashes of another cost', async () => {
    const [one, other] = [await hasher.hash('correct horse battery'), await hasher.hash('correct horse battery')];
    assert.notEqual(one, other);
    assert.equal(hasher.needsRehash(one), false);
    assert.equal(new PasswordHasher({ ...CHEAP_PASSWORD_HASHING, passes: 2 }).needsRehash(one), true);
  });
});

/** The password `correct horse battery` as new-api stores it. */
const IMPORTED = '$2b$10$0IMYfgj8znUCUZxiwbLMROEu33Qer.HJFzwXoxoZA4HlVlquflEs.';

describe('imported passwords', () => {
  it('T24: are computed off the event loop', async () => {
    const hasher = new PasswordHasher(CHEAP_PASSWORD_HASHING);
    let turns = 0;
    let isDone = false;
    const verified = hasher.verify('correct horse battery', IMPORTED).finally(() => (isDone = true));
    while (!isDone) {
      await new Promise(setImmediate);
      turns += 1;
    }
    assert.equal(await verified, true);
    assert.ok(turns > 10, `other work had ${turns} turns`);
    assert.equal(await hasher.verify('wrong horse battery', IMPORTED), false);
    assert.equal(
      await hasher.verify(`correct horse battery${'\0'.repeat(60)}`, IMPORTED),
      false,
      'longer than 72 bytes',
    );
  });

  forEachDatabase((_name, open) => {
    it('T23: a login computes the same hashes for an imported, another and an unknown account', async () => {
      const service = await startAccounts(await open());
      for (const name of ['imported', 'native']) await service.newUser(name);
      const { kysely } = service.database;
      const user = kysely.selectFrom('accounts').select('id').where('username', '=', 'imported');
      await kysely.updateTable('passwords').set({ hash: IMPORTED }).where('user_id', '=', user).execute();
      const imported = {
        program: 'new-api',
        identity: 'x',
        fingerprint: '{}',
        state: 'applied',
        started_at: 1,
      } as const;
      await kysely.insertInto('imports').values(imported).execute();
      const bcrypt = mock.method(BcryptThreads.prototype, 'compare');
      const argon2 = mock.method(crypto, 'argon2');
      syncBuiltinESMExports();
      try {
        for (const username of ['imported', 'native', 'nobody']) {
          await service.anonymous().fails(200, 'POST', '/api/user/login', { username, password: 'wrong-password-1' });
          assert.deepEqual([bcrypt.mock.callCount(), argon2.mock.callCount()], [1, 1], username);
          for (const { mock: calls } of [bcrypt, argon2]) calls.resetCalls();
        }
      } finally {
        mock.restoreAll();
        syncBuiltinESMExports();
      }
      await service.anonymous().logIn('imported', 'correct horse battery');
      await service.anonymous().logIn('native');
      await service.close();
    });
  });
});

it('compares on threads that are used again, and on another one after a failure', async () => {
  const threads = new BcryptThreads();
  let started = 0;
  const count = () => void started++;
  process.on('worker', count);
  const compare = (word: string) => threads.compare(`${word} horse battery`, IMPORTED);
  assert.deepEqual(await Promise.all(['correct', 'wrong', 'correct'].map(compare)), [true, false, true]);
  assert.deepEqual(await Promise.all(['wrong', 'correct'].map(compare)), [false, true]);
  assert.equal(started, 3);
  await assert.rejects(threads.compare('x', undefined as never), /Illegal arguments/);
  assert.deepEqual(await Promise.all(['wrong', 'correct', 'wrong'].map(compare)), [false, true, false]);
  assert.equal(started, 4);
  process.off('worker', count);
});
