import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../platform/db/database.ts';
import type { Tables } from '../../tables.ts';
import type { Task } from '../task-store.ts';
import type { PollSpread } from './spread-polls.ts';

/** Rows of one statement: some milliseconds on SQLite, during which nothing else is written. */
const ROWS_PER_WRITE = 500;

/** SQL of the times at which tasks are polled. */
export class PollStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Claims due tasks for this process by moving their next poll one lease ahead; exactly one process claims a row. Tasks of a
   * process that dies are due again when the lease ends, which is their `next_poll_at`. Only those are claimed that became due after `dueAfter`.
   */
  async claimDue(now: number, leaseMs: number, limit: number, dueAfter = -1): Promise<Task[]> {
    return this.#database.transaction(async (trx) => {
      const due = trx
        .selectFrom('tasks')
        .select('seq')
        .where('next_poll_at', '>', dueAfter)
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit)
        .forUpdate()
        .skipLocked();
      return trx
        .updateTable('tasks')
        .set({ next_poll_at: now + leaseMs })
        .where('seq', 'in', due)
        .returningAll()
        .execute();
    });
  }

  /**
   * Schedules tasks claimed until `lease`, each for its own time within the period, at or after `earliest`. A task whose claim has ended meanwhile may be claimed by
   * another process: its next poll is not changed.
   */
  async scheduleSpread(seqs: readonly number[], lease: number, earliest: number, spread: PollSpread): Promise<void> {
    await this.#schedule(seqs, lease, nextSpreadTime(earliest, spread));
  }

  /** The same at one time for all. */
  async scheduleAt(seqs: readonly number[], lease: number, at: number): Promise<void> {
    await this.#schedule(seqs, lease, at);
  }

  async #schedule(seqs: readonly number[], lease: number, next_poll_at: number | RawBuilder<number>): Promise<void> {
    for (let start = 0; start < seqs.length; start += ROWS_PER_WRITE)
      await this.#database.kysely
        .updateTable('tasks')
        .set({ next_poll_at })
        .where('seq', 'in', seqs.slice(start, start + ROWS_PER_WRITE))
        .where('next_poll_at', '=', lease)
        .execute();
  }

  /** When the task that has waited longest was due; undefined when none is unfinished. */
  async oldestDue(): Promise<number | undefined> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('next_poll_at')
      .where('next_poll_at', 'is not', null)
      .orderBy('next_poll_at')
      .limit(1)
      .executeTakeFirst();
    return row?.next_poll_at ?? undefined;
  }

  /**
   * Spreads some of what was due at `dueAt` over the time from `now` on; over a period, each task at its own time within it, so that its next
   * poll is a period later. @returns whether there may be more of it
   */
  async spreadDue(dueAt: number, now: number, overMs: number, spread: PollSpread): Promise<boolean> {
    const { periodMs, step } = spread;
    // At least a millisecond ahead, so that no row is met twice.
    const earliest = now + 1;
    const next_poll_at =
      overMs === periodMs
        ? nextSpreadTime(earliest, spread)
        : sql<number>`${earliest} + (seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} * ${overMs} / ${sql.lit(periodMs)}`;
    const due = this.#database.kysely
      .selectFrom('tasks')
      .select('seq')
      .where('next_poll_at', '<=', dueAt)
      .orderBy('next_poll_at')
      .limit(ROWS_PER_WRITE)
      .forUpdate()
      .skipLocked();
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at })
      .where('seq', 'in', due)
      .executeTakeFirst();
    return Number(numUpdatedRows) === ROWS_PER_WRITE;
  }

  /** Makes tasks due whose next poll is after `latest`, later than any is scheduled: the clock was set back. */
  async limitNextPoll(now: number, latest: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: now })
      .where('next_poll_at', '>', latest)
      .execute();
  }
}

/** The next poll of a task at its own time within the period, at or after `earliest`; in SQL. */
const nextSpreadTime = (earliest: number, { periodMs, step }: PollSpread): RawBuilder<number> => sql<number>`
  ${earliest} + ((seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} + ${sql.lit(periodMs - (earliest % periodMs))}) % ${sql.lit(periodMs)}`;
