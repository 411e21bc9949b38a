import { HOUR_MS } from '../../src/contract/time-units.ts';

const DAY = 24 * HOUR_MS;
const WEEK = 7 * DAY;

/** The terms of a plan that the reference model uses. */
export interface ReferencePlan {
  readonly package_code: string;
  readonly level: number;
  readonly daily_quota: number;
  readonly refresh_interval_seconds: number;
  readonly interval_quota: number;
  readonly weekly_quota_limit: number;
}

interface ReferenceSubscription {
  readonly card: ReferencePlan;
  readonly serial: number;
  days: number;
  from: number;
  until: number;
}

interface ReferenceReservation {
  readonly amount: number;
  readonly plan: number;
  readonly keys: readonly string[];
}

/**
 * Plans of one account in plain arithmetic over UTC days, as the specification of the real ones: without tables, SQL or
 * time zones.
 */
export class ReferenceModel {
  readonly #none: ReferencePlan;
  #now: number;
  #serial = 0;
  #active: ReferenceSubscription | undefined;
  #waiting: ReferenceSubscription[] = [];
  /** Usage by window; a window that has ended is never read again. */
  readonly #used = new Map<string, number>();
  readonly open = new Map<string, ReferenceReservation>();
  wallet: number;

  constructor(none: ReferencePlan, now: number, wallet: number) {
    this.#none = none;
    this.#now = now;
    this.wallet = wallet;
  }

  get code(): string {
    return (this.#active?.card ?? this.#none).package_code;
  }
  get until(): number {
    return this.#active?.until ?? 0;
  }
  get waiting(): string[] {
    return this.#inOrder().map(({ card }) => card.package_code);
  }

  #inOrder(): ReferenceSubscription[] {
    return [...this.#waiting].sort((one, other) => other.card.level - one.card.level || one.serial - other.serial);
  }

  pass(ms: number): void {
    this.#now += ms;
    while (this.#active !== undefined && this.#active.until <= this.#now) {
      const { until } = this.#active;
      const [next] = this.#inOrder();
      this.#waiting = this.#waiting.filter((held) => held !== next);
      this.#active = next && Object.assign(next, { from: until, until: until + next.days * DAY });
    }
  }

  grant(card: ReferencePlan, days: number): void {
    const held = { card, days, serial: ++this.#serial, from: this.#now, until: this.#now + days * DAY };
    if (this.#active === undefined || card.level > this.#active.card.level) this.#active = held;
    else if (card.level === this.#active.card.level) this.#active.until += days * DAY;
    else {
      const same = this.#waiting.find((each) => each.card === card);
      if (same === undefined) this.#waiting.push(held);
      else same.days += days;
    }
  }

  /** The current windows: the key of their usage, and the remaining quota. */
  #windows(): { key: string; left: number }[] {
    const card = this.#active?.card ?? this.#none;
    const from = this.#active?.from ?? 0;
    const serial = this.#active?.serial ?? 0;
    const step = card.refresh_interval_seconds * 1000;
    const windows =
      step > 0
        ? [{ key: `interval ${Math.floor((this.#now - from) / step)}`, limit: card.interval_quota }]
        : [{ key: `day ${this.#dayStart(from)}`, limit: card.daily_quota }];
    if (card.weekly_quota_limit > 0)
      windows.push({ key: `week ${Math.floor((this.#now - from) / WEEK)}`, limit: card.weekly_quota_limit });
    return windows.map(({ key, limit }) => ({
      key: `${serial} ${key}`,
      left: limit - (this.#used.get(`${serial} ${key}`) ?? 0),
    }));
  }

  /** A one-day card has a single day; others start one with the card and at each midnight. */
  #dayStart(from: number): number {
    const isDayCard = this.#active !== undefined && this.#active.until - from <= DAY;
    return isDayCard ? from : Math.max(from, Math.floor(this.#now / DAY) * DAY);
  }

  get left(): number {
    return Math.max(0, Math.min(...this.#windows().map(({ left }) => left)));
  }

  #use(key: string, amount: number): void {
    this.#used.set(key, (this.#used.get(key) ?? 0) + amount);
  }

  reserve(ref: string, amount: number): string | undefined {
    const plan = Math.min(amount, this.left);
    if (amount - plan > this.wallet) return 'quota_not_enough';
    const keys = this.#windows().map(({ key }) => key);
    for (const key of keys) this.#use(key, plan);
    this.wallet -= amount - plan;
    this.open.set(ref, { amount, plan, keys });
    return undefined;
  }

  /**
   * The plan pays first, so the wallet is refunded first; quota from a window returns to it only while that window
   * runs. Additional cost is taken from the current plan first.
   */
  end(ref: string, cost: number): number | undefined {
    const reservation = this.open.get(ref);
    if (reservation === undefined) return undefined;
    this.open.delete(ref);
    const reserved = Math.min(cost, reservation.amount);
    const fromPlan = Math.min(reserved, reservation.plan);
    this.wallet += reservation.amount - reservation.plan - (reserved - fromPlan);
    const running = new Set(this.#windows().map(({ key }) => key));
    for (const key of reservation.keys) if (running.has(key)) this.#use(key, fromPlan - reservation.plan);
    const planExtra = Math.min(cost - reserved, this.left);
    for (const key of running) this.#use(key, planExtra);
    const walletExtra = Math.min(cost - reserved - planExtra, this.wallet);
    this.wallet -= walletExtra;
    return reserved + planExtra + walletExtra;
  }
}
