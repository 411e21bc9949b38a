import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { manualClock } from '../../src/server/platform/clock.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit-store.ts';
import { forEachDatabase } from '../databases.ts';
import { startSandboxService } from '../service-with-sandbox.ts';
import { type FuzzReport, runFuzz } from './run-fuzz.ts';

/** Requests on each database; `npm run fuzz` sends more, from other seeds. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? '1500');
const SEED = Number(process.env.FUZZ_SEED ?? '20261121') % 2 ** 31;
/** Where `npm run fuzz` wants to read what was found. */
const { FUZZ_REPORT, FUZZ_DATABASE } = process.env;

describe(`R12: requests made up from every endpoint's own schemas (seed ${SEED})`, () => {
  forEachDatabase((name, _open, freshUrl) => {
    const skip = FUZZ_DATABASE !== undefined && FUZZ_DATABASE !== name ? 'the other database was asked for' : false;
    test(`${name}: are answered in the right envelope, at once, and never by a failure of ours`, {
      skip,
      timeout: 120_000 + REQUESTS * 20,
    }, async () => {
      const clock = manualClock();
      const service = await startSandboxService(await freshUrl(), {
        overrides: { clock },
        env: { MAIL_BACKEND: 'sandbox' },
      });
      let report: FuzzReport;
      try {
        await service.addChannel('sora', ['sora-2']);
        report = await runFuzz(service, { requests: REQUESTS, seed: SEED, clock });
        if (FUZZ_REPORT !== undefined) writeFileSync(FUZZ_REPORT, JSON.stringify(report));
        assert.deepEqual(await auditLedger(service.app.database), []);
        assert.equal(({} as { polluted?: boolean }).polluted, undefined);
      } finally {
        await service.stop();
      }
      assert.deepEqual(report.failures, []);
      assert.deepEqual(report.stalls, []);
      const taken = report.statuses[200] ?? 0;
      assert.ok(taken > REQUESTS / 8, `${taken} of ${REQUESTS} were taken`);
    });
  });
});
