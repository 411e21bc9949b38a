import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Outcome } from './mapping/values.ts';

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

/** Sums of the source, whole quota. Text in reports: they may be more than JavaScript counts exactly. */
export interface ImportSums {
  /** Both balances of all accounts that are imported. */
  balance: bigint;
  /** What goes into wallets. */
  granted: bigint;
  /** What accounts were overdrawn by. `balance` = `granted` - `debts`. */
  debts: bigint;
  /** Balances of accounts that are not imported. */
  leftBehind: bigint;
  /** What limited keys may still spend. */
  keyLimits: bigint;
  /** Unused redemption codes. */
  codes: bigint;
  /** What plans bought there still cover. */
  subscriptions: bigint;
  /** Paid for videos that had ended and are history here. */
  endedTasks: bigint;
  /** Paid for videos that were not finished. */
  unfinishedTasks: bigint;
  /** Of that, what is held here for those that come over. */
  heldTasks: bigint;
}

const zeroSums = (): ImportSums => ({
  balance: 0n,
  granted: 0n,
  debts: 0n,
  leftBehind: 0n,
  keyLimits: 0n,
  codes: 0n,
  subscriptions: 0n,
  endedTasks: 0n,
  unfinishedTasks: 0n,
  heldTasks: 0n,
});
