import type { VendorName } from '../contract/states.ts';
import type { NewImportedTask } from './importer/target.ts';
import type { Trx } from './tables.ts';
import { NO_TOKEN } from './video/tables.ts';
import { newTaskRow } from './video/task-row.ts';

/** Writes a task of another program, submitted there and polled on here, at once. Its time limit begins now. */
export async function addImportedTask(
  trx: Trx,
  { id, userId, tokenId, channelId, task, now }: NewImportedTask,
): Promise<number> {
  const { publicId = id, hasStarted, submittedAt = now } = task;
  const taken = await trx.selectFrom('tasks').select('id').where('public_id', '=', publicId).executeTakeFirst();
  const row = newTaskRow({
    id,
    public_id: taken === undefined ? publicId : id,
    user_id: userId,
    token_id: tokenId ?? NO_TOKEN,
    channel_id: channelId,
    credential_id: task.credentialId,
    vendor: task.vendor as VendorName,
    model: task.model,
    upstream_model: task.upstreamModel,
    action: task.action,
    price: task.paid,
    prompt: task.prompt,
    status: hasStarted ? 'IN_PROGRESS' : 'SUBMITTED',
    progress: hasStarted ? 30 : 10,
    handle: JSON.stringify(task.handle),
    submit_time: submittedAt,
    start_time: hasStarted ? submittedAt : 0,
    created_at: now,
  });
  const { seq } = await trx.insertInto('tasks').values(row).returning('seq').executeTakeFirstOrThrow();
  return seq;
}
