/** Periods of a spend limit: calendar days, weeks from Monday and months in the time zone of the site. */
export const SPEND_PERIODS = ['day', 'week', 'month'] as const;
export type SpendPeriod = (typeof SPEND_PERIODS)[number];
