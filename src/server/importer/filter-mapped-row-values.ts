import type { MappedRow } from './import-visitor-types.ts';

/** What comes over of a page of rows. */
export const valuesOf = <T>(rows: readonly MappedRow<T>[]): T[] =>
  rows.flatMap(({ outcome }) => (outcome.kind === 'mapped' ? [outcome.value] : []));
