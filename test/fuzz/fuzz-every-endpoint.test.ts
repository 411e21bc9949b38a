import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { startAndFuzzService } from './fuzz-service.ts';

/** Requests on each database; `npm run fuzz` sends more, from other seeds. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? '750');
const SEED = Number(process.env.FUZZ_SEED ?? '20261121') % 2 ** 31;

describe(`R12: requests generated from every endpoint's own schemas (seed ${SEED})`, () => {
  forEachDatabase((name, _open, freshUrl) => {
    test(`${name}: receive the right envelope promptly, and never an internal error`, {
      timeout: 120_000 + REQUESTS * 20,
    }, async () => {
      const report = await startAndFuzzService(await freshUrl(), { requests: REQUESTS, seed: SEED });
      assert.deepEqual(report.failures, []);
      assert.deepEqual(report.stalls, []);
      const taken = report.statuses[200] ?? 0;
      assert.ok(taken > REQUESTS / 8, `${taken} of ${REQUESTS} were taken`);
    });
  });
});
