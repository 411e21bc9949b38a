import { relative } from 'node:path';
import { survivorReasons } from './known-survivors.ts';
import type { Verdict } from './mutant-trials.ts';
import type { NamedMutant } from './name-mutants.ts';

export interface MutantResult {
  readonly mutant: NamedMutant;
  readonly verdict: Verdict;
}

/** What part of the mutants was tried. */
export interface TrialCounts {
  readonly all: number;
  readonly chosen: number;
  readonly seed: string;
  /** Of those chosen, because the time was up. */
  readonly notTried: number;
}

const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;

/** Prints survivors and the score by file. @returns the number of survivors without a reason */
export function printScore(
  root: string,
  tried: readonly MutantResult[],
  { all, chosen, seed, notTried }: TrialCounts,
): number {
  const isKilled = ({ verdict }: MutantResult) => verdict.outcome === 'killed';
  const isExplained = (each: MutantResult) => !isKilled(each) && survivorReasons.has(each.mutant.name);
  const survivors = tried.filter((each) => !isKilled(each) && !isExplained(each));
  console.log(`\nSurvivors without a reason: ${survivors.length}`);
  for (const { mutant, verdict } of survivors) console.log(`  ${verdict.outcome}: line ${mutant.line}  ${mutant.name}`);
  console.log('\nkilled, known, without a reason, score');
  for (const [path, own] of Map.groupBy(tried, ({ mutant }) => relative(root, mutant.path))) {
    const killed = own.filter(isKilled).length;
    const explained = own.filter(isExplained).length;
    console.log(
      `  ${path}: ${killed}, ${explained}, ${own.length - killed - explained}, ${percent(killed, own.length)}`,
    );
  }
  const needless = tried.filter((each) => isKilled(each) && survivorReasons.has(each.mutant.name));
  for (const { mutant } of needless) console.log(`killed, though a known survivor: ${mutant.name}`);
  const killed = tried.filter(isKilled).length;
  const explained = tried.filter(isExplained).length;
  const extent = chosen < all ? `sample of ${chosen} of ${all} mutants by seed ${seed}` : `all ${all} mutants`;
  console.log(`\n${extent}: killed ${killed} of ${tried.length} (${percent(killed, tried.length)}),`);
  console.log(`  without the ${explained} survivors with a reason ${percent(killed, tried.length - explained)}`);
  if (notTried > 0) console.log(`  ${notTried} were not tried: the time was up; run it again to continue`);
  return survivors.length;
}
