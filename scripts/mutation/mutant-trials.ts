import { join } from 'node:path';
import type { CoveringTest } from './coverage.ts';
import type { NumberedMutant } from './instrument.ts';
import type { WorkerReply } from './worker.ts';
import { WorkerHandle } from './worker-handle.ts';

/** Which test noticed a mutant, or why none is said to. */
export type Verdict =
  | { readonly outcome: 'killed'; readonly by: string }
  | { readonly outcome: 'survived' }
  /** The time for one mutant was up before all tests that reach it had run. */
  | { readonly outcome: 'cut short' }
  | { readonly outcome: 'not covered' };

export interface TrialDependencies {
  readonly root: string;
  /** Path of each source to its instrumented text, as JSON. */
  readonly sources: string;
  readonly mutants: readonly NumberedMutant[];
  readonly tests: readonly CoveringTest[];
  /** Mutants whose place runs once in a process: each needs a process of its own. */
  readonly once: ReadonlySet<number>;
  /** For one mutant. */
  readonly budgetMs: number;
}

/** A process that has run so many mutants is replaced: some leave timers and sockets behind. */
const MUTANTS_PER_PROCESS = 200;
/** So many kills are confirmed together: the tests that failed must pass without a mutant in the same process. */
const CONFIRM_EVERY = 12;
/** Where hooks take longer, all tests of the file run together. */
const CHEAP_HOOK_MS = 40;
const FAVOURITES = 3;

const limitOf = ({ durationMs }: CoveringTest): number => Math.round(6_000 + 8 * durationMs);
const keyOf = ({ testFile, id }: CoveringTest): string => `${testFile}#${id}`;
const costOf = (tests: readonly CoveringTest[]): number =>
  (tests[0]?.hookMs ?? 0) + tests.reduce((sum, { durationMs }) => sum + durationMs, 0);

interface Kill {
  readonly mutant: NumberedMutant;
  readonly test: CoveringTest | undefined;
  readonly by: string;
}

/** Tries mutants one after the other in a warm process. */
export class MutantTrials {
  readonly #dependencies: TrialDependencies;
  readonly #worker: WorkerHandle;
  readonly #testsOf = new Map<number, CoveringTest[]>();
  /** How often a test was the first to notice a mutant: likely the first to notice the next. */
  readonly #kills = new Map<string, number>();
  /** Files whose tests need those before them. */
  readonly #whole = new Set<string>();
  #unconfirmed: Kill[] = [];
  #tried = 0;

  constructor(dependencies: TrialDependencies) {
    this.#dependencies = dependencies;
    this.#worker = new WorkerHandle(dependencies.root, dependencies.sources);
    for (const test of dependencies.tests)
      for (const id of test.reached) this.#testsOf.set(id, [...(this.#testsOf.get(id) ?? []), test]);
  }

  /** Tries a mutant; kills are reported when they are confirmed, some mutants later. */
  async try(mutant: NumberedMutant, report: (mutant: NumberedMutant, verdict: Verdict) => void): Promise<void> {
    this.#tried += 1;
    if (this.#tried % MUTANTS_PER_PROCESS === 0) {
      await this.confirm(report);
      this.#worker.stop();
    }
    const isOnce = this.#dependencies.once.has(mutant.id);
    const covering = isOnce ? this.#testsOfFile(mutant) : (this.#testsOf.get(mutant.id) ?? []);
    if (covering.length === 0) return report(mutant, { outcome: 'not covered' });
    if (isOnce) return report(mutant, await this.#tryInNewProcess(mutant, covering));
    const tried = await this.#tryHere(mutant, covering);
    if ('outcome' in tried) return report(mutant, tried);
    this.#unconfirmed.push(tried);
    if (this.#unconfirmed.length >= CONFIRM_EVERY) await this.confirm(report);
  }

  /** Confirms the kills that are not yet reported. Those a test fails for without a mutant are tried in a new process. */
  async confirm(report: (mutant: NumberedMutant, verdict: Verdict) => void): Promise<void> {
    const kills = this.#unconfirmed;
    this.#unconfirmed = [];
    const tests = new Map(kills.flatMap(({ test }) => (test === undefined ? [] : [[keyOf(test), test] as const])));
    const byFile = Map.groupBy(tests.values(), ({ testFile }) => testFile);
    for (const batch of byFile.values()) {
      const reply = await this.#run(this.#worker, this.#complete(batch), undefined);
      if (reply?.failure === undefined && reply !== undefined) continue;
      this.#worker.stop();
      await this.#findDependent(batch);
      for (const { mutant } of kills)
        report(mutant, await this.#tryInNewProcess(mutant, this.#testsOf.get(mutant.id) ?? []));
      return;
    }
    for (const { mutant, by } of kills) report(mutant, { outcome: 'killed', by });
  }

  stop(): void {
    this.#worker.stop();
  }

  /** A file whose test fails alone in a new process is always run as a whole. */
  async #findDependent(batch: readonly CoveringTest[]): Promise<void> {
    for (const test of batch) {
      const reply = await this.#run(this.#worker, [test], undefined);
      if (reply?.failure !== undefined) this.#whole.add(test.testFile);
    }
  }

  /** Tests that reach any mutant of the same source file. */
  #testsOfFile({ path }: NumberedMutant): CoveringTest[] {
    const ids = new Set(this.#dependencies.mutants.filter((each) => each.path === path).map(({ id }) => id));
    return this.#dependencies.tests.filter(({ reached }) => reached.some((id) => ids.has(id)));
  }

  #complete(batch: readonly CoveringTest[]): readonly CoveringTest[] {
    const file = batch[0]?.testFile ?? '';
    return this.#whole.has(file) ? this.#dependencies.tests.filter(({ testFile }) => testFile === file) : batch;
  }

  /** What is run together: first what noticed most for its time so far, then the cheapest. */
  #batches(covering: readonly CoveringTest[]): (readonly CoveringTest[])[] {
    const worth = (test: CoveringTest) => (this.#kills.get(keyOf(test)) ?? 0) / (100 + costOf([test]));
    const favourites = covering
      .filter((test) => worth(test) > 0)
      .sort((one, other) => worth(other) - worth(one))
      .slice(0, FAVOURITES);
    const rest = covering.filter((test) => !favourites.includes(test));
    const alone = rest.filter(({ hookMs }) => hookMs < CHEAP_HOOK_MS).map((test) => [test]);
    const together = Map.groupBy(
      rest.filter(({ hookMs }) => hookMs >= CHEAP_HOOK_MS),
      ({ testFile }) => testFile,
    );
    return [
      ...favourites.map((test) => [test]),
      ...[...alone, ...together.values()].sort((one, other) => costOf(one) - costOf(other)),
    ];
  }

  #run(
    worker: WorkerHandle,
    tests: readonly CoveringTest[],
    mutant: NumberedMutant | undefined,
  ): Promise<WorkerReply | undefined> {
    return worker.run({
      testFile: join(this.#dependencies.root, tests[0]?.testFile ?? ''),
      limitsMs: Object.fromEntries(tests.map((test) => [test.id, limitOf(test)])),
      isTrial: true,
      ...(mutant !== undefined && { mutant: mutant.id }),
    });
  }

  async #tryHere(mutant: NumberedMutant, covering: readonly CoveringTest[]): Promise<Kill | Verdict> {
    const deadline = performance.now() + this.#dependencies.budgetMs;
    for (const batch of this.#batches(covering)) {
      if (performance.now() > deadline) return { outcome: 'cut short' };
      const tests = this.#complete(batch);
      const reply = await this.#run(this.#worker, tests, mutant);
      if (reply?.failure === undefined && reply?.loadError === undefined && reply !== undefined) continue;
      const by = `${tests[0]?.testFile}#${reply?.failure?.id ?? 'stuck'}`;
      this.#kills.set(by, (this.#kills.get(by) ?? 0) + 1);
      return { mutant, by, test: tests.find((test) => keyOf(test) === by) ?? tests[0] };
    }
    return { outcome: 'survived' };
  }

  async #tryInNewProcess(mutant: NumberedMutant, covering: readonly CoveringTest[]): Promise<Verdict> {
    const { root, sources } = this.#dependencies;
    const deadline = performance.now() + this.#dependencies.budgetMs;
    const worker = new WorkerHandle(root, sources, mutant.id);
    try {
      for (const batch of this.#batches(covering)) {
        if (performance.now() > deadline) return { outcome: 'cut short' };
        const tests = this.#complete(batch);
        const reply = await this.#run(worker, tests, mutant);
        if (reply?.failure !== undefined || reply?.loadError !== undefined || reply === undefined)
          return { outcome: 'killed', by: `${tests[0]?.testFile}#${reply?.failure?.id ?? 'loading'}` };
      }
      return { outcome: 'survived' };
    } finally {
      worker.stop();
    }
  }
}
