import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BatchedLookup, FreshReadSingleFlight, SingleFlight } from './concurrency.ts';

describe('BatchedLookup', () => {
  /** Queries are answered one at a time, when the test permits. */
  function lookup() {
    const queries: {
      readonly keys: readonly string[];
      readonly reply: PromiseWithResolvers<ReadonlyMap<string, string>>;
    }[] = [];
    const batched = new BatchedLookup<string>((keys) => {
      const reply = Promise.withResolvers<ReadonlyMap<string, string>>();
      queries.push({ keys, reply });
      return reply.promise;
    });
    return { batched, queries };
  }
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it('queries immediately, and batches the distinct keys that arrive meanwhile', async () => {
    const { batched, queries } = lookup();
    const first = batched.find('a');
    const others = [batched.find('b'), batched.find('b'), batched.find('a'), batched.find('none')];
    assert.deepEqual(
      queries.map(({ keys }) => keys),
      [['a']],
    );
    queries[0]?.reply.resolve(new Map([['a', 'old']]));
    assert.equal(await first, 'old');
    await nextTurn();
    assert.deepEqual(queries[1]?.keys, ['b', 'a', 'none']);
    queries[1]?.reply.resolve(
      new Map([
        ['a', 'new'],
        ['b', 'B'],
      ]),
    );
    assert.deepEqual(await Promise.all(others), ['B', 'B', 'new', undefined], 'nothing that was read before the call');
    await nextTurn();
    assert.equal(queries.length, 2);
  });

  it('queries a key once per snapshot if it exists', async () => {
    let snapshot: object | undefined = {};
    const queried: (readonly string[])[] = [];
    const batched = new BatchedLookup<string>(
      async (keys) => {
        queried.push(keys);
        return new Map(keys.includes('a') ? [['a', `A${queried.length}`]] : []);
      },
      () => snapshot,
    );
    assert.deepEqual([await batched.find('a'), await batched.find('a'), queried], ['A1', 'A1', [['a']]]);
    assert.deepEqual([await batched.find('b'), await batched.find('b')], [undefined, undefined]);
    assert.equal(queried.length, 3, 'a missing key costs no memory');
    snapshot = {};
    assert.equal(await batched.find('a'), 'A4');
    snapshot = undefined;
    assert.deepEqual([await batched.find('a'), await batched.find('a')], ['A5', 'A6'], 'an unknown snapshot');
  });

  it('reports a failure only to the callers of that query', async () => {
    const { batched, queries } = lookup();
    const first = batched.find('a');
    const second = batched.find('b');
    queries[0]?.reply.reject(new Error('away'));
    await assert.rejects(first, /away/);
    await nextTurn();
    queries[1]?.reply.resolve(new Map([['b', 'B']]));
    assert.equal(await second, 'B');
  });
});

describe('FreshReadSingleFlight', () => {
  it('never returns data older than the call, and runs few reads', async () => {
    let value = 0;
    let reads = 0;
    const fresh = new FreshReadSingleFlight(async () => {
      reads++;
      const seen = value;
      await delay(1);
      return seen;
    });
    const asked: Promise<void>[] = [];
    for (let i = 0; i < 300; i++) {
      const known = ++value;
      asked.push(fresh.read().then((seen) => assert.ok(seen >= known, `${seen} before ${known}`)));
      if (i % 30 === 0) await delay(1);
    }
    await Promise.all(asked);
    assert.ok(reads < 60, `${reads} reads for 300 questions`);
    assert.equal(await fresh.read(), value);
  });

  it('reports a failure only to the callers that waited for that read', async () => {
    let fails = true;
    const fresh = new FreshReadSingleFlight(async () => {
      await delay(1);
      if (fails) throw new Error('no answer');
      return 1;
    });
    const first = fresh.read();
    const second = fresh.read();
    await assert.rejects(first, /no answer/);
    fails = false;
    assert.equal(await second, 1);
    assert.equal(await fresh.read(), 1);
  });

  it('reads once per snapshot, and again after a failure', async () => {
    let snapshot: object = {};
    let reads = 0;
    const fresh = new FreshReadSingleFlight(
      async () => {
        if (++reads === 2) throw new Error('no answer');
        return reads;
      },
      () => snapshot,
    );
    assert.deepEqual([await fresh.read(), await fresh.read()], [1, 1]);
    snapshot = {};
    await assert.rejects(fresh.read(), /no answer/);
    assert.deepEqual([await fresh.read(), await fresh.read()], [3, 3]);
  });
});

describe('single flight', () => {
  it('shares a running operation and does not cache failures', async () => {
    const flight = new SingleFlight<number>();
    let runs = 0;
    const work = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve));
      return ++runs;
    };
    assert.deepEqual(
      await Promise.all([flight.run('a', work), flight.run('a', work), flight.run('b', work)]),
      [1, 1, 2],
    );
    assert.equal(await flight.run('a', work), 3);
    await assert.rejects(
      flight.run('a', async () => Promise.reject(new Error('once'))),
      /once/,
    );
    assert.equal(await flight.run('a', work), 4);
  });
});
