import { type Selectable, sql } from 'kysely';
import type { SpendLimit } from '../../contract/amounts.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import { type Clock, zonedTime } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { Allowances, AllowanceTerms } from '../quota/ledger.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import {
  type AccountPlans,
  allowedModels,
  assertModelAllowed,
  type CurrentPlan,
  findCurrentPlan,
  grantsAllowance,
  type PlanTerms,
  type SubscriptionStore,
  spendLimitOf,
  termsOf,
} from './plan-store.ts';

interface PlanAllowancesDependencies {
  readonly subscriptions: SubscriptionStore;
  readonly usage: AllowanceUsageStore;
  readonly clock: Clock;
  /** IANA name of the time zone set by the account. */
  readonly findTimeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

/** A window of an account with its usage. */
export type WindowUsage = Window & { readonly used: number };

const NOTHING_TAKEN = { taken: 0, slot: '' };

/** Allowances of plans, spent before the wallet. The lock on an account's row serializes all its changes. */
export class PlanAllowances implements Allowances {
  readonly #dependencies: PlanAllowancesDependencies;
  constructor(dependencies: PlanAllowancesDependencies) {
    this.#dependencies = dependencies;
  }

  async findTerms(
    trx: Trx,
    requests: readonly { readonly userId: number; readonly model: string }[],
  ): Promise<AllowanceTerms[]> {
    const { subscriptions, clock } = this.#dependencies;
    const accounts = await subscriptions.listAccountPlans(
      requests.map(({ userId }) => userId),
      trx,
    );
    const now = clock.now();
    return requests.map(({ model }, index) => {
      const { plan } = findCurrentPlan(accounts[index] as AccountPlans, now);
      assertModelAllowed(plan, model);
      return { hasAllowance: grantsAllowance(plan), spendLimit: spendLimitOf(plan) };
    });
  }

  async take(
    trx: Trx,
    { userId, model, amount }: Parameters<Allowances['take']>[1],
  ): Promise<{ taken: number; slot: string }> {
    const { subscriptions, usage, clock } = this.#dependencies;
    const { plan } = findCurrentPlan(await subscriptions.findAccountPlans(userId, trx), clock.now());
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
   * Returns quota to the windows it was taken from, as far as they are still current.
   * @returns the amount returned to the day or interval
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
      // A week or month only caps the sum of days or intervals and has no allowance of its own.
      if (window.kind === 'day' || window.kind === 'interval') returned = amount;
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

  async findSpendLimit(userId: number): Promise<SpendLimit | undefined> {
    const { subscriptions, clock } = this.#dependencies;
    return spendLimitOf(findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now()).plan);
  }

  /** The terms of the current plan. */
  async currentTerms(userId: number): Promise<PlanTerms> {
    const { subscriptions, clock } = this.#dependencies;
    return termsOf(findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now()).plan);
  }

  /**
   * The current plan and the usage of its windows. Read-only.
   * @param zone IANA name of the time zone set by the account
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

  /** Locks the account and stores a changed time zone. */
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

/** The windows an amount was taken from, stored with a reservation as `user.subscription.kindStart…`. */
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
      const [, kind = '', startsAt = ''] = /^(day|interval|week|month)(-?\d+)$/.exec(each) ?? [];
      return { kind: kind as WindowKind, startsAt: Number(startsAt) };
    }),
  };
}

/** A span in which an allowance is counted from 0. Unix milliseconds, end exclusive. */
interface TimeSpan {
  readonly startsAt: number;
  readonly endsAt: number;
}

type WindowKind = 'day' | 'interval' | 'week' | 'month';

/** A span with its allowance. */
export interface Window extends TimeSpan {
  readonly kind: WindowKind;
  /** Quota. */
  readonly limit: number;
}

/** The fields of a plan that define its windows. Amounts in quota. */
interface PlanLimits {
  readonly daily_quota: number;
  readonly refresh_interval_seconds: number;
  readonly interval_quota: number;
  readonly weekly_quota_limit: number;
  readonly monthly_quota_limit: number;
}

/** Determines when the days of an account start. */
interface DayRule {
  /** IANA name. */
  readonly zone: string;
  /**
   * After a change of zone, the start of the day that was current: that day is extended to the first midnight of the
   * new zone at least 24 h later, so that switching between zones grants no second allowance. 0: none.
   */
  readonly extendedDayStart: number;
}

const WEEK_MS = 7 * DAY_MS;
const MONTH_MS = 30 * DAY_MS;

/** The calendar day of a zone: 23 or 25 h long when clocks change, and starting at 01:00 where they skip midnight. */
function naturalDay(unixMs: number, zone: string): TimeSpan {
  const now = zonedTime(unixMs, zone);
  const next = now.toPlainDate().add({ days: 1 }).toZonedDateTime(now.timeZoneId);
  return { startsAt: now.startOfDay().epochMilliseconds, endsAt: next.epochMilliseconds };
}

/** The first day start at or after a time. */
function nextDayStart(unixMs: number, zone: string): number {
  const { startsAt, endsAt } = naturalDay(unixMs, zone);
  return startsAt === unixMs ? startsAt : endsAt;
}

/** The day of an account that contains a time. */
export function dayAt(unixMs: number, { zone, extendedDayStart }: DayRule): TimeSpan {
  const heldUntil = extendedDayStart === 0 ? 0 : nextDayStart(extendedDayStart + DAY_MS, zone);
  return unixMs < heldUntil && unixMs >= extendedDayStart
    ? { startsAt: extendedDayStart, endsAt: heldUntil }
    : naturalDay(unixMs, zone);
}

/** Applies a change of zone, which extends the current day. Returns the same object when nothing changes. */
export const changeTimeZone = (rule: DayRule, zone: string, unixMs: number): DayRule =>
  rule.zone === zone ? rule : { zone, extendedDayStart: dayAt(unixMs, rule).startsAt };

/** The span of fixed length, counted from `from`, that contains a time. */
export function fixedSpanAt(unixMs: number, from: number, lengthMs: number): TimeSpan {
  const startsAt = from + Math.floor((unixMs - from) / lengthMs) * lengthMs;
  return { startsAt, endsAt: startsAt + lengthMs };
}

/** Duration of a subscription. Unix milliseconds. */
interface PlanTerm {
  readonly activatedAt: number;
  /** Infinity: no end. */
  readonly expiresAt: number;
}

/**
 * The day in which an allowance is counted. The first one starts with the plan; a one-day plan has a single one, even
 * across midnight.
 */
function planDayAt(unixMs: number, { activatedAt, expiresAt }: PlanTerm, rule: DayRule): TimeSpan {
  const isDayCard = expiresAt - activatedAt <= DAY_MS;
  if (isDayCard) return { startsAt: activatedAt, endsAt: expiresAt };
  const { startsAt, endsAt } = dayAt(unixMs, rule);
  return { startsAt: Math.max(startsAt, activatedAt), endsAt };
}

/** The windows that contain a time; an amount must fit into all of them. */
export function windowsAt(unixMs: number, limits: PlanLimits, term: PlanTerm, rule: DayRule): readonly Window[] {
  const { activatedAt } = term;
  const { refresh_interval_seconds: interval, weekly_quota_limit: weekly, monthly_quota_limit: monthly } = limits;
  const main: Window =
    interval > 0
      ? { kind: 'interval', limit: limits.interval_quota, ...fixedSpanAt(unixMs, activatedAt, interval * 1000) }
      : { kind: 'day', limit: limits.daily_quota, ...planDayAt(unixMs, term, rule) };
  const windows = [main];
  if (weekly > 0) windows.push({ kind: 'week', limit: weekly, ...fixedSpanAt(unixMs, activatedAt, WEEK_MS) });
  if (monthly > 0) windows.push({ kind: 'month', limit: monthly, ...fixedSpanAt(unixMs, activatedAt, MONTH_MS) });
  return windows;
}

interface UsagePace {
  /** Quota. */
  readonly usedPerHour: number;
  /** Unix milliseconds; 0: not before the window ends. */
  readonly runsOutAt: number;
}

/**
 * The pace is averaged over at least this share of a window, six hours of a day: a burst of calls at its start is not
 * yet a pace. Shorter windows, such as the first day of a plan bought in the evening, use {@link MIN_PACE_MS}.
 */
const MIN_PACE_SHARE = 1 / 4;
const MIN_PACE_MS = HOUR_MS;

/** The rate at which a window is used, averaged since its start. */
export function usagePace(window: Window, used: number, unixMs: number): UsagePace {
  const length = window.endsAt - window.startsAt;
  const elapsed = Math.max(length * MIN_PACE_SHARE, MIN_PACE_MS, unixMs - window.startsAt);
  const perMs = used / elapsed;
  const left = Math.max(0, window.limit - used);
  const runsOutAt = left === 0 ? unixMs : perMs === 0 ? Number.POSITIVE_INFINITY : unixMs + left / perMs;
  return {
    usedPerHour: Math.round(perMs * HOUR_MS),
    runsOutAt: window.limit > 0 && runsOutAt < window.endsAt ? Math.floor(runsOutAt) : 0,
  };
}

type AllowanceAccount = Selectable<Tables['allowance_accounts']>;

const upsertAccount = prepareQuery<Tables, { user: number; zone: string }>()((db, p) =>
  db
    .insertInto('allowance_accounts')
    .values({ user_id: p('user'), zone: p('zone'), extended_day_start: 0 })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ user_id: sql`excluded.user_id` }))
    .returningAll(),
);

const selectAccount = prepareQuery<Tables, { user: number }>()((db, p) =>
  db.selectFrom('allowance_accounts').selectAll().where('user_id', '=', p('user')),
);

interface UsageKey {
  readonly user: number;
  readonly subscription: number;
  readonly kind: string;
  readonly startsAt: number;
}

const selectUsage = prepareQuery<Tables, UsageKey>()((db, p) =>
  db
    .selectFrom('allowance_usage')
    .select('used')
    .where('user_id', '=', p('user'))
    .where('subscription_id', '=', p('subscription'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt')),
);

// Changes no row when it would exceed the limit. The lock already prevents that; the condition exposes mistakes.
const increaseUsage = prepareQuery<Tables, UsageKey & { amount: number; limit: number }>()((db, p) =>
  db
    .insertInto('allowance_usage')
    .values({
      user_id: p('user'),
      subscription_id: p('subscription'),
      kind: p('kind'),
      starts_at: p('startsAt'),
      used: p('amount'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'subscription_id', 'kind', 'starts_at'])
        .doUpdateSet({ used: sql`allowance_usage.used + excluded.used` })
        .where(sql<boolean>`allowance_usage.used + excluded.used <= ${p('limit')}`),
    ),
);

const decreaseUsage = prepareQuery<Tables, UsageKey & { amount: number }>()((db, p) =>
  db
    .updateTable('allowance_usage')
    .set({ used: sql`used - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('subscription_id', '=', p('subscription'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt'))
    .where('used', '>=', p('amount')),
);

const toUsageKey = (
  user: number,
  subscription: number,
  { kind, startsAt }: Pick<Window, 'kind' | 'startsAt'>,
): UsageKey => ({ user, subscription, kind, startsAt });

/** Usage of each account's allowance windows, and the row whose lock serializes the changes of an account. */
export class AllowanceUsageStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Locks the subscriptions and allowances of an account until the commit, and creates its row in `zone` if missing.
   */
  async lockAccount(trx: Trx, user: number, zone: string): Promise<AllowanceAccount> {
    const row = await upsertAccount.first(trx, { user, zone });
    if (row === undefined) throw new Error('the allowance account was not locked');
    return row;
  }

  findAccount(user: number): Promise<AllowanceAccount | undefined> {
    return selectAccount.first(this.#database.kysely, { user });
  }

  async updateDayRule(trx: Trx, user: number, { zone, extendedDayStart }: DayRule): Promise<void> {
    await trx
      .updateTable('allowance_accounts')
      .set({ zone, extended_day_start: extendedDayStart })
      .where('user_id', '=', user)
      .execute();
  }

  async find(
    user: number,
    subscription: number,
    window: Window,
    db: Executor = this.#database.kysely,
  ): Promise<number> {
    return (await selectUsage.first(db, toUsageKey(user, subscription, window)))?.used ?? 0;
  }

  /**
   * @throws Error when the window has no room: the caller has read it under the lock, so this is a bug, and rolls back
   */
  async add(trx: Trx, user: number, subscription: number, window: Window, amount: number): Promise<void> {
    const key = toUsageKey(user, subscription, window);
    if ((await increaseUsage.changes(trx, { ...key, amount, limit: window.limit })) !== 1)
      throw new Error(`the ${window.kind} window of account ${user} has no room for ${amount}`);
  }

  /** @returns whether at least that amount had been used, and was therefore returned */
  async subtract(
    trx: Trx,
    user: number,
    subscription: number,
    window: Pick<Window, 'kind' | 'startsAt'>,
    amount: number,
  ): Promise<boolean> {
    return (await decreaseUsage.changes(trx, { ...toUsageKey(user, subscription, window), amount })) === 1;
  }

  /** Deletes the usage of windows that started before a time. */
  async deleteBefore(unixMs: number): Promise<void> {
    await this.#database.kysely.deleteFrom('allowance_usage').where('starts_at', '<', unixMs).execute();
  }
}
