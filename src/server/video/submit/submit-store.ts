import { prepareInsert, prepareQuery } from '../../platform/db/prepared-query.ts';
import { wasChanged } from '../../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';
import { NEW_TASK_COLUMNS, type NewTask } from '../new-task-row.ts';

const insertTasks = prepareInsert<Tables, NewTask>('tasks', NEW_TASK_COLUMNS);

/** @returns false when the token has another task with this external id; of several at once, one is inserted */
export async function insertTask(executor: Executor, task: NewTask): Promise<boolean> {
  if (task.external_id === null) {
    await insertTasks(executor, [task]);
    return true;
  }
  return wasChanged(
    await executor
      .insertInto('tasks')
      .values(task)
      .onConflict((conflict) =>
        conflict.columns(['token_id', 'external_id']).where('external_id', 'is not', null).doNothing(),
      )
      .executeTakeFirst(),
  );
}

/**
 * How many tasks of a token have not ended. The token's row is locked first, so that submits of one token, on any process, count one after
 * the other.
 */
export async function countOpenTasks(trx: Trx, tokenId: number): Promise<number> {
  await trx.selectFrom('tokens').select('id').where('id', '=', tokenId).forUpdate().execute();
  const { open } = await trx
    .selectFrom('tasks')
    .select((row) => row.fn.countAll<number>().as('open'))
    .where('token_id', '=', tokenId)
    .where('next_poll_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return Number(open);
}

/** A vendor's confirmation of a submit. */
export interface Acceptance {
  readonly id: string;
  readonly attempt: number;
  /** The public id to take, unless another task has it. */
  readonly public_id: string;
  readonly handle: string;
  readonly data: string;
  readonly now: number;
  /** When it is polled first, Unix milliseconds. */
  readonly next: number;
}

/** Only the latest attempt is accepted: a late response to an earlier one changes nothing. */
export const acceptTaskQuery = prepareQuery<Tables, { [K in keyof Acceptance]: Acceptance[K] }>()((db, p) =>
  db
    .updateTable('tasks')
    .set({
      status: 'SUBMITTED',
      progress: 10,
      // An upstream must not be able to take over another task's public id by responding with it.
      public_id: (eb) =>
        eb
          .case()
          .when(
            eb.exists(
              eb.selectFrom('tasks as other').select('other.seq').where('other.public_id', '=', p('public_id')),
            ),
          )
          .then(eb.ref('tasks.public_id'))
          .else(p('public_id'))
          .end(),
      handle: p('handle'),
      data: p('data'),
      submit_time: p('now'),
      updated_at: p('now'),
      next_poll_at: p('next'),
    })
    .where('id', '=', p('id'))
    .where('attempt', '=', p('attempt'))
    .where('status', '=', 'NOT_START')
    .returning('public_id'),
);

/** A task by its public id, for the token that submitted it. */
export const findForTokenQuery = prepareQuery<Tables, { id: string; token: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('public_id', '=', p('id'))
    .where('token_id', '=', p('token'))
    .where('deleted', '=', 0),
);
