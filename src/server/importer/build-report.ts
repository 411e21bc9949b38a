import type { Finding, ImportSummary, KindCount } from './import-summary.ts';
import type { ImportSums } from './import-sums-type.ts';
import type { Generation, ProgramName } from './source/detect-program.ts';
import type { EngineName } from './source/source-database.ts';
import type { Discrepancy } from './verify.ts';

export interface ReportHead {
  readonly mode: 'dry-run' | 'apply' | 'verify';
  /** ISO 8601. */
  readonly madeAt: string;
  readonly source: string;
  readonly engine: EngineName;
  readonly program: ProgramName;
  readonly generation: Generation;
}

/** What an import does or did, row by row where something is to be said. Sums are decimal text: they may exceed 2^53. */
export interface ImportReport extends ReportHead {
  readonly counts: Readonly<Record<string, KindCount>>;
  readonly sums: Readonly<Record<keyof ImportSums, string>>;
  readonly warnings: readonly string[];
  readonly findings: readonly Finding[];
  /** Of an apply or a verification: empty lists where everything agrees. */
  readonly proof?:
    | { readonly discrepancies: readonly Discrepancy[]; readonly changes: readonly Discrepancy[] }
    | undefined;
}

export function buildReport(head: ReportHead, found: ImportSummary, proof: ImportReport['proof']): ImportReport {
  const { mode, madeAt, source, engine, program, generation } = head;
  const sums = Object.entries(found.sums).map(([name, sum]: [string, bigint]) => [name, String(sum)]);
  const report = {
    mode,
    madeAt,
    source,
    engine,
    program,
    generation,
    counts: Object.fromEntries(found.counts),
    sums: Object.fromEntries(sums) as ImportReport['sums'],
    warnings: found.warnings,
    findings: found.findings,
  };
  return proof === undefined ? report : { ...report, proof };
}
