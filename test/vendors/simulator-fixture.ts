import assert from 'node:assert/strict';
import { after, afterEach } from 'node:test';
import type { FaultKind } from '../../src/sandbox/faults.ts';
import { type ManualClock, manualClock } from '../../src/sandbox/jobs.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Simulator } from '../../src/sandbox/simulator.ts';
import { OutboundError } from '../../src/server/platform/outbound/outbound.ts';

/**
 * A vendor's simulator for a test file, on a clock that the tests advance. Faults and recorded requests last for one
 * test.
 */
export async function startSimulator(
  simulator: Simulator,
): Promise<{ readonly sandbox: Sandbox; readonly clock: ManualClock }> {
  const clock = manualClock();
  const sandbox = await startSandbox({ simulators: [simulator], clock, timing: { queuedMs: 1_000, runningMs: 1_000 } });
  after(() => sandbox.stop());
  afterEach(() => {
    sandbox.control.clearFaults();
    sandbox.control.clearRequests();
  });
  return { sandbox, clock };
}

/** Poll responses that say nothing about the task at any vendor. */
export const MEANINGLESS_POLLS = [
  '401',
  '429',
  '500',
  '502',
  '503',
  'html',
  'empty',
  'malformed',
  'wrong-types',
  'deep',
] as const satisfies readonly FaultKind[];

/** Asserts that a submit whose response is lost or unreadable is thrown as ambiguous, never reported as refused. */
export async function assertAmbiguousSubmits(
  sandbox: Sandbox,
  submit: () => Promise<unknown>,
  more: readonly FaultKind[] = [],
): Promise<void> {
  for (const kind of ['drop', 'truncated', 'malformed', 'html', 'empty', ...more] as const) {
    sandbox.control.fault({ kind, operation: 'submit' });
    await assert.rejects(submit(), (error) => error instanceof OutboundError && error.mayHaveArrived, kind);
  }
}
