import type { ImportFindings } from './import-findings.ts';
import type { ImportVisitor, ReadContext } from './import-visitor.ts';
import { integerOf, smallIntegerOf, textOf } from './mapping/column-values.ts';
import { mapEndedTask } from './mapping/ended-tasks.ts';
import { TASK_COLUMNS } from './mapping/source-task.ts';
import { mapTask, type TaskMapping } from './mapping/tasks.ts';
import { countRows, type SourceDatabase, type SourceRow } from './source/source-database.ts';

const PAGE = 500;

/**
 * Videos. Those that have ended are history. Of the others, those that can be polled by what is in the database come over with
 * what was paid for them.
 */
export async function readTasks(
  { source, onProgress }: ReadContext,
  visitor: ImportVisitor,
  found: ImportFindings,
  context: Omit<TaskMapping, 'repeatedIds'>,
): Promise<void> {
  if (!source.tables.has('tasks')) return;
  const mapping = { ...context, repeatedIds: await repeatedIdsOf(source) };
  const { sums } = found;
  const total = await countRows(source, 'tasks');
  let read = 0;
  for await (const page of taskPages(source, "in ('SUCCESS', 'FAILURE')")) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapEndedTask(row, mapping) }));
    for (const { sourceId, outcome } of await visitor.endedTasks(rows)) {
      found.add('ended-task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.endedTasks += BigInt(outcome.value.paid);
    }
    read += page.length;
    onProgress('tasks', read, total);
  }
  for await (const page of taskPages(source, "not in ('SUCCESS', 'FAILURE')")) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapTask(row, mapping) }));
    for (const row of page) sums.unfinishedTasks += integerOf(row, 'quota');
    for (const { sourceId, outcome } of await visitor.tasks(rows)) {
      found.add('task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.heldTasks += BigInt(outcome.value.paid);
    }
    read += page.length;
    onProgress('tasks', read, total);
  }
}

async function* taskPages(source: SourceDatabase, states: string): AsyncGenerator<SourceRow[]> {
  const there = source.tables.get('tasks') ?? [];
  const columns = TASK_COLUMNS.filter((column) => there.includes(column)).map((column) => `[${column}]`);
  for (let after = -1n; ; ) {
    const page = await source.query(
      `select ${columns.join(', ')} from [tasks] where [status] ${states} and [id] > ? order by [id] limit ${PAGE}`,
      [after],
    );
    if (page.length === 0) return;
    after = integerOf(page.at(-1) as SourceRow, 'id');
    yield page;
  }
}

async function repeatedIdsOf(source: SourceDatabase): Promise<ReadonlyMap<string, number>> {
  const rows = await source.query(
    'select [task_id], min([id]) as [first_id] from [tasks] group by [task_id] having count(*) > 1',
  );
  return new Map(rows.map((row) => [textOf(row, 'task_id'), smallIntegerOf(row, 'first_id')]));
}
