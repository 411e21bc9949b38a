import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatchedLookup } from './concurrency.ts';

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
