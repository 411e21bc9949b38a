import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSimulator } from '../../../test/vendors/shared-simulator-tests.ts';
import { vidu } from '../../server/vendors/vidu/adapter.ts';
import { vidu as simulator } from './vidu.ts';

const { clock, context, submit, query } = await testSimulator({ vendor: vidu, simulator, models: ['viduq2'] });

test('a job that has not started is cancelled; a running one is not', async () => {
  for (const [waitedMs, cause] of [
    [0, 'cancelled'],
    [1_500, undefined],
  ] as const) {
    const handle = await submit();
    clock.advance(waitedMs);
    await vidu.deleteTask?.(handle, context);
    clock.advance(2_000);
    assert.equal((await query(handle)).error?.cause, cause);
  }
});
