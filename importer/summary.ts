import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Outcome } from './mapping/values.ts';

/** A row that is not imported, or is imported with changes. */
export interface Finding {
  readonly kind: ImportKind | 'option' | 'table' | 'path';
  /** Id in the source, or a name. */
  readonly source: string;
  readonly result: 'skipped' | 'different';
  readonly text: string;
}

/** Counts of one kind of row. */
export interface KindCount {
  read: number;
  imported: number;
  skipped: number;
}

/** Counts, remarks and sums found in a source, for the report and the verification. */
export class ImportSummary {
  readonly counts = new Map<ImportKind, KindCount>();
  readonly findings: Finding[] = [];
  readonly warnings: string[] = [];
  readonly sums: ImportSums = zeroSums();

  /** Counts a row and records its remarks. */
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

/** Sums of the source in whole quota. Written as text in reports, because they may exceed JavaScript's exact range. */
export interface ImportSums {
  /** Both balances of all imported accounts. */
  balance: bigint;
  /** Granted to wallets. */
  granted: bigint;
  /** Overdrafts of accounts. `balance` = `granted` - `debts`. */
  debts: bigint;
  /** Balances of accounts that are not imported. */
  leftBehind: bigint;
  /** Remaining limits of limited keys. */
  keyLimits: bigint;
  /** Unused redemption codes. */
  codes: bigint;
  /** Remaining value of plans bought in the source. */
  subscriptions: bigint;
  /** Paid for ended videos, which become history. */
  endedTasks: bigint;
  /** Paid for unfinished videos. */
  unfinishedTasks: bigint;
  /** The part of `unfinishedTasks` that is held here for imported videos. */
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
