import { FROM_TEXT, fromBothFrames, fromFirstFrame, waysOf } from '../../../contract/generation-ways.ts';
import type { ModelCapability, PriceSource } from '../adapter.ts';
import { cny } from '../currency.ts';

/** The vendor's `req_key` of a model, by the number of images. A missing entry means that number is not supported. */
export interface JimengModel {
  readonly keys: readonly (string | undefined)[];
  readonly resolution: '720p' | '1080p';
  /** The older series generates five seconds only and has no `frames`. */
  readonly hasFrames: boolean;
}

const v30Keys = (suffix: string, text: string): JimengModel['keys'] => [
  `jimeng_t2v_v30${text}`,
  `jimeng_i2v_first_v30${suffix}`,
  `jimeng_i2v_first_tail_v30${suffix}`,
];

const v30Model = (keys: JimengModel['keys'], resolution: JimengModel['resolution']): JimengModel => ({
  keys,
  resolution,
  hasFrames: true,
});
const s20Model = (keys: JimengModel['keys']): JimengModel => ({ keys, resolution: '720p', hasFrames: false });

/** The vendor's limit of an image, bytes. */
export const MAX_IMAGE_BYTES = 4_700_000;
const IMAGE = { maxBytes: MAX_IMAGE_BYTES };
/** From text, from a first frame, from both frames; each key serves one of them. */
export const JIMENG_WAYS = [FROM_TEXT, fromFirstFrame(IMAGE), fromBothFrames(IMAGE)];

/** Our names of model series, and the vendor's own keys. The 1080p text key ends in `1080p`, the others in `1080`. */
export const JIMENG_KEYS: Readonly<Record<string, JimengModel>> = {
  jimeng_v30: v30Model(v30Keys('', ''), '720p'),
  jimeng_v30_1080p: v30Model(v30Keys('_1080', '_1080p'), '1080p'),
  jimeng_v30_pro: v30Model(['jimeng_ti2v_v30_pro', 'jimeng_ti2v_v30_pro'], '1080p'),
  jimeng_s20_pro: s20Model(['jimeng_vgfm_t2v_l20', 'jimeng_vgfm_i2v_l20']),
  jimeng_t2v_v30: v30Model(['jimeng_t2v_v30'], '720p'),
  jimeng_i2v_first_v30: v30Model([undefined, 'jimeng_i2v_first_v30'], '720p'),
  jimeng_i2v_first_tail_v30: v30Model([undefined, undefined, 'jimeng_i2v_first_tail_v30'], '720p'),
  jimeng_i2v_recamera_v30: v30Model([undefined, 'jimeng_i2v_recamera_v30'], '720p'),
  jimeng_t2v_v30_1080p: v30Model(['jimeng_t2v_v30_1080p'], '1080p'),
  jimeng_i2v_first_v30_1080: v30Model([undefined, 'jimeng_i2v_first_v30_1080'], '1080p'),
  jimeng_i2v_first_tail_v30_1080: v30Model([undefined, undefined, 'jimeng_i2v_first_tail_v30_1080'], '1080p'),
  jimeng_ti2v_v30_pro: v30Model(['jimeng_ti2v_v30_pro', 'jimeng_ti2v_v30_pro'], '1080p'),
  jimeng_vgfm_t2v_l20: s20Model(['jimeng_vgfm_t2v_l20']),
  jimeng_vgfm_i2v_l20: s20Model([undefined, 'jimeng_vgfm_i2v_l20']),
};

/** Titles, and yuan per second from the vendor's list. */
const TITLES_AND_PRICES: Readonly<Record<string, readonly [title: string, yuan: number]>> = {
  jimeng_v30: ['Jimeng 3.0 720p', 0.28],
  jimeng_v30_1080p: ['Jimeng 3.0 1080p', 0.63],
  jimeng_v30_pro: ['Jimeng 3.0 Pro', 1],
  jimeng_s20_pro: ['Jimeng S2.0 Pro', 0.65],
  jimeng_t2v_v30: ['Jimeng 3.0 720p, text', 0.28],
  jimeng_i2v_first_v30: ['Jimeng 3.0 720p, first frame', 0.28],
  jimeng_i2v_first_tail_v30: ['Jimeng 3.0 720p, first and last frame', 0.28],
  jimeng_i2v_recamera_v30: ['Jimeng 3.0 720p, camera move', 0.28],
  jimeng_t2v_v30_1080p: ['Jimeng 3.0 1080p, text', 0.63],
  jimeng_i2v_first_v30_1080: ['Jimeng 3.0 1080p, first frame', 0.63],
  jimeng_i2v_first_tail_v30_1080: ['Jimeng 3.0 1080p, first and last frame', 0.63],
  jimeng_ti2v_v30_pro: ['Jimeng 3.0 Pro, by its own key', 1],
  jimeng_vgfm_t2v_l20: ['Jimeng S2.0 Pro, text', 0.65],
  jimeng_vgfm_i2v_l20: ['Jimeng S2.0 Pro, first frame', 0.65],
};

const LISTED: PriceSource = {
  source: 'https://www.volcengine.com/docs/85621',
  confirmedOn: '2026-11-20',
  note: 'Read in copies of the pages 1792710 and 1777001; only videos that succeed are billed.',
};

/** Aspect ratios of all models. */
export const JIMENG_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];

function toCapability([id, [title, yuan]]: readonly [string, readonly [string, number]]): ModelCapability {
  const { keys = [], resolution = '720p', hasFrames = true } = JIMENG_KEYS[id] ?? {};
  return {
    id,
    title,
    seconds: { values: hasFrames ? [5, 10] : [5], default: 5 },
    sizes: [],
    ratios: JIMENG_RATIOS,
    resolutions: [resolution],
    modes: [],
    audio: false,
    negativePrompt: false,
    seed: true,
    // Camera moves need a template that only the native format can name.
    ...waysOf(id.includes('recamera') ? [] : JIMENG_WAYS.filter((_, images) => keys[images] !== undefined)),
    price: { per_call: 0, per_second: cny(yuan) },
    listed: LISTED,
  };
}

/** Models the vendor offers. */
export const JIMENG_MODELS: readonly ModelCapability[] = Object.entries(TITLES_AND_PRICES).map(toCapability);
