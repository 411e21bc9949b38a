import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { withFirstFrame } from '../../src/sandbox/first-frame.ts';
import { clip } from '../../src/sandbox/media.ts';
import { acquireChromium, chromiumPath } from './chromium.ts';

const SHAPES = [
  ['16:9', true],
  ['9:16', false],
  ['1:1', true],
] as const;
/** Red at the left, blue at the right. */
const PAGE = '<body style="margin:0;background:linear-gradient(90deg,#d02020 50%,#2020d0 50%)">';

/** Colours at the left and right of two moments, and the length; a string: evaluated without browser types. */
const READ = (film: string): string => `(async () => {
  const video = document.createElement('video');
  video.muted = true;
  video.src = URL.createObjectURL(new Blob([Uint8Array.fromBase64('${film}')], { type: 'video/mp4' }));
  await new Promise((resolve, reject) => { video.onloadeddata = resolve; video.onerror = () => reject(video.error); });
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = canvas.getContext('2d');
  const seen = [];
  for (const moment of [0.05, 2]) {
    video.currentTime = moment;
    await new Promise((resolve) => { video.onseeked = resolve; });
    const pixel = (share) => [...context.getImageData(canvas.width * share, canvas.height / 2, 1, 1).data];
    context.clearRect(0, 0, canvas.width, canvas.height);
    // 'seeked' may come before there is a frame to draw; without one nothing is drawn.
    for (let tries = 0; tries < 500 && pixel(0.25)[3] === 0; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      context.drawImage(video, 0, 0);
    }
    for (const share of [0.25, 0.75]) seen.push(pixel(share).slice(0, 3));
  }
  return { seen, seconds: video.duration };
})()`;

interface Seen {
  readonly seen: readonly (readonly [red: number, green: number, blue: number])[];
  readonly seconds: number;
}

describe('clips of the sandbox in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let page: Page;
  let images: readonly Buffer[];
  let close: () => Promise<void>;
  before(async () => {
    const { browser, release } = await acquireChromium();
    const context = await browser.newContext({ viewport: { width: 640, height: 480 } });
    page = await context.newPage();
    close = async () => {
      await context.close();
      release();
    };
    await page.setContent(PAGE);
    images = [await page.screenshot({ type: 'png' }), await page.screenshot({ type: 'jpeg', quality: 90 })];
  });
  after(() => close());

  it('begin with the image that was sent, then show the scene', async () => {
    for (const [shape, audio] of SHAPES)
      for (const image of images) {
        const file = clip({ prompt: 'zzz a forest', shape, audio }).bytes;
        const film = withFirstFrame(file, image);
        const [own, shown] = (await Promise.all(
          [file, film].map((bytes) => page.evaluate(READ(bytes.toString('base64')))),
        )) as [Seen, Seen];
        const [left, right, laterLeft] = shown.seen;
        assert.ok(left !== undefined && left[0] > 180 && left[1] < 60 && left[2] < 60, `${shape} left: ${left}`);
        assert.ok(right !== undefined && right[2] > 180 && right[0] < 60, `${shape} right: ${right}`);
        assert.notDeepEqual(laterLeft, left);
        assert.ok(Math.abs(shown.seconds - own.seconds - 0.6) < 0.05, `${shown.seconds} s`);
      }
  });

  it('stay as they are with an image of another kind', () => {
    const { bytes } = clip({ prompt: 'sea', shape: '16:9', audio: true });
    assert.ok(withFirstFrame(bytes, Buffer.from('RIFF....WEBPVP8 ')).equals(bytes));
    assert.ok(withFirstFrame(bytes, (images[0] as Buffer).subarray(0, 60)).equals(bytes));
  });
});
