import { sql } from 'kysely';
import type { SpendLimit, SpendPeriod } from '../../contract/amounts.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import { zonedTime } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { jsonTexts, prepareQuery } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/**
 * Whose spending is limited: `token`, by its row of `tokens` (keys, device sign-ins, grants), `account`, or `member`, by
 * the id of a person in an organization.
 */
export type SpendSubject =
  | { readonly kind: 'token' | 'account'; readonly id: number }
  | { readonly kind: 'member'; readonly id: number; readonly organizationId: number };

/** A limit and the amount spent in its current period, including open reservations. Times are Unix milliseconds. */
export interface SpendLimitState extends SpendLimit {
  readonly spent: number;
  readonly renewsAt: number;
}

/** Key of a subject in the tables. */
export type SubjectKey = `${'token' | 'account'}:${number}` | `member:${number}-${number}`;
export const toSubjectKey = (subject: SpendSubject): SubjectKey =>
  subject.kind === 'member' ? `member:${subject.organizationId}-${subject.id}` : `${subject.kind}:${subject.id}`;

export const kindOf = (subject: SubjectKey): SpendSubject['kind'] => subject.split(':', 1)[0] as SpendSubject['kind'];

/** The period that a time belongs to. Unix milliseconds. */
interface SpendWindow {
  readonly startsAt: number;
  readonly endsAt: number;
}

/**
 * The calendar day, the week from Monday or the month in a time zone; days are 23 or 25 hours long when clocks change.
 *
 * @param zone IANA name
 */
export function spendWindowOf(period: SpendPeriod, now: number, zone: string): SpendWindow {
  const time = zonedTime(now, zone);
  const today = time.toPlainDate();
  const first = {
    day: () => today,
    week: () => today.subtract({ days: today.dayOfWeek - 1 }),
    month: () => today.with({ day: 1 }),
  }[period]();
  const startOf = (date: Temporal.PlainDate): number => date.toZonedDateTime(time.timeZoneId).epochMilliseconds;
  return { startsAt: startOf(first), endsAt: startOf(first.add({ [`${period}s`]: 1 })) };
}

/** A window with the quota spent in it so far. */
export interface SpentWindow extends SpendWindow {
  readonly spent: number;
}

/** The shortest and longest windows of each period: clocks change by an hour. */
const LENGTHS: Readonly<Record<SpendPeriod, readonly [least: number, most: number]>> = {
  day: [DAY_MS - HOUR_MS, DAY_MS + HOUR_MS],
  week: [7 * DAY_MS - HOUR_MS, 7 * DAY_MS + HOUR_MS],
  month: [28 * DAY_MS - HOUR_MS, 31 * DAY_MS + HOUR_MS],
};

/** The windows a reservation was counted in, as stored with it, so that its settlement changes exactly those. */
export type CountedWindow = readonly [subject: SubjectKey, startsAt: number];

export const parseCountedWindows = (column: string | null): readonly CountedWindow[] =>
  column === null ? [] : (JSON.parse(column) as CountedWindow[]);

const limitsOf = prepareQuery<Tables, { subjects: string }>()((db, p) =>
  db
    .selectFrom('spend_limits')
    .select(['subject', 'amount', 'period'])
    .where('subject', 'in', jsonTexts(db, p('subjects'))),
);

/** Adds to a window unless that exceeds the limit: the write that decides. */
const takeFromWindow = prepareQuery<
  Tables,
  { subject: string; start: number; end: number; amount: number; limit: number }
>()((db, p) =>
  db
    .insertInto('spend_windows')
    .values({ subject: p('subject'), period_start: p('start'), period_end: p('end'), spent: p('amount') })
    .onConflict((conflict) =>
      conflict
        .columns(['subject', 'period_start'])
        .doUpdateSet({ spent: sql<number>`spend_windows.spent + excluded.spent` })
        .where(sql<boolean>`spend_windows.spent + excluded.spent <= ${p('limit')}`),
    )
    .returning('spent'),
);

const recentWindows = prepareQuery<Tables, { subject: string; after: number; now: number }>()((db, p) =>
  db
    .selectFrom('spend_windows')
    .select(['period_start as startsAt', 'period_end as endsAt', 'spent'])
    .where('subject', '=', p('subject'))
    .where('period_start', '>', p('after'))
    .where('period_start', '<=', p('now'))
    .orderBy('period_start'),
);

const spentInWindow = prepareQuery<Tables, { subject: string; start: number }>()((db, p) =>
  db
    .selectFrom('spend_windows')
    .select('spent')
    .where('subject', '=', p('subject'))
    .where('period_start', '=', p('start')),
);

const changeWindow = prepareQuery<Tables, { subject: string; start: number; delta: number }>()((db, p) =>
  db
    .updateTable('spend_windows')
    .set({ spent: sql<number>`spent + ${p('delta')}` })
    .where('subject', '=', p('subject'))
    .where('period_start', '=', p('start')),
);

/** SQL of `spend_limits` and `spend_windows`. */
export class SpendLimitStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Limits of the given subjects; subjects without a limit are omitted. */
  async limitsOf(
    subjects: readonly SubjectKey[],
    db: Executor = this.#database.kysely,
  ): Promise<ReadonlyMap<SubjectKey, SpendLimit>> {
    const rows = await limitsOf.all(db, { subjects: JSON.stringify(subjects) });
    return new Map(rows.map(({ subject, amount, period }) => [subject as SubjectKey, { amount, period }]));
  }

  /**
   * The window that a reservation counts in. A window that was begun in another time zone continues to its end, so that
   * a change of the time zone does not allow more than the limit in it.
   */
  async currentWindow(
    subject: SubjectKey,
    period: SpendPeriod,
    { now, zone }: { readonly now: number; readonly zone: string },
    db: Executor = this.#database.kysely,
  ): Promise<SpentWindow> {
    const [least, most] = LENGTHS[period];
    const rows = await recentWindows.all(db, { subject, after: now - most, now });
    for (const { startsAt, endsAt, spent } of rows) {
      const length = (endsAt ?? startsAt) - startsAt;
      // Windows of another length belong to an earlier limit.
      if (endsAt !== null && endsAt > now && length >= least && length <= most) return { startsAt, endsAt, spent };
    }
    const window = spendWindowOf(period, now, zone);
    return { ...window, spent: rows.find(({ startsAt }) => startsAt === window.startsAt)?.spent ?? 0 };
  }

  async spentIn(subject: SubjectKey, startsAt: number, db: Executor = this.#database.kysely): Promise<number> {
    return (await spentInWindow.first(db, { subject, start: startsAt }))?.spent ?? 0;
  }

  /** Sets a limit, or removes it (undefined). Earlier reservations do not count towards it. */
  async set(trx: Trx, subject: SubjectKey, limit: SpendLimit | undefined): Promise<void> {
    if (limit === undefined) {
      await trx.deleteFrom('spend_limits').where('subject', '=', subject).execute();
      return;
    }
    const { amount, period } = limit;
    await trx
      .insertInto('spend_limits')
      .values({ subject, amount, period })
      .onConflict((conflict) => conflict.column('subject').doUpdateSet({ amount, period }))
      .execute();
  }

  /**
   * Counts a reservation.
   * @param window with the amount spent in it as read in this transaction
   * @returns the amount spent afterwards; undefined, with nothing changed, if the window has no room for it
   */
  async take(
    trx: Trx,
    subject: SubjectKey,
    { startsAt, endsAt, spent }: SpentWindow,
    amount: number,
    limit: number,
  ): Promise<number | undefined> {
    // A new row would not be compared with the limit. Without this check, refusals would queue for the row's lock.
    if (spent + amount > limit) return undefined;
    return (await takeFromWindow.first(trx, { subject, start: startsAt, end: endsAt, amount, limit }))?.spent;
  }

  /** Changes a window by the difference between cost and reservation. */
  async settle(trx: Trx, subject: SubjectKey, startsAt: number, delta: number): Promise<void> {
    await changeWindow.changes(trx, { subject, start: startsAt, delta });
  }

  /** Deletes windows that began before a time. */
  async deleteBefore(startedBefore: number): Promise<void> {
    await this.#database.kysely.deleteFrom('spend_windows').where('period_start', '<', startedBefore).execute();
  }
}
