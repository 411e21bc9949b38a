import { type ImportSums, zeroSums } from './import-sums-type.ts';
import type { Outcome } from './mapping/outcome.ts';
import type { ImportKind } from './tables.ts';

/** A row that does not come over, or not as it was. */
export interface Finding {
  readonly kind: ImportKind | 'option' | 'table' | 'path';
  /** Id in the source, or a name. */
  readonly source: string;
  readonly result: 'skipped' | 'different';
  readonly text: string;
}

export interface KindCount {
  read: number;
  imported: number;
  skipped: number;
}

/** What reading a source found: counts of rows, remarks and sums, for the report and for the verification. */
export class ImportSummary {
  readonly counts = new Map<ImportKind, KindCount>();
  readonly findings: Finding[] = [];
  readonly warnings: string[] = [];
  readonly sums: ImportSums = zeroSums();

  /** Counts a row and keeps what is to be said about it. */
  add(kind: ImportKind, source: string, outcome: Outcome<unknown>): void {
    const count = this.countOf(kind);
    count.read++;
    if (outcome.kind === 'skipped') {
      count.skipped++;
      this.findings.push({ kind, source, result: 'skipped', text: outcome.reason });
      return;
    }
    count.imported++;
    for (const text of outcome.remarks) this.findings.push({ kind, source, result: 'different', text });
  }

  countOf(kind: ImportKind): KindCount {
    let count = this.counts.get(kind);
    if (count === undefined) {
      count = { read: 0, imported: 0, skipped: 0 };
      this.counts.set(kind, count);
    }
    return count;
  }
}
