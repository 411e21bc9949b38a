import type { Clock } from '../platform/clock.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { makeEndAll } from './ending.ts';
import type { Allowances, Quota, SpendWatch } from './quota.ts';
import { makeReserveAll } from './reserving.ts';
import { assertAmount } from './rules.ts';
import type { QuotaStore } from './store.ts';

/** An account without a plan: nothing is taken from one and every model is permitted. */
export const NO_ALLOWANCES: Allowances = {
  take: async () => ({ taken: 0, slot: '' }),
  giveBack: async () => 0,
  permittedModels: async () => undefined,
};

/** Most a wallet may be granted; what refunds add on top still is a safe integer. */
const MOST = 9_000_000_000_000_000;

/** The ledger over its store. Amounts are checked here once more, since a float or a negative would mint money. */
export function makeQuota(
  store: QuotaStore,
  clock: Clock,
  allowances: Allowances = NO_ALLOWANCES,
  watch: SpendWatch = async () => {},
): Quota {
  const parts = { store, clock, allowances, watch };
  const reserveAll = makeReserveAll(parts);
  const endAll = makeEndAll(parts);
  return {
    reserveAll,
    endAll,
    reserve: (trx, reservation) => reserveAll(trx, [reservation]),
    async settle(trx, ref, cost, use) {
      return (await endAll(trx, [{ ref, cost, ...(use === undefined ? {} : { use }) }]))[0];
    },
    async refund(trx, ref) {
      return (await endAll(trx, [{ ref }]))[0] !== undefined;
    },
    async grant(trx, { userId, amount, ref, note }) {
      if (!Number.isSafeInteger(amount)) throw new TypeError('a grant is whole quota');
      const isNew = await store.addEntryOnce(trx, {
        user_id: userId,
        kind: 'grant',
        amount,
        plan_amount: 0,
        charged: 0,
        ref,
        token_id: null,
        model: null,
        note: note ?? null,
        created_at: clock.now(),
      });
      if (!isNew) throw new AppError('already_exists', { params: { what: 'grant' } });
      if (amount < 0 && (await store.takeExactly(trx, userId, -amount)) === undefined) {
        throw new AppError('quota_not_enough', {
          params: { needed: -amount, available: await store.balanceIn(trx, userId) },
        });
      }
      if (amount > 0 && !(await store.giveWithin(trx, userId, amount, MOST)))
        throw invalid(`A wallet holds at most ${MOST}.`, 'quota');
    },
    async open(trx, userId, amount) {
      assertAmount(amount);
      await store.addWallet(trx, userId);
      if (amount > 0) await this.grant(trx, { userId, amount, ref: `open:${userId}` });
    },
    limitToken: (trx, tokenId, limit) => store.limitToken(trx, tokenId, limit),
    tokenLimits: (tokenIds) => store.tokenLimits(tokenIds),
    wallet: (userId) => store.wallet(userId),
  };
}
