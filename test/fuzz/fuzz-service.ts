import assert from 'node:assert/strict';
import { manualClock } from '../../src/server/platform/clock.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { startSandboxService } from '../service-with-sandbox.ts';
import { type FuzzReport, runFuzz } from './run-fuzz.ts';

/** Starts a service on an empty database, sends it generated requests, and audits the ledger afterwards. */
export async function startAndFuzzService(
  databaseUrl: string,
  options: { readonly requests: number; readonly seed: number },
): Promise<FuzzReport> {
  const clock = manualClock();
  const service = await startSandboxService(databaseUrl, { overrides: { clock }, env: { MAIL_BACKEND: 'sandbox' } });
  try {
    await service.addChannel('sora', ['sora-2']);
    const report = await runFuzz(service, { ...options, clock });
    assert.deepEqual(await auditLedger(service.app.database), []);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    return report;
  } finally {
    await service.stop();
  }
}
