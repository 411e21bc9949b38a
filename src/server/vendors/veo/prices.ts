import type { VideoPrice } from '../../../contract/pricing.ts';
import { type PriceSource, usd } from '../list-price.ts';

/** Google lists dollars a second by resolution, with and without sound. */
type Rates = readonly (readonly [resolutions: readonly string[], sound: number, silent: number])[];

const bySecond = (rates: Rates): VideoPrice => ({
  lines: rates.flatMap(([resolution, sound, silent]) => [
    { when: { resolution: [...resolution], audio: [false] }, per_second: usd(silent) },
    { when: { resolution: [...resolution] }, per_second: usd(sound) },
  ]),
});

const HD = ['720p', '1080p'];

/** By the beginning of the name, longest first. */
const LISTS: readonly (readonly [prefix: string, price: VideoPrice])[] = [
  [
    'veo-3.1-lite',
    bySecond([
      [['720p'], 0.05, 0.03],
      [['1080p'], 0.08, 0.05],
    ]),
  ],
  [
    'veo-3.1-fast',
    bySecond([
      [['720p'], 0.1, 0.08],
      [['1080p'], 0.12, 0.1],
      [['4k'], 0.3, 0.25],
    ]),
  ],
  [
    'veo-3.1',
    bySecond([
      [HD, 0.4, 0.2],
      [['4k'], 0.6, 0.4],
    ]),
  ],
  ['veo-3.0-fast', bySecond([[HD, 0.15, 0.1]])],
  ['veo-3.0', bySecond([[HD, 0.4, 0.2]])],
  ['veo-2', { per_call: 0, per_second: usd(0.5) }],
];

/** @throws Error for a model without a price here */
export function veoPrice(id: string): VideoPrice {
  const found = LISTS.find(([prefix]) => id.startsWith(prefix));
  if (found === undefined) throw new Error(`no price of ${id}`);
  return found[1];
}

export const veoPriceSource = (id: string): PriceSource => ({
  source: id.endsWith('-preview')
    ? 'https://ai.google.dev/gemini-api/docs/pricing'
    : 'https://cloud.google.com/vertex-ai/generative-ai/pricing',
  confirmedOn: '2026-08-22',
  note: 'Quoted by github.com/ArcReel/ArcReel and docs.comfy.org/tutorials/partner-nodes/pricing, which agree.',
});
