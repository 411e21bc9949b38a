import type { ImportSummary } from './import-summary.ts';
import type { ImportVisitor, ReadContext } from './import-visitor-types.ts';
import { integerOf, smallIntegerOf, textOf } from './mapping/column-values.ts';
import { mapEndedTask } from './mapping/ended-tasks.ts';
import { TASK_COLUMNS } from './mapping/read-source-task.ts';
import { mapUnfinishedTask, type TaskMapping } from './mapping/unfinished-tasks.ts';
import { progressOf, readPages } from './read-rows-in-batches.ts';
import type { SourceDatabase } from './source/source-database.ts';

/** Its columns that are read, and no others: some are large. */
const ENDED = { columns: TASK_COLUMNS, where: "[status] in ('SUCCESS', 'FAILURE')" };
const UNFINISHED = { columns: TASK_COLUMNS, where: "[status] not in ('SUCCESS', 'FAILURE')" };

/**
 * Videos. Those that have ended are history. Of the others, those that can be polled by what is in the database come over with
 * what was paid for them.
 */
export async function readTasks(
  reading: ReadContext,
  visitor: ImportVisitor,
  found: ImportSummary,
  context: Omit<TaskMapping, 'repeatedIds'>,
): Promise<void> {
  const { source } = reading;
  if (!source.tables.has('tasks')) return;
  const mapping = { ...context, repeatedIds: await repeatedIdsOf(source) };
  const { sums } = found;
  const report = await progressOf(reading, 'tasks');
  for await (const page of readPages(source, 'tasks', report, ENDED)) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapEndedTask(row, mapping) }));
    for (const { sourceId, outcome } of await visitor.endedTasks(rows)) {
      found.add('ended-task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.endedTasks += BigInt(outcome.value.paid);
    }
  }
  for await (const page of readPages(source, 'tasks', report, UNFINISHED)) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapUnfinishedTask(row, mapping) }));
    for (const row of page) sums.unfinishedTasks += integerOf(row, 'quota');
    for (const { sourceId, outcome } of await visitor.tasks(rows)) {
      found.add('task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.heldTasks += BigInt(outcome.value.paid);
    }
  }
}

async function repeatedIdsOf(source: SourceDatabase): Promise<ReadonlyMap<string, number>> {
  const rows = await source.query(
    'select [task_id], min([id]) as [first_id] from [tasks] group by [task_id] having count(*) > 1',
  );
  return new Map(rows.map((row) => [textOf(row, 'task_id'), smallIntegerOf(row, 'first_id')]));
}
