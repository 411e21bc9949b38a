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

/** A count, which some vendors write as text or with decimals. Undefined for anything else. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,12}(\.\d{1,12})?$/.test(value) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isFinite(count) || count < 0 || count > MAX_CREDIBLE) return undefined;
  return Math.round(count * MICRO) / MICRO;
}

export function billedUnits(value: unknown): BilledFacts | undefined {
  const units = toCount(value);
  return units === undefined ? undefined : { units };
}

export function billedSeconds(value: unknown): BilledFacts | undefined {
  const seconds = toCount(value);
  return seconds === undefined ? undefined : { seconds: Math.ceil(seconds) };
}
