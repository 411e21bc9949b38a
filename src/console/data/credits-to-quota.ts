const DEFAULT_QUOTA_PER_CREDIT = 500_000;

/** Credits as entered in a form → quota. */
export const creditsToQuota = (credits: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): number =>
  Math.round(credits * perUnit);
