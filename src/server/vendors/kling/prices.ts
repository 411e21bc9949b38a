import { defined } from '../../../contract/omit-undefined.ts';
import type { MediaLine, VideoPrice } from '../../../contract/pricing.ts';
import { usd } from '../currency-to-quota.ts';
import type { PriceSource } from '../price-source.ts';

/**
 * Kling sells units and says how many each video took, so that its own count is charged. A price here is units a second by mode, without
 * and with sound; what the vendor's list has for five and for ten seconds is the same for each second.
 */
const QUOTA_PER_UNIT = usd(0.14);

interface UnitRate {
  readonly silent: number;
  readonly sound?: number;
}

const unitLine = (when: NonNullable<MediaLine['when']>, unitsPerSecond: number): MediaLine =>
  defined({
    when: Object.keys(when).length === 0 ? undefined : when,
    per_unit: QUOTA_PER_UNIT,
    max_units_per_second: unitsPerSecond,
  });

/** @param rates by mode; `other` is every mode */
const byMode = (rates: Readonly<Record<string, UnitRate>>, videoInput: readonly MediaLine[] = []): VideoPrice => ({
  lines: [
    ...videoInput,
    ...Object.entries(rates).flatMap(([mode, { silent, sound }]) => {
      const when = mode === 'other' ? {} : { mode: [mode] };
      const withSound = sound === undefined ? [] : [unitLine({ ...when, audio: [true] }, sound)];
      return [...withSound, unitLine(when, silent)];
    }),
  ],
  settle_by: 'vendor',
});

const STD_PRO = (std: number, pro: number) => byMode({ std: { silent: std }, pro: { silent: pro } });
/** A video among the inputs costs more, and then sound costs nothing. */
const VIDEO_INPUT = [
  unitLine({ input_video: [true], mode: ['std'] }, 0.9),
  unitLine({ input_video: [true], mode: ['pro'] }, 1.2),
];

export const KLING_PRICES: Readonly<Record<string, VideoPrice>> = {
  'kling-v1': STD_PRO(0.2, 0.7),
  'kling-v1-5': STD_PRO(0.4, 0.7),
  'kling-v1-6': STD_PRO(0.4, 0.7),
  'kling-v2-master': byMode({ other: { silent: 2 } }),
  'kling-v2-1': STD_PRO(0.4, 0.7),
  'kling-v2-1-master': byMode({ other: { silent: 2 } }),
  'kling-v2-5-turbo': STD_PRO(0.3, 0.5),
  'kling-v2-6': byMode({ std: { silent: 0.3 }, pro: { silent: 0.5, sound: 1 } }),
  'kling-v3': byMode({
    std: { silent: 0.6, sound: 0.9 },
    pro: { silent: 0.8, sound: 1.2 },
    '4k': { silent: 3 },
  }),
  'kling-v3-turbo': STD_PRO(0.8, 1),
  'kling-v3-omni': byMode(
    { std: { silent: 0.6, sound: 0.8 }, pro: { silent: 0.8, sound: 1 }, '4k': { silent: 3 } },
    VIDEO_INPUT,
  ),
  'kling-video-o1': byMode({ std: { silent: 0.6 }, pro: { silent: 0.8 } }, VIDEO_INPUT),
};

/** The models of the vendor's page "Video" of its price list; older ones are not on it any more. */
const LISTED: ReadonlySet<string> = new Set([
  'kling-v2-5-turbo',
  'kling-v2-6',
  'kling-v3',
  'kling-v3-turbo',
  'kling-v3-omni',
  'kling-video-o1',
]);

export const klingPriceSource = (id: string): PriceSource =>
  LISTED.has(id)
    ? {
        source: 'https://kling.ai/document-api/pricing/base/video',
        confirmedOn: '2026-09-20',
        note: 'Copied by github.com/aself101/kling-api; docs.comfy.org/tutorials/partner-nodes/pricing agrees.',
      }
    : {
        source: 'https://app.klingai.com/global/dev/document-api/productBilling/prePaidResourcePackage',
        confirmedOn: null,
        note: 'From the list of 2025. The list of September 2026 does not have this model any more.',
      };
