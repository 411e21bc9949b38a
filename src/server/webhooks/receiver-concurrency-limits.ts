/** Deliveries in progress at a time: in all, to one receiver that answers, and to all receivers together that do not. */
const MAX_IN_FLIGHT = 512;
const MAX_PER_LANE = 64;
const MAX_IN_FLIGHT_FAILING = 128;
/** A receiver nothing is known of begins with this many. */
const FIRST_LIMIT = 2;

const MAX_REMEMBERED = 10_000;

interface Lane {
  inFlight: number;
  /** Doubles with each success, and is one after a failure. */
  limit: number;
  isFailing: boolean;
  /** The receiver asked for a pause, Unix milliseconds. */
  pausedUntil: number;
}

/**
 * Shares the deliveries of this process between receivers, so that one that is slow or dead delays no other: it holds few
 * places, and all such receivers together hold a quarter.
 */
export class ReceiverConcurrencyLimits {
  readonly #lanes = new Map<string, Lane>();
  #inFlight = 0;
  #failing = 0;

  /** How many deliveries of each lane may begin now, shared fairly; lanes without a place are left out. */
  allot(due: readonly string[], now: number): { lane: string; count: number }[] {
    let free = MAX_IN_FLIGHT - this.#inFlight;
    let freeForFailing = MAX_IN_FLIGHT_FAILING - this.#failing;
    const allotted: { lane: string; count: number }[] = [];
    // Beginning anywhere, so that no lane is always the first.
    const offset = Math.floor(Math.random() * due.length);
    for (const lane of [...due.slice(offset), ...due.slice(0, offset)]) {
      const { inFlight, limit, isFailing, pausedUntil } = this.#lane(lane);
      if (pausedUntil > now) continue;
      const count = Math.min(limit - inFlight, free, isFailing ? freeForFailing : free);
      if (count <= 0) continue;
      allotted.push({ lane, count });
      free -= count;
      if (isFailing) freeForFailing -= count;
    }
    return allotted;
  }

  begin(name: string): void {
    const lane = this.#lane(name);
    lane.inFlight += 1;
    this.#inFlight += 1;
    if (lane.isFailing) this.#failing += 1;
  }

  /** @param pausedUntil Unix milliseconds; 0: go on */
  end(name: string, isSuccess: boolean, pausedUntil = 0): void {
    const lane = this.#lane(name);
    lane.inFlight -= 1;
    this.#inFlight -= 1;
    if (lane.isFailing) this.#failing -= 1;
    // The others in flight are counted as what the lane is now.
    if (lane.isFailing !== !isSuccess) this.#failing += isSuccess ? -lane.inFlight : lane.inFlight;
    lane.isFailing = !isSuccess;
    lane.limit = isSuccess ? Math.min(lane.limit * 2, MAX_PER_LANE) : 1;
    lane.pausedUntil = pausedUntil;
    // It is forgotten, and begins as an unknown one again, before there are too many to remember.
    if (lane.inFlight === 0 && isSuccess && this.#lanes.size > MAX_REMEMBERED) this.#lanes.delete(name);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = { inFlight: 0, limit: FIRST_LIMIT, isFailing: false, pausedUntil: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }
}
