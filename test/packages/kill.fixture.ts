/** A process that does one piece of work on packages and ends itself, kill -9, at a named point inside the transaction. */
import { makeAllowances } from '../../src/server/packages/allowances.ts';
import { makeRedeem } from '../../src/server/packages/redeeming.ts';
import { handClock } from '../../src/server/platform/clock.ts';
import { openDatabase } from '../../src/server/platform/db/database.ts';
import { makeLimits } from '../../src/server/platform/limits/limits.ts';
import type { Tables } from '../../src/server/tables.ts';
import { ACTOR, openDesk } from './desk.ts';

export type Point =
  | 'redeem.taken'
  | 'redeem.granted'
  | 'credit.taken'
  | 'credit.granted'
  | 'activate.granted'
  | 'reserve.taken'
  | 'refund.returned'
  | 'sweep.ended';

export interface KillOrder {
  readonly databaseUrl: string;
  readonly now: number;
  readonly point: Point;
  readonly userId: number;
  /** The redemption code, the card or the reservation it is about. */
  readonly what: string;
}

const order = JSON.parse(process.argv[2] ?? '') as KillOrder;
const { point, userId, what } = order;

/** The same function, which dies before or after its work when that is the point. */
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
const clock = handClock(order.now);
const real = makeAllowances({ database, clock, timeZoneIn: async () => 'UTC' });
const desk = openDesk(database, clock, {
  allowances: {
    ...real,
    take: dying(real.take, undefined, 'reserve.taken'),
    giveBack: dying(real.giveBack, undefined, 'refund.returned'),
  },
  audit: { record: dying(nothing, 'activate.granted') },
  notifier: { notify: dying(nothing, 'sweep.ended') },
});
const { plans, ledger } = desk;
const redeem = makeRedeem({
  database,
  clock,
  limits: makeLimits({ clock }),
  quota: { grant: dying((...change) => ledger.quota.grant(...change), 'credit.taken', 'credit.granted') },
  plans: { ...plans, grant: dying(plans.grant, 'redeem.taken', 'redeem.granted') },
});

const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  redeem: () => redeem(userId, '10.0.0.1', what),
  credit: () => redeem(userId, '10.0.0.1', what),
  activate: () => plans.activate(ACTOR, { userId, code: what }),
  reserve: () => ledger.reserve(what, userId, 30),
  refund: () => ledger.refund(what),
  sweep: () => plans.sweep(),
};
await WORK[point.split('.')[0] ?? '']?.();
throw new Error(`it never came to ${point}`);
