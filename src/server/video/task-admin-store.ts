import type { ExpressionBuilder, Kysely, Selectable } from 'kysely';
import type { LongListPage, LongPage } from '../../contract/large-list-pagination.ts';
import type { TaskStatus } from '../../contract/task-states.ts';
import type { Database } from '../platform/db/database.ts';
import { firstKeySince, type KeyBounds, readLargeListPage, type TimedRows } from '../platform/db/sql.ts';
import type { ReceiptTask } from '../request-log/receipt-service.ts';
import type { Tables } from '../tables.ts';
import { firstSeqOfImport } from './seq-of-imported-ended-tasks.ts';
import { parseTerms } from './task-charge-and-log-detail.ts';
import { hasStatus, type Task } from './task-store.ts';

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

export interface AdminTaskFilter {
  /** The task's `id` or its public id. */
  readonly taskId?: string | undefined;
  readonly status?: TaskStatus | undefined;
  readonly model?: string | undefined;
  readonly userId?: number | undefined;
  readonly channelId?: number | undefined;
  readonly unfinished?: boolean | undefined;
  /** Unix milliseconds, `from` included, `to` not. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

const TASKS: TimedRows = { table: 'tasks', key: 'seq', time: 'created_at' };

/** Queries of administrators about tasks. */
export class TaskAdminStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Unfinished tasks by channel and credential; those without any are left out. */
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

  /** @param credentialIds those that submitted the tasks; default: all */
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

  /** By `id` or public id; deleted tasks too. */
  find(id: string): Promise<Task | undefined> {
    return this.#database.kysely
      .selectFrom('tasks')
      .selectAll()
      .where(({ eb, or }) => or([eb('id', '=', id), eb('public_id', '=', id)]))
      .executeTakeFirst();
  }

  /** What the receipt of a video needs of it, by `id` or public id. */
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

  /** Newest first, including those their owners deleted. */
  async page(filter: AdminTaskFilter, page: LongPage): Promise<LongListPage<Task>> {
    const ranges = await this.#rangesOf(filter);
    const { kysely } = this.#database;
    const matching = kysely.selectFrom('tasks').where((eb) => eb.and(conditions(eb, filter, ranges)));
    return readLargeListPage(kysely, matching, 'seq', page, (each) => each.selectAll());
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
   * The `seq` of the tasks created in a period, found by binary search: `seq` ascends with the creation time, so that no index on the
   * time is needed, which every submit would have to update. It does so within what was made here and within each import.
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

  /** The newest series of numbers that ascend with time and are below `end`; undefined where there is none. */
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
    ...(filter.unfinished === true ? [eb('next_poll_at', 'is not', null)] : []),
    ...(ranges === undefined
      ? []
      : [eb.or(ranges.map(([first, end]) => eb.and([eb('seq', '>=', first), eb('seq', '<', end)])))]),
  ];
}
