import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { priceCall } from '../../src/contract/pricing.ts';
import { klingUnits, viduCredits } from '../../src/sandbox/vendors/billed-units.ts';
import { parsePrice } from '../../src/server/channels/model-admin.ts';
import type { MediaInput, ModelCapability, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { VENDOR_ADAPTERS, VendorRegistry } from '../../src/server/vendors/registry.ts';
import { toPriceFacts } from '../../src/server/video/generation-request.ts';
import { videoRequest } from './adapter-context.ts';

const vendors = new VendorRegistry();
const QUOTA = { USD: 500_000, CNY: 500_000 / 7 } as const;
const IMAGE: MediaInput = { url: 'https://img.example/a.png' };
const images = (count: number): MediaInput[] =>
  Array.from({ length: count }, (_, index) => ({ ...IMAGE, url: `https://img.example/${index}.png` }));

type Asked = Partial<
  Pick<VideoRequest, 'seconds' | 'mode' | 'size' | 'metadata' | 'images' | 'videos' | 'inputSeconds' | 'operation'>
>;
/** A vendor's published price of one video; `units` is the vendor's count for it. */
type Example = readonly [model: string, asked: Asked, amount: number, currency: keyof typeof QUOTA, units?: number];

/** Seedance tokens by the vendor's formula: width × height × 24 × seconds / 1024. */
const tokens = (width: number, height: number, seconds: number) => Math.ceil((width * height * 24 * seconds) / 1024);
const at = (resolution: string, more: Readonly<Record<string, unknown>> = {}): Asked => ({
  seconds: 5,
  metadata: { resolution, ...more },
});
const wan = (resolution: string, seconds: number, more: Asked = {}): Asked => ({
  seconds,
  metadata: { parameters: { resolution } },
  ...more,
});

const CLIP = { url: 'https://videos.example/a.mp4', role: 'reference' as const };
const SOURCE = { ...CLIP, role: 'source' as const };
const EDITED = { input: { video_url: 'https://videos.example/a.mp4' }, parameters: { resolution: '720P' } };

/** Published examples; the price of each model records their source and date (`listed`). */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  kling: [
    ['kling-v1', { seconds: 5 }, 0.14, 'USD'],
    ['kling-v1', { seconds: 10, mode: 'pro' }, 0.98, 'USD'],
    ['kling-v2-1-master', { seconds: 5 }, 1.4, 'USD'],
    ['kling-v2-5-turbo', { seconds: 5, mode: 'pro' }, 0.35, 'USD'],
    ['kling-v2-6', { seconds: 10, mode: 'pro', metadata: { sound: 'on' } }, 1.4, 'USD'],
    ['kling-v3-turbo', { seconds: 5 }, 0.56, 'USD'],
    ['kling-v3-turbo', { seconds: 5, mode: 'pro' }, 0.7, 'USD'],
    ['kling-v3', { seconds: 5 }, 0.42, 'USD'],
    ['kling-v3', { seconds: 5, mode: 'pro' }, 0.56, 'USD'],
    ['kling-v3', { seconds: 10, mode: 'pro', metadata: { sound: 'on' } }, 1.68, 'USD'],
  ],
  jimeng: [
    ['jimeng_v30', { seconds: 5 }, 1.4, 'CNY'],
    ['jimeng_v30_1080p', { seconds: 10 }, 6.3, 'CNY'],
    ['jimeng_v30_pro', { seconds: 5 }, 5, 'CNY'],
    ['jimeng_s20_pro', { seconds: 5 }, 3.25, 'CNY'],
  ],
  hailuo: [
    ['MiniMax-Hailuo-2.3', { seconds: 6, metadata: { resolution: '768P' } }, 0.28, 'USD'],
    ['MiniMax-Hailuo-2.3', { seconds: 10, metadata: { resolution: '768P' } }, 0.56, 'USD'],
    ['MiniMax-Hailuo-2.3', { seconds: 6, metadata: { resolution: '1080P' } }, 0.49, 'USD'],
    ['MiniMax-Hailuo-2.3-Fast', { seconds: 6, images: images(1) }, 0.19, 'USD'],
    ['T2V-01', { seconds: 6 }, 0.43, 'USD'],
    ['MiniMax-H3', { seconds: 5, metadata: { resolution: '768P' } }, 0.4, 'USD'],
    ['MiniMax-H3', { seconds: 10, metadata: { resolution: '2K' } }, 1.3, 'USD'],
    ['MiniMax-H3', { seconds: 5, images: images(7), metadata: { resolution: '768P' } }, 0.48, 'USD'],
    ['MiniMax-H3-Max', { seconds: 5, metadata: { resolution: '480P' } }, 0.25, 'USD'],
    ['MiniMax-H3-Max', { seconds: 5, images: images(2), metadata: { resolution: '768P' } }, 0.4, 'USD'],
  ],
  seedance: [
    // The vendor's table of five-second videos at 16:9 without a video among the inputs.
    ['dreamina-seedance-2-0-260128', at('480p'), 0.35, 'USD', tokens(864, 496, 5)],
    ['dreamina-seedance-2-0-260128', at('720p'), 0.76, 'USD', tokens(1280, 720, 5)],
    ['dreamina-seedance-2-0-260128', at('1080p'), 1.87, 'USD', tokens(1920, 1080, 5)],
    ['dreamina-seedance-2-0-260128', at('4k'), 3.89, 'USD', tokens(3840, 2160, 5)],
    ['dreamina-seedance-2-0-fast-260128', at('480p'), 0.28, 'USD', tokens(864, 496, 5)],
    ['dreamina-seedance-2-0-fast-260128', at('720p'), 0.6, 'USD', tokens(1280, 720, 5)],
    ['dreamina-seedance-2-0-mini-260615', at('480p'), 0.18, 'USD', tokens(864, 496, 5)],
    ['dreamina-seedance-2-0-mini-260615', at('720p'), 0.38, 'USD', tokens(1280, 720, 5)],
    // Yuan per million tokens.
    ['doubao-seedance-1-5-pro-251215', at('720p', { generate_audio: true }), 16 * 0.1089, 'CNY', 108_900],
    ['doubao-seedance-1-5-pro-251215', at('720p', { generate_audio: false }), 8 * 0.1089, 'CNY', 108_900],
    ['doubao-seedance-1-0-pro-250528', at('1080p'), 15 * 0.2448, 'CNY', 244_800],
    ['doubao-seedance-2-5-260628', at('1080p'), 77 * 0.245, 'CNY', 245_000],
  ],
  wan: [
    ['wan2.7-t2v', wan('720P', 5), 3, 'CNY'],
    ['wan2.7-t2v', wan('1080P', 10), 10, 'CNY'],
    ['wan2.5-i2v-preview', wan('480P', 5, { images: images(1) }), 1.5, 'CNY'],
    ['wan2.2-i2v-plus', wan('1080P', 5, { images: images(1) }), 3.5, 'CNY'],
    ['wan2.2-i2v-flash', wan('720P', 5, { images: images(1) }), 1, 'CNY'],
    ['wan3.0-video', wan('1080P', 5), 6, 'CNY'],
    ['wan3.0-video', wan('1080P', 5, { videos: [CLIP], inputSeconds: 8 }), 15.6, 'CNY'],
    // At most ten seconds of input, and five of output.
    ['wan2.7-videoedit', { seconds: 5, metadata: EDITED }, 9, 'CNY'],
    ['wan2.7-r2v', wan('720P', 5, { images: images(1) }), 3, 'CNY'],
    ['wan2.7-r2v', wan('720P', 5, { videos: [CLIP], inputSeconds: 8 }), 6, 'CNY'],
    ['wan2.7-i2v', wan('1080P', 10, { videos: [SOURCE], inputSeconds: 4, operation: 'extend' }), 14, 'CNY'],
  ],
  veo: [
    ['veo-3.1-generate-001', { seconds: 8, metadata: { resolution: '1080p' } }, 3.2, 'USD'],
    ['veo-3.1-generate-001', { seconds: 8, metadata: { generateAudio: false } }, 1.6, 'USD'],
    ['veo-3.1-generate-001', { seconds: 8, metadata: { resolution: '4k' } }, 4.8, 'USD'],
    ['veo-3.1-fast-generate-001', { seconds: 4 }, 0.4, 'USD'],
    ['veo-3.1-lite-generate-001', { seconds: 8, metadata: { resolution: '1080p' } }, 0.64, 'USD'],
    ['veo-2.0-generate-001', { seconds: 8 }, 4, 'USD'],
    ['gemini-omni-1.2-flash', { seconds: 10 }, 0.695, 'USD'],
    ['gemini-omni-1.2-flash', { seconds: 15, metadata: { resolution: '360p' } }, 0.348, 'USD'],
    ['gemini-omni-1.1-flash', { seconds: 10, metadata: { resolution: '4k' } }, 3, 'USD'],
  ],
  vidu: [
    ['viduq3-pro', at('720p'), 0.75, 'USD'],
    ['viduq3-turbo', at('1080p'), 0.4, 'USD'],
    ['viduq2', at('720p'), 0.175, 'USD'],
    ['viduq2', { ...at('1080p'), images: images(3) }, 0.575, 'USD'],
    ['viduq1', at('1080p'), 0.4, 'USD'],
  ],
  sora: [
    ['sora-2', { seconds: 8 }, 0.8, 'USD'],
    ['sora-2-pro', { seconds: 4, size: '1792x1024' }, 2, 'USD'],
  ],
};

/** @param units the vendor's count; undefined: the maximum that is reserved */
function quotaOf(vendor: string, model: string, asked: Asked, units?: number): number {
  const capability = vendors.get(vendor).models.find(({ id }) => id === model);
  assert.ok(capability !== undefined, model);
  const facts = toPriceFacts(capability.price, vendors.get(vendor), videoRequest({ model, ...asked }));
  return priceCall(parsePrice(capability.price, 'video'), units === undefined ? facts : { ...facts, units }).quota;
}

describe('the shipped prices', () => {
  for (const [vendor, examples] of Object.entries(EXAMPLES))
    it(`equal those published by ${vendor}: its ${examples.length} examples`, () => {
      for (const [model, asked, amount, currency, units] of examples) {
        const quota = quotaOf(vendor, model, asked, units);
        // Prices are published to the cent, and rates are whole quota per second.
        const off = Math.abs(quota / QUOTA[currency] - amount);
        assert.ok(off < 0.005, `${model} ${JSON.stringify(asked)}: ${quota / QUOTA[currency]} instead of ${amount}`);
      }
    });

  it("reserve at least the vendor's count, and charge exactly that", () => {
    for (const mode of ['std', 'pro'])
      for (const seconds of [5, 10]) {
        const units = Number(klingUnits('kling-v2-6', { mode }, seconds));
        assert.equal(quotaOf('kling', 'kling-v2-6', { mode, seconds }), Math.round(units * 70_000));
        assert.equal(quotaOf('kling', 'kling-v2-6', { mode, seconds }, units), Math.round(units * 70_000));
      }
    for (const seconds of [1, 5, 10]) {
      const credits = viduCredits('viduq2', '1080p', seconds, false);
      assert.equal(quotaOf('vidu', 'viduq2', { ...at('1080p'), seconds }), credits * 2_500);
    }
    for (const [width, height] of [
      [1280, 720],
      [1112, 834],
      [1470, 630],
      [1120, 832],
    ] as const) {
      const counted = tokens(width, height, 5) + Math.ceil((width * height) / 1024);
      const reserved = quotaOf('seedance', 'doubao-seedance-2-0-260128', at('720p'));
      assert.ok(reserved >= quotaOf('seedance', 'doubao-seedance-2-0-260128', at('720p'), counted), `${width}`);
    }
  });

  it('name a page of the vendor, the day of comparison and its subject', () => {
    const all = VENDOR_ADAPTERS.flatMap(({ models }) => models);
    assert.ok(all.length > 80);
    for (const { id, listed } of all) {
      assert.equal(new URL(listed.source).protocol, 'https:', id);
      assert.ok(listed.note.length > 10, id);
      if (listed.confirmedOn !== null)
        assert.equal(new Date(listed.confirmedOn).toISOString().slice(0, 10), listed.confirmedOn);
    }
  });

  it('cover every request that the form can make', () => {
    const choices = ({ seconds, resolutions, modes, audio, images }: ModelCapability) => ({
      lengths: 'values' in seconds ? seconds.values : [seconds.min, seconds.default, seconds.max],
      resolutions: resolutions.length > 0 ? resolutions : [undefined],
      modes: modes.length > 0 ? modes : [undefined],
      sounds: audio ? ['true', 'false'] : [undefined],
      counts: [images.min, images.max],
    });
    let priced = 0;
    for (const { models } of VENDOR_ADAPTERS)
      for (const model of models) {
        const { lengths, resolutions, modes, sounds, counts } = choices(model);
        for (const seconds of lengths)
          for (const resolution of resolutions)
            for (const mode of modes)
              for (const audio of sounds)
                for (const input_images of counts) {
                  const named = { resolution, mode, audio };
                  const facts = Object.entries(named).filter(([, value]) => value !== undefined) as [string, string][];
                  // MiniMax supports ten seconds only at 768P and 512P.
                  if (seconds === 10 && resolution === '1080P' && model.id.startsWith('MiniMax-Hailuo')) continue;
                  const { quota } = priceCall(model.price, {
                    ...Object.fromEntries(facts),
                    seconds,
                    input_images,
                    input_seconds: 5,
                  });
                  assert.ok(quota > 0, `${model.id} ${JSON.stringify(named)}`);
                  priced++;
                }
      }
    assert.ok(priced > 1_000, String(priced));
  });
});
