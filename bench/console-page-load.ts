import type { Page } from 'playwright-core';
import { openBrowserFixture, signIn, waitForContent } from '../test/browser/browser-fixture.ts';
import { fillWithDemoData, ROOT } from '../test/browser/demo-data.ts';
import { seedTasks } from './seed-tasks.ts';

/**
 * How soon pages of the console can be used on a slow machine: first paint, largest paint, when it is interactive (its content
 * stands and no long task runs any more), how long it was blocked, how far its content jumped. `ROWS` videos in the account.
 */
const SLOWDOWN = Number(process.env.SLOWDOWN ?? '4');
const RUNS = Number(process.env.RUNS ?? '5');
const ROWS = Number(process.env.ROWS ?? '100000');
const SETTLE_MS = 600;

interface PageTimings {
  readonly firstPaint: number;
  readonly largestPaint: number;
  readonly interactive: number;
  readonly blocked: number;
  readonly shift: number;
}

/** As text: this file is checked without the types of a browser. */
const OBSERVER_SCRIPT = `
  globalThis.seen = { paints: {}, largest: 0, tasks: [], shift: 0, content: 0 };
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch('paint', (entry) => { seen.paints[entry.name] = entry.startTime; });
  watch('largest-contentful-paint', (entry) => { seen.largest = entry.startTime; });
  watch('longtask', (entry) => { seen.tasks.push([entry.startTime, entry.duration]); });
  watch('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.shift += entry.value; });
  const check = () => {
    const waits = document.querySelector('.mantine-Skeleton-root, .mantine-Loader-root');
    if (document.querySelector('h1') !== null && waits === null) seen.content = performance.now();
    else requestAnimationFrame(check);
  };
  requestAnimationFrame(check);
`;

interface RawTimings {
  readonly paints: Readonly<Record<string, number>>;
  readonly largest: number;
  readonly tasks: readonly (readonly [start: number, duration: number])[];
  readonly shift: number;
  readonly content: number;
}

async function measure(page: Page, path: string): Promise<PageTimings> {
  await page.goto(path);
  await waitForContent(page);
  await page.waitForTimeout(SETTLE_MS);
  const { paints, largest, tasks, shift, content } = (await page.evaluate('globalThis.seen')) as RawTimings;
  const firstPaint = paints['first-contentful-paint'] ?? 0;
  const last = tasks.filter(([start]) => start <= content).at(-1) ?? [0, 0];
  return {
    firstPaint,
    largestPaint: largest,
    interactive: Math.max(content, last[0] + last[1]),
    blocked: tasks.reduce((sum, [start, length]) => (start < firstPaint ? sum : sum + Math.max(0, length - 50)), 0),
    shift,
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

async function report(page: Page, path: string): Promise<void> {
  const all: PageTimings[] = [];
  for (let run = 0; run < RUNS; run += 1) all.push(await measure(page, path));
  const ms = (key: keyof PageTimings): string => `${median(all.map((each) => each[key])).toFixed(0)} ms`;
  const shift = median(all.map((each) => each.shift)).toFixed(3);
  process.stdout.write(
    `| ${path} | ${ms('firstPaint')} | ${ms('largestPaint')} | ${ms('interactive')} | ${ms('blocked')} | ${shift} |\n`,
  );
}

const rig = await openBrowserFixture();
try {
  await fillWithDemoData(rig);
  const { id } = rig.running.root;
  const seed = { url: rig.databaseUrl, count: ROWS, channels: [1], userId: id, tokenId: 0, prefix: 'video_seed_' };
  await seedTasks({ ...seed, unfinished: false });
  process.stdout.write(`CPU slowed ${SLOWDOWN} times, ${ROWS} videos, median of ${RUNS} loads\n\n`);
  process.stdout.write(
    '| page | first paint | largest paint | interactive | blocked | shift |\n|---|---|---|---|---|---|\n',
  );
  const page = await rig.open();
  const devtools = await page.context().newCDPSession(page);
  await page.addInitScript(OBSERVER_SCRIPT);
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  await report(page, '/sign-in');
  await signIn(page, ROOT.username, ROOT.password);
  for (const path of ['/studio', '/videos', '/videos?page=4000', '/account/overview', '/tickets', '/admin/tasks'])
    await report(page, path);
} finally {
  await rig.stop();
}
