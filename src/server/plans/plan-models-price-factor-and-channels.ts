import { modelNotAllowedError } from '../platform/app-error.ts';
import type { PlanRow } from './plan-catalog-store.ts';

/** Models a plan permits; empty: all. */
export const allowedModels = (plan: PlanRow): string[] => JSON.parse(plan.models) as string[];

/** @throws AppError `model_not_allowed` */
export function assertModelAllowed(plan: PlanRow, model: string): void {
  const models = allowedModels(plan);
  if (models.length > 0 && !models.includes(model)) throw modelNotAllowedError(model);
}

/** What a plan changes beside allowances and models. */
export interface PlanTerms {
  /** Prices are multiplied by it. */
  readonly factor: number;
  /** Ids of the channels that serve its holders; undefined: all. */
  readonly channels: ReadonlySet<number> | undefined;
}

/** Undefined: no plan has any. */
export type FindPlanTerms = (userId: number) => Promise<PlanTerms | undefined>;

export function termsOf({ price_factor: factor, channels }: PlanRow): PlanTerms {
  const ids = JSON.parse(channels) as number[];
  return { factor, channels: ids.length === 0 ? undefined : new Set(ids) };
}

export const grantsAllowance = (plan: PlanRow): boolean =>
  (plan.refresh_interval_seconds > 0 ? plan.interval_quota : plan.daily_quota) > 0;
