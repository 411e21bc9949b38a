import type { CDPSession, Page } from 'playwright-core';
import { openBrowserFixture, signIn } from '../test/browser/browser-fixture.ts';
import { fillWithDemoData, ROOT } from '../test/browser/demo-data.ts';
import { median, spreadOf } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';

/**
 * Time until console pages are usable on a slow machine: first paint, largest paint, time to interactive (the content
 * is complete and no long task runs), blocking time, layout shift, and bytes fetched with an empty cache. `ROWS` videos
 * in the account; `PAGES=/studio` measures only the named pages.
 */
const SLOWDOWN = Number(process.env.SLOWDOWN ?? '4');
const RUNS = Number(process.env.RUNS ?? '5');
const ROWS = Number(process.env.ROWS ?? '100000');
const PAGES = (process.env.PAGES ?? '/studio,/videos,/videos?page=4000,/account/overview,/tickets,/admin/tasks').split(
  ',',
);
/** The paint of a frame is reported a while after it. */
const SETTLE_MS = 2_000;
/** Requirements for the studio with an empty cache. */
const ASKED = { requests: 25, kilobytes: 230, interactive: 1_000 } as const;

interface PageTimings {
  readonly firstPaint: number;
  readonly largestPaint: number;
  readonly interactive: number;
  readonly blocked: number;
  readonly shift: number;
  readonly requests: number;
  /** Transferred kilobytes without media, headers included. */
  readonly kilobytes: number;
}

/** A string, because this file is type-checked without browser types. */
const OBSERVER_SCRIPT = `
  globalThis.seen = { paints: {}, largest: 0, tasks: [], shift: 0, content: 0 };
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch('paint', (entry) => { seen.paints[entry.name] = entry.startTime; });
  watch('largest-contentful-paint', (entry) => { seen.largest = entry.startTime; });
  watch('longtask', (entry) => { seen.tasks.push([entry.startTime, entry.duration]); });
  watch('layout-shift', (entry) => { if (!entry.hadRecentInput) seen.shift += entry.value; });
  globalThis.whenContent = new Promise((resolve) => {
    const check = () => {
      const waits = document.querySelector('.mantine-Skeleton-root, .mantine-Loader-root');
      if (document.querySelector('h1') === null || waits !== null) requestAnimationFrame(check);
      // Once the frame with the content has been laid out and painted.
      else setTimeout(() => resolve(seen.content = performance.now()));
    };
    requestAnimationFrame(check);
  });
`;

interface RawTimings {
  readonly paints: Readonly<Record<string, number>>;
  readonly largest: number;
  readonly tasks: readonly (readonly [start: number, duration: number])[];
  readonly shift: number;
  readonly content: number;
}

/**
 * Counts responses transferred in full over the network, excluding media, open streams and `data:` URLs of the browser's
 * own video controls.
 */
class Traffic {
  requests = 0;
  bytes = 0;
  constructor(devtools: CDPSession) {
    const ignored = new Set<string>();
    devtools.on('Network.requestWillBeSent', ({ requestId, request, type }) => {
      if (request.url.startsWith('data:') || type === 'Image' || type === 'Media') ignored.add(requestId);
    });
    devtools.on('Network.requestServedFromCache', ({ requestId }) => ignored.add(requestId));
    devtools.on('Network.responseReceived', ({ requestId, response }) => {
      if (response.fromDiskCache === true) ignored.add(requestId);
    });
    devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (ignored.has(requestId)) return;
      this.requests += 1;
      this.bytes += encodedDataLength;
    });
  }
}

async function measure(page: Page, path: string, traffic: Traffic, devtools: CDPSession): Promise<PageTimings> {
  await page.goto('about:blank');
  await devtools.send('Network.clearBrowserCache');
  traffic.requests = 0;
  traffic.bytes = 0;
  await page.goto(path);
  // A single call, because each query of the test tool runs on the measured thread.
  await page.evaluate('whenContent');
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
    requests: traffic.requests,
    kilobytes: traffic.bytes / 1024,
  };
}

async function report(page: Page, path: string, traffic: Traffic, devtools: CDPSession): Promise<void> {
  const all: PageTimings[] = [];
  for (let run = 0; run < RUNS; run += 1) all.push(await measure(page, path, traffic, devtools));
  const middle = (key: keyof PageTimings): number => median(all.map((each) => each[key]));
  const ms = (key: keyof PageTimings): string => `${middle(key).toFixed(0)} ms`;
  const shift = middle('shift').toFixed(3);
  const fetched = `${middle('requests')} | ${middle('kilobytes').toFixed(0)} KB`;
  process.stdout.write(
    `| ${path} | ${ms('firstPaint')} | ${ms('largestPaint')} | ${ms('interactive')} | ${ms('blocked')} | ${shift} | ${fetched} |\n`,
  );
  if (path !== '/studio') return;
  const subject = `the studio with an empty cache, CPU slowed ${SLOWDOWN} times`;
  const figures = [
    ['requests', 'requests'],
    ['kilobytes', 'KB'],
    ['interactive', 'ms'],
  ] as const;
  for (const [key, unit] of figures) {
    const values = all.map((each) => each[key]);
    reportFigure({
      subject: `${subject}: ${key}`,
      unit,
      measured: middle(key),
      asked: ASKED[key],
      spread: spreadOf(values),
    });
  }
}

const rig = await openBrowserFixture();
try {
  await fillWithDemoData(rig);
  const { id } = rig.running.root;
  const seed = { url: rig.databaseUrl, count: ROWS, channels: [1], userId: id, tokenId: 0, prefix: 'video_seed_' };
  await seedTasks({ ...seed, unfinished: false });
  process.stdout.write(`CPU slowed ${SLOWDOWN} times, ${ROWS} videos, median of ${RUNS} loads\n\n`);
  process.stdout.write(
    '| page | first paint | largest paint | interactive | blocked | shift | requests | fetched |\n|---|---|---|---|---|---|---|---|\n',
  );
  const page = await rig.open();
  const devtools = await page.context().newCDPSession(page);
  await page.addInitScript(OBSERVER_SCRIPT);
  await devtools.send('Network.enable');
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  const traffic = new Traffic(devtools);
  await report(page, '/sign-in', traffic, devtools);
  await signIn(page, ROOT.username, ROOT.password);
  for (const path of PAGES) await report(page, path, traffic, devtools);
} finally {
  await rig.stop();
}
