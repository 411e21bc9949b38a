import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely';
import type { VendorId } from '../../contract/model-kinds.ts';
import type { LongListPage, LongPage } from '../../contract/responses.ts';
import type { TaskStatus } from '../../contract/task-states.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import { containsText, firstKeySince, type KeyBounds, readLargeListPage, type TimedRows } from '../platform/db/sql.ts';
import type { ReceiptTask } from '../request-log/receipts.ts';
import type { Tables } from '../tables.ts';
import { firstSeqOfImport } from './tables.ts';
import { hasStatus, isUnfinished, MAX_SEARCHED_TASKS, parseTerms, type Task, toSearchTerms } from './task-store.ts';

/** A failed submit attempt. */
export interface FailedAttempt {
  readonly taskId: string;
  readonly attempt: number;
  readonly channelId: number;
  readonly credentialId: number;
  readonly outcome: string;
  readonly code: string;
  readonly message: string;
  readonly createdAt: number;
}

interface AdminTaskFilter {
  /** The task's `id` or its public id. */
  readonly taskId?: string;
  /** Words of the prompt, of the newest {@link MAX_SEARCHED_TASKS} tasks, or an id; empty: all. */
  readonly search?: string;
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly userId?: number;
  readonly channelId?: number;
  readonly unfinished?: boolean;
  /** Unix milliseconds, `from` included, `to` not. */
  readonly from?: number;
  readonly to?: number;
}

/** Characters of a prompt by which it is recognized in a list. */
const MAX_PROMPT_START = 120;

const TASKS: TimedRows = { table: 'tasks', key: 'seq', time: 'created_at' };

/** Queries about tasks for administrators. */
export class TaskAdminStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Number of unfinished tasks per channel and credential; pairs without any are omitted. */
  async unfinished(): Promise<{ channelId: number; credentialId: number | null; count: number }[]> {
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(({ fn }) => ['channel_id', 'credential_id', fn.countAll<number>().as('count')])
      .where('next_poll_at', 'is not', null)
      .where('channel_id', 'is not', null)
      .groupBy(['channel_id', 'credential_id'])
      .execute();
    return rows.map((row) => ({
      channelId: row.channel_id ?? 0,
      credentialId: row.credential_id,
      count: Number(row.count),
    }));
  }

  /** @param credentialIds the credentials the tasks were submitted with; default: all */
  async countUnfinished(trx: Kysely<Tables>, channelId: number, credentialIds?: readonly number[]): Promise<number> {
    const open = trx
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_poll_at', 'is not', null)
      .where('channel_id', '=', channelId);
    const { count } = await (credentialIds === undefined
      ? open
      : open.where('credential_id', 'in', credentialIds)
    ).executeTakeFirstOrThrow();
    return Number(count);
  }

  /** The `id` of the task with this public id. */
  async internalIdOf(publicId: string): Promise<string | undefined> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('id')
      .where('public_id', '=', publicId)
      .executeTakeFirst();
    return row?.id;
  }

  /** Public ids of tasks, by `id`. */
  async publicIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(['id', 'public_id'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.public_id]));
  }

  /** Starts of the prompts of tasks, by `id`. */
  async prompts(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(['id', sql<string>`substr(prompt, 1, ${sql.lit(MAX_PROMPT_START)})`.as('prompt')])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.prompt]));
  }

  /** Finds a task by `id` or public id, including deleted tasks. */
  find(id: string): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where(({ eb, or }) => or([eb('id', '=', id), eb('public_id', '=', id)]))
      .executeTakeFirst();
  }

  /** The columns of a video's task that its receipt needs, by `id` or public id. */
  async receiptTask(name: string): Promise<ReceiptTask | undefined> {
    const task = await this.find(name);
    return (
      task && {
        id: task.id,
        publicId: task.public_id,
        servedModel: task.upstream_model,
        terms: parseTerms(task.pricing),
      }
    );
  }

  /** Newest first, including tasks deleted by their owners. */
  async page(filter: AdminTaskFilter, page: LongPage): Promise<LongListPage<Task>> {
    const ranges = await this.#rangesOf(filter);
    const { kysely } = this.#database;
    let matching = kysely.selectFrom('tasks').where((eb) => eb.and(conditions(eb, filter, ranges)));
    const { search = '' } = filter;
    if (search !== '') {
      const oldest = await this.#oldestSearched(filter);
      const words = toSearchTerms(search).map((word) => containsText('prompt', word));
      matching = matching.where((eb) =>
        eb.or([eb.and([eb('seq', '>=', oldest), ...words]), eb('id', '=', search), eb('public_id', '=', search)]),
      );
    }
    return readLargeListPage(kysely, matching, 'seq', page, (each) => each.selectAll());
  }

  /** `seq` of the oldest task whose prompt a search reads. */
  async #oldestSearched({ userId }: AdminTaskFilter): Promise<number> {
    let query = this.#database.kysely.selectFrom('tasks').select('seq');
    if (userId !== undefined) query = query.where('user_id', '=', userId);
    const row = await query
      .orderBy('seq', 'desc')
      .offset(MAX_SEARCHED_TASKS - 1)
      .limit(1)
      .executeTakeFirst();
    return row?.seq ?? Number.MIN_SAFE_INTEGER;
  }

  async insertFailedAttempt(note: FailedAttempt): Promise<void> {
    await this.#database.kysely
      .insertInto('task_attempts')
      .values({
        task_id: note.taskId,
        attempt: note.attempt,
        channel_id: note.channelId,
        credential_id: note.credentialId,
        outcome: note.outcome,
        code: note.code,
        message: note.message,
        created_at: note.createdAt,
      })
      .onConflict((conflict) => conflict.columns(['task_id', 'attempt']).doNothing())
      .execute();
  }

  failedAttempts(taskId: string): Promise<Selectable<Tables['task_attempts']>[]> {
    return this.#database.kysely
      .selectFrom('task_attempts')
      .selectAll()
      .where('task_id', '=', taskId)
      .orderBy('attempt')
      .execute();
  }

  /**
   * The `seq` ranges of the tasks created in a period, found by binary search. `seq` ascends with the creation time,
   * which saves an index on the time that every submit would have to update. The search covers the tasks created here
   * and each import separately.
   */
  async #rangesOf({ from, to }: AdminTaskFilter): Promise<readonly KeyBounds[] | undefined> {
    if (from === undefined && to === undefined) return undefined;
    const { kysely } = this.#database;
    const ranges: KeyBounds[] = [];
    for (let bounds = await this.#seriesBelow(undefined); bounds !== undefined; ) {
      ranges.push([
        from === undefined ? bounds[0] : await firstKeySince(kysely, TASKS, from, bounds),
        to === undefined ? bounds[1] : await firstKeySince(kysely, TASKS, to, bounds),
      ]);
      bounds = await this.#seriesBelow(bounds[0]);
    }
    return ranges;
  }

  /** The newest range of numbers below `end` that ascends with time; undefined if there is none. */
  async #seriesBelow(end: number | undefined): Promise<KeyBounds | undefined> {
    let query = this.#database.kysely.selectFrom('tasks').select(({ fn }) => fn.max('seq').as('last'));
    if (end !== undefined) query = query.where('seq', '<', end);
    const { last } = (await query.executeTakeFirst()) ?? {};
    if (last == null) return undefined;
    const seq = Number(last);
    return [seq < 0 ? firstSeqOfImport(seq) : 0, seq + 1];
  }
}

function conditions(
  eb: ExpressionBuilder<Tables, 'tasks'>,
  filter: AdminTaskFilter,
  ranges: readonly KeyBounds[] | undefined,
) {
  const { taskId, status, model, userId, channelId } = filter;
  return [
    ...(taskId === undefined ? [] : [eb.or([eb('id', '=', taskId), eb('public_id', '=', taskId)])]),
    ...(status === undefined ? [] : [hasStatus(status)]),
    ...(model === undefined ? [] : [eb('model', '=', model)]),
    ...(userId === undefined ? [] : [eb('user_id', '=', userId)]),
    ...(channelId === undefined ? [] : [eb('channel_id', '=', channelId)]),
    ...(filter.unfinished === true ? [isUnfinished] : []),
    ...(ranges === undefined
      ? []
      : [eb.or(ranges.map(([first, end]) => eb.and([eb('seq', '>=', first), eb('seq', '<', end)])))]),
  ];
}

/** SQL that clears the details of videos after their retention period. */
export class TaskDetailRemovalStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Clears the request, response and failed attempts of at most `limit` videos that ended before a time.
   * @returns the number of videos
   */
  clear(before: number, limit: number): Promise<number> {
    return this.#database.transaction(async (trx) => {
      const rows = await trx
        .selectFrom('tasks')
        .select(['seq', 'id'])
        // Same condition as in the index.
        .where(sql<boolean>`has_detail = 1 and finish_time > 0`)
        .where('finish_time', '<', before)
        .orderBy('finish_time')
        .limit(limit)
        .execute();
      if (rows.length === 0) return 0;
      const [seqs, ids] = [rows.map(({ seq }) => seq), rows.map(({ id }) => id)];
      await trx
        .updateTable('tasks')
        .set({ request: '{}', data: '{}', has_detail: 0 })
        .where('seq', 'in', seqs)
        .execute();
      await trx.deleteFrom('task_attempts').where('task_id', 'in', ids).execute();
      return rows.length;
    });
  }
}

/** Unfinished tasks of all processes, for the metrics. */
interface OpenTaskFigures {
  readonly open: readonly { readonly vendor: VendorId; readonly status: TaskStatus; readonly count: number }[];
  /** How long the most overdue task has been due for its next poll, milliseconds; 0 if none is due. */
  readonly oldestDueMs: number;
  /** Tasks whose submit may or may not have reached its vendor. */
  readonly ambiguous: number;
}

/** Several scrapes, and several metrics of one scrape, share a reading. */
const FRESH_MS = 5_000;
/** Upper bound on the duration of a submit: three attempts of one minute each, plus a margin. */
const LONGEST_SUBMIT_MS = 240_000;

/** Counts unfinished tasks. Reads only the index of due tasks, which contains no finished ones. */
export class OpenTaskStatistics {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;
  readonly #flight = new SingleFlight<OpenTaskFigures>();
  #latest: { readonly figures: OpenTaskFigures; readonly readAt: number } | undefined;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Returns figures at most five seconds old.
   * @throws DatabaseUnavailableError
   */
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

/** How long the videos of one model took, from request to result, across all accounts. */
interface ModelDuration {
  readonly model: string;
  /** The median. */
  readonly p50_seconds: number;
  readonly p90_seconds: number;
  /** Number of finished videos measured. */
  readonly samples: number;
}

const DURATIONS_FRESH_MS = 60_000;
const WINDOW_MS = 30 * DAY_MS;
/** Newest tasks read per model; a vendor's speed changes, so older ones are not representative. */
const TASKS_READ = 200;
/** Fewer samples do not show a spread. */
const MIN_SAMPLES = 5;

/** Measures how long videos take, from the newest finished tasks of each model. */
export class DurationStatistics {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;
  readonly #flight = new SingleFlight<readonly ModelDuration[]>();
  #latest: { readonly durations: readonly ModelDuration[]; readonly readAt: number } | undefined;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns durations at most a minute old; models with fewer than five finished videos in thirty days are omitted. */
  async read(models: readonly string[]): Promise<readonly ModelDuration[]> {
    if (this.#latest !== undefined && performance.now() - this.#latest.readAt < DURATIONS_FRESH_MS)
      return this.#latest.durations;
    return this.#flight.run('', async () => {
      const durations: ModelDuration[] = [];
      // Sequential: on SQLite each read blocks the process only for its own duration.
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
