import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Survivors that no test can or need notice, with the reason they have in common. */
interface KnownSurvivors {
  readonly reason: string;
  readonly mutants: readonly string[];
}

const survivors = JSON.parse(readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8')) as KnownSurvivors[];

/** The reason by the name of the mutant. */
export const survivorReasons: ReadonlyMap<string, string> = new Map(
  survivors.flatMap(({ reason, mutants }) => mutants.map((name) => [name, reason] as const)),
);
