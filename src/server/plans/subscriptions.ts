import { NO_PACKAGE } from '../../contract/plans.ts';
import { DAY_MS, HOUR_MS, toSeconds } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AllowanceUsageStore } from './allowances.ts';
import {
  type ExpiringSubscription,
  findCurrentPlan,
  PLAN_ENABLED,
  type PlanCatalogStore,
  placementOf,
  type SubscribedPlan,
  type SubscriptionStore,
  type SubscriptionTimeline,
  timelineAt,
  toExpiry,
} from './plan-store.ts';

/** Outcome of granting or ending a plan. */
export interface GrantResult {
  readonly outcome: 'active' | 'extended' | 'waiting' | 'credited' | 'ended';
  /** Empty when quota was credited instead. */
  readonly packageCode: string;
  /** End of the active subscription in Unix milliseconds; 0: none is active. */
  readonly expiresAt: number;
}

interface Assignment {
  readonly userId: number;
  /** Code of the plan; `none` ends all subscriptions. */
  readonly code: string;
  /** Undefined: the plan's own duration. */
  readonly days?: number | undefined;
  /** Names the request, so that a repetition assigns nothing a second time. */
  readonly idempotencyKey?: string | undefined;
}

interface SubscriptionsDependencies {
  readonly database: Database<Tables>;
  readonly subscriptions: SubscriptionStore;
  readonly plans: PlanCatalogStore;
  readonly usage: AllowanceUsageStore;
  readonly clock: Clock;
  readonly notifier: Notifier;
  readonly auditLog: AuditLog;
  readonly access: Pick<AccountAccess, 'findEnabled' | 'assertCanManage'>;
  readonly findTimeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

/** How long before its end the owner of a subscription is notified. */
const EXPIRY_NOTICE_MS = 3 * DAY_MS;
const BATCH_SIZE = 200;
/** Windows are at most a year long. */
const USAGE_RETENTION_MS = 400 * DAY_MS;

/** Grants plans to accounts and ends them. The lock on an account's allowance row serializes all its changes. */
export class Subscriptions {
  readonly #dependencies: SubscriptionsDependencies;
  constructor(dependencies: SubscriptionsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Grants an account a plan in the caller's transaction, together with whatever pays for it. A higher level replaces
   * the active subscription, the same level extends it, a lower one is queued.
   * @param source origin of the subscription, such as `code:12` or `admin:1`
   * @throws AppError `package_unavailable`
   */
  async grant(trx: Trx, userId: number, planId: number, source: string, days?: number): Promise<GrantResult> {
    const { plans, subscriptions, clock } = this.#dependencies;
    const plan = await plans.lock(trx, planId);
    if (plan === undefined || plan.status !== PLAN_ENABLED) throw new AppError('package_unavailable');
    const now = clock.now();
    const { current, waiting } = await this.#lockAndUpdate(trx, userId, now);
    const duration = days ?? plan.duration_days;
    const outcome = placementOf(current?.level, plan.level);
    if (outcome === 'extended' && current !== undefined) {
      const expiresAt = current.expires_at + duration * DAY_MS;
      await subscriptions.extend(trx, current.id, duration, expiresAt);
      return { outcome, packageCode: current.plan.package_code, expiresAt };
    }
    const row = {
      user_id: userId,
      plan_id: plan.id,
      duration_days: duration,
      expiry_notified: 0,
      source,
      created_at: now,
    };
    if (outcome === 'active') {
      if (current !== undefined) await subscriptions.end(trx, current.id, now);
      const expiresAt = toExpiry(now, duration);
      await subscriptions.insert(trx, { ...row, state: 'active', starts_at: now, expires_at: expiresAt });
      return { outcome, packageCode: plan.package_code, expiresAt };
    }
    const same = waiting.find((subscription) => subscription.plan_id === plan.id);
    if (same === undefined) await subscriptions.insert(trx, { ...row, state: 'waiting', starts_at: 0, expires_at: 0 });
    else await subscriptions.extend(trx, same.id, duration, 0);
    return { outcome: 'waiting', packageCode: plan.package_code, expiresAt: current?.expires_at ?? 0 };
  }

  /**
   * Grants a plan by its code, in the caller's transaction; `none` grants none.
   * @returns false when no plan with that code can be granted
   */
  async giveByCode(trx: Trx, userId: number, code: string, source: string): Promise<boolean> {
    // A subscription to the built-in plan would end at once, and its owner would be told that a plan has expired.
    if (code === NO_PACKAGE) return true;
    const plan = await this.#dependencies.plans.findByCode(code, trx);
    if (plan === undefined || plan.status !== PLAN_ENABLED) return false;
    await this.grant(trx, userId, plan.id, source);
    return true;
  }

  /**
   * Lets an administrator grant a plan or end all subscriptions of an account.
   * @returns for a repeated idempotency key, the result of the first request
   * @throws AppError `not_exist`, `rank_too_low`, `package_unavailable`, `idempotency_mismatch`
   */
  async assignByAdmin(actor: Actor, assignment: Assignment): Promise<GrantResult> {
    const { database, access } = this.#dependencies;
    const { userId } = assignment;
    const account = await access.findEnabled(userId);
    if (account === undefined) throw notExistError('account');
    const audited =
      account.kind === 'organization'
        ? { ownerId: userId, target: `organization:${userId}` }
        : { target: `user:${userId}` };
    return database.transaction(async (trx) => {
      // Locks the account, so that a repeated request waits for the first one and finds its result.
      await access.assertCanManage(trx, actor.actorId, userId);
      return this.#assignOnce(trx, assignment, () => this.#assign(trx, { ...actor, ...audited }, assignment));
    });
  }

  async #assignOnce(
    trx: Trx,
    { userId, code, days, idempotencyKey: key }: Assignment,
    assign: () => Promise<GrantResult>,
  ): Promise<GrantResult> {
    if (key === undefined) return assign();
    const { subscriptions, clock } = this.#dependencies;
    const earlier = await subscriptions.findAssignment(trx, userId, key);
    if (earlier !== undefined) {
      const isSame = earlier.package_code === code && earlier.duration_days === (days ?? null);
      if (!isSame) throw new AppError('idempotency_mismatch');
      return JSON.parse(earlier.result) as GrantResult;
    }
    const result = await assign();
    await subscriptions.insertAssignment(trx, {
      user_id: userId,
      key,
      package_code: code,
      duration_days: days ?? null,
      result: JSON.stringify(result),
      created_at: clock.now(),
    });
    return result;
  }

  async #assign(
    trx: Trx,
    audited: Actor & { readonly target: string; readonly ownerId?: number },
    { userId, code, days }: Assignment,
  ): Promise<GrantResult> {
    const { plans, subscriptions, auditLog, clock } = this.#dependencies;
    const plan = await plans.findByCode(code, trx);
    if (plan === undefined) throw notExistError('package card');
    const before = findCurrentPlan(await subscriptions.findAccountPlans(userId, trx), clock.now());
    const result =
      code === NO_PACKAGE
        ? await this.#endAll(trx, userId)
        : await this.grant(trx, userId, plan.id, `admin:${audited.actorId}`, days);
    await auditLog.record(trx, {
      ...audited,
      action: 'package.activate',
      before: { package_code: before.plan.package_code, expires_at: before.timeline.current?.expires_at ?? 0 },
      after: { package_code: code, duration_days: days, outcome: result.outcome, expires_at: result.expiresAt },
    });
    return result;
  }

  /** Code of the account's current plan, and its end in Unix seconds (0: no end). */
  async currentPlan(userId: number): Promise<{ code: string; expiresAt: number }> {
    const { subscriptions, clock } = this.#dependencies;
    const { plan, timeline } = findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now());
    return { code: plan.package_code, expiresAt: toSeconds(timeline.current?.expires_at ?? 0) };
  }

  /** Retention and storage that an account's plan sets for video copies; null: the settings apply. */
  async storageOf(userId: number): Promise<{ days: number | null; gb: number | null }> {
    const { subscriptions, clock } = this.#dependencies;
    const { plan } = findCurrentPlan(await subscriptions.findAccountPlans(userId), clock.now());
    return { days: plan.storage_days, gb: plan.storage_gb };
  }

  /**
   * Stores expired subscriptions as ended, notifies owners of upcoming expiries, and deletes old usage. Run
   * periodically.
   */
  async processExpirations(): Promise<void> {
    const { database, subscriptions, usage, notifier, clock } = this.#dependencies;
    const now = clock.now();
    const end = async (): Promise<void> =>
      workOnEach(await subscriptions.listUsersWithExpired(now, BATCH_SIZE), (userId) =>
        database.transaction((trx) => this.#lockAndUpdate(trx, userId, clock.now())),
      );
    const announce = async (): Promise<void> =>
      workOnEach(await subscriptions.listExpiringSoon(now, EXPIRY_NOTICE_MS, BATCH_SIZE), (expiring) =>
        database.transaction(async (trx) => {
          if (!(await subscriptions.markExpiryNotified(trx, expiring.id, expiring.expires_at))) return;
          const account = await subscriptions.findAccountPlans(expiring.user_id, trx);
          const { waiting } = timelineAt(account.subscriptions, now);
          await notifier.notify(trx, buildExpiringSoonNotice(expiring, waiting[0]?.plan.name, now));
        }),
      );
    await workOnEach([end, announce, () => usage.deleteBefore(now - USAGE_RETENTION_MS)], (step) => step());
  }

  /** Locks the account and stores which subscriptions have ended or started since the last change. */
  async #lockAndUpdate(trx: Trx, userId: number, now: number): Promise<SubscriptionTimeline<SubscribedPlan>> {
    const { subscriptions, usage, notifier, findTimeZoneIn } = this.#dependencies;
    await usage.lockAccount(trx, userId, await findTimeZoneIn(trx, userId));
    const timeline = timelineAt((await subscriptions.findAccountPlans(userId, trx)).subscriptions, now);
    const { current, ended } = timeline;
    for (const subscription of ended) await subscriptions.end(trx, subscription.id, subscription.expires_at);
    if (current?.state === 'waiting') await subscriptions.activate(trx, current);
    const last = ended.at(-1);
    if (last !== undefined)
      await notifier.notify(trx, buildExpiredNotice(userId, last.id, last.plan.name, current?.plan.name));
    return timeline;
  }

  async #endAll(trx: Trx, userId: number): Promise<GrantResult> {
    const { subscriptions, clock } = this.#dependencies;
    const now = clock.now();
    const { current, waiting } = await this.#lockAndUpdate(trx, userId, now);
    for (const subscription of current === undefined ? waiting : [current, ...waiting])
      await subscriptions.end(trx, subscription.id, now);
    return { outcome: 'ended', packageCode: NO_PACKAGE, expiresAt: 0 };
  }
}

/** The console page that shows the account's own plan. */
const PACKAGES_PAGE = '/packages';

const NOTICE_BASE = { topic: 'package.expiring', type: 'system', targetUrl: PACKAGES_PAGE } as const;

/** @param next name of the plan whose subscription starts when this one ends */
function buildExpiringSoonNotice(
  { id, user_id, name, code, expires_at }: ExpiringSubscription,
  next: string | undefined,
  now: number,
): Notice {
  const hours = Math.max(1, Math.round((expires_at - now) / HOUR_MS));
  const when =
    hours >= 48
      ? { en: `in ${Math.round(hours / 24)} days`, 'zh-CN': `${Math.round(hours / 24)} 天后` }
      : { en: hours === 1 ? 'in one hour' : `in ${hours} hours`, 'zh-CN': `${hours} 小时后` };
  return {
    ...NOTICE_BASE,
    userId: user_id,
    title: { en: `Your plan “${name}” expires soon`, 'zh-CN': `您的套餐“${name}”即将到期` },
    content: {
      en: `It expires ${when.en}. ${next === undefined ? 'Redeem another code to extend it.' : `“${next}” follows.`}`,
      'zh-CN': `套餐将在${when['zh-CN']}到期。${next === undefined ? '兑换新的兑换码即可续期。' : `随后启用“${next}”。`}`,
    },
    deduplicationKey: `package.expiring:${id}:${expires_at}`,
    event: {
      type: 'plan.expiring',
      subject: `subscription:${id}`,
      data: { package_code: code, name, expires_at: toSeconds(expires_at), next: next ?? null },
    },
  };
}

function buildExpiredNotice(userId: number, id: number, name: string, next: string | undefined): Notice {
  return {
    ...NOTICE_BASE,
    userId,
    title: { en: `Your plan “${name}” has expired`, 'zh-CN': `您的套餐“${name}”已到期` },
    content:
      next === undefined
        ? { en: 'Calls are now paid from your balance.', 'zh-CN': '此后的调用从余额扣费。' }
        : { en: `“${next}” is active now.`, 'zh-CN': `现已启用“${next}”。` },
    deduplicationKey: `package.ended:${id}`,
  };
}
