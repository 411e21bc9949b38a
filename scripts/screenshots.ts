import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type BrowserRig, type ContextOptions, openBrowserRig, settle, signIn } from '../test/browser/browser.ts';
import { CONSOLE_PATHS } from '../test/browser/console-paths.ts';
import { fillWithStories, ROOT } from '../test/browser/stories.ts';

/** Pictures of every page of the console, wide and narrow, in both languages: `npm run screenshots [word…]` for some of them. */
const OUT = process.env.SCREENSHOTS ?? join(import.meta.dirname, '../docs/screenshots');
const QUALITY = 0.8;

const LOOKS: readonly (readonly [suffix: string, options: ContextOptions])[] = [
  ['', {}],
  ['-dark-zh-phone', { scheme: 'dark', language: 'zh-cn', width: 360, height: 740 }],
];
const SIGNED_OUT: Readonly<Record<string, string>> = { 'sign-in': '/sign-in', register: '/register' };

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const isWanted = (name: string): boolean => words.length === 0 || words.some((word) => name.includes(word));
  mkdirSync(OUT, { recursive: true });
  const rig = await openBrowserRig();
  try {
    await fillWithStories(rig);
    const press = await rig.open();
    for (const [suffix, options] of LOOKS) {
      const page = await rig.open(options);
      const take = async ([name, path]: readonly [string, string]): Promise<void> => {
        if (isWanted(`${name}${suffix}`)) await shoot(page, path, join(OUT, `${name}${suffix}.webp`), press);
      };
      for (const each of Object.entries(SIGNED_OUT)) await take(each);
      await signIn(page, ROOT.username, ROOT.password);
      for (const each of Object.entries(CONSOLE_PATHS)) await take(each);
      await page.context().close();
    }
    tell(rig);
  } finally {
    await rig.stop();
  }
  writeFileSync(join(OUT, 'README.md'), toIndex(readdirSync(OUT)));
}

async function shoot(page: Page, path: string, file: string, press: Page): Promise<void> {
  await page.goto(path);
  await settle(page);
  await page.waitForTimeout(400);
  writeFileSync(file, await toWebp(await page.screenshot(), press));
  process.stdout.write(`${path}\n`);
}

/** A tenth of the PNG's size: the browser itself is the encoder. */
async function toWebp(png: Buffer, press: Page): Promise<Buffer> {
  const base64 = await press.evaluate(`(async () => {
    const bytes = Uint8Array.fromBase64('${png.toString('base64')}');
    const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: ${QUALITY} });
    return new Uint8Array(await blob.arrayBuffer()).toBase64();
  })()`);
  return Buffer.from(String(base64), 'base64');
}

function tell({ offences }: BrowserRig): void {
  for (const [kind, found] of Object.entries(offences))
    for (const each of found as string[]) process.stderr.write(`${kind}: ${each}\n`);
}

function toIndex(files: readonly string[]): string {
  const pictures = files.filter((file) => file.endsWith('.webp')).sort();
  const lines = pictures.map((file) => `![${file.replace('.webp', '')}](${file})`);
  return `# The console in pictures\n\nMade by \`npm run screenshots\`.\n\n${lines.join('\n')}\n`;
}

await main();
