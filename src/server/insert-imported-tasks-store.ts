import type { VendorId } from '../contract/vendor-ids.ts';
import type { NewEndedTask, NewImportedTask } from './importer/service-functions-for-import-types.ts';
import { toWellFormedText } from './platform/text.ts';
import type { Trx } from './tables.ts';
import { NO_TOKEN } from './video/tables.ts';
import { importedEndedTaskSeq, newTaskRow } from './video/task-store.ts';

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
    vendor: task.vendor as VendorId,
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

/** Writes tasks that ended in another program. Nothing is reserved, charged, copied or reported for them. */
export async function addEndedTasks(trx: Trx, tasks: readonly NewEndedTask[]): Promise<void> {
  await trx.insertInto('tasks').values(tasks.map(toEndedRow)).execute();
}

function toEndedRow({ importId, id, publicId = id, userId, tokenId, channelId, task, now }: NewEndedTask) {
  const { createdAt = now, hasSucceeded } = task;
  const finishedAt = task.finishedAt ?? createdAt;
  return {
    seq: importedEndedTaskSeq(importId, task.sourceId),
    ...newTaskRow({
      id,
      public_id: publicId,
      user_id: userId,
      token_id: tokenId ?? NO_TOKEN,
      channel_id: channelId ?? null,
      credential_id: channelId === undefined ? null : (task.credentialId ?? null),
      vendor: task.vendor as VendorId,
      model: task.model,
      upstream_model: task.upstreamModel,
      action: task.action,
      price: task.paid,
      prompt: task.prompt,
      status: hasSucceeded ? 'SUCCESS' : 'FAILURE',
      progress: 100,
      handle: task.handle === undefined ? null : JSON.stringify(task.handle),
      artifact: task.url === undefined ? null : JSON.stringify({ kind: 'url', url: task.url }),
      fail_cause: hasSucceeded ? '' : 'unknown',
      fail_reason: toWellFormedText(task.failReason),
      submit_time: task.submittedAt ?? createdAt,
      start_time: task.startedAt ?? 0,
      created_at: createdAt,
      finish_time: finishedAt,
      updated_at: finishedAt,
      next_poll_at: null,
    }),
  };
}
