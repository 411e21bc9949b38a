import type { VideoPrice } from '../../../contract/pricing.ts';
import { usd } from '../currency-to-quota.ts';
import type { PriceSource } from '../price-source.ts';

/** Google lists dollars a second by resolution, with and without sound. */
type Rates = readonly (readonly [resolutions: readonly string[], sound: number, silent: number])[];

const bySecond = (rates: Rates): VideoPrice => ({
  lines: rates.flatMap(([resolution, sound, silent]) => [
    { when: { resolution: [...resolution], audio: [false] }, per_second: usd(silent) },
    { when: { resolution: [...resolution] }, per_second: usd(sound) },
  ]),
});

/** By resolution alone, sound included. */
const omni = (rates: readonly number[]): VideoPrice => ({
  lines: ['360p', '720p', '1080p', '4k'].map((resolution, index) => ({
    when: { resolution: [resolution] },
    per_second: usd(rates[index] ?? 0),
  })),
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
  ['gemini-omni-1.1', omni([0.03, 0.1, 0.15, 0.3])],
  ['gemini-omni-1.2', omni([0.0232, 0.0695, 0.1043, 0.2085])],
];

/** @throws Error for a model without a price here */
export function veoPrice(id: string): VideoPrice {
  const found = LISTS.find(([prefix]) => id.startsWith(prefix));
  if (found === undefined) throw new Error(`no price of ${id}`);
  return found[1];
}

/** Omni is billed by the token of video, whose number follows from seconds and resolution: the list says what a second comes to. */
const OMNI_LIST: PriceSource = {
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  confirmedOn: '2026-11-06',
  note:
    'Tokens of video by the second: 5,792 at 720p. 1.2 as quoted by inference.sh, 1.1 by wavespeed.ai and docs.comfy.org. ' +
    'Tokens of the prompt, its pictures and of thinking are left out: less than a second together.',
};

const veoList = (source: string): PriceSource => ({
  source,
  confirmedOn: '2026-08-22',
  note: 'Quoted by github.com/ArcReel/ArcReel and docs.comfy.org/tutorials/partner-nodes/pricing, which agree.',
});

export function veoPriceSource(id: string): PriceSource {
  if (id.startsWith('gemini-omni-')) return OMNI_LIST;
  return veoList(
    id.endsWith('-preview') ? OMNI_LIST.source : 'https://cloud.google.com/vertex-ai/generative-ai/pricing',
  );
}
