import type { Insertable } from 'kysely';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

export type NewTask = Omit<Insertable<Tables['tasks']>, 'seq' | 'deleted' | 'poll_failures'>;

export const insertTask = prepare<Tables, Required<NewTask>>()((db, p) =>
  db.insertInto('tasks').values({
    id: p('id'),
    public_id: p('public_id'),
    user_id: p('user_id'),
    token_id: p('token_id'),
    channel_id: p('channel_id'),
    vendor: p('vendor'),
    model: p('model'),
    upstream_model: p('upstream_model'),
    action: p('action'),
    status: p('status'),
    progress: p('progress'),
    attempt: p('attempt'),
    price: p('price'),
    prompt: p('prompt'),
    request: p('request'),
    data: p('data'),
    handle: p('handle'),
    hint: p('hint'),
    artifact: p('artifact'),
    fail_reason: p('fail_reason'),
    error_code: p('error_code'),
    remixed_from: p('remixed_from'),
    created_at: p('created_at'),
    submit_time: p('submit_time'),
    start_time: p('start_time'),
    finish_time: p('finish_time'),
    updated_at: p('updated_at'),
    next_poll_at: p('next_poll_at'),
    poll_failures: 0,
    deleted: 0,
  }),
);

export interface Acceptance {
  readonly id: string;
  readonly attempt: number;
  readonly public_id: string;
  readonly handle: string;
  readonly data: string;
  readonly now: number;
  readonly next: number;
}
// Only the attempt under way may be accepted: a late answer to an earlier one changes nothing.
export const accept = prepare<Tables, { [K in keyof Acceptance]: Acceptance[K] }>()((db, p) =>
  db
    .updateTable('tasks')
    .set({
      status: 'SUBMITTED',
      progress: 10,
      // An upstream must not be able to take over another task's name by answering with its id.
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

/** A task by its public id, for the token that made it. */
export const ownByPublicId = prepare<Tables, { id: string; token: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('public_id', '=', p('id'))
    .where('token_id', '=', p('token'))
    .where('deleted', '=', 0),
);
