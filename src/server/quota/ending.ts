import type { End, Quota, TokenUse } from './quota.ts';
import type { LedgerParts } from './reserving.ts';
import { assertAmount, type Closing, closingOf, dayOf, groupBy, sumOf } from './rules.ts';
import type { Entry, Hold } from './store.ts';

type Trx = Parameters<Quota['refund']>[0];

/** One reservation on its way out; what cannot be had or given back is corrected step by step. */
interface Closed extends Closing {
  readonly hold: Hold;
  readonly settles: boolean;
  readonly use: TokenUse;
  charged: number;
  /** Taken from the wallet beyond what was reserved. */
  extra: number;
  /** Part of `planBack` whose period is over. */
  planLapsed: number;
}

const NO_TOKENS: TokenUse = { promptTokens: 0, completionTokens: 0 };

const closed = (hold: Hold, { cost, use = NO_TOKENS }: End): Closed => ({
  ...closingOf(hold, cost ?? 0),
  hold,
  settles: cost !== undefined,
  use,
  planLapsed: 0,
});

/**
 * Touches rows in the order in which a reservation takes them, plan, token, wallet, so that two transactions never wait for
 * each other. What several ends give back to one row is given at once, before anything more is taken from it.
 */
export function makeEndAll({ store, clock, allowances, watch }: LedgerParts): Quota['endAll'] {
  const giveBackToPlans = async (trx: Trx, all: readonly Closed[]): Promise<void> => {
    const owed = all.filter(({ planBack, hold }) => planBack > 0 && hold.plan_slot !== null);
    for (const same of groupBy(owed, ({ hold }) => hold.plan_slot ?? '')) {
      const [{ hold }] = same;
      let back = await allowances.giveBack(
        trx,
        hold.plan_slot ?? '',
        sumOf(same, ({ planBack }) => planBack),
      );
      for (const each of same) {
        each.planLapsed = Math.max(0, each.planBack - back);
        back -= each.planBack - each.planLapsed;
      }
    }
  };

  const lockTokens = async (trx: Trx, all: readonly Closed[]): Promise<void> => {
    for (const [{ hold }] of groupBy(all, ({ hold }) => hold.token_id))
      if (hold.token_id !== null) await store.changeTokenUse(trx, hold.token_id, 0);
  };

  /** More than was reserved is taken only as far as the wallet reaches: a balance never goes below zero. */
  const takeExtras = async (trx: Trx, all: readonly Closed[]): Promise<void> => {
    for (const each of all) {
      const wanted = each.extra;
      each.extra = await store.takeUpTo(trx, each.hold.user_id, wanted);
      each.charged -= wanted - each.extra;
      if (each.extra === 0) continue;
      const after = await store.balanceIn(trx, each.hold.user_id);
      await watch(trx, each.hold.user_id, { before: after + each.extra, after });
    }
  };

  const changeTokens = async (trx: Trx, all: readonly Closed[]): Promise<void> => {
    for (const same of groupBy(all, ({ hold }) => hold.token_id)) {
      const [{ hold }] = same;
      const change = sumOf(same, ({ charged, hold: { amount } }) => charged - amount);
      if (hold.token_id !== null && change !== 0) await store.changeTokenUse(trx, hold.token_id, change);
    }
  };

  const changeWallets = async (trx: Trx, all: readonly Closed[]): Promise<void> => {
    for (const same of groupBy(all, ({ hold }) => hold.user_id)) {
      const change = {
        user: same[0].hold.user_id,
        back: sumOf(same, ({ walletBack }) => walletBack),
        charged: sumOf(same, ({ charged }) => charged),
        requests: sumOf(same, ({ settles }) => Number(settles)),
      };
      if (change.back > 0 || change.requests > 0) await store.addUse(trx, change);
    }
  };

  const addUsage = async (trx: Trx, all: readonly Closed[], day: number): Promise<void> => {
    const settled = all.filter(({ settles }) => settles);
    for (const same of groupBy(settled, ({ hold }) => `${hold.user_id} ${hold.token_id} ${hold.model}`)) {
      const [{ hold }] = same;
      await store.addUsage(trx, {
        userId: hold.user_id,
        day,
        tokenId: hold.token_id ?? 0,
        model: hold.model,
        requests: same.length,
        charged: sumOf(same, ({ charged }) => charged),
        promptTokens: sumOf(same, ({ use }) => use.promptTokens),
        completionTokens: sumOf(same, ({ use }) => use.completionTokens),
      });
    }
  };

  return async (trx, ends) => {
    for (const { cost = 0, use = NO_TOKENS } of ends)
      for (const amount of [cost, use.promptTokens, use.completionTokens]) assertAmount(amount);
    if (ends.length === 0) return [];
    const refs = ends.map(({ ref }) => ref);
    const holds = new Map((await store.takeHolds(trx, refs)).map((hold) => [hold.ref, hold]));
    // Of several ends of one reservation the first has it.
    const outcomes = ends.map((end) => {
      const hold = holds.get(end.ref);
      holds.delete(end.ref);
      return hold && closed(hold, end);
    });
    const all = outcomes.filter((each) => each !== undefined);
    const within = all.filter(({ extra }) => extra === 0);
    const beyond = all.filter(({ extra }) => extra > 0);
    const now = clock.now();
    await giveBackToPlans(trx, within);
    await lockTokens(trx, beyond);
    await changeTokens(trx, within);
    await changeWallets(trx, within);
    await takeExtras(trx, beyond);
    await changeTokens(trx, beyond);
    await changeWallets(trx, beyond);
    await addUsage(trx, all, dayOf(now));
    await store.addEntries(
      trx,
      all.flatMap((each) => entriesOf(each, now)),
    );
    return outcomes.map((each) => each?.charged);
  };
}

function entriesOf({ hold, settles, charged, walletBack, extra, planBack, planLapsed }: Closed, now: number): Entry[] {
  const shared = {
    user_id: hold.user_id,
    ref: hold.ref,
    token_id: hold.token_id,
    model: hold.model,
    note: null,
    created_at: now,
  };
  const kind = settles ? 'settle' : 'refund';
  const end: Entry = { ...shared, kind, amount: walletBack - extra, plan_amount: planBack, charged };
  if (planLapsed === 0) return [end];
  // Its period is over: what came back is gone at once, so that the entries still add up to what was used of it.
  return [end, { ...shared, kind: 'expire', amount: 0, plan_amount: -planLapsed, charged: 0 }];
}
