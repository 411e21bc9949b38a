import { defined } from '../../../contract/omit-undefined.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { usd } from '../currency-to-quota.ts';
import type { PriceSource } from '../price-source.ts';

/** Vidu sells credits and says how many each video took, so that its own count is charged. */
const QUOTA_PER_CREDIT = usd(0.005);

/** Credits of the first second, and of each further one. */
type Credits = readonly [first: number, further: number];
type When = NonNullable<MediaLine['when']>;

const creditLine = (when: When, [first, further]: Credits): MediaLine =>
  defined({
    when: Object.keys(when).length === 0 ? undefined : when,
    per_unit: QUOTA_PER_CREDIT,
    max_units: first === further ? undefined : first - further,
    max_units_per_second: further,
  });

const byResolution = (rates: Readonly<Record<string, Credits>>, when: When = {}): readonly MediaLine[] =>
  Object.entries(rates).map(([resolution, credits]) => creditLine({ ...when, resolution: [resolution] }, credits));

const asVideoPrice = (...lines: readonly (readonly MediaLine[])[]): VideoPrice => ({
  lines: lines.flat(),
  settle_by: 'vendor',
});

const evenly = (credits: number): Credits => [credits, credits];
const fixed = (when: When, credits: number): MediaLine => ({ when, per_unit: QUOTA_PER_CREDIT, max_units: credits });
/** Three pictures and more are references, which cost more. */
const REFERENCES = { input_images: [3, 4, 5, 6, 7] };

const Q3_PRO = asVideoPrice(byResolution({ '540p': evenly(14), '720p': evenly(30), '1080p': evenly(32) }));
const Q3_TURBO = asVideoPrice(byResolution({ '540p': evenly(8), '720p': evenly(12), '1080p': evenly(16) }));

export const VIDU_PRICES: Readonly<Record<string, VideoPrice>> = {
  'viduq3-pro': Q3_PRO,
  'viduq3-turbo': Q3_TURBO,
  'viduq3-pro-fast': Q3_TURBO,
  viduq3: Q3_PRO,
  'viduq3-mix': Q3_PRO,
  viduq2: asVideoPrice(
    byResolution({ '540p': [25, 5], '720p': [25, 5], '1080p': [75, 10] }, REFERENCES),
    byResolution({ '540p': [10, 2], '720p': [15, 5], '1080p': [20, 10] }),
  ),
  'viduq2-pro': asVideoPrice(byResolution({ '540p': [15, 10], '720p': [15, 10], '1080p': [55, 15] })),
  'viduq2-pro-fast': asVideoPrice(byResolution({ '720p': [8, 2], '1080p': [16, 4] })),
  'viduq2-turbo': asVideoPrice(
    [fixed({ resolution: ['720p'], seconds: [1] }, 8)],
    // Ten credits for two seconds, ten more for each further one.
    [
      {
        when: { resolution: ['720p'] },
        per_unit: QUOTA_PER_CREDIT,
        max_units_per_second: 10,
      },
    ],
    byResolution({ '540p': [6, 2], '1080p': [35, 10] }),
  ),
  viduq1: asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'viduq1-classic': asVideoPrice([fixed({ resolution: ['1080p'] }, 80)]),
  'vidu2.0': asVideoPrice([
    fixed(REFERENCES, 80),
    fixed({ resolution: ['360p'] }, 20),
    fixed({ resolution: ['720p'], seconds: [8] }, 100),
    fixed({ resolution: ['720p'] }, 40),
    fixed({ resolution: ['1080p'] }, 100),
  ]),
};

const PAGE = 'https://platform.vidu.com/docs/pricing';
const COMFY = 'Quoted by docs.comfy.org/tutorials/partner-nodes/pricing; sound on references and off-peak are left out';

export function viduPriceSource(id: string): PriceSource {
  if (id === 'viduq3-pro')
    return {
      source: PAGE,
      confirmedOn: '2026-08-21',
      note: `${COMFY}. 540p quoted by 302.ai/product/detail/viduq3-turbo.`,
    };
  if (id === 'vidu2.0' || id === 'viduq1-classic')
    return {
      source: PAGE,
      confirmedOn: '2026-11-22',
      note: 'Worked out from cloud.baidu.com/doc/VOD/s/dm64ry4hl at 32 credits a yuan.',
    };
  if (['viduq3', 'viduq3-mix', 'viduq3-pro-fast'].includes(id))
    return { source: PAGE, confirmedOn: null, note: 'As viduq3-pro or viduq3-turbo; no copy of the list has it.' };
  return { source: PAGE, confirmedOn: '2026-08-21', note: `${COMFY}. 540p is unconfirmed.` };
}
