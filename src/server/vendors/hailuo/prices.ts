import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { usd } from '../currency-to-quota.ts';
import type { PriceSource } from '../price-source.ts';

/** MiniMax lists whole videos by resolution and length; only the H3 models cost by the second. */

type Videos = readonly (readonly [resolution: string, seconds: number, dollars: number])[];

const videos = (list: Videos): VideoPrice => ({
  lines: list.map(([resolution, seconds, dollars]) => ({
    when: { resolution: [resolution], seconds: [seconds] },
    per_call: usd(dollars),
  })),
});

const HD: Videos = [
  ['768P', 6, 0.28],
  ['768P', 10, 0.56],
  ['1080P', 6, 0.49],
];
const FIRST_SERIES = { lines: [{ per_call: usd(0.43) }] };

/** Five pictures are included, each further one costs. */
const INCLUDED_IMAGES = 5;
const MAX_IMAGES = 9;
const H3_RATES: Readonly<Record<string, number>> = { '768P': usd(0.08), '2K': usd(0.13) };
const h3Lines: readonly MediaLine[] = Object.entries(H3_RATES).flatMap(([resolution, perSecond]) => [
  ...Array.from({ length: MAX_IMAGES - INCLUDED_IMAGES }, (_, index) => ({
    when: { resolution: [resolution], input_images: [INCLUDED_IMAGES + index + 1] },
    per_second: perSecond,
    per_call: (index + 1) * usd(0.04),
  })),
  { when: { resolution: [resolution] }, per_second: perSecond },
]);

export const HAILUO_PRICES: Readonly<Record<string, VideoPrice>> = {
  'MiniMax-Hailuo-2.3': videos(HD),
  'MiniMax-Hailuo-2.3-Fast': videos([
    ['768P', 6, 0.19],
    ['768P', 10, 0.32],
    ['1080P', 6, 0.33],
  ]),
  'MiniMax-Hailuo-02': videos([...HD, ['512P', 6, 0.1], ['512P', 10, 0.15]]),
  'T2V-01': FIRST_SERIES,
  'T2V-01-Director': FIRST_SERIES,
  'I2V-01': FIRST_SERIES,
  'I2V-01-Director': FIRST_SERIES,
  'I2V-01-live': FIRST_SERIES,
  'S2V-01': { lines: [{ per_call: usd(0.65) }] },
  'MiniMax-H3': { lines: [...h3Lines], settle_by: 'vendor' },
  // Its pictures cost nothing.
  'MiniMax-H3-Max': {
    lines: [
      { when: { resolution: ['480P'] }, per_second: usd(0.05) },
      { when: { resolution: ['768P'] }, per_second: usd(0.08) },
    ],
  },
};

const PAGE = 'https://platform.minimax.io/docs/guides/pricing-paygo';
const COMFY = 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing';
const NOTES: Readonly<Record<string, readonly [confirmedOn: string | null, note: string]>> = {
  'MiniMax-H3': ['2026-10-24', 'Quoted by docs.laozhang.ai/en/announcements/minimax-h3-2026-10.'],
  'MiniMax-H3-Max': [
    '2026-09-13',
    'Quoted by three clients in September 2026; the list in yuan (0.33 and 0.50) was quoted on 10 September.',
  ],
  'MiniMax-Hailuo-2.3': ['2026-05-25', 'Six and ten seconds quoted by eachlabs.ai; 1080P as Hailuo-02.'],
  'MiniMax-Hailuo-2.3-Fast': [
    '2026-08-22',
    'Compared with the list in yuan (1.35, 2.25 and 2.31), quoted by github.com/ArcReel/ArcReel.',
  ],
  'MiniMax-Hailuo-02': ['2026-08-21', `${COMFY}; 512P is older and unconfirmed.`],
  'S2V-01': [null, 'From the list of 2025; no later copy was found.'],
};

export const hailuoPriceSource = (id: string): PriceSource => {
  const [confirmedOn, note] = NOTES[id] ?? ['2026-08-21', `${COMFY}.`];
  return { source: PAGE, confirmedOn, note };
};
