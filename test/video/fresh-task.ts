import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { type Task, TaskStore } from '../../src/server/video/store.ts';

/** A task as a submit writes it, with whatever a test needs to be different; without its reservation. */
export async function freshTask(
  database: Database<Tables>,
  different: Partial<Task> = {},
): Promise<{ readonly store: TaskStore; readonly task: Task }> {
  const store = new TaskStore(database);
  const { id = 'task_1', created_at = Date.now() } = different;
  const row = {
    id,
    public_id: id,
    user_id: 1,
    token_id: 1,
    channel_id: 1,
    vendor: 'kling',
    model: 'film',
    upstream_model: 'film',
    action: 'textGenerate',
    status: 'NOT_START',
    progress: 0,
    attempt: 1,
    price: 0,
    prompt: 'a cat',
    request: '{}',
    data: '{}',
    handle: null,
    hint: null,
    artifact: null,
    fail_reason: '',
    error_code: '',
    remixed_from: null,
    created_at,
    submit_time: created_at,
    start_time: 0,
    finish_time: 0,
    updated_at: created_at,
    next_poll_at: created_at,
  } as const;
  await database.transaction((trx) => store.insert(trx, { ...row, ...different }));
  const task = await store.byId(id);
  if (task === undefined) throw new Error(`${id} was not written`);
  return { store, task };
}
