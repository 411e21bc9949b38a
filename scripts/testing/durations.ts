import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FileResult } from './run-test-file.ts';

/** How long each file took in the last run that reached it, in milliseconds. Empty where there was none. */
export function readDurations(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

export function writeDurations(path: string, results: readonly FileResult[]): void {
  const durations = readDurations(path);
  for (const result of results) durations[result.path] = Math.round(result.durationMs);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(durations));
}
