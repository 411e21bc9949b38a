import type { VideoPrice } from '../../../contract/pricing.ts';
import { cny } from '../currency-to-quota.ts';
import type { PriceSource } from '../price-source.ts';

/** Alibaba Cloud Model Studio lists seconds of output by resolution, in yuan. */

type Rates = Readonly<Record<string, number>>;

const bySecond = (rates: Rates): VideoPrice => ({
  lines: Object.entries(rates).map(([resolution, yuan]) => ({
    when: { resolution: [resolution] },
    per_second: cny(yuan),
  })),
});

/** Sound can be switched off, which costs less. */
const withSwitch = (sound: Rates, silent: Rates): VideoPrice => ({
  lines: [
    ...Object.entries(silent).map(([resolution, yuan]) => ({
      when: { resolution: [resolution], audio: [false] },
      per_second: cny(yuan),
    })),
    ...(bySecond(sound).lines ?? []),
  ],
});

const HD = { '720P': 0.6, '1080P': 1 };
const SD_TO_HD = { '480P': 0.3, ...HD };
const FLASH = { '480P': 0.1, '720P': 0.2, '1080P': 0.48 };
const PLUS = { '480P': 0.14, '1080P': 0.7 };
const HORSE_1_1 = { '480P': 0.45, '720P': 0.9, '1080P': 1.2 };
const HORSE_1_0 = { '720P': 0.9, '1080P': 1.6 };

const RATES: Readonly<Record<string, Rates>> = {
  'wan2.6-t2v': HD,
  'wan2.5-t2v-preview': SD_TO_HD,
  'wan2.2-t2v-plus': PLUS,
  'wanx2.1-t2v-turbo': { '480P': 0.24, '720P': 0.24 },
  'wanx2.1-t2v-plus': { '720P': 0.7 },
  'wan2.6-i2v': HD,
  'wan2.5-i2v-preview': SD_TO_HD,
  'wan2.2-i2v-flash': FLASH,
  'wan2.2-i2v-plus': PLUS,
  'wanx2.1-i2v-turbo': { '480P': 0.24, '720P': 0.24 },
  'wanx2.1-i2v-plus': { '720P': 0.7 },
  'wan2.2-kf2v-flash': FLASH,
  'wanx2.1-kf2v-plus': { '720P': 0.7 },
  'wan2.6-r2v': HD,
  'wan2.7-t2v': HD,
  'wan2.7-i2v': HD,
  'wan2.7-r2v': HD,
  'wan2.7-videoedit': HD,
  'wan3.0-video': { '480P': 0.3, '720P': 0.6, '1080P': 1.2 },
  'happyhorse-1.1-t2v': HORSE_1_1,
  'happyhorse-1.1-i2v': HORSE_1_1,
  'happyhorse-1.1-r2v': HORSE_1_1,
  'happyhorse-1.0-t2v': HORSE_1_0,
  'happyhorse-1.0-i2v': HORSE_1_0,
  'happyhorse-1.0-r2v': HORSE_1_0,
};

export function wanPrice(id: string): VideoPrice {
  if (id === 'wan2.6-i2v-flash') return withSwitch({ '720P': 0.3, '1080P': 0.5 }, { '720P': 0.15, '1080P': 0.25 });
  const rates = RATES[id];
  if (rates === undefined) throw new Error(`no price of ${id}`);
  // Seconds of the input cost too, and only the vendor knows them.
  return id === 'wan2.7-videoedit' ? { ...bySecond(rates), settle_by: 'vendor' } : bySecond(rates);
}

const PAGE = 'https://help.aliyun.com/zh/model-studio/model-pricing';
const ARCREEL = 'Quoted by github.com/ArcReel/ArcReel (lib/config/registry.py, docs/research).';

export function wanPriceSource(id: string): PriceSource {
  if (id === 'wan2.7-videoedit')
    return {
      source: PAGE,
      confirmedOn: '2026-10-12',
      note: 'The rates of the series by two clients; that seconds of the input count is said by docs.evolink.ai.',
    };
  if (/^(wan2\.7|wan3|happyhorse)/.test(id)) return { source: PAGE, confirmedOn: '2026-08-22', note: ARCREEL };
  if (/^wan2\.[25]/.test(id))
    return { source: PAGE, confirmedOn: '2026-11-22', note: 'Quoted by docs.crazyrouter.com/video/wan.' };
  return {
    source: PAGE,
    confirmedOn: null,
    note: 'From the list of 2025 and early 2026; no copy with this model was found.',
  };
}
