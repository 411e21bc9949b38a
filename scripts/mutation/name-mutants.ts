import { relative } from 'node:path';
import { findMutants, type Mutant } from './mutants.ts';

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
