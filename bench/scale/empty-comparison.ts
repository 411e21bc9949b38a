import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import type { Process, Service } from '../support/child-processes.ts';
import { exactCpuSeconds } from '../support/process-usage.ts';
import { reportFigure } from '../support/report-figure.ts';

/** A service with a database of a certain size. */
export interface ServiceUnderComparison {
  readonly service: Service;
  readonly upstream: Process;
  readonly database: Database<Tables>;
  /** API key of the account `userId`. */
  readonly key: string;
  readonly userId: number;
}

type Step = 'submit' | 'query' | 'poll' | 'settle';

const STEPS: readonly Step[] = ['submit', 'query', 'poll', 'settle'];
const CONNECTIONS = 16;
const QUERIES_PER_VIDEO = 5;
const ASKED_RATIO = 1.3;

/**
 * CPU time of the process and of PostgreSQL for a submit, a query, a poll and a completion on a full database, as
 * multiples of the time on an empty one. The two alternate, and the first round is not counted.
 *
 * @param databaseCpu seconds used by PostgreSQL so far; 0 for SQLite, which runs in the process
 */
export async function compareWithEmptyDatabase(
  full: ServiceUnderComparison,
  empty: ServiceUnderComparison,
  databaseCpu: () => number,
  { videos, rounds }: { readonly videos: number; readonly rounds: number },
): Promise<void> {
  const measured: Record<Step, { full: number; empty: number }[]> = { submit: [], query: [], poll: [], settle: [] };
  for (let round = 0; round <= rounds; round++) {
    // The order alternates, because the machine's speed changes from minute to minute.
    const sides = round % 2 === 0 ? [empty, full] : [full, empty];
    const costs = new Map<ServiceUnderComparison, Record<Step, number>>();
    for (const side of sides) costs.set(side, await runSteps(side, databaseCpu, videos));
    if (round === 0) continue;
    for (const step of STEPS)
      measured[step].push({ empty: costs.get(empty)?.[step] ?? 0, full: costs.get(full)?.[step] ?? 0 });
  }
  for (const step of STEPS) {
    const ratios = measured[step].map((each) => each.full / each.empty).toSorted((a, b) => a - b);
    const ratio = ratios[Math.floor(ratios.length / 2)] ?? 0;
    const costs = measured[step].map((each) => each.full * 1e6).toSorted((a, b) => a - b);
    const spread = [ratios[0] ?? 0, ratios.at(-1) ?? 0] as const;
    console.log(
      `${step.padEnd(8)} ${(costs[Math.floor(costs.length / 2)] ?? 0).toFixed(0)} µs CPU, ${ratio.toFixed(2)} × the empty database (${spread.map((each) => each.toFixed(2)).join('–')})`,
    );
    reportFigure({
      subject: `CPU of a ${step} on the full database, ${full.database.dialect}`,
      unit: '×',
      measured: ratio,
      asked: ASKED_RATIO,
      peer: 'of the empty one',
      spread,
    });
  }
}

/** CPU seconds of one operation of each kind. */
export async function runSteps(
  side: ServiceUnderComparison,
  databaseCpu: () => number,
  videos: number,
): Promise<Record<Step, number>> {
  const { service, upstream } = side;
  const headers = { authorization: `Bearer ${side.key}`, 'content-type': 'application/json' };
  const ids: string[] = [];
  /** @param work resolves to the number of completed operations */
  const timed = async (work: () => Promise<number>): Promise<number> => {
    const before = exactCpuSeconds(service.pid) + databaseCpu();
    const count = await work();
    return (exactCpuSeconds(service.pid) + databaseCpu() - before) / count;
  };
  const submit = await timed(() =>
    atOnce(videos, async () => {
      const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
      const answer = await fetch(`${service.origin}/v1/videos`, { method: 'POST', headers, body });
      const { id } = (await answer.json()) as { id?: string };
      if (id === undefined) throw new Error(`a submit failed: ${answer.status}`);
      ids.push(id);
    }),
  );
  const query = await timed(() =>
    atOnce(QUERIES_PER_VIDEO * videos, async (index) => {
      const answer = await fetch(`${service.origin}/v1/videos/${ids[index % ids.length]}`, { headers });
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`a query failed: ${answer.status}`);
    }),
  );
  const polls = async (): Promise<number> => Number(await (await fetch(`${upstream.origin}/count`)).text());
  const poll = await timed(async () => {
    const before = await polls();
    await makeDue(side);
    while ((await polls()) < before + videos) await pause(20);
    // The next poll times are written with the next claim.
    await pause(500);
    // Includes polls of seeded videos that were due as well.
    return (await polls()) - before;
  });
  await fetch(`${upstream.origin}/finish`);
  const settle = await timed(async () => {
    await makeDue(side);
    while ((await countOpen(side)) > 0) await pause(50);
    return videos;
  });
  await fetch(`${upstream.origin}/begin`);
  return { submit, query, poll, settle };
}

/** Runs the work concurrently. @returns the count */
async function atOnce(count: number, work: (index: number) => Promise<void>): Promise<number> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return count;
}

/** Unfinished videos of the bench, excluding seeded ones. */
const own = ({ userId }: ServiceUnderComparison) => sql<boolean>`next_poll_at is not null and user_id = ${userId}`;

async function makeDue(side: ServiceUnderComparison): Promise<void> {
  await side.database.kysely.updateTable('tasks').set({ next_poll_at: Date.now() }).where(own(side)).execute();
}

async function countOpen(side: ServiceUnderComparison): Promise<number> {
  const { open } = await side.database.kysely
    .selectFrom('tasks')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where(own(side))
    .executeTakeFirstOrThrow();
  return Number(open);
}
