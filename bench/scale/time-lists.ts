import { DAY_MS } from '../../src/contract/time-units.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { TaskStore } from '../../src/server/video/task-store.ts';
import { ROOT_LOGIN } from '../../test/admin-client.ts';
import { quantile } from '../support/quantile.ts';
import { reportFigure } from '../support/report-figure.ts';

/** Lists to time and the service to query. */
export interface TimedLists {
  readonly origin: string;
  readonly database: Database<Tables>;
  readonly tasks: number;
  /** Account that owns a tenth of all rows. */
  readonly heavyUser: number;
  /** Number of pages per list. */
  readonly pages: number;
  /** True: times the request log only. */
  readonly requestsOnly?: boolean;
  /** CPU seconds used by the service and PostgreSQL so far; independent of other load on the machine. */
  cpu(): number;
}

const ASKED_MS = 30;
/** The first requests compile statements and code. */
const NOT_COUNTED = 5;

/** A period of ten days in the past year, starting after this `share` of the year. */
function periodAt(share: number): string {
  const from = Math.floor((Date.now() - (1 - share) * 365 * DAY_MS) / 1_000);
  return `from=${from}&to=${from + 864_000}`;
}

/** Paths by list name; `key` is a random row after which the page starts. */
const pathsOf = ({ tasks, heavyUser }: TimedLists): Readonly<Record<string, (key: number) => string>> => ({
  'all videos': (key) => `/api/admin/tasks?page_size=50&after=${key}`,
  'all videos of an account': (key) => `/api/admin/tasks?page_size=50&user_id=${heavyUser}&after=${key}`,
  'all videos that failed': (key) => `/api/admin/tasks?page_size=50&status=FAILURE&after=${key}`,
  'all videos of a model': (key) => `/api/admin/tasks?page_size=50&model=sora-2&after=${key}`,
  'all videos of a channel': (key) => `/api/admin/tasks?page_size=50&channel_id=3&after=${key}`,
  'all unfinished videos': () => '/api/admin/tasks?page_size=50&unfinished=true',
  'all videos by number': (key) => `/api/admin/tasks?page_size=50&page=${1 + (key % 200)}`,
  'one video by its id': (key) => `/api/admin/tasks?task_id=task_s${key % tasks}`,
  'the ledger': (key) => `/api/admin/ledger?page_size=50&after=${key}`,
  'the ledger of an account': (key) => `/api/admin/ledger?page_size=50&user_id=${heavyUser}&after=${2 * key}`,
  'the refunds of an account': (key) =>
    `/api/admin/ledger?page_size=50&user_id=${heavyUser}&kind=refund&after=${2 * key}`,
  'the audit log of an action': (key) =>
    `/api/admin/audit?page_size=50&action=user.update&after=${1 + Math.floor(key / 10)}`,
  requests: () => '/api/admin/requests?limit=100',
  'requests of an account': () => `/api/admin/requests?limit=100&user_id=${heavyUser}`,
  'requests of a period': (key) => `/api/admin/requests?limit=100&${periodAt(key / tasks)}`,
  'requests of an account and a period': (key) =>
    `/api/admin/requests?limit=100&user_id=${heavyUser}&${periodAt(key / tasks)}`,
  'requests of a model and a period': (key) => `/api/admin/requests?limit=100&model=sora-2&${periodAt(key / tasks)}`,
  'requests of a channel and a period': (key) => `/api/admin/requests?limit=100&channel_id=3&${periodAt(key / tasks)}`,
  'requests that failed, of a period': (key) => `/api/admin/requests?limit=100&status=failed&${periodAt(key / tasks)}`,
  'accounts by words': (key) => `/api/admin/users?q=seed${key % 100}`,
});

interface TimedList {
  readonly name: string;
  readonly p95Ms: number;
}

/**
 * Times every long list over HTTP at random depths, and lists of an account's owner through the store, because no one
 * can sign in to that account.
 */
export async function timeLists(lists: TimedLists): Promise<void> {
  const headers = await signIn(lists.origin);
  const { requestsOnly = false } = lists;
  const timed: TimedList[] = [];
  for (const [name, path] of Object.entries(pathsOf(lists))) {
    if (requestsOnly && !name.startsWith('requests')) continue;
    const readPage = async (key: number): Promise<void> => {
      const answer = await fetch(lists.origin + path(key), { headers });
      const body = await answer.text();
      if (answer.status !== 200) throw new Error(`${path(key)}: ${body}`);
    };
    timed.push(await timePages(lists, name, readPage));
  }
  if (!requestsOnly) timed.push(...(await timeOwnVideos(lists)));
  reportSlowest(lists, timed);
}

async function timeOwnVideos(lists: TimedLists): Promise<TimedList[]> {
  const store = new TaskStore(lists.database);
  const page = (after: number) => ({ page: 1, pageSize: 50, offset: 0, after });
  const here = { ...lists, cpu: () => lists.cpu() + process.cpuUsage().user / 1e6 };
  return [
    await timePages(here, 'own videos', (key) => store.page({ userId: lists.heavyUser }, page(key))),
    await timePages(here, 'own videos by words, none found', (key) =>
      store.page({ userId: lists.heavyUser, searchTerms: ['heron', `no${key}`] }, { ...page(0), after: undefined }),
    ),
  ];
}

function reportSlowest({ tasks, database }: TimedLists, timed: readonly TimedList[]): void {
  const [slowest] = timed.toSorted((one, other) => other.p95Ms - one.p95Ms);
  if (slowest === undefined) return;
  reportFigure({
    subject: `slowest of ${timed.length} lists (${slowest.name}), ${tasks / 1e6} million videos, ${database.dialect}, p95`,
    unit: 'ms',
    measured: slowest.p95Ms,
    asked: ASKED_MS,
  });
}

async function timePages(
  { pages, tasks, cpu }: TimedLists,
  name: string,
  read: (key: number) => Promise<unknown>,
): Promise<TimedList> {
  const latencies: number[] = [];
  let cpuBefore = 0;
  for (let page = 0; page < pages; page++) {
    if (page === NOT_COUNTED) cpuBefore = cpu();
    const key = 1 + Math.floor(((page * 7919) % pages) * (tasks / pages) + 50);
    const startedAt = performance.now();
    await read(key);
    latencies.push(performance.now() - startedAt);
  }
  const counted = latencies.slice(NOT_COUNTED);
  const [p50Ms, p95Ms] = [quantile(counted, 0.5), quantile(counted, 0.95)];
  const cpuMs = ((cpu() - cpuBefore) / counted.length) * 1_000;
  console.log(
    `${name.padEnd(34)} p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms of CPU a page`,
  );
  return { name, p95Ms };
}

async function signIn(origin: string): Promise<Record<string, string>> {
  const answer = await fetch(`${origin}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ROOT_LOGIN),
  });
  const { data } = (await answer.json()) as { data: { id: number } };
  return { cookie: answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '', 'service-api-user': String(data.id) };
}
