import type { PlanRow } from './plan-catalog-store.ts';
import type { AccountPlans, SubscribedPlan } from './subscription-store.ts';
import { type SubscriptionTimeline, timelineAt } from './subscription-timeline.ts';

/** The plan an account is on at a time. */
export interface CurrentPlan {
  readonly timeline: SubscriptionTimeline<SubscribedPlan>;
  readonly plan: PlanRow;
  /** 0: no subscription; `plan` is then the built-in one. */
  readonly subscriptionId: number;
  /** Unix milliseconds from which intervals and weeks are counted. */
  readonly activatedAt: number;
  /** Unix milliseconds; Infinity without a subscription. */
  readonly expiresAt: number;
}

export function findCurrentPlan({ noPlan, subscriptions }: AccountPlans, now: number): CurrentPlan {
  const timeline = timelineAt(subscriptions, now);
  const { current } = timeline;
  return current === undefined
    ? { timeline, plan: noPlan, subscriptionId: 0, activatedAt: 0, expiresAt: Number.POSITIVE_INFINITY }
    : {
        timeline,
        plan: current.plan,
        subscriptionId: current.id,
        activatedAt: current.starts_at,
        expiresAt: current.expires_at,
      };
}
