import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findMutants, type Mutant } from './mutants.ts';

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

export type NamedMutant = Mutant & { readonly name: string };

const MAX_ORIGINAL = 80;

/**
 * All mutants of a file, each with a name that outlives changes elsewhere in it: path, original text and replacement, and a
 * number where the same change is possible several times.
 *
 * @param root folder to which paths are relative in names
 */
export function nameMutants(root: string, path: string, text: string): NamedMutant[] {
  const times = new Map<string, number>();
  return findMutants(path, text).map((mutant) => {
    const { original, replacement } = mutant;
    const changed = replacement === '' || replacement === ';' ? '(left out)' : replacement;
    const base = `${relative(root, path)}: ${original.slice(0, MAX_ORIGINAL)} → ${changed}`;
    const time = (times.get(base) ?? 0) + 1;
    times.set(base, time);
    return { ...mutant, name: time === 1 ? base : `${base} (${time})` };
  });
}
