/** What becomes of a row of the source: a value with remarks on what differs, or nothing, with the reason. */
export type Outcome<T> =
  | { readonly kind: 'mapped'; readonly value: T; readonly remarks: readonly string[] }
  | { readonly kind: 'skipped'; readonly reason: string };

export const mapped = <T>(value: T, remarks: readonly string[] = []): Outcome<T> => ({
  kind: 'mapped',
  value,
  remarks,
});
export const skipped = (reason: string): Outcome<never> => ({ kind: 'skipped', reason });
