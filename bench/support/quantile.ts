/** Quantile by nearest rank: the value below which this share (0 to 1) of the values lies. 0 for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The median by nearest rank. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Minimum and maximum of several values. */
export const spreadOf = (values: readonly number[]): readonly [number, number] => [
  Math.min(...values),
  Math.max(...values),
];
