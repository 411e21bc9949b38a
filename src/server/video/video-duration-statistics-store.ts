import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** How long the videos of one model took, from the request to the result, over all accounts. */
export interface ModelDuration {
  readonly model: string;
  /** Half of them were ready within this many seconds. */
  readonly p50_seconds: number;
  readonly p90_seconds: number;
  /** Finished videos the two are from. */
  readonly samples: number;
}

const FRESH_MS = 60_000;
const WINDOW_MS = 30 * DAY_MS;
/** Newest tasks read for each model; a vendor's speed changes, so older ones say little. */
const TASKS_READ = 200;
/** Fewer say nothing about a spread. */
const MIN_SAMPLES = 5;

/** Measures how long videos take, from the newest finished tasks of each model. */
export class VideoDurationStatisticsStore {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;
  readonly #flight = new SingleFlight<readonly ModelDuration[]>();
  #latest: { readonly durations: readonly ModelDuration[]; readonly readAt: number } | undefined;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** At most a minute old; models with fewer than five finished videos in thirty days are left out. */
  async read(models: readonly string[]): Promise<readonly ModelDuration[]> {
    if (this.#latest !== undefined && performance.now() - this.#latest.readAt < FRESH_MS) return this.#latest.durations;
    return this.#flight.run('', async () => {
      const durations: ModelDuration[] = [];
      // One after the other: on SQLite each read blocks the process for its own time only.
      for (const model of models) {
        const taken = await this.#secondsTaken(model);
        if (taken.length >= MIN_SAMPLES) durations.push(toModelDuration(model, taken));
      }
      this.#latest = { durations, readAt: performance.now() };
      return durations;
    });
  }

  async #secondsTaken(model: string): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(['status', 'created_at', 'finish_time'])
      .where('model', '=', model)
      .orderBy('seq', 'desc')
      .limit(TASKS_READ)
      .execute();
    const since = this.#clock.now() - WINDOW_MS;
    return rows
      .filter(({ status, created_at }) => status === 'SUCCESS' && created_at >= since)
      .map(({ created_at, finish_time }) => Math.max(0, finish_time - created_at) / 1_000);
  }
}

function toModelDuration(model: string, seconds: readonly number[]): ModelDuration {
  const sorted = seconds.toSorted((left, right) => left - right);
  // The nearest-rank quantile: the smallest value that at least this share of all values does not exceed.
  const quantile = (share: number): number => Math.ceil(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { model, p50_seconds: quantile(0.5), p90_seconds: quantile(0.9), samples: sorted.length };
}
