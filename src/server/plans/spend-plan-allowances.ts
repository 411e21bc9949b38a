import type { Clock } from '../platform/clock.ts';
import type { Allowances } from '../quota/ledger.ts';
import type { Executor, Trx } from '../tables.ts';
import type { AllowanceUsageStore } from './allowance-usage-store.ts';
import {
  changeTimeZone,
  type DayRule,
  dayAt,
  type TimeSpan,
  type Window,
  type WindowKind,
  windowsAt,
} from './allowance-windows.ts';
import { type CurrentPlan, findCurrentPlan } from './find-current-plan.ts';
import {
  allowedModels,
  assertModelAllowed,
  grantsAllowance,
  type PlanTerms,
  termsOf,
} from './plan-models-price-factor-and-channels.ts';
import type { SubscriptionStore } from './subscription-store.ts';

export interface PlanAllowancesDependencies {
  readonly subscriptions: SubscriptionStore;
  readonly usage: AllowanceUsageStore;
  readonly clock: Clock;
  /** IANA name of the zone an account has set. */
  readonly findTimeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

/** A window of an account with what was used of it. */
export type WindowUsage = Window & { readonly used: number };

const NOTHING_TAKEN = { taken: 0, slot: '' };

/** Allowances of plans, spent before the wallet. All changes of one account are serialized by the lock on its row. */
export class PlanAllowances implements Allowances {
  readonly #dependencies: PlanAllowancesDependencies;
  constructor(dependencies: PlanAllowancesDependencies) {
    this.#dependencies = dependencies;
  }

  async take(
    trx: Trx,
    { userId, model, amount }: Parameters<Allowances['take']>[1],
  ): Promise<{ taken: number; slot: string }> {
    const { subscriptions, usage, clock } = this.#dependencies;
    const { plan } = findCurrentPlan(await subscriptions.findAccountPlans(userId, trx), clock.now());
    assertModelAllowed(plan, model);
    // Nearly all accounts without a subscription return here, after one query and without a lock.
    if (amount === 0 || !grantsAllowance(plan)) return NOTHING_TAKEN;
    const now = clock.now();
    const rule = await this.#lockDayRule(trx, userId, now);
    const current = findCurrentPlan(await subscriptions.findAccountPlans(userId, trx), now);
    assertModelAllowed(current.plan, model);
    const windows = await this.#addUsage(userId, current, windowsAt(now, current.plan, current, rule), trx);
    const taken = Math.min(amount, ...windows.map(({ limit, used }) => Math.max(0, limit - used)));
    if (taken === 0) return NOTHING_TAKEN;
    for (const window of windows) await usage.add(trx, userId, current.subscriptionId, window, taken);
    return { taken, slot: formatReservedWindows(userId, current.subscriptionId, windows) };
  }

  /**
   * Gives back to the windows it was taken from, as far as they are still running.
   * @returns how much came back to the day or interval
   */
  async giveBack(trx: Trx, slot: string, amount: number): Promise<number> {
    const { subscriptions, usage, clock } = this.#dependencies;
    const { user, subscription, windows } = parseReservedWindows(slot);
    const now = clock.now();
    const rule = await this.#lockDayRule(trx, user, now);
    const current = findCurrentPlan(await subscriptions.findAccountPlans(user, trx), now);
    if (current.subscriptionId !== subscription) return 0;
    let returned = 0;
    for (const window of windowsAt(now, current.plan, current, rule)) {
      const isSame = windows.some(({ kind, startsAt }) => kind === window.kind && startsAt === window.startsAt);
      if (!isSame || !(await usage.subtract(trx, user, subscription, window, amount))) continue;
      // The week only limits the sum of days or intervals and has no allowance of its own.
      if (window.kind !== 'week') returned = amount;
    }
    return returned;
  }

  /** @returns the models the current plan permits; undefined: all */
  async permittedModels(userId: number): Promise<ReadonlySet<string> | undefined> {
    const { subscriptions, clock } = this.#dependencies;
    const { plan } = findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now());
    const models = allowedModels(plan);
    return models.length === 0 ? undefined : new Set(models);
  }

  /** The terms of the current plan. */
  async currentTerms(userId: number): Promise<PlanTerms> {
    const { subscriptions, clock } = this.#dependencies;
    return termsOf(findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now()).plan);
  }

  /**
   * The current plan and its windows with what was used of them; changes nothing.
   * @param zone IANA name of the zone the account has set
   */
  async currentUsage(
    userId: number,
    zone: string,
  ): Promise<{ current: CurrentPlan; windows: WindowUsage[]; day: TimeSpan }> {
    const { subscriptions, usage, clock } = this.#dependencies;
    const now = clock.now();
    const [plans, account] = await Promise.all([subscriptions.findAccountPlans(userId), usage.findAccount(userId)]);
    const rule =
      account === undefined
        ? { zone, extendedDayStart: 0 }
        : changeTimeZone({ zone: account.zone, extendedDayStart: account.extended_day_start }, zone, now);
    const current = findCurrentPlan(plans, now);
    const windows = windowsAt(now, current.plan, current, rule);
    return { current, windows: await this.#addUsage(userId, current, windows), day: dayAt(now, rule) };
  }

  /** Locks the account and stores a change of its time zone. */
  async #lockDayRule(trx: Trx, user: number, now: number): Promise<DayRule> {
    const { usage, findTimeZoneIn } = this.#dependencies;
    const zone = await findTimeZoneIn(trx, user);
    const account = await usage.lockAccount(trx, user, zone);
    const before = { zone: account.zone, extendedDayStart: account.extended_day_start };
    const rule = changeTimeZone(before, zone, now);
    if (rule !== before) await usage.updateDayRule(trx, user, rule);
    return rule;
  }

  #addUsage(
    user: number,
    { subscriptionId }: CurrentPlan,
    windows: readonly Window[],
    db?: Executor,
  ): Promise<WindowUsage[]> {
    const { usage } = this.#dependencies;
    return Promise.all(
      windows.map(async (window) => ({ ...window, used: await usage.find(user, subscriptionId, window, db) })),
    );
  }
}

/** Where an amount was taken from, as a reservation stores it: `user.subscription.kindStart…`. */
interface ReservedWindows {
  readonly user: number;
  readonly subscription: number;
  readonly windows: readonly { readonly kind: WindowKind; readonly startsAt: number }[];
}

const formatReservedWindows = (user: number, subscription: number, windows: readonly Window[]): string =>
  [user, subscription, ...windows.map(({ kind, startsAt }) => `${kind}${startsAt}`)].join('.');

function parseReservedWindows(text: string): ReservedWindows {
  const [user, subscription, ...windows] = text.split('.');
  return {
    user: Number(user),
    subscription: Number(subscription),
    windows: windows.map((each) => {
      const [, kind = '', startsAt = ''] = /^(day|interval|week)(-?\d+)$/.exec(each) ?? [];
      return { kind: kind as WindowKind, startsAt: Number(startsAt) };
    }),
  };
}
