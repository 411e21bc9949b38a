import type { Page } from 'playwright-core';
import { openBrowserFixture, signIn, waitForContent } from '../test/browser/browser-fixture.ts';
import { fillWithDemoData, ROOT } from '../test/browser/demo-data.ts';
import { usageOfUsers } from '../test/browser/usage-of-users.ts';
import { median, spreadOf } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';

/**
 * Interaction to next paint on console pages with 10,000 rows behind them and the CPU slowed four times:
 * `node bench/console-interactions.ts`. The browser itself reports the duration of each click and key press from the
 * input to the next frame (Event Timing). `SLOWDOWN` and `RUNS` change the defaults.
 */
const SLOWDOWN = Number(process.env.SLOWDOWN ?? '4');
const RUNS = Number(process.env.RUNS ?? '5');
const ROWS = 10_000;
const ASKED_MS = 200;
/** Event Timing reports after the next frame. */
const SETTLE_MS = 400;

/** A string, because this file is type-checked without browser types. */
const OBSERVER_SCRIPT = `
  globalThis.interactions = [];
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) if (interactionId > 0) interactions.push(duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
`;

interface Interaction {
  readonly name: string;
  readonly path: string;
  run(page: Page): Promise<void>;
}

const INTERACTIONS: readonly Interaction[] = [
  {
    name: 'list of videos, next page',
    path: '/videos',
    run: (page) => page.getByRole('button', { name: 'Next' }).first().click(),
  },
  {
    name: 'list of videos, a letter of a search',
    path: '/videos',
    run: (page) => page.getByRole('textbox').first().press('h'),
  },
  {
    name: 'costs of 10,000 accounts, sort',
    path: '/admin/costs?by=user',
    run: (page) => page.getByRole('table').getByRole('button', { name: 'Cost', exact: true }).click(),
  },
  {
    name: 'studio, a letter of the prompt',
    path: '/studio',
    run: (page) => page.getByRole('textbox').first().press('h'),
  },
  {
    name: 'overview, another period',
    path: '/account/overview',
    run: (page) => page.getByText('7 days', { exact: true }).first().click(),
  },
];

async function measure(page: Page, { path, run }: Interaction): Promise<number> {
  await page.goto(path);
  await waitForContent(page);
  await page.waitForTimeout(SETTLE_MS);
  await page.evaluate('interactions.length = 0');
  await run(page);
  await page.waitForTimeout(SETTLE_MS);
  // A faster interaction is not reported.
  return Math.max(16, ...((await page.evaluate('interactions')) as number[]));
}

const rig = await openBrowserFixture();
try {
  await fillWithDemoData(rig);
  const { id } = rig.running.root;
  const seed = { url: rig.databaseUrl, count: ROWS, channels: [1], userId: id, tokenId: 0, prefix: 'video_seed_' };
  await seedTasks({ ...seed, unfinished: false });
  const page = await rig.open();
  await page.addInitScript(OBSERVER_SCRIPT);
  await signIn(page, ROOT.username, ROOT.password);
  await page.route(
    ({ pathname }) => pathname === '/api/admin/usage',
    (route) => route.fulfill({ json: usageOfUsers(ROWS) }),
  );
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  for (const interaction of INTERACTIONS) {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run += 1) times.push(await measure(page, interaction));
    process.stdout.write(`${interaction.name}: ${times.join(', ')} ms\n`);
    reportFigure({
      subject: `interaction to next paint, CPU slowed ${SLOWDOWN} times: ${interaction.name}`,
      unit: 'ms',
      measured: median(times),
      asked: ASKED_MS,
      spread: spreadOf(times),
    });
  }
} finally {
  await rig.stop();
}
