import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ToolName } from '../../contract/mcp.ts';
import { manualClock } from '../platform/clock.ts';
import { type ToolCall, VideoTools } from './video-tools.ts';

const CALL: ToolCall = {
  ...{ id: 1, session: undefined, client: undefined, locale: 'en' },
  caller: { tokenId: 1, userId: 1 } as ToolCall['caller'],
  signal: new AbortController().signal,
};

/** Tools whose service calls never finish. Each call adds its name to `begun`. */
function makeTools(begun: string[]): VideoTools {
  const hang = (what: string) => () => {
    begun.push(what);
    return new Promise(() => {});
  };
  const services = {
    requests: { check: (given: unknown) => given, read: async () => ({}), readChange: async () => ({}) },
    submitter: { submit: hang('submit') },
    quotes: { quote: hang('quote') },
    follower: { wait: hang('wait') },
  };
  return new VideoTools({
    ...{ video: { services, store: {} }, outlook: {}, ledger: {}, credentialWatch: {} },
    ...{ amountUnit: () => undefined, clock: manualClock(0), baseUrl: 'http://localhost' },
    metrics: { recordToolCall: () => {} },
  } as never);
}

describe('tools over MCP', () => {
  for (const [name, given, code] of [
    ['create_video', { prompt: 'x' }, 'idempotency_in_progress'],
    ['extend_video', { id: 'task_1', prompt: 'x' }, 'idempotency_in_progress'],
    ['quote_video', { prompt: 'x' }, 'unavailable'],
  ] as const satisfies readonly (readonly [ToolName, object, string])[])
    it(`${name} ends before programs give the call up, and says so`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const begun: string[] = [];
      let isOver = false;
      const result = makeTools(begun)
        .call(name, given, CALL)
        .finally(() => (isOver = true));
      while (begun.length === 0) await setImmediate();
      t.mock.timers.tick(43_000);
      await setImmediate();
      assert.equal(isOver, false);
      t.mock.timers.tick(2_000);
      const { isError, _meta: meta } = await result;
      assert.deepEqual([isError, meta], [true, { error: { code, retry_after_seconds: 10 } }]);
    });

  it('get_video waits for as long as its caller asked', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const begun: string[] = [];
    let isOver = false;
    void makeTools(begun)
      .call('get_video', { id: 'task_1', wait_seconds: 45 }, CALL)
      .finally(() => (isOver = true));
    while (begun.length === 0) await setImmediate();
    t.mock.timers.tick(60_000);
    await setImmediate();
    assert.equal(isOver, false);
  });
});
