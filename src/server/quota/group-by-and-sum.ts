/** Those with the same key together, in their order; no group is empty. */
export const groupBy = <T>(all: readonly T[], keyOf: (each: T) => unknown): Iterable<readonly [T, ...T[]]> =>
  Map.groupBy(all, keyOf).values() as Iterable<[T, ...T[]]>;

/**
 * The same where a key would be a text of several parts, which costs more to build and hash than to compare the parts: for groups that are
 * few beside their members, as those of one batch of calls.
 */
export function groupAlike<T>(all: readonly T[], areAlike: (a: T, b: T) => boolean): (readonly [T, ...T[]])[] {
  const groups: [T, ...T[]][] = [];
  for (const each of all) {
    const known = groups.findLast(([first]) => areAlike(first, each));
    if (known === undefined) groups.push([each]);
    else known.push(each);
  }
  return groups;
}

export function sumOf<T>(all: readonly T[], amountOf: (each: T) => number): number {
  let sum = 0;
  for (const each of all) sum += amountOf(each);
  return sum;
}
