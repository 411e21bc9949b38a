/** What a vendor says it billed for a job. */
export interface BilledFacts {
  /** Its own count: tokens, credits, deductions; to a millionth. */
  readonly units?: number;
  /** Whole seconds; a begun one counts. */
  readonly seconds?: number;
}

/** No job is billed as much; a larger figure is treated as an error and ignored. */
const MAX_CREDIBLE = 1_000_000_000;

const MICRO = 1_000_000;

/** A positive count, which some vendors write as text or with decimals. Zero is a field that was not filled in, not a free job. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,12}(\.\d{1,12})?$/.test(value.trim()) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isFinite(count) || count <= 0 || count > MAX_CREDIBLE) return undefined;
  return Math.round(count * MICRO) / MICRO || undefined;
}

const firstCount = (values: readonly unknown[]): number | undefined =>
  values.map(toCount).find((count) => count !== undefined);

/** @param places where the figure may stand, the vendor's own first; the first that holds a positive count decides */
export function billedUnits(...places: readonly unknown[]): BilledFacts | undefined {
  const units = firstCount(places);
  return units === undefined ? undefined : { units };
}

/** The same in seconds. */
export function billedSeconds(...places: readonly unknown[]): BilledFacts | undefined {
  const seconds = firstCount(places);
  return seconds === undefined ? undefined : { seconds: Math.ceil(seconds) };
}
