import { isObject } from '../../contract/objects.ts';
import type { ImportSummary } from './import-summary.ts';
import { objectOf } from './mapping/column-values.ts';
import { describeNewApiPathSupport } from './mapping/describe-new-api-path-support.ts';
import type { SourceDatabase } from './source/source-database.ts';

/** How many of the newest videos are read: what clients call now, and not for years any more. */
const NEWEST = 2_000;
const MAX_PATHS = 50;

/** The calls videos were begun by, where the source notes them: its newest generation does, in `tasks.private_data`. */
export async function findCalledVideoPaths({ query, tables }: SourceDatabase, found: ImportSummary): Promise<void> {
  if (tables.get('tasks')?.includes('private_data') !== true) return;
  const rows = await query(`select [private_data] from [tasks] order by [id] desc limit ${NEWEST}`);
  const calls = new Map<string, number>();
  for (const row of rows) {
    const execution = objectOf(row, 'private_data')?.execution;
    if (!isObject(execution) || typeof execution.request_path !== 'string') continue;
    const path = toPattern(execution.request_path);
    if (calls.has(path) || calls.size < MAX_PATHS) calls.set(path, (calls.get(path) ?? 0) + 1);
  }
  for (const [path, count] of [...calls].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const here = describeNewApiPathSupport(path);
    found.findings.push({
      kind: 'path',
      source: path,
      result: here.startsWith('served') ? 'different' : 'skipped',
      text: `${count} of the newest ${rows.length} videos were begun by it: ${here}`,
    });
  }
}

/** Without the query, which may hold a key, and with `{id}` for what differs from one call to the next. */
const toPattern = (path: string): string =>
  (path.split(/[?#]/, 1)[0] ?? '')
    .slice(0, 200)
    .split('/')
    .map((part) => (/^\d+$|^[A-Za-z0-9_.~-]{20,}$/.test(part) ? '{id}' : part))
    .join('/');
