/** A package in somebody's hands, of the level its card has now. `waiting` ones have no dates yet. Unix milliseconds. */
export interface Holding {
  readonly id: number;
  readonly card_id: number;
  readonly level: number;
  readonly state: 'active' | 'waiting';
  readonly duration_days: number;
  readonly starts_at: number;
  readonly expires_at: number;
}

export interface Timeline<H extends Holding> {
  /** What runs now. */
  readonly current: H | undefined;
  /** What is to come, in its order, with the dates it will have. */
  readonly waiting: readonly H[];
  /** What ended since it was last written down. */
  readonly ended: readonly H[];
}

const DAY_MS = 86_400_000;

export const endOf = (startsAt: number, durationDays: number): number => startsAt + durationDays * DAY_MS;

/**
 * Plays the holdings of an account forward to a time: when one ends, the highest of those that wait follows at that very
 * moment, so it does not matter when somebody looks.
 */
export function timelineAt<H extends Holding>(holdings: readonly H[], unixMs: number): Timeline<H> {
  const waiting = holdings
    .filter(({ state }) => state === 'waiting')
    .sort((one, other) => other.level - one.level || one.id - other.id);
  const ended: H[] = [];
  let current = holdings.find(({ state }) => state === 'active');
  while (current !== undefined && current.expires_at <= unixMs) {
    ended.push(current);
    const next = waiting.shift();
    current = next && dated(next, current.expires_at);
  }
  let from = current?.expires_at ?? unixMs;
  const toCome = waiting.map((holding) => {
    const planned = dated(holding, from);
    from = planned.expires_at;
    return planned;
  });
  return { current, waiting: toCome, ended };
}

const dated = <H extends Holding>(holding: H, startsAt: number): H => ({
  ...holding,
  starts_at: startsAt,
  expires_at: endOf(startsAt, holding.duration_days),
});

/**
 * What becomes of a package that is added: a higher level replaces what runs, the same level extends it (what runs goes on,
 * whichever card of the level brought the days), a lower level waits its turn.
 */
export function placeOf(current: number | undefined, added: number): 'active' | 'extended' | 'waiting' {
  if (current === undefined || added > current) return 'active';
  return added === current ? 'extended' : 'waiting';
}
