/** A process that runs one operation on plans and kills itself (SIGKILL) at a named point inside the transaction. */
import { makePlanAllowances } from '../../src/server/plans/module.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { ACTOR, asUser, openPlansFixture } from './plans-fixture.ts';

/** Points at which the process can kill itself: after the taking or granting step of each operation. */
export type Point =
  | 'redeem.taken'
  | 'redeem.granted'
  | 'credit.taken'
  | 'credit.granted'
  | 'activate.granted'
  | 'reserve.taken'
  | 'refund.returned'
  | 'sweep.ended';

/** Instruction to the process, as a JSON argument. */
export interface KillOrder {
  readonly databaseUrl: string;
  readonly now: number;
  readonly point: Point;
  readonly userId: number;
  /** The redemption code, the plan or the reservation. */
  readonly what: string;
}

const order = JSON.parse(process.argv[2] ?? '') as KillOrder;
const { point, userId, what } = order;

/** The same function, which kills the process before or after its work if the order names that point. */
const dying =
  <A extends unknown[], R>(work: (...args: A) => Promise<R>, before?: Point, after?: Point) =>
  async (...args: A): Promise<R> => {
    if (point === before) process.kill(process.pid, 'SIGKILL');
    const result = await work(...args);
    if (point === after) process.kill(process.pid, 'SIGKILL');
    return result;
  };
const nothing = async (): Promise<void> => {};

const database = openDatabase<Tables>(order.databaseUrl);
const clock = manualClock(order.now);
const findTimeZoneIn = async () => 'UTC';

const allowances = makePlanAllowances({ database, clock, findTimeZoneIn });
allowances.take = dying(allowances.take.bind(allowances), undefined, 'reserve.taken');
allowances.giveBack = dying(allowances.giveBack.bind(allowances), undefined, 'refund.returned');

const { ledger } = openPlansFixture(database, clock, { allowances });
ledger.quota.grant = dying(ledger.quota.grant.bind(ledger.quota), 'credit.taken', 'credit.granted');
const { subscriptions, codeRedemption } = openPlansFixture(database, clock, {
  allowances,
  ledger: ledger.quota,
  auditLog: { record: dying(nothing, 'activate.granted'), recordAll: nothing },
  notifier: { notify: dying(nothing, 'sweep.ended') },
});
subscriptions.grant = dying(subscriptions.grant.bind(subscriptions), 'redeem.taken', 'redeem.granted');
const redeem = () => codeRedemption.redeem(asUser(userId), '10.0.0.1', what);

const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  redeem,
  credit: redeem,
  activate: () => subscriptions.assignByAdmin(ACTOR, { userId, code: what }),
  reserve: () => ledger.reserve(what, userId, 30),
  refund: () => ledger.refund(what),
  sweep: () => subscriptions.processExpirations(),
};
await WORK[point.split('.')[0] ?? '']?.();
throw new Error(`the point ${point} was not reached`);
