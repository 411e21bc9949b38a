import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { startValkey, VALKEY_IS_MISSING } from '../../../../test/valkey.ts';
import { manualClock } from '../clock.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { CounterSnapshots, type RateLimitTables, rateLimitMigrations } from './postgres-counters.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';

const RULE = { name: 'test', points: 5, durationSeconds: 60 };

/** The behaviour of every store. `make` adds another process on the same store. */
function behavesAsALimit(make: () => Promise<RateLimits>): void {
  it('allows as many uses as there are points, and returns when to retry', async () => {
    const limiter = (await make()).define({ ...RULE, name: 'plain' });
    for (let left = 4; left >= 0; left--) {
      assert.deepEqual(await limiter.consume('a'), { allowed: true, remaining: left, retryAfterMs: 0 });
    }
    const refused = await limiter.consume('a');
    assert.equal(refused.allowed, false);
    assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= 60_000, String(refused.retryAfterMs));
    assert.equal((await limiter.consume('b')).allowed, true);
  });

  it('never allows more, however many requests are concurrent', async () => {
    const limiter = (await make()).define({ ...RULE, name: 'race' });
    const verdicts = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('a')));
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 5);
  });

  it('peeks for free, refunds and resets', async () => {
    const limiter = (await make()).define({ ...RULE, name: 'peek' });
    assert.deepEqual(await limiter.peek('a'), { allowed: true, remaining: 5, retryAfterMs: 0 });
    assert.equal((await limiter.penalty('a', 4)).allowed, true);
    assert.equal((await limiter.penalty('a')).allowed, false);
    assert.equal((await limiter.peek('a')).allowed, false);
    await limiter.refund('a', 2);
    assert.equal((await limiter.peek('a')).remaining, 2);
    await limiter.reset('a');
    assert.equal((await limiter.peek('a')).remaining, 5);
    await limiter.refund('a');
    assert.equal((await limiter.peek('a')).remaining, 5);
  });

  it('adds no points by refunding unused ones', async () => {
    const limiter = (await make()).define({ ...RULE, name: 'over-refund' });
    await limiter.refund('a', 3);
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('a')));
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 5);
    await limiter.refund('a', 20);
    assert.equal((await limiter.consume('a')).remaining, 4);
  });

  it('separates limits and keys, including long keys', async () => {
    const limits = await make();
    const [one, two] = [limits.define({ ...RULE, name: 'one' }), limits.define({ ...RULE, name: 'two' })];
    await one.penalty('a', 5);
    assert.equal((await two.peek('a')).allowed, true);
    await one.penalty(`${'x'.repeat(10_000)}1`, 5);
    assert.equal((await one.peek(`${'x'.repeat(10_000)}1`)).allowed, false);
    assert.equal((await one.peek(`${'x'.repeat(10_000)}2`)).allowed, true);
  });
}

describe('in memory', () => {
  behavesAsALimit(async () => createRateLimits());

  it('starts a new window after the old one has ended, which attempts do not prolong', async () => {
    const clock = manualClock();
    const limiter = createRateLimits({ clock }).define(RULE);
    await limiter.penalty('a', 5);
    clock.advance(59_000);
    assert.deepEqual(await limiter.consume('a'), { allowed: false, remaining: 0, retryAfterMs: 1_000 });
    clock.advance(1_000);
    assert.equal((await limiter.consume('a')).remaining, 4);
  });
});

forEachDatabase((_name, open) => {
  const opened = open();
  const make = async (more: { clock?: ReturnType<typeof manualClock> } = {}) =>
    createRateLimits({ sharedDatabase: (await opened).kysely, ...more });
  behavesAsALimit(() => make());

  it('counts across all processes, and from zero after the window has ended', async () => {
    const clock = manualClock();
    const [one, other] = [(await make({ clock })).define(RULE), (await make({ clock })).define(RULE)];
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => (turn % 2 ? one : other).consume('shared')),
    );
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 5);
    clock.advance(60_000);
    assert.equal((await one.peek('shared')).remaining, 5);
    assert.equal((await other.consume('shared')).remaining, 4);
  });

  it('deletes ended windows', async () => {
    const clock = manualClock();
    const limiter = (await make({ clock })).define({ ...RULE, name: 'sweep' });
    for (let turn = 0; turn < 20; turn++) await limiter.consume(`old ${turn}`);
    clock.advance(120_000);
    await Promise.all(Array.from({ length: 500 }, () => limiter.consume('new')));
    const { kysely } = await opened;
    const left = await kysely.selectFrom('rate_limits').select('key').where('key', 'like', 'sweep:old%').execute();
    assert.deepEqual(left, []);
  });

  it('T72: falls back to memory with half the points when the store fails, and logs it once', async () => {
    const database = await open();
    const warnings: string[] = [];
    const log = { warn: (_details: object, message: string) => warnings.push(message) };
    const limiter = createRateLimits({ sharedDatabase: database.kysely, log }).define(RULE);
    assert.equal((await limiter.consume('a')).allowed, true);
    await database.kysely.schema.dropTable('rate_limits').execute();
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('a')));
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 2);
    assert.equal(warnings.length, 1);
  });
});

describe('on valkey', { skip: VALKEY_IS_MISSING }, () => {
  let server: ReturnType<typeof startValkey> | undefined;
  const made: RateLimits[] = [];
  const make = async (log?: { warn(details: object, message: string): void }): Promise<RateLimits> => {
    server ??= startValkey();
    const limits = createRateLimits({ valkeyUrl: (await server).url, ...(log && { log }) });
    made.push(limits);
    // Until the connection is open, each process uses its own counters.
    const probe = limits.define({ ...RULE, name: `probe-${made.length}`, points: 1000 });
    while ((await probe.consume('a')).remaining < 500) await delay(20);
    return limits;
  };

  after(async () => {
    for (const limits of made) await limits.close();
    (await server)?.process.kill();
  });

  behavesAsALimit(() => make());

  it('counts across all processes', async () => {
    const [one, other] = [(await make()).define(RULE), (await make()).define(RULE)];
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => (turn % 2 ? one : other).consume('shared')),
    );
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 5);
  });

  it('connects again when the store it is connected to has become a replica', async () => {
    const [old, next] = [await startValkey(), await startValkey()];
    let primary = old;
    // Like the address of a managed store, which leads new connections to the primary.
    const address = createServer((socket) => {
      const upstream = connect(Number(new URL(primary.url).port), '127.0.0.1').on('error', () => socket.destroy());
      socket
        .on('error', () => upstream.destroy())
        .pipe(upstream)
        .pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(address, 'listening');
    const limits = createRateLimits({ valkeyUrl: `redis://127.0.0.1:${(address.address() as AddressInfo).port}` });
    const admins = [new Redis(old.url), new Redis(next.url)] as const;
    const untilCountedOn = async (store: Redis, name: string): Promise<void> => {
      const limiter = limits.define({ ...RULE, name, points: 1_000 });
      for (let tries = 0; (await store.exists(`reelgate:budget:${name}:a`)) === 0; tries++) {
        assert.ok(tries < 250, `${name}: not counted there`);
        await limiter.consume('a');
        await delay(20);
      }
    };
    try {
      await untilCountedOn(admins[0], 'before');
      primary = next;
      await admins[0].call('REPLICAOF', '127.0.0.1', '1');
      await untilCountedOn(admins[1], 'after');
    } finally {
      for (const admin of admins) admin.disconnect();
      await limits.close();
      address.close();
      for (const { process: child } of [old, next]) child.kill();
    }
  });

  it('falls back to memory with half the points when the store is killed', async () => {
    const warnings: string[] = [];
    const limits = await make({ warn: (_details, message) => warnings.push(message) });
    const limiter = limits.define({ ...RULE, name: 'killed' });
    assert.equal((await limiter.consume('a')).allowed, true);
    const running = (await server)?.process;
    running?.kill('SIGKILL');
    if (running?.exitCode === null) await once(running, 'exit');
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('a')));
    assert.equal(verdicts.filter(({ allowed }) => allowed).length, 2);
    assert.ok(warnings.length >= 1);
  });
});

describe('after a restart of a single process', () => {
  it('T22: keeps exhausted windows, drops refunded ones, and ends them on time', async () => {
    const database = openDatabase<RateLimitTables>('sqlite::memory:');
    await migrate(database, rateLimitMigrations);
    const clock = manualClock();
    const start = async () => {
      const limits = createRateLimits({ clock, snapshots: await CounterSnapshots.open(database.kysely, clock) });
      return { limits, limiter: limits.define({ name: 'login', points: 4, durationSeconds: 60 }) };
    };
    try {
      const first = await start();
      for (let turn = 0; turn < 4; turn++) await first.limiter.consume('locked');
      await first.limiter.consume('refunded', 4);
      await first.limits.close();
      const second = await start();
      assert.equal((await second.limiter.peek('locked')).allowed, false);
      assert.equal((await second.limiter.peek('refunded')).allowed, false);
      assert.equal((await second.limiter.peek('another')).allowed, true);
      await second.limiter.refund('refunded', 4);
      await second.limits.close();
      const third = await start();
      assert.equal((await third.limiter.peek('refunded')).allowed, true);
      assert.equal((await third.limiter.peek('locked')).allowed, false);
      clock.advance(60_000);
      assert.equal((await third.limiter.peek('locked')).allowed, true);
      await third.limits.close();
      assert.equal((await (await start()).limiter.consume('locked')).allowed, true);
    } finally {
      await database.close();
    }
  });

  it('keeps windows that could not be saved at first, such as on a full disk', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const database = openDatabase<RateLimitTables>('sqlite::memory:');
    await migrate(database, rateLimitMigrations);
    const clock = manualClock();
    const failed = Promise.withResolvers<void>();
    const start = async () => {
      const log = { warn: () => failed.resolve() };
      const limits = createRateLimits({ clock, snapshots: await CounterSnapshots.open(database.kysely, clock, log) });
      return { limits, limiter: limits.define({ name: 'login', points: 4, durationSeconds: 60 }) };
    };
    try {
      const first = await start();
      for (let turn = 0; turn < 4; turn++) await first.limiter.consume('locked');
      await sql`create trigger full before insert on rate_limits begin select raise(fail, 'full'); end`.execute(
        database.kysely,
      );
      t.mock.timers.tick(1_000);
      await failed.promise;
      await sql`drop trigger full`.execute(database.kysely);
      await first.limits.close();
      const second = await start();
      assert.equal((await second.limiter.peek('locked')).allowed, false);
      await second.limits.close();
    } finally {
      await database.close();
    }
  });
});
