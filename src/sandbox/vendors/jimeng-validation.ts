type Body = Readonly<Record<string, unknown>>;

/** How many pictures each key accepts, at least and at most. The 1080p text key ends in `1080p`, the picture keys in `1080`. */
const KEYS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  jimeng_t2v_v30: [0, 0],
  jimeng_i2v_first_v30: [1, 1],
  jimeng_i2v_first_tail_v30: [2, 2],
  jimeng_i2v_recamera_v30: [1, 1],
  jimeng_t2v_v30_1080p: [0, 0],
  jimeng_i2v_first_v30_1080: [1, 1],
  jimeng_i2v_first_tail_v30_1080: [2, 2],
  jimeng_ti2v_v30_pro: [0, 1],
  jimeng_vgfm_t2v_l20: [0, 0],
  jimeng_vgfm_i2v_l20: [1, 1],
};
/** Image keys, which take another set of fields. */
const PICTURE_KEYS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  jimeng_t2i_v30: [0, 0],
  jimeng_t2i_v31: [0, 0],
  jimeng_t2i_v40: [0, 10],
  jimeng_seedream46_cvtob: [0, 14],
  jimeng_i2i_v30: [1, 1],
};
export const isPictureKey = (key: unknown): boolean => typeof key === 'string' && Object.hasOwn(PICTURE_KEYS, key);

const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];
const STRENGTHS = ['weak', 'medium', 'strong'];
const MAX_BASE64 = Math.ceil((4.7e6 * 4) / 3) + 4;

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isInt = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value);

/** The vendor's objection to a submit's body; undefined when it is valid. */
export function checkJimengBody(body: Body): string | undefined {
  const known = isPictureKey(body.req_key) ? PICTURE_KEYS : KEYS;
  const range =
    typeof body.req_key === 'string' && Object.hasOwn(known, body.req_key) ? known[body.req_key] : undefined;
  if (!range) return 'req_key is not known';
  const urls = list(body.image_urls);
  const inline = list(body.binary_data_base64);
  if (urls.length > 0 && inline.length > 0) return 'image_urls and binary_data_base64 exclude one another';
  const pictures = [...urls, ...inline];
  const [min, max] = range;
  if (pictures.length < min || pictures.length > max)
    return `${body.req_key as string} takes ${min} to ${max} pictures`;
  if (!urls.every((url) => typeof url === 'string' && /^https?:\/\//.test(url)))
    return 'image_urls must hold addresses';
  if (!inline.every((data) => typeof data === 'string' && !data.startsWith('data:') && data.length <= MAX_BASE64)) {
    return 'binary_data_base64 must hold Base64 of at most 4.7 MB';
  }
  const { prompt, seed = -1, frames = 121, aspect_ratio: ratio = '16:9' } = body;
  if (prompt !== undefined && (typeof prompt !== 'string' || [...prompt].length > 800)) return 'prompt is too long';
  if (pictures.length === 0 && !prompt) return 'prompt is required';
  if (!isInt(seed)) return 'seed must be an integer';
  if (known === PICTURE_KEYS) {
    const both = isInt(body.width) === isInt(body.height);
    return both ? undefined : 'width and height go together';
  }
  if (frames !== 121 && frames !== 241) return 'frames must be 121 or 241';
  if (typeof ratio !== 'string' || !RATIOS.includes(ratio)) return 'aspect_ratio is not supported';
  if (body.req_key !== 'jimeng_i2v_recamera_v30') return undefined;
  if (typeof body.template_id !== 'string') return 'template_id is required';
  return STRENGTHS.includes(String(body.camera_strength))
    ? undefined
    : 'camera_strength must be weak, medium or strong';
}
