import type { Kysely } from 'kysely';
import type { Clock } from '../clock.ts';
import type { MemoryCounters } from './memory-counters.ts';
import type { RateLimitTables } from './tables.ts';

const SAVE_INTERVAL_MS = 1_000;
/** Most rows of one statement, and of one save: a flood of keys must not keep the database busy. */
const ROWS_PER_STATEMENT = 200;
const ROWS_PER_SAVE = 2_000;

type Row = RateLimitTables['rate_limits'];

interface SavedLimit {
  readonly name: string;
  readonly counters: MemoryCounters;
  readonly minPoints: number;
  /** Keys of the rows in the table. */
  readonly saved: Set<string>;
}

interface SnapshotLog {
  warn(details: object, message: string): void;
}

/**
 * Saves the counters of a single process, so that a restart lifts no lock-out. Counting stays in memory; what has used half of
 * its points or more is written every second and when the service stops, and read back at the next start.
 */
export class CounterSnapshots {
  readonly #kysely: Kysely<RateLimitTables>;
  readonly #clock: Clock;
  readonly #log: SnapshotLog | undefined;
  readonly #restored: Map<string, Row[]>;
  readonly #limits: SavedLimit[] = [];
  readonly #timer: NodeJS.Timeout;
  #saving: Promise<void> = Promise.resolve();

  static async open(kysely: Kysely<RateLimitTables>, clock: Clock, log?: SnapshotLog): Promise<CounterSnapshots> {
    await kysely.deleteFrom('rate_limits').where('ends_at', '<=', clock.now()).execute();
    const rows = await kysely.selectFrom('rate_limits').selectAll().execute();
    return new CounterSnapshots(kysely, clock, rows, log);
  }

  private constructor(kysely: Kysely<RateLimitTables>, clock: Clock, rows: readonly Row[], log?: SnapshotLog) {
    this.#kysely = kysely;
    this.#clock = clock;
    this.#log = log;
    this.#restored = Map.groupBy(rows, ({ key }) => key.slice(0, key.indexOf(':')));
    this.#timer = setInterval(() => {
      this.#saving = this.#saving.then(() => this.#save());
    }, SAVE_INTERVAL_MS).unref();
  }

  /** @param points what the limit allows */
  register(name: string, points: number, counters: MemoryCounters): void {
    const restored = this.#restored.get(name) ?? [];
    const toKey = (key: string): string => key.slice(name.length + 1);
    counters.restore(restored.map(({ key, points: used, ends_at: endsAt }) => ({ key: toKey(key), used, endsAt })));
    this.#restored.delete(name);
    this.#limits.push({
      name,
      counters,
      minPoints: Math.max(1, points / 2),
      saved: new Set(restored.map(({ key }) => key)),
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  async #save(): Promise<void> {
    const rows: Row[] = [];
    for (const { name, counters, minPoints, saved } of this.#limits)
      for (const { key, used, endsAt } of counters.takeChanged(ROWS_PER_SAVE - rows.length)) {
        const rowKey = `${name}:${key}`;
        const isWorthSaving = used >= minPoints;
        // What was saved as used up and has been given back since is written as well, or a restart would bring it back.
        if (isWorthSaving || saved.has(rowKey)) rows.push({ key: rowKey, points: used, ends_at: endsAt });
        if (isWorthSaving) saved.add(rowKey);
        else saved.delete(rowKey);
      }
    if (rows.length === 0) return;
    try {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT)
        await this.#write(rows.slice(at, at + ROWS_PER_STATEMENT));
      await this.#kysely.deleteFrom('rate_limits').where('ends_at', '<=', this.#clock.now()).execute();
    } catch (error) {
      this.#log?.warn({ err: error }, 'the counters of rate limits could not be saved');
    }
  }

  async #write(rows: readonly Row[]): Promise<void> {
    await this.#kysely
      .insertInto('rate_limits')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet((eb) => ({ points: eb.ref('excluded.points'), ends_at: eb.ref('excluded.ends_at') })),
      )
      .execute();
  }
}
