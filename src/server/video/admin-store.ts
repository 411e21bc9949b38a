import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely';
import { isTerminal, type TaskStatus } from '../../contract/states.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Task } from './store.ts';

/** A try that came to nothing. */
export interface AttemptNote {
  readonly taskId: string;
  readonly attempt: number;
  readonly channelId: number;
  readonly outcome: string;
  readonly code: string;
  readonly message: string;
  readonly createdAt: number;
}

export interface AdminTaskFilter {
  /** Either of a task's names. */
  readonly taskId?: string;
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly userId?: number;
  readonly channelId?: number;
  readonly unfinished?: boolean;
  /** Unix milliseconds, from included, to not. */
  readonly from?: number;
  readonly to?: number;
}

/** Matches beyond this are not counted: counting a million takes longer than anybody waits for a page. */
const MOST_COUNTED = 10_000;

/** What administrators ask about tasks. */
export class TaskAdminStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Unfinished tasks by channel; channels without any are left out. */
  async unfinishedByChannel(): Promise<ReadonlyMap<number, number>> {
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(({ fn }) => ['channel_id', fn.countAll<number>().as('count')])
      .where('next_poll_at', 'is not', null)
      .where('channel_id', 'is not', null)
      .groupBy('channel_id')
      .execute();
    return new Map(rows.map((row) => [row.channel_id ?? 0, Number(row.count)]));
  }

  async countUnfinished(trx: Kysely<Tables>, channelId: number): Promise<number> {
    const { count } = await trx
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_poll_at', 'is not', null)
      .where('channel_id', '=', channelId)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Our id of a task callers know by this name. */
  async idOf(publicId: string): Promise<string | undefined> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('id')
      .where('public_id', '=', publicId)
      .executeTakeFirst();
    return row?.id;
  }

  /** Names callers know tasks by, by our ids. */
  async publicIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('tasks')
      .select(['id', 'public_id'])
      .where('id', 'in', ids)
      .execute();
    return new Map(rows.map((row) => [row.id, row.public_id]));
  }

  /** By either of its names; removed ones too. */
  find(id: string): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where(({ eb, or }) => or([eb('id', '=', id), eb('public_id', '=', id)]))
      .executeTakeFirst();
  }

  /** Newest first, those their owners removed included. `total` stops counting at 10,000. */
  async page(filter: AdminTaskFilter, offset: number, limit: number): Promise<{ rows: Task[]; total: number }> {
    const bounds = await Promise.all([this.#seqAt(filter.from), this.#seqAt(filter.to)]);
    const matching = this.#database.kysely.selectFrom('tasks').where((eb) => eb.and(conditions(eb, filter, bounds)));
    const counted = matching.select(sql<number>`1`.as('one')).limit(MOST_COUNTED).as('counted');
    const [rows, count] = await Promise.all([
      matching.selectAll().orderBy('seq', 'desc').offset(offset).limit(limit).execute(),
      this.#database.kysely
        .selectFrom(counted)
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  async addAttempt(note: AttemptNote): Promise<void> {
    await this.#database.kysely
      .insertInto('task_attempts')
      .values({
        task_id: note.taskId,
        attempt: note.attempt,
        channel_id: note.channelId,
        outcome: note.outcome,
        code: note.code,
        message: note.message,
        created_at: note.createdAt,
      })
      .onConflict((conflict) => conflict.columns(['task_id', 'attempt']).doNothing())
      .execute();
  }

  attempts(taskId: string): Promise<Selectable<Tables['task_attempts']>[]> {
    return this.#database.kysely
      .selectFrom('task_attempts')
      .selectAll()
      .where('task_id', '=', taskId)
      .orderBy('attempt')
      .execute();
  }

  /**
   * The number of the first task made at this time or later, by halving: rows are numbered in the order they are made, so
   * that a time needs no index of its own on the way of every submit.
   */
  async #seqAt(time: number | undefined): Promise<number | undefined> {
    if (time === undefined) return undefined;
    const { kysely } = this.#database;
    const ends = await kysely
      .selectFrom('tasks')
      .select(({ fn }) => [fn.min('seq').as('low'), fn.max('seq').as('high')])
      .executeTakeFirst();
    let low = Number(ends?.low ?? 0);
    let high = Number(ends?.high ?? 0) + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = await kysely
        .selectFrom('tasks')
        .select('created_at')
        .where('seq', '>=', middle)
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined || row.created_at >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function conditions(
  eb: ExpressionBuilder<Tables, 'tasks'>,
  filter: AdminTaskFilter,
  [first, end]: readonly (number | undefined)[],
) {
  const { taskId, status, model, userId, channelId } = filter;
  const unfinished = filter.unfinished === true || (status !== undefined && !isTerminal(status));
  return [
    ...(taskId === undefined ? [] : [eb.or([eb('id', '=', taskId), eb('public_id', '=', taskId)])]),
    ...(status === undefined ? [] : [eb('status', '=', status)]),
    ...(model === undefined ? [] : [eb('model', '=', model)]),
    ...(userId === undefined ? [] : [eb('user_id', '=', userId)]),
    ...(channelId === undefined ? [] : [eb('channel_id', '=', channelId)]),
    ...(unfinished ? [eb('next_poll_at', 'is not', null)] : []),
    ...(first === undefined ? [] : [eb('seq', '>=', first)]),
    ...(end === undefined ? [] : [eb('seq', '<', end)]),
  ];
}
