import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type BrowserFixture, signIn, waitForContent, waitForExpression } from '../test/browser/browser-fixture.ts';
import { STRINGS } from '../test/browser/console-strings.ts';
import { ROOT } from '../test/browser/demo-data.ts';

const { studio } = STRINGS.en;
/** Of another scene than the video that the demo data leave on the stage, so that the new one is seen to be new. */
const PROMPT = 'Northern lights over a frozen lake, stars turning slowly above the pines';
/** Not one of the demo data, because a second video of a prompt has another look than the vendor's. */
const COMPARED_PROMPT = 'A paper boat drifts down a rainy street at dusk, neon reflections, slow push in';
const COMPARED_MODELS = ['kling v3', 'wan2.6-t2v', 'seedance 1.5', 'veo 3.1'] as const;
const SIZE = { width: 1280, height: 800 };
/** Shows the prompt, its price and all four clips. */
const COMPARISON_HEIGHT = 1_220;
/** Width of the preview; its height follows. */
const PREVIEW_WIDTH = 880;

type ToWebp = (png: Buffer, width?: number) => Promise<Buffer>;

/**
 * The pictures of the README: four models compared, and a looping preview of prompt, price and video. Both are driven
 * by keyboard, so that they survive changes of the layout.
 */
export async function captureReadmePictures(rig: BrowserFixture, folder: string, toWebp: ToWebp): Promise<void> {
  const page = await rig.open(SIZE);
  await signIn(page, ROOT.username, ROOT.password);
  writeFileSync(join(folder, 'preview.webp'), await recordPreview(page, toWebp));
  await page.setViewportSize({ width: SIZE.width, height: COMPARISON_HEIGHT });
  await compareModels(page);
  writeFileSync(join(folder, 'compare.webp'), await toWebp(await page.screenshot()));
  await page.context().close();
}

const pressOutsideForm = async (page: Page, key: string): Promise<void> => {
  await page.locator('h1').first().click();
  await page.keyboard.press(key);
};

async function pickModel(page: Page, words: string): Promise<void> {
  await page.getByRole('textbox', { name: studio.modelSearch }).fill(words);
  await page.getByRole('dialog').getByRole('option').first().waitFor();
  await page.keyboard.press('Enter');
}

/** One clip after another at the same moment, because the four would otherwise differ in a still. */
const seekAll = (page: Page, seconds: number): Promise<unknown> =>
  page.evaluate(`Promise.all([...document.querySelectorAll('video')].map((video) => new Promise((resolve) => {
    video.addEventListener('seeked', resolve, { once: true });
    setTimeout(resolve, 1000);
    video.currentTime = ${seconds};
  })))`);

async function compareModels(page: Page): Promise<void> {
  const [first, ...others] = COMPARED_MODELS;
  await page.goto('/studio');
  await waitForContent(page);
  await pressOutsideForm(page, 'm');
  await pickModel(page, first);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await pressOutsideForm(page, 'c');
  for (const each of others) await pickModel(page, each);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const prompt = page.getByRole('textbox', { name: studio.prompt, exact: true });
  await prompt.fill(COMPARED_PROMPT);
  const run = page.getByRole('button', { name: /^Generate 4 videos · / });
  await run.waitFor();
  await page.keyboard.press('Control+Enter');
  const comparison = page.getByRole('region', { name: studio.comparison });
  await comparison.locator('video').nth(3).waitFor();
  await waitForExpression(page, `[...document.querySelectorAll('video')].every(({ readyState }) => readyState > 1)`);
  await prompt.fill(COMPARED_PROMPT);
  await run.waitFor();
  await seekAll(page, 2.5);
  await page.evaluate(`document.activeElement?.blur(); document.querySelectorAll('[role=alert]').length`);
  await page.waitForTimeout(6_000);
}

async function recordPreview(page: Page, toWebp: ToWebp): Promise<Buffer> {
  const frames: AnimationFrame[] = [];
  const record = async (milliseconds: number): Promise<void> => {
    frames.push({ milliseconds, image: await toWebp(await page.screenshot(), PREVIEW_WIDTH) });
  };
  const height = Math.round((SIZE.height * PREVIEW_WIDTH) / SIZE.width);
  await page.goto('/studio');
  await waitForContent(page);
  await pressOutsideForm(page, 'm');
  await pickModel(page, 'kling v3');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const prompt = page.getByRole('textbox', { name: studio.prompt, exact: true });
  for (let end = 0; end < PROMPT.length; end += 11) {
    await prompt.fill(PROMPT.slice(0, end));
    await record(end === 0 ? 900 : 160);
  }
  await prompt.fill(PROMPT);
  await page.getByRole('button', { name: /^Generate video · / }).waitFor();
  await page.waitForTimeout(600);
  await record(1_600);
  await page.keyboard.press('Control+Enter');
  for (let moment = 0; moment < 4; moment += 1) {
    await page.waitForTimeout(500);
    await record(450);
  }
  await page.locator(`video`).first().waitFor();
  await waitForExpression(page, `document.querySelector('video').readyState === 4`);
  // The player's spinner fades out.
  await page.waitForTimeout(1_000);
  for (let step = 0; step < 18; step += 1) {
    await seekAll(page, step * 0.2);
    await record(step === 17 ? 1_200 : 200);
  }
  return toAnimatedWebp(frames, PREVIEW_WIDTH, height);
}

interface AnimationFrame {
  readonly milliseconds: number;
  /** A still WebP image of the animation's size. */
  readonly image: Buffer;
}

/** Joins stills into an animation that loops (https://developers.google.com/speed/webp/docs/riff_container). */
function toAnimatedWebp(frames: readonly AnimationFrame[], width: number, height: number): Buffer {
  const uint24 = (value: number): Buffer => Buffer.from([value & 255, (value >> 8) & 255, value >> 16]);
  const chunk = (name: string, content: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(content.length, 4);
    return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
  };
  const size = Buffer.concat([uint24(width - 1), uint24(height - 1)]);
  const hasAnimation = 0x02;
  const parts = [
    chunk('VP8X', Buffer.concat([Buffer.from([hasAnimation, 0, 0, 0]), size])),
    chunk('ANIM', Buffer.alloc(6)),
    ...frames.map(({ milliseconds, image }) =>
      chunk(
        'ANMF',
        Buffer.concat([Buffer.alloc(6), size, uint24(milliseconds), Buffer.from([0x02]), imageChunk(image)]),
      ),
    ),
  ];
  return chunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...parts]));
}

/** The image data of a still: its `VP8 ` or `VP8L` chunk, behind an extended header if there is one. */
function imageChunk(image: Buffer): Buffer {
  for (let at = 12; at < image.length; ) {
    const length = image.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (/^VP8[ L]$/.test(image.toString('latin1', at, at + 4))) return image.subarray(at, end);
    at = end;
  }
  throw new Error('a still has no image data');
}
