import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type BrowserRig, type ContextOptions, openBrowserRig, settle, signIn } from '../test/browser/browser.ts';
import { CONSOLE_PATHS } from '../test/browser/console-paths.ts';
import { fillWithStories, ROOT } from '../test/browser/stories.ts';

/** Pictures of every page of the console, light and dark, wide and narrow: `npm run screenshots [word…]` for some of them. */
const OUT = process.env.SCREENSHOTS ?? join(import.meta.dirname, '../docs/screenshots');

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly options?: ContextOptions;
  /** What is done before the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
  readonly signedOut?: boolean;
}

const PHONE: ContextOptions = { width: 360, height: 740 };
const SHOTS: readonly Shot[] = [
  { name: 'sign-in', path: '/sign-in', signedOut: true },
  { name: 'sign-in-dark-zh', path: '/sign-in', signedOut: true, options: { scheme: 'dark', language: 'zh-cn' } },
  ...Object.entries(CONSOLE_PATHS).flatMap(([name, path]): Shot[] => [
    { name, path },
    { name: `${name}-dark`, path, options: { scheme: 'dark' } },
    { name: `${name}-phone`, path, options: PHONE },
    { name: `${name}-zh`, path, options: { language: 'zh-cn' } },
  ]),
];

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const wanted = SHOTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  mkdirSync(OUT, { recursive: true });
  const rig = await openBrowserRig();
  try {
    await fillWithStories(rig);
    for (const shot of wanted) await take(rig, shot);
    for (const [kind, found] of Object.entries(rig.offences))
      for (const each of found as string[]) process.stderr.write(`${kind}: ${each}\n`);
  } finally {
    await rig.stop();
  }
}

async function take(rig: BrowserRig, { name, path, options = {}, prepare, signedOut = false }: Shot): Promise<void> {
  const page = await rig.open(options);
  if (!signedOut) await signIn(page, ROOT.username, ROOT.password);
  await page.goto(path);
  await settle(page);
  await prepare?.(page);
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(OUT, `${name}.png`) });
  await page.context().close();
  process.stdout.write(`${name}\n`);
}

await main();
