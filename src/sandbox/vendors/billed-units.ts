type Body = Readonly<Record<string, unknown>>;

/**
 * Units the vendors' price lists deduct for a video. Duplicated here on purpose, to check the service's prices
 * independently.
 */

/** Units per second: std, pro, and both with sound. */
const KLING_UNITS: Readonly<Record<string, readonly [std: number, pro: number, stdSound: number, proSound: number]>> = {
  'kling-v1': [0.2, 0.7, 0.2, 0.7],
  'kling-v2-master': [2, 2, 2, 2],
  'kling-v2-1-master': [2, 2, 2, 2],
  'kling-v2-5-turbo': [0.3, 0.5, 0.3, 0.5],
  'kling-v2-6': [0.3, 0.5, 0.3, 1],
  'kling-v3': [0.6, 0.8, 0.9, 1.2],
  'kling-v3-turbo': [0.8, 1, 0.8, 1],
  'kling-v3-omni': [0.6, 0.8, 0.8, 1],
  'kling-video-o1': [0.6, 0.8, 0.6, 0.8],
};
const KLING_USUAL = [0.4, 0.7, 0.4, 0.7] as const;
const KLING_4K = 3;

/** Kling's `final_unit_deduction`, a decimal as text. */
export function klingUnits(model: string, body: Body, seconds: number): string {
  const [std, pro, stdSound, proSound] = KLING_UNITS[model] ?? KLING_USUAL;
  const withSound = body.sound === 'on';
  const each =
    body.mode === '4k' ? KLING_4K : body.mode === 'pro' ? (withSound ? proSound : pro) : withSound ? stdSound : std;
  return String(Math.round(each * seconds * 1_000) / 1_000);
}

type FirstAndFurther = readonly [first: number, further: number];

/** Credits for the first second and for each further one. */
const VIDU_CREDITS: Readonly<Record<string, Readonly<Record<string, FirstAndFurther>>>> = {
  'viduq3-pro': { '540p': [14, 14], '720p': [30, 30], '1080p': [32, 32] },
  viduq3: { '540p': [14, 14], '720p': [30, 30], '1080p': [32, 32] },
  'viduq3-mix': { '720p': [30, 30], '1080p': [32, 32] },
  'viduq3-turbo': { '540p': [8, 8], '720p': [12, 12], '1080p': [16, 16] },
  'viduq3-pro-fast': { '720p': [12, 12], '1080p': [16, 16] },
  viduq2: { '540p': [10, 2], '720p': [15, 5], '1080p': [20, 10] },
  'viduq2-pro': { '540p': [15, 10], '720p': [15, 10], '1080p': [55, 15] },
  'viduq2-pro-fast': { '720p': [8, 2], '1080p': [16, 4] },
  'viduq2-turbo': { '540p': [6, 2], '720p': [0, 10], '1080p': [35, 10] },
};
const VIDU_Q2_REFERENCE: Readonly<Record<string, FirstAndFurther>> = {
  '540p': [25, 5],
  '720p': [25, 5],
  '1080p': [75, 10],
};
const VIDU_Q1 = 80;
const VIDU_2: Readonly<Record<string, number>> = { '360p': 20, '720p': 40, '1080p': 100 };

/** Vidu's `credits`. @param isReference three or more images */
export function viduCredits(model: string, resolution: string, seconds: number, isReference: boolean): number {
  if (model.startsWith('viduq1')) return VIDU_Q1;
  if (model === 'vidu2.0') return isReference ? 80 : seconds === 8 ? 100 : (VIDU_2[resolution] ?? 100);
  if (model === 'viduq2-turbo' && resolution === '720p' && seconds === 1) return 8;
  const table = model === 'viduq2' && isReference ? VIDU_Q2_REFERENCE : VIDU_CREDITS[model];
  const [first, further] = table?.[resolution] ?? [2, 2];
  return first + further * (seconds - 1);
}
