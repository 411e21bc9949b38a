import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FreshReadSingleFlight } from './concurrency.ts';

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
});
