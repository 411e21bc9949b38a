import type { Clock } from '../platform/clock.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Quota } from '../quota/quota.ts';
import type { PlanAllowances } from './allowances.ts';
import { type Cards, makeCards } from './cards.ts';
import { type Codes, makeCodes } from './codes.ts';
import { makePlans, type PlanParts, type Plans } from './plans.ts';
import { makeRedeem, type Redeem } from './redeeming.ts';

export interface PackageParts extends PlanParts {
  readonly allowances: PlanAllowances;
  readonly limits: Limits;
  readonly quota: Quota;
  readonly timeZone: (userId: number) => Promise<string>;
}

/** What packages offer their own routes and app.ts. */
export interface Packages {
  readonly cards: Cards;
  readonly codes: Codes;
  readonly redeem: Redeem;
  readonly plans: Plans;
  readonly allowances: PlanAllowances;
  readonly quota: Quota;
  readonly clock: Clock;
  readonly timeZone: (userId: number) => Promise<string>;
}

/** Puts the parts of this capability together; the allowances are made before, since the ledger stands on them. */
export function makePackages(parts: PackageParts): Packages {
  const { allowances, quota, clock, timeZone } = parts;
  const plans = makePlans(parts);
  return {
    cards: makeCards(parts),
    codes: makeCodes(parts),
    redeem: makeRedeem({ ...parts, plans }),
    plans,
    allowances,
    quota,
    clock,
    timeZone,
  };
}
