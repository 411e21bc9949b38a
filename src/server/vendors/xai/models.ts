import {
  edit,
  extend,
  FROM_TEXT,
  fromBothFrames,
  fromFirstFrame,
  type GenerationWay,
  generate,
  one,
  range,
  some,
  upTo,
  waysOf,
} from '../../../contract/generation-ways.ts';
import type { VideoPrice } from '../../../contract/pricing.ts';
import type { ModelCapability, PriceSource } from '../adapter.ts';
import { usd } from '../currency.ts';

/** Models of xAI's video API (docs.x.ai/developers/model-capabilities/video). */

const SECONDS = { min: 1, max: 15, default: 5 };
/** Aspect ratios of both models. */
export const XAI_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'];
/** From references, at most 720p. */
const HD = ['720p', '480p'];

const MAX_REFERENCES = 7;
const MAX_KEYFRAMES = 4;
const MAX_AUDIOS = 3;
const IMAGE = { maxBytes: 20_000_000 };
/** Largest audio sent by value, bytes. */
export const MAX_AUDIO_BYTES = 10_000_000;
/** Inputs to edit have at most 8.7 seconds, those to extend at most 15; extensions add two to ten. */
const TO_EDIT = one('video', 'source', { maxSeconds: 8 });
const TO_EXTEND = one('video', 'source', { maxSeconds: 15 });
const ADDED_SECONDS = range(2, 10);

const AUDIO = { maxBytes: MAX_AUDIO_BYTES, maxSeconds: 15 };
const references = upTo(MAX_REFERENCES, 'image', 'reference', IMAGE);
const CHANGES: readonly GenerationWay[] = [
  edit([TO_EDIT], { seconds: [], sizes: [], ratios: [], resolutions: [] }),
  extend([TO_EXTEND], { seconds: ADDED_SECONDS, sizes: [], ratios: [], resolutions: [] }),
];

const bySecond = (dollars: Readonly<Record<string, number>>): VideoPrice => ({
  lines: Object.entries(dollars).map(([resolution, rate]) => ({
    when: { resolution: [resolution] },
    per_second: usd(rate),
    per_input_image: usd(0.002),
  })),
});

const listed = (note: string): PriceSource => ({
  source: 'https://docs.x.ai/developers/models',
  confirmedOn: '2026-11-28',
  note,
});

const toCapability = (
  id: string,
  title: string,
  rest: Pick<ModelCapability, 'resolutions' | 'ways' | 'images' | 'price' | 'listed'>,
): ModelCapability => ({
  id,
  title,
  seconds: SECONDS,
  sizes: rest.resolutions,
  ratios: XAI_RATIOS,
  modes: [],
  audio: false,
  negativePrompt: false,
  seed: false,
  ...rest,
});

/** Sound is always generated. */
export const XAI_MODELS: readonly ModelCapability[] = [
  toCapability('grok-imagine-video-1.5', 'Grok Imagine Video 1.5', {
    resolutions: [...HD, '1080p'],
    ...waysOf([
      FROM_TEXT,
      fromFirstFrame(IMAGE),
      fromBothFrames(IMAGE),
      generate([one('image', 'first_frame', IMAGE), some(MAX_KEYFRAMES, 'image', 'keyframe', IMAGE)]),
      generate([some(MAX_REFERENCES, 'image', 'reference', IMAGE), upTo(MAX_AUDIOS, 'audio', 'reference', AUDIO)], {
        resolutions: HD,
      }),
      ...CHANGES,
    ]),
    price: bySecond({ '720p': 0.14, '480p': 0.08, '1080p': 0.25 }),
    listed: listed('Quoted by muapi.ai; that they are the vendor’s own, and the price of an image, by docs.apiyi.com.'),
  }),
  toCapability('grok-imagine-video', 'Grok Imagine Video', {
    resolutions: HD,
    ...waysOf([FROM_TEXT, fromFirstFrame(IMAGE), generate([{ ...references, min: 1 }]), ...CHANGES]),
    price: bySecond({ '720p': 0.07, '480p': 0.05 }),
    listed: listed('Quoted by docs.krea.ai and docs.apiyi.com, which agree.'),
  }),
];
