import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startService } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { median, spreadOf } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Time from the start of the process to its first response, and the memory of the idle process, for a service on a
 * SQLite file. The first start compiles code and creates the tables, so it is not counted:
 * `node bench/service-start.ts`.
 */
const STARTS = 7;
const PORT = 4_345;
const IDLE_MS = 3_000;

const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const starts: number[] = [];
const cpu: number[] = [];
const memory: number[] = [];
try {
  for (let index = 0; index <= STARTS; index++) {
    const service = await startService(PORT, { KEEP: '1' }, folder);
    const cpuMs = cpuSeconds(service.pid) * 1_000;
    await pause(IDLE_MS);
    const held = memoryMb(service.pid);
    await service.stop();
    console.log(
      `start ${index}: ${service.startMs.toFixed(0)} ms, with ${cpuMs.toFixed(0)} ms of CPU; ${held} MB after ${IDLE_MS / 1_000} s`,
    );
    if (index === 0) continue;
    starts.push(service.startMs);
    cpu.push(cpuMs);
    memory.push(held);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
report('start of the service to its first answer, code cached', 'ms', starts, 600);
report('the same and one login, CPU', 'ms', cpu);
report('memory of an idle service', 'MB', memory, 110);

function report(subject: string, unit: string, values: readonly number[], asked?: number): void {
  const spread = spreadOf(values);
  reportFigure({ subject, unit, measured: median(values), spread, ...(asked !== undefined && { asked }) });
}
