import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { modelNotAllowed } from '../platform/errors.ts';
import type { Allowances } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { CardRow } from './card-store.ts';
import {
  addToUse,
  findHoldings,
  findPackageAccount,
  type HeldCard,
  type Holdings,
  lockAccount,
  setDayRule,
  takeFromUse,
  usedIn,
} from './plan-store.ts';
import { type Timeline, timelineAt } from './timeline.ts';
import { type DayRule, moveDay, type Window, type WindowKind, windowsAt } from './windows.ts';

type Trx = Transaction<Tables>;

/** What an account may spend from right now. */
export interface Running {
  readonly timeline: Timeline<HeldCard>;
  readonly card: CardRow;
  /** 0: the no-package card. */
  readonly holdingId: number;
  /** From when intervals and weeks are counted. */
  readonly activatedAt: number;
}

export const runningOf = ({ none, held }: Holdings, now: number): Running => {
  const timeline = timelineAt(held, now);
  const { current } = timeline;
  return current === undefined
    ? { timeline, card: none, holdingId: 0, activatedAt: 0 }
    : { timeline, card: current.card, holdingId: current.id, activatedAt: current.starts_at };
};

export const modelsOf = (card: CardRow): string[] => JSON.parse(card.models) as string[];

interface Slot {
  readonly user: number;
  readonly holding: number;
  readonly windows: readonly { readonly kind: WindowKind; readonly startsAt: number }[];
}

const toSlot = (user: number, holding: number, windows: readonly Window[]): string =>
  [user, holding, ...windows.map(({ kind, startsAt }) => `${kind}${startsAt}`)].join('.');

function readSlot(text: string): Slot {
  const [user, holding, ...windows] = text.split('.');
  return {
    user: Number(user),
    holding: Number(holding),
    windows: windows.map((each) => {
      const [, kind = '', startsAt = ''] = /^(day|interval|week)(-?\d+)$/.exec(each) ?? [];
      return { kind: kind as WindowKind, startsAt: Number(startsAt) };
    }),
  };
}

export interface AllowanceParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  /** IANA name of the zone an account has set. */
  readonly timeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

/** The windows of an account at a time, with what was used of each. */
export type UsedWindow = Window & { readonly used: number };

export interface PlanAllowances extends Allowances {
  /** As of now, without changing anything. */
  look(userId: number, zone: string): Promise<{ running: Running; windows: UsedWindow[] }>;
}

/** @throws AppError `model_not_allowed` */
function assertServes(card: CardRow, model: string): void {
  const models = modelsOf(card);
  if (models.length > 0 && !models.includes(model)) throw modelNotAllowed(model);
}

const mayHave = (card: CardRow): boolean =>
  (card.refresh_interval_seconds > 0 ? card.interval_quota : card.daily_quota) > 0;

/** Spends what packages allow. All changes of one account line up behind the lock on its row. */
export function makeAllowances({ database, clock, timeZoneIn }: AllowanceParts): PlanAllowances {
  /** Locks the account and notes a move to another zone. */
  const dayRule = async (trx: Trx, user: number, now: number): Promise<DayRule> => {
    const zone = await timeZoneIn(trx, user);
    const row = await lockAccount(trx, user, zone);
    const before = { zone: row.zone, heldFrom: row.held_from };
    const rule = moveDay(before, zone, now);
    if (rule !== before) await setDayRule(trx, user, rule);
    return rule;
  };

  const withUse = (db: Kysely<Tables>, user: number, { holdingId }: Running, windows: readonly Window[]) =>
    Promise.all(windows.map(async (window) => ({ ...window, used: await usedIn(db, user, holdingId, window) })));

  return {
    async take(trx, { userId, model, amount }) {
      const nothing = { taken: 0, slot: '' };
      const { card } = runningOf(await findHoldings(trx, userId), clock.now());
      assertServes(card, model);
      // Nearly all accounts without a package leave here, after one query and without a lock.
      if (amount === 0 || !mayHave(card)) return nothing;
      const now = clock.now();
      const rule = await dayRule(trx, userId, now);
      const running = runningOf(await findHoldings(trx, userId), now);
      assertServes(running.card, model);
      const windows = await withUse(trx, userId, running, windowsAt(now, running.card, running.activatedAt, rule));
      const taken = Math.min(amount, ...windows.map(({ limit, used }) => Math.max(0, limit - used)));
      if (taken === 0) return nothing;
      for (const window of windows) await addToUse(trx, userId, running.holdingId, window, taken);
      return { taken, slot: toSlot(userId, running.holdingId, windows) };
    },

    async giveBack(trx, text, amount) {
      const slot = readSlot(text);
      const now = clock.now();
      const rule = await dayRule(trx, slot.user, now);
      const running = runningOf(await findHoldings(trx, slot.user), now);
      if (running.holdingId !== slot.holding) return 0;
      let back = 0;
      for (const window of windowsAt(now, running.card, running.activatedAt, rule)) {
        const isSame = slot.windows.some(({ kind, startsAt }) => kind === window.kind && startsAt === window.startsAt);
        if (!isSame || !(await takeFromUse(trx, slot.user, slot.holding, window, amount))) continue;
        // The week is a cap on the periods and holds nothing of its own.
        if (window.kind !== 'week') back = amount;
      }
      return back;
    },

    async permittedModels(userId) {
      const { card } = runningOf(await findHoldings(database.kysely, userId), clock.now());
      const models = modelsOf(card);
      return models.length === 0 ? undefined : new Set(models);
    },

    async look(userId, zone) {
      const { kysely } = database;
      const now = clock.now();
      const [holdings, row] = await Promise.all([findHoldings(kysely, userId), findPackageAccount(kysely, userId)]);
      const rule =
        row === undefined ? { zone, heldFrom: 0 } : moveDay({ zone: row.zone, heldFrom: row.held_from }, zone, now);
      const running = runningOf(holdings, now);
      const windows = windowsAt(now, running.card, running.activatedAt, rule);
      return { running, windows: await withUse(kysely, userId, running, windows) };
    },
  };
}
