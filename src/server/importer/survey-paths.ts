import { isObject } from '../../contract/is-object.ts';
import { objectOf } from './mapping/values.ts';
import type { SourceDatabase } from './source/source-database.ts';
import type { Survey } from './survey.ts';

/** How many of the newest videos are read: what clients call now, and not for years any more. */
const NEWEST = 2_000;
const MAX_PATHS = 50;

/** Paths of the other program, and what serves their clients here. */
const SERVED: readonly (readonly [path: RegExp, here: string])[] = [
  [/^\/v1\/videos?(\/|$)/, 'served here under the same path'],
  [/^\/kling\/v1\/videos\/(text2video|image2video|omni-video)(\/|$)/, 'served here under the same path'],
  [/^\/jimeng\/?$/, 'served here under the same path'],
  [/^\/v1\/(chat\/completions|responses|embeddings|images\/generations|messages)$/, 'served here under the same path'],
  [/^\/v1beta\/models\//, 'served here under the same path'],
  [/^\/pg\//, 'not served: it belongs to the playground there, and the console here has its own'],
  [/^\/(suno|mj|mj-[a-z]+)\//, 'not served: there are no such vendors here'],
];
const UNKNOWN = 'not served here: look for its counterpart in the API reference at /docs';

/** The calls videos were begun by, where the source notes them: its newest generation does, in `tasks.private_data`. */
export async function surveyPaths({ query, tables }: SourceDatabase, survey: Survey): Promise<void> {
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
    const here = SERVED.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN;
    survey.findings.push({
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
