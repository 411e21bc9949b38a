import type { Insertable } from 'kysely';
import { VENDORS } from '../../contract/vendor-ids.ts';
import type { Tables } from '../tables.ts';

/** A row of `tasks` as it is inserted: every column but the database's own `seq`. */
export type NewTask = Required<Omit<Insertable<Tables['tasks']>, 'seq' | 'has_detail'>>;

/** What differs from one new task to the next; every other column starts with the same value. */
export type NewTaskFields = Pick<
  NewTask,
  | 'id'
  | 'user_id'
  | 'token_id'
  | 'channel_id'
  | 'vendor'
  | 'model'
  | 'upstream_model'
  | 'action'
  | 'price'
  | 'created_at'
> &
  Partial<NewTask>;

/** The row of a new task. Its public id is its own until a vendor's replaces it, its times are those of its creation. */
export const newTaskRow = (fields: NewTaskFields): NewTask => ({
  public_id: fields.id,
  credential_id: null,
  status: 'NOT_START',
  progress: 0,
  attempt: 1,
  pricing: '',
  client: '',
  prompt: '',
  request: '{}',
  data: '{}',
  handle: null,
  find_task_hint: null,
  artifact: null,
  fail_cause: '',
  fail_reason: '',
  error_code: '',
  remixed_from: null,
  external_id: null,
  callback_url: null,
  traceparent: null,
  submit_time: fields.created_at,
  start_time: 0,
  finish_time: 0,
  updated_at: fields.created_at,
  next_poll_at: fields.created_at,
  poll_failures: 0,
  deleted: 0,
  ...fields,
});

/** Names of all columns of {@link NewTask}, for the insert statement. */
export const NEW_TASK_COLUMNS = Object.keys(
  newTaskRow({
    id: '',
    user_id: 0,
    token_id: 0,
    channel_id: null,
    vendor: VENDORS[0],
    model: '',
    upstream_model: '',
    action: '',
    price: 0,
    created_at: 0,
  }),
) as (keyof NewTask)[];
