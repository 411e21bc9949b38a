import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrations } from '../src/server/migrations.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import type { Tables } from '../src/server/tables.ts';
import { PollStore } from '../src/server/video/poll/poll-store.ts';
import { startPostgres } from '../test/postgres.ts';
import { startService } from './child-processes.ts';
import { reportFigure } from './report-figure.ts';
import { seedAtScale } from './seed-at-scale.ts';

/**
 * Every long list over HTTP, at random depths, with millions of rows: `node bench/lists.ts [--database postgres] [--tasks
 * 10000000]`. There are twice as many ledger entries and as many rows of the request log. Full size takes half an hour and 30 GB.
 */
const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    tasks: { type: 'string', default: '1000000' },
    pages: { type: 'string', default: '40' },
  },
});
const TASKS = Number(values.tasks);
const PAGES = Number(values.pages);
const FIRST_USER = 1_000;
const ASKED_MS = 30;
const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const postgres = values.database === 'postgres' ? await startPostgres() : undefined;
const url = postgres?.url ?? `sqlite:${join(folder, 'bench.db')}`;

const seedStartedAt = performance.now();
const database = openDatabase<Tables>(url, { statementTimeoutMs: 0 });
await migrate(database, migrations);
await seedAtScale(database, {
  tasks: TASKS,
  accounts: Math.max(100, TASKS / 1_000),
  unfinished: Math.min(50_000, TASKS / 20),
  firstUser: FIRST_USER,
  now: Date.now(),
});
console.log(
  `${TASKS} videos seeded in ${((performance.now() - seedStartedAt) / 1e3).toFixed(0)} s on ${database.dialect}`,
);

/** Paths by name; `key` is a random row of the table to go on after. */
const LISTS: Readonly<Record<string, (key: number) => string>> = {
  'all videos': (key) => `/api/admin/tasks?page_size=50&after=${key}`,
  'all videos of an account': (key) => `/api/admin/tasks?page_size=50&user_id=${FIRST_USER}&after=${key}`,
  'all videos that failed': (key) => `/api/admin/tasks?page_size=50&status=FAILURE&after=${key}`,
  'all videos of a model': (key) => `/api/admin/tasks?page_size=50&model=sora-2&after=${key}`,
  'all videos of a channel': (key) => `/api/admin/tasks?page_size=50&channel_id=3&after=${key}`,
  'all unfinished videos': () => '/api/admin/tasks?page_size=50&unfinished=true',
  'all videos by number': (key) => `/api/admin/tasks?page_size=50&page=${1 + (key % 200)}`,
  'one video by its id': (key) => `/api/admin/tasks?task_id=task_s${key % TASKS}`,
  'the ledger': (key) => `/api/admin/ledger?page_size=50&after=${key}`,
  'the ledger of an account': (key) => `/api/admin/ledger?page_size=50&user_id=${FIRST_USER}&after=${2 * key}`,
  'the refunds of an account': (key) =>
    `/api/admin/ledger?page_size=50&user_id=${FIRST_USER}&kind=refund&after=${2 * key}`,
  'the audit log of an action': (key) =>
    `/api/admin/audit?page_size=50&action=user.update&after=${1 + Math.floor(key / 10)}`,
  requests: () => '/api/admin/requests?limit=100',
  'requests of an account': () => `/api/admin/requests?limit=100&user_id=${FIRST_USER}`,
  'accounts by words': (key) => `/api/admin/users?q=seed${key % 100}`,
};

const service = await startService(4_387, { DATABASE_URL: url, METRICS_TOKEN: 'bench' }, folder);
try {
  const cookies = await signIn(service.origin);
  for (const [name, path] of Object.entries(LISTS)) {
    const latencies: number[] = [];
    for (let page = 0; page < PAGES; page++) {
      const key = 1 + Math.floor(((page * 7919) % PAGES) * (TASKS / PAGES) + 50);
      const startedAt = performance.now();
      const answer = await fetch(service.origin + path(key), { headers: cookies });
      const body = await answer.text();
      latencies.push(performance.now() - startedAt);
      if (answer.status !== 200) throw new Error(`${path(key)}: ${body}`);
    }
    // The first ones compile statements and code.
    const sorted = latencies.slice(5).toSorted((one, other) => one - other);
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
    console.log(`${name.padEnd(28)} p50 ${at(0.5).toFixed(1)} ms, p95 ${at(0.95).toFixed(1)} ms`);
    reportFigure({
      subject: `${name}, ${TASKS / 1e6} million videos, ${values.database}, p95`,
      unit: 'ms',
      measured: at(0.95),
      asked: ASKED_MS,
    });
  }
  const startedAt = performance.now();
  const due = await new PollStore(database).claimDue(Date.now() - 10_000, 1, 500);
  console.log(`due work: ${due.length} of 500 claimed in ${(performance.now() - startedAt).toFixed(1)} ms`);
} finally {
  await service.stop();
  await database.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function signIn(origin: string): Promise<Record<string, string>> {
  const { ROOT_LOGIN } = await import('../test/admin-client.ts');
  const answer = await fetch(`${origin}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ROOT_LOGIN),
  });
  const { data } = (await answer.json()) as { data: { id: number } };
  return { cookie: answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '', 'service-api-user': String(data.id) };
}
