import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { WorkerHandle } from './worker-handle.ts';

/** A test that passes without a change. */
export interface CoveringTest {
  readonly testFile: string;
  readonly id: string;
  readonly name: string;
  readonly durationMs: number;
  readonly hookMs: number;
  readonly reached: readonly number[];
}

/** What one test file covers. Kept in `out/`, so that it is measured again only when the file or the sources change. */
interface FileCoverage {
  /** Of the test file and the instrumented sources. */
  readonly hash: string;
  readonly tests: readonly CoveringTest[];
  /** Mutants whose place ran while it was loaded, or when it ran first but not the second time. */
  readonly reachedOnce: readonly number[];
}

export const hashTexts = (...texts: readonly string[]): string =>
  createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 16);

function readKept(path: string): Record<string, FileCoverage> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, FileCoverage>;
  } catch {
    return {};
  }
}

/**
 * Runs every test file twice without a change: with the coverage of each test the first time, and to see that it can run
 * again in the same process the second time. Tests that fail are named and left out.
 */
export async function measureCoverage(
  root: string,
  testFiles: readonly string[],
  sourcesHash: string,
  worker: WorkerHandle,
): Promise<FileCoverage[]> {
  const keptPath = join(root, 'out', 'mutation', `coverage-${sourcesHash}.json`);
  const kept = readKept(keptPath);
  mkdirSync(dirname(keptPath), { recursive: true });
  const all: FileCoverage[] = [];
  for (const testFile of testFiles) {
    const path = join(root, testFile);
    const hash = hashTexts(readFileSync(path, 'utf8'));
    const known = kept[testFile];
    if (known?.hash === hash) {
      all.push(known);
      continue;
    }
    const measured = await worker.run({ testFile: path, isTrial: false });
    const again = await worker.run({ testFile: path, isTrial: false });
    if (measured === undefined || again === undefined)
      throw new Error(`${testFile}: the process of the tests got stuck or ended, as on a machine that is too busy`);
    const failed = new Map(
      [...measured.records, ...again.records].flatMap(({ id, name, failure }) =>
        failure === undefined ? [] : [[id, `${name}: ${failure}`]],
      ),
    );
    for (const why of failed.values()) console.error(`${testFile}: left out, as it fails without a change: ${why}`);
    const problem = measured.loadError ?? measured.failure?.message ?? again.failure?.message;
    if (problem !== undefined && failed.size === 0) console.error(`${testFile}: ${problem}`);
    const tests = measured.records
      .filter(({ id }) => !failed.has(id))
      .map(({ id, name, durationMs, hookMs, reached }) => ({ testFile, id, name, durationMs, hookMs, reached }));
    const reachedAgain = new Set(again.records.flatMap(({ reached }) => reached));
    const reachedOnce = [...(measured.reachedAtLoad ?? []), ...tests.flatMap(({ reached }) => reached)];
    const coverage = { hash, tests, reachedOnce: [...new Set(reachedOnce).difference(reachedAgain)] };
    kept[testFile] = coverage;
    writeFileSync(keptPath, JSON.stringify(kept));
    all.push(coverage);
  }
  return all;
}
