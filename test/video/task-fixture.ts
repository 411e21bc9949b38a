import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { newTaskRow, type Task, TaskStore } from '../../src/server/video/task-store.ts';

/** Inserts a task as a submit writes it, with the given overrides and without its reservation. */
export async function insertTask(
  database: Database<Tables>,
  overrides: Partial<Task> = {},
): Promise<{ readonly store: TaskStore; readonly task: Task }> {
  const store = new TaskStore(database);
  const { seq: _, ...columns } = overrides;
  const row = newTaskRow({
    id: 'task_1',
    user_id: 1,
    token_id: 1,
    channel_id: 1,
    vendor: 'kling',
    model: 'film',
    upstream_model: 'film',
    action: 'textGenerate',
    price: 0,
    prompt: 'a cat',
    created_at: Date.now(),
    ...columns,
  });
  await database.transaction((trx) => store.insert(trx, row));
  const task = await store.findById(row.id);
  if (task === undefined) throw new Error(`${row.id} was not written`);
  return { store, task };
}
