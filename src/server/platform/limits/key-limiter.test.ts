import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { startValkey, VALKEY_IS_MISSING } from '../../../../test/valkey.ts';
import { manualClock, systemClock } from '../clock.ts';
import { type Admission, ApiKeyLimiter, createRateLimits, type KeyLimits, type RateLimits } from './rate-limits.ts';

type Outcome = Admission | { readonly refused: string };

const admitted = (outcomes: readonly Outcome[]): Admission[] => outcomes.filter((outcome) => 'end' in outcome);

/** The behaviour of every store. `make` adds another process on the same store. */
function behavesAsKeyLimits(make: () => Promise<RateLimits>): void {
  let key = 0;
  const start = async (limits: KeyLimits, processes = 1) => {
    const tokenId = ++key;
    const limiters = await Promise.all(
      Array.from({ length: processes }, async () => new ApiKeyLimiter(await make(), systemClock)),
    );
    let turn = 0;
    return (tokens: number | 'video' = 1): Promise<Outcome> =>
      (limiters[turn++ % processes] as ApiKeyLimiter)
        .admit({ tokenId, limits }, { format: 'openai', tokens: tokens === 'video' ? undefined : tokens })
        .catch(({ code, options }: { code: string; options: { messageKey: string; retryAfterSeconds: number } }) => {
          assert.equal(code, 'rate_limit_exceeded');
          assert.ok(options.retryAfterSeconds >= 1 && options.retryAfterSeconds <= 60);
          return { refused: options.messageKey };
        });
  };

  it('admits exactly as many requests a minute as the limit, however many are concurrent', async () => {
    const ask = await start({ requestsPerMinute: 7 });
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => ask()));
    assert.equal(admitted(outcomes).length, 7);
    assert.deepEqual(await ask(), { refused: 'key_requests_limit' });
  });

  it('counts the estimated tokens of a call first, then the actual ones', async () => {
    const ask = await start({ tokensPerMinute: 1_000 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(300)));
    const running = admitted(outcomes);
    assert.equal(running.length, 3);
    assert.deepEqual(await ask(300), { refused: 'key_tokens_limit' });
    for (const { end } of running) end(50);
    for (const { end } of running) end(9_999);
    await delay(50);
    const next = (await ask(800)) as Admission;
    assert.equal(next.headers['x-ratelimit-remaining-tokens'], '50');
    assert.equal(next.headers['x-ratelimit-limit-tokens'], '1000');
    next.end(2_000);
    await delay(50);
    assert.deepEqual(await ask(1), { refused: 'key_tokens_limit' });
  });

  it('admits a call larger than the tokens of a minute only alone', async () => {
    const ask = await start({ tokensPerMinute: 100 });
    const first = (await ask(5_000)) as Admission;
    assert.equal(first.headers['x-ratelimit-remaining-tokens'], '0');
    assert.deepEqual(await ask(1), { refused: 'key_tokens_limit' });
    first.end(30);
    await delay(50);
    assert.ok('end' in (await ask(70)));
    assert.deepEqual(await ask(5_000), { refused: 'key_tokens_limit' });
  });

  it('admits as many concurrent calls as the limit, and the next one when one ends', async () => {
    const ask = await start({ concurrentCalls: 3 });
    const running = admitted(await Promise.all(Array.from({ length: 12 }, () => ask())));
    assert.equal(running.length, 3);
    assert.deepEqual(await ask(), { refused: 'key_calls_limit' });
    running[0]?.end(0);
    running[0]?.end(0);
    await delay(50);
    assert.equal(admitted(await Promise.all([ask(), ask()])).length, 1);
    assert.ok('end' in (await ask('video')), 'a request that is no model call needs no slot');
  });

  it('uses no points when another limit refuses', async () => {
    const ask = await start({ requestsPerMinute: 5, tokensPerMinute: 100, concurrentCalls: 2 });
    const first = (await ask(100)) as Admission;
    assert.equal(first.headers['x-ratelimit-remaining-requests'], '4');
    for (let turn = 0; turn < 10; turn++) assert.deepEqual(await ask(50), { refused: 'key_tokens_limit' });
    first.end(0);
    await delay(50);
    const second = (await ask(1)) as Admission;
    assert.equal(second.headers['x-ratelimit-remaining-requests'], '3');
    assert.equal(second.headers['x-ratelimit-remaining-tokens'], '99');
    assert.ok('end' in (await ask(1)));
    assert.deepEqual(await ask(1), { refused: 'key_calls_limit' });
  });
}

describe('in memory', () => {
  const clock = manualClock();
  behavesAsKeyLimits(async () => createRateLimits());

  it('starts a new minute with the first request after the old one, unaffected by late corrections', async () => {
    const limiter = new ApiKeyLimiter(createRateLimits({ clock }), clock);
    const use = { format: 'anthropic', tokens: 100 } as const;
    const limited = { tokenId: 1, limits: { requestsPerMinute: 1, tokensPerMinute: 100 } };
    const first = await limiter.admit(limited, use);
    const reset = new Date(clock.now() + 60_000).toISOString();
    assert.deepEqual(first.headers, {
      'anthropic-ratelimit-requests-limit': '1',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': reset,
      'anthropic-ratelimit-tokens-limit': '100',
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': reset,
    });
    clock.advance(59_999);
    await assert.rejects(limiter.admit(limited, use), { code: 'rate_limit_exceeded' });
    clock.advance(1);
    const second = await limiter.admit(limited, { format: 'openai', tokens: 40 });
    first.end(1);
    assert.equal(second.headers['x-ratelimit-remaining-tokens'], '60');
    assert.equal(second.headers['x-ratelimit-reset-tokens'], '1m0s');
    clock.advance(60_001);
    const third = await limiter.admit(limited, { format: 'gemini', tokens: 40 });
    assert.deepEqual(third.headers, {});
  });
});

forEachDatabase((name, open) => {
  if (name === 'sqlite') return;
  const opened = open();
  const shared = async (): Promise<RateLimits> => createRateLimits({ sharedDatabase: (await opened).kysely as never });
  behavesAsKeyLimits(shared);

  it('is exact across processes', async () => {
    const limits = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrentCalls: 4 };
    const limiters = await Promise.all(
      Array.from({ length: 4 }, async () => new ApiKeyLimiter(await shared(), systemClock)),
    );
    const ask = (turn: number) =>
      (limiters[turn % 4] as ApiKeyLimiter)
        .admit({ tokenId: 9_999, limits }, { format: 'openai', tokens: 100 })
        .catch(() => undefined);
    const outcomes = await Promise.all(Array.from({ length: 60 }, (_, turn) => ask(turn)));
    assert.equal(outcomes.filter((outcome) => outcome !== undefined).length, 4);
    for (const outcome of outcomes) outcome?.end(100);
    await delay(100);
    const more = await Promise.all(Array.from({ length: 4 }, (_, turn) => ask(turn)));
    assert.equal(more.filter((outcome) => outcome !== undefined).length, 4);
  });

  it('frees the slots of a dead process, and none of a living one', async () => {
    const clock = manualClock();
    const { kysely } = await opened;
    const make = () => createRateLimits({ sharedDatabase: kysely as never, clock }).defineSlots('died');
    const [dead, living] = [make(), make()];
    assert.ok(await dead.acquire('k', 2));
    assert.ok(await dead.acquire('k', 2));
    assert.equal(await living.acquire('k', 2), undefined);
    clock.advance(30_000);
    assert.ok(await living.acquire('k', 2));
    assert.ok(await living.acquire('k', 2));
    assert.equal(await living.acquire('k', 2), undefined);
  });

  it('falls back to half of each limit when the store fails', async () => {
    const database = await open();
    await database.kysely.schema.dropTable('rate_limits').execute();
    await database.kysely.schema.dropTable('limit_slots').execute();
    const limiter = new ApiKeyLimiter(createRateLimits({ sharedDatabase: database.kysely as never }), systemClock);
    const ask = (limits: KeyLimits) =>
      limiter.admit({ tokenId: 1, limits }, { format: 'openai', tokens: 1 }).then(
        () => 1,
        () => 0,
      );
    const count = async (limits: KeyLimits) => {
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => ask(limits)));
      return outcomes.reduce<number>((sum, one) => sum + one, 0);
    };
    assert.deepEqual([await count({ requestsPerMinute: 6 }), await count({ concurrentCalls: 4 })], [3, 2]);
  });
});

describe('on valkey', { skip: VALKEY_IS_MISSING }, () => {
  let server: ReturnType<typeof startValkey> | undefined;
  const made: RateLimits[] = [];
  after(async () => {
    for (const limits of made) await limits.close();
    (await server)?.process.kill();
  });
  behavesAsKeyLimits(async () => {
    server ??= startValkey();
    const limits = createRateLimits({ valkeyUrl: (await server).url });
    made.push(limits);
    // Until the connection is open, each process uses its own counters.
    const probe = limits.define({ name: `probe-${made.length}`, points: 1_000, durationSeconds: 60 });
    while ((await probe.consume('a')).remaining < 500) await delay(20);
    return limits;
  });
});
