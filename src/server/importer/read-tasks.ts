import type { ImportVisitor, MappedRow, ReadContext } from './import-visitor.ts';
import { type ImportedTask, mapTask, type TaskMapping } from './mapping/tasks.ts';
import { integerOf, smallIntegerOf } from './mapping/values.ts';
import type { SourceRow } from './source/source-database.ts';
import type { Survey } from './survey.ts';

const PAGE = 500;

/** Videos that have not ended there: those that can be polled by what is in the database come over with what was paid for them. */
export async function readTasks(
  { source, onProgress }: ReadContext,
  visitor: ImportVisitor,
  survey: Survey,
  mapping: TaskMapping,
): Promise<void> {
  if (!source.tables.has('tasks')) return;
  let after = -1n;
  let total = 0;
  for (;;) {
    const page = await source.query(
      `select * from [tasks] where [status] not in ('SUCCESS', 'FAILURE') and [id] > ? order by [id] limit ${PAGE}`,
      [after],
    );
    if (page.length === 0) return;
    after = integerOf(page.at(-1) as SourceRow, 'id');
    const rows = page.map(
      (row): MappedRow<ImportedTask> => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapTask(row, mapping) }),
    );
    for (const row of page) survey.sums.unfinishedTasks += integerOf(row, 'quota');
    for (const { sourceId, outcome } of await visitor.tasks(rows)) {
      survey.add('task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') survey.sums.heldTasks += BigInt(outcome.value.paid);
    }
    total += page.length;
    onProgress('tasks', total);
  }
}
