import { sql } from 'kysely';
import type { TaskStatus } from '../../contract/task-states.ts';
import type { VendorId } from '../../contract/vendor-ids.ts';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** The unfinished tasks of all processes, as the metrics show them. */
export interface OpenTaskFigures {
  readonly open: readonly { readonly vendor: VendorId; readonly status: TaskStatus; readonly count: number }[];
  /** How long the task that waits longest has been due for its next poll, milliseconds; 0 when none is due. */
  readonly oldestDueMs: number;
  /** Tasks whose submit may or may not have reached its vendor. */
  readonly ambiguous: number;
}

/** Several scrapes, and several metrics of one scrape, share a reading. */
const FRESH_MS = 5_000;
/** No submit is under way for longer: three attempts of a minute each, and a margin. */
const LONGEST_SUBMIT_MS = 240_000;

/** Counts unfinished tasks. Reads the index of due tasks only, which has no finished ones. */
export class UnfinishedTaskStatisticsStore {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;
  readonly #flight = new SingleFlight<OpenTaskFigures>();
  #latest: { readonly figures: OpenTaskFigures; readonly readAt: number } | undefined;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** At most five seconds old. @throws DatabaseUnavailableError */
  async read(): Promise<OpenTaskFigures> {
    if (this.#latest !== undefined && performance.now() - this.#latest.readAt < FRESH_MS) return this.#latest.figures;
    return this.#flight.run('', async () => {
      const figures = await this.#query();
      this.#latest = { figures, readAt: performance.now() };
      return figures;
    });
  }

  async #query(): Promise<OpenTaskFigures> {
    const now = this.#clock.now();
    const open = this.#database.kysely.selectFrom('tasks').where('next_poll_at', 'is not', null);
    const [counts, oldest, ambiguous] = await Promise.all([
      open
        .select(['vendor', 'status', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['vendor', 'status'])
        .execute(),
      open.select(({ fn }) => fn.min('next_poll_at').as('due')).executeTakeFirst(),
      open
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('status', '=', 'NOT_START')
        .where(({ or, eb, exists, selectFrom }) =>
          or([
            eb('created_at', '<', now - LONGEST_SUBMIT_MS),
            exists(
              selectFrom('task_attempts')
                .select(sql`1`.as('found'))
                .whereRef('task_attempts.task_id', '=', 'tasks.id')
                .where('outcome', '=', 'unknown'),
            ),
          ]),
        )
        .executeTakeFirst(),
    ]);
    return {
      open: counts,
      oldestDueMs: Math.max(0, now - (oldest?.due ?? now)),
      ambiguous: ambiguous?.count ?? 0,
    };
  }
}
