import { DAY_MS } from '../../contract/time-units.ts';
/** A subscription of an account, with the level its plan has now. Waiting ones have no dates yet. Unix milliseconds. */
export interface Subscription {
  readonly id: number;
  readonly plan_id: number;
  readonly level: number;
  readonly state: 'active' | 'waiting';
  readonly duration_days: number;
  readonly starts_at: number;
  readonly expires_at: number;
}

export interface SubscriptionTimeline<H extends Subscription> {
  /** The active one. */
  readonly current: H | undefined;
  /** Those to come, in their order, with the dates they will have. */
  readonly waiting: readonly H[];
  /** Those that have expired and are not yet stored as ended. */
  readonly ended: readonly H[];
}

export const toExpiry = (startsAt: number, durationDays: number): number => startsAt + durationDays * DAY_MS;

/**
 * The subscriptions of an account at a time. When one expires, the waiting one with the highest level begins at that very
 * moment, so the result does not depend on when it is computed or whether the periodic job ran.
 */
export function timelineAt<H extends Subscription>(holdings: readonly H[], unixMs: number): SubscriptionTimeline<H> {
  const waiting = holdings
    .filter(({ state }) => state === 'waiting')
    .sort((one, other) => other.level - one.level || one.id - other.id);
  const ended: H[] = [];
  let current = holdings.find(({ state }) => state === 'active');
  while (current !== undefined && current.expires_at <= unixMs) {
    ended.push(current);
    const next = waiting.shift();
    current = next && withDates(next, current.expires_at);
  }
  let from = current?.expires_at ?? unixMs;
  const toCome = waiting.map((holding) => {
    const planned = withDates(holding, from);
    from = planned.expires_at;
    return planned;
  });
  return { current, waiting: toCome, ended };
}

const withDates = <H extends Subscription>(holding: H, startsAt: number): H => ({
  ...holding,
  starts_at: startsAt,
  expires_at: toExpiry(startsAt, holding.duration_days),
});

/**
 * What becomes of a subscription that is added: a higher level replaces the active one, the same level extends it (the
 * active plan goes on, whichever plan of that level the days came with), a lower level waits.
 */
export function placementOf(current: number | undefined, added: number): 'active' | 'extended' | 'waiting' {
  if (current === undefined || added > current) return 'active';
  return added === current ? 'extended' : 'waiting';
}
