import type { DeleteResult, InsertResult, UpdateResult } from 'kysely';

/**
 * Whether a conditional write changed exactly one row: the outcome of a compare-and-set, of which one of several concurrent
 * attempts succeeds.
 */
export function wasChanged(result: UpdateResult | DeleteResult | InsertResult | undefined): boolean {
  if (result === undefined) return false;
  if ('numUpdatedRows' in result) return result.numUpdatedRows === 1n;
  return ('numDeletedRows' in result ? result.numDeletedRows : result.numInsertedOrUpdatedRows) === 1n;
}
