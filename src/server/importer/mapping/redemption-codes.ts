import type { SourceRow } from '../source/source-database.ts';
import { integerOf, isDeleted, smallIntegerOf, textOf, timeOf, toPlainText } from './column-values.ts';
import { mapped, type Outcome, skipped } from './outcome.ts';

/** A redemption code that is still to be used. */
export interface ImportedCode {
  readonly sourceId: number;
  /** In clear, as it was given out. */
  readonly code: string;
  readonly quota: number;
  readonly name: string;
  readonly expiresAt: number | undefined;
  readonly createdAt: number | undefined;
}

const MAX_QUOTA = 1_000_000_000_000_000n;

/** One row of `redemptions`: status 1 unused, 2 disabled, 3 used; `expired_time` 0 = never. */
export function mapRedemptionCode(row: SourceRow, now: number): Outcome<ImportedCode> {
  if (isDeleted(row)) return skipped('the code was deleted there');
  const status = smallIntegerOf(row, 'status', 1);
  if (status !== 1) return skipped(status === 3 ? 'the code was used' : 'the code was disabled there');
  const expiresAt = timeOf(row, 'expired_time');
  if (expiresAt !== undefined && expiresAt <= now) return skipped('the code has expired');
  const code = textOf(row, 'key');
  const quota = integerOf(row, 'quota');
  if (code === '' || quota <= 0n || quota > MAX_QUOTA) return skipped('the code is empty, or is worth nothing');
  return mapped({
    sourceId: smallIntegerOf(row, 'id'),
    code,
    quota: Number(quota),
    name: toPlainText(textOf(row, 'name'), 100),
    expiresAt,
    createdAt: timeOf(row, 'created_time'),
  });
}
