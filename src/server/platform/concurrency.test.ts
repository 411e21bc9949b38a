import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { BatchedLookup, FreshReadSingleFlight, PeriodicWriter, SingleFlight, workOnEach } from './concurrency.ts';
import { openLog } from './log.ts';

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

describe('work on each of several items', () => {
  it('continues after a failure, and reports all failures at the end', async () => {
    const worked: number[] = [];
    const work = async (item: number) => {
      if (item % 2 === 0) throw new Error(`item ${item}`);
      worked.push(item);
    };
    await assert.rejects(workOnEach([1, 2, 3], work), /item 2/);
    await assert.rejects(workOnEach([4, 5, 6], work), AggregateError);
    assert.deepEqual(worked, [1, 3, 5]);
  });

  it('ends if nothing seems to work', async () => {
    let tries = 0;
    const work = async () => {
      tries += 1;
      throw new Error('the database is unavailable');
    };
    await assert.rejects(workOnEach(new Array(1_000).fill(0), work), AggregateError);
    assert.equal(tries, 20);
  });
});

describe('periodic writer', () => {
  const WRITE_EVERY_MS = 10_000;

  /** A writer whose writes fail for the values in `refused`, and the batches it has stored. */
  function openWriter(t: TestContext) {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const stored: [number, string][][] = [];
    const refused = new Set<string>();
    const sizes: number[] = [];
    const writer = new PeriodicWriter<string>({
      log: openLog('silent'),
      subject: 'values',
      async write(batch) {
        sizes.push(batch.size);
        if ([...batch.values()].some((value) => refused.has(value))) throw new Error('refused');
        stored.push([...batch]);
      },
    });
    return {
      ...{ writer, stored, refused, sizes },
      async tick() {
        t.mock.timers.tick(WRITE_EVERY_MS);
        await turn();
      },
    };
  }

  it('writes a batch again that could not be written, unless there are newer values', async (t) => {
    const { writer, stored, refused, tick } = openWriter(t);
    refused.add('old').add('other');
    writer.record(1, 'old');
    writer.record(2, 'other');
    await tick();
    assert.deepEqual(stored, []);
    refused.clear();
    writer.record(1, 'new');
    await tick();
    assert.deepEqual(stored, [[[2, 'other']], [[1, 'new']]]);
    await tick();
    assert.equal(stored.length, 2);
    await writer.close();
  });

  it('drops values that cannot be stored, after five minutes in which others could', async (t) => {
    const { writer, stored, refused, sizes, tick } = openWriter(t);
    refused.add('broken');
    writer.record(1, 'broken');
    for (let count = 0; count < 40; count++) {
      writer.record(2, `value ${count}`);
      await tick();
    }
    assert.equal(stored.length, 39);
    assert.equal(sizes.length, 40 + 30);
    await writer.close();
  });

  it('keeps a limited number of values while the database is unavailable, and never fails to close', async (t) => {
    const { writer, stored, refused, sizes, tick } = openWriter(t);
    refused.add('value');
    for (let id = 0; id < 12_000; id++) writer.record(id, 'value');
    await tick();
    assert.ok(sizes.length < 10, `${sizes.length} writes`);
    refused.clear();
    await writer.close();
    const ids = stored.flat().map(([id]) => id);
    assert.deepEqual([ids.length, Math.min(...ids), Math.max(...ids)], [10_000, 2_000, 11_999]);
    refused.add('last');
    writer.record(1, 'last');
    await writer.close();
  });
});
