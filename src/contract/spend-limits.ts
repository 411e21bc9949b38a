// Apart from the schemas, so that the command line's help does not load them.

/** Periods of a spend limit: calendar days, weeks from Monday and months in the time zone of the site. */
export const SPEND_PERIODS = ['day', 'week', 'month'] as const;
export type SpendPeriod = (typeof SPEND_PERIODS)[number];

/** A hard limit: reservations count as soon as they are made. `amount`: quota. */
export interface SpendLimit {
  readonly amount: number;
  readonly period: SpendPeriod;
}

/** Remaining quota; a settlement beyond its reservation may exceed the limit. */
export const leftOf = ({ amount, spent }: { readonly amount: number; readonly spent: number }): number =>
  Math.max(0, amount - spent);
