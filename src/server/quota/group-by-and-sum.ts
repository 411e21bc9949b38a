/** Those with the same key together, in their order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}
