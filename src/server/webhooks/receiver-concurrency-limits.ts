/** Deliveries in progress at a time: in all, to one receiver that answers, and to all receivers together that do not. */
const MAX_IN_FLIGHT = 512;
const MAX_PER_LANE = 64;
const MAX_IN_FLIGHT_FAILING = 128;
/** A receiver nothing is known of begins with this many. */
const FIRST_LIMIT = 2;

/** To one host, over all accounts: in progress, at once after a pause, and per second from then on. */
const MAX_PER_HOST = 64;
const HOST_BURST = 100;
const HOST_RATE = 50;

const MAX_REMEMBERED = 10_000;

/** A lane with something due and the host it delivers to; undefined: a host without limits, or one that is not known. */
export interface DueLane {
  readonly lane: string;
  readonly host: string | undefined;
}

interface Lane {
  inFlight: number;
  /** Doubles with each success, and is one after a failure. */
  limit: number;
  isFailing: boolean;
  /** The receiver asked for a pause, Unix milliseconds. */
  pausedUntil: number;
}

/** What one host may still be sent; accounts without number could otherwise aim at it together. */
interface Host {
  inFlight: number;
  tokens: number;
  refilledAt: number;
}

/**
 * Shares the deliveries of this process between receivers, so that one that is slow or dead delays no other: it holds few
 * places, and all such receivers together hold a quarter.
 */
export class ReceiverConcurrencyLimits {
  readonly #lanes = new Map<string, Lane>();
  readonly #hosts = new Map<string, Host>();
  #inFlight = 0;
  #failing = 0;

  /** How many deliveries of each lane may begin now, shared fairly; lanes without a place are left out. */
  allot(due: readonly DueLane[], now: number): { lane: string; count: number }[] {
    let free = MAX_IN_FLIGHT - this.#inFlight;
    let freeForFailing = MAX_IN_FLIGHT_FAILING - this.#failing;
    const allotted: { lane: string; count: number }[] = [];
    const allottedByHost = new Map<string, number>();
    // Beginning anywhere, so that no lane is always the first.
    const offset = Math.floor(Math.random() * due.length);
    for (const { lane, host } of [...due.slice(offset), ...due.slice(0, offset)]) {
      const { inFlight, limit, isFailing, pausedUntil } = this.#lane(lane);
      if (pausedUntil > now) continue;
      const taken = (host && allottedByHost.get(host)) || 0;
      const freeAtHost = host === undefined ? free : this.#freeAt(host, now) - taken;
      const count = Math.min(limit - inFlight, free, freeAtHost, isFailing ? freeForFailing : free);
      if (count <= 0) continue;
      allotted.push({ lane, count });
      if (host !== undefined) allottedByHost.set(host, taken + count);
      free -= count;
      if (isFailing) freeForFailing -= count;
    }
    return allotted;
  }

  begin(name: string, hostname?: string): void {
    const lane = this.#lane(name);
    const host = hostname === undefined ? undefined : this.#hosts.get(hostname);
    if (host !== undefined) {
      host.inFlight += 1;
      host.tokens -= 1;
    }
    lane.inFlight += 1;
    this.#inFlight += 1;
    if (lane.isFailing) this.#failing += 1;
  }

  /** @param pausedUntil Unix milliseconds; 0: go on */
  end(name: string, isSuccess: boolean, pausedUntil = 0, hostname?: string): void {
    const lane = this.#lane(name);
    const host = hostname === undefined ? undefined : this.#hosts.get(hostname);
    if (host !== undefined) host.inFlight -= 1;
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

  #freeAt(name: string, now: number): number {
    const host = this.#hosts.get(name) ?? { inFlight: 0, tokens: HOST_BURST, refilledAt: now };
    host.tokens = Math.min(HOST_BURST, host.tokens + ((now - host.refilledAt) * HOST_RATE) / 1_000);
    host.refilledAt = now;
    if (!this.#hosts.has(name)) this.#forgetIdleHosts();
    this.#hosts.set(name, host);
    return Math.min(MAX_PER_HOST - host.inFlight, Math.floor(host.tokens));
  }

  #forgetIdleHosts(): void {
    if (this.#hosts.size <= MAX_REMEMBERED) return;
    for (const [name, { inFlight }] of this.#hosts) if (inFlight === 0) this.#hosts.delete(name);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = { inFlight: 0, limit: FIRST_LIMIT, isFailing: false, pausedUntil: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }
}
