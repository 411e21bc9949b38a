import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { validatePosterImage } from './media.ts';

const WEBP = loadMedia('thumbnail.webp').bytes;
const JPEG = loadMedia('spritesheet.jpg').bytes;

it('only a complete still JPEG or WebP image is a poster, without truncation or trailing bytes', () => {
  assert.equal(validatePosterImage(WEBP), 'image/webp');
  assert.equal(validatePosterImage(JPEG), 'image/jpeg');
  for (const whole of [WEBP, JPEG])
    for (const bad of [
      whole.subarray(0, -1),
      whole.subarray(0, whole.length >> 1),
      Buffer.concat([whole, Buffer.from('<script>')]),
      whole.subarray(1),
    ])
      assert.equal(validatePosterImage(bad), undefined);
  const animated = Buffer.from(WEBP);
  animated.write('ANIM', 12, 'latin1');
  for (const bad of [
    animated,
    loadMedia('image.png').bytes,
    loadMedia('wide.mp4').bytes,
    Buffer.alloc(0),
    Buffer.alloc(64),
  ])
    assert.equal(validatePosterImage(bad), undefined);
});
