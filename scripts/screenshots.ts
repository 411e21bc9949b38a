import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import {
  type BrowserFixture,
  type ContextOptions,
  openBrowserFixture,
  signIn,
  waitForContent,
  waitForExpression,
} from '../test/browser/browser-fixture.ts';
import { CONSOLE_PATHS, findLinkedPath, LINKED_PAGES } from '../test/browser/console-paths.ts';
import { fillWithDemoData, ROOT, STUDIO_MODEL } from '../test/browser/demo-data.ts';
import { captureReadmePictures } from './readme-pictures.ts';

/**
 * Screenshots of every console page, wide and narrow, light and dark, in both languages: `npm run screenshots [word…]`.
 * By default English, light and wide, and Chinese, dark and narrow; VARIANTS=full takes both widths in all four
 * combinations of scheme and language, VARIANTS=all also those of tablets and large screens. Files are written to
 * out/screenshots (overridden by SCREENSHOTS); those shown in documents are updated in docs/screenshots.
 * `npm run screenshots readme` only takes the README's pictures.
 */
const OUTPUT_FOLDER = process.env.SCREENSHOTS ?? join(import.meta.dirname, '../out/screenshots');
const DOCUMENTS_FOLDER = join(import.meta.dirname, '../docs/screenshots');
const QUALITY = 0.8;
const PREVIEW_QUALITY = 0.6;

/** Viewports by the end of the file name. */
const SIZES = {
  '': { width: 1440, height: 900 },
  '-phone': { width: 390, height: 844 },
  '-desktop': { width: 1920, height: 1080 },
  '-tablet': { width: 768, height: 1024 },
} as const;
const SCHEMES = { '': 'light', '-dark': 'dark' } as const;
const LANGUAGES = { '': 'en', '-zh': 'zh-cn' } as const;

type Variant = readonly [suffix: string, options: ContextOptions];

/** Every size in both schemes and both languages. */
const ALL_VARIANTS: readonly Variant[] = Object.entries(SIZES).flatMap(([sizeSuffix, size]) =>
  Object.entries(SCHEMES).flatMap(([schemeSuffix, scheme]) =>
    Object.entries(LANGUAGES).map(
      ([languageSuffix, language]): Variant => [
        `${schemeSuffix}${languageSuffix}${sizeSuffix}`,
        { ...size, scheme, language },
      ],
    ),
  ),
);

/** Values of VARIANTS; by default, the two variants that differ in everything. */
const SELECTIONS: Readonly<Record<string, (suffix: string) => boolean>> = {
  default: (suffix) => suffix === '' || suffix === '-dark-zh-phone',
  full: (suffix) => !/-(?:desktop|tablet)$/.test(suffix),
  all: () => true,
};
const isTaken = SELECTIONS[process.env.VARIANTS ?? 'default'];
if (isTaken === undefined) throw new Error(`VARIANTS is one of ${Object.keys(SELECTIONS).join(', ')}`);
const VARIANTS = ALL_VARIANTS.filter(([suffix]) => isTaken(suffix));
const SIGNED_OUT: Readonly<Record<string, string>> = {
  'sign-in': '/sign-in',
  register: '/register',
  authorize: '/authorize',
  docs: '/docs',
};

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const isWanted = (name: string): boolean => words.length === 0 || words.some((word) => name.includes(word));
  mkdirSync(OUTPUT_FOLDER, { recursive: true });
  // Shown in examples of requests, where the port of the test service would change with every run.
  const rig = await openBrowserFixture({ BASE_URL: 'http://127.0.0.1:3000' });
  try {
    await fillWithDemoData(rig);
    await rig.running.setSiteSetting('DEFAULT_VIDEO_MODEL', STUDIO_MODEL);
    const encoderPage = await rig.open();
    if (isWanted('readme'))
      await captureReadmePictures(rig, DOCUMENTS_FOLDER, (png, width) => toWebp(png, encoderPage, width));
    if (words.length === 1 && words[0] === 'readme') return;
    for (const [suffix, options] of VARIANTS) {
      const page = await rig.open(options);
      const capture = async ([name, path]: readonly [string, string]): Promise<void> => {
        if (isWanted(`${name}${suffix}`)) await captureScreenshot(page, path, `${name}${suffix}.webp`, encoderPage);
      };
      for (const each of Object.entries(SIGNED_OUT)) await capture(each);
      await signIn(page, ROOT.username, ROOT.password);
      for (const each of Object.entries(CONSOLE_PATHS)) await capture(each);
      for (const [name, [from, href]] of Object.entries(LINKED_PAGES)) {
        await page.goto(from);
        await waitForContent(page);
        await capture([name, await findLinkedPath(page, href)]);
      }
      await page.context().close();
    }
    printProblems(rig);
  } finally {
    await rig.stop();
  }
}

async function captureScreenshot(page: Page, path: string, file: string, encoderPage: Page): Promise<void> {
  await page.goto(path);
  await waitForContent(page);
  // While a video loads, its controls show a spinner.
  await waitForExpression(
    page,
    `[...document.querySelectorAll('video')].every(({ networkState }) => networkState !== 2)`,
  );
  // The spinner fades out.
  await page.waitForTimeout((await page.locator('video').count()) > 0 ? 1_600 : 400);
  const image = await toWebp(await page.screenshot(), encoderPage);
  writeFileSync(join(OUTPUT_FOLDER, file), image);
  const shown = join(DOCUMENTS_FOLDER, file);
  if (existsSync(shown)) writeFileSync(shown, image);
  process.stdout.write(`${path}\n`);
}

/** Converts to WebP, a tenth of the PNG's size, with the browser as the encoder. */
async function toWebp(png: Buffer, encoderPage: Page, width?: number): Promise<Buffer> {
  const base64 = await encoderPage.evaluate(`(async () => {
    const bytes = Uint8Array.fromBase64('${png.toString('base64')}');
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const width = ${width ?? 'image.width'};
    const canvas = new OffscreenCanvas(width, Math.round((image.height * width) / image.width));
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: ${width === undefined ? QUALITY : PREVIEW_QUALITY} });
    return new Uint8Array(await blob.arrayBuffer()).toBase64();
  })()`);
  return Buffer.from(String(base64), 'base64');
}

function printProblems({ problems }: BrowserFixture): void {
  for (const [kind, found] of Object.entries(problems))
    for (const each of found as string[]) process.stderr.write(`${kind}: ${each}\n`);
}

await main();
