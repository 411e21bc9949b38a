export type KlingFamily = 'text2video' | 'image2video' | 'omni-video';

type Body = Readonly<Record<string, unknown>>;

const MODELS_OF_BOTH_FAMILIES = [
  'kling-v1',
  'kling-v1-6',
  'kling-v2-master',
  'kling-v2-1-master',
  'kling-v2-5-turbo',
  'kling-v2-6',
  'kling-v3',
];
const MODELS: Readonly<Record<KlingFamily, readonly string[]>> = {
  text2video: MODELS_OF_BOTH_FAMILIES,
  image2video: [...MODELS_OF_BOTH_FAMILIES, 'kling-v1-5', 'kling-v2-1'],
  'omni-video': ['kling-v3-omni', 'kling-video-o1'],
};
const SOUND_MODELS = ['kling-v2-6', 'kling-v3', 'kling-v3-omni'];
const WITH_4K = ['kling-v3', 'kling-v3-omni'];
const FREE_LENGTH: Readonly<Record<string, number>> = { 'kling-v3': 15, 'kling-v3-omni': 15, 'kling-video-o1': 10 };
const TEXT_MAX = 2_500;
const MOVES = ['horizontal', 'vertical', 'pan', 'tilt', 'roll', 'zoom'];
const CAMERA_TYPES = ['simple', 'down_back', 'forward_up', 'right_turn_forward', 'left_turn_forward'];

const has = (body: Body, key: string): boolean => body[key] !== undefined && body[key] !== '';
const isText = (value: unknown, max: number): boolean =>
  value === undefined || (typeof value === 'string' && value.length <= max);
const isOneOf = (value: unknown, values: readonly string[]): boolean =>
  value === undefined || (typeof value === 'string' && values.includes(value));

/** A URL or bare Base64; a `data:` prefix is not accepted. */
function isPicture(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  return typeof value === 'string' && (/^https?:\/\//.test(value) || /^[A-Za-z0-9+/]+={0,2}$/.test(value));
}

function checkCamera(camera: unknown): string | undefined {
  if (camera === undefined) return undefined;
  const { type, config } = (camera ?? {}) as { type?: unknown; config?: unknown };
  if (!isOneOf(type, CAMERA_TYPES)) return 'camera_control.type is invalid';
  if (type !== 'simple') return config === undefined ? undefined : 'camera_control.config must be empty';
  if (typeof config !== 'object' || config === null) return 'camera_control.config is required';
  const moves = Object.entries(config).filter((entry) => entry[1] !== 0);
  const [move] = moves;
  const isRight = moves.length === 1 && move && MOVES.includes(move[0]) && Math.abs(Number(move[1])) <= 10;
  return isRight ? undefined : 'camera_control.config needs exactly one non-zero value in [-10, 10]';
}

const MAX_IMAGES = 7;

/** A picture with a type is the first or last frame; a last frame requires a first one. */
function isImageList(list: unknown): boolean {
  if (list === undefined) return true;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_IMAGES) return false;
  const types = list.map((each: { type?: unknown }) => each.type);
  if (types.includes('end_frame') && !types.includes('first_frame')) return false;
  return list.every(
    (each: { image_url?: unknown; type?: unknown }) =>
      typeof each.image_url === 'string' &&
      isPicture(each.image_url) &&
      isOneOf(each.type, ['first_frame', 'end_frame']),
  );
}

/** The vendor's objection to a submit: `model` for a model it does not have in this family, else its message. */
export function checkKlingBody(family: KlingFamily, body: Body): string | undefined {
  const model = body.model_name ?? 'kling-v1';
  if (typeof model !== 'string' || !MODELS[family].includes(model)) return 'model';
  if (family === 'text2video' && !has(body, 'prompt')) return 'prompt is required';
  for (const key of ['prompt', 'negative_prompt']) if (!isText(body[key], TEXT_MAX)) return `${key} is too long`;
  for (const key of ['image', 'image_tail', 'static_mask']) if (!isPicture(body[key])) return `${key} is not a picture`;
  if (family === 'image2video' && !has(body, 'image') && !has(body, 'image_tail')) return 'image is required';
  const longest = FREE_LENGTH[model];
  if (family === 'omni-video' && !isImageList(body.image_list)) return 'image_list is invalid';
  const durations =
    longest === undefined ? ['5', '10'] : Array.from({ length: longest - 2 }, (_, index) => String(index + 3));
  if (!isOneOf(body.duration, durations)) return `duration must be one of ${durations.join(', ')}, as a string`;
  if (!isOneOf(body.mode, WITH_4K.includes(model) ? ['std', 'pro', '4k'] : ['std', 'pro']))
    return 'mode must be std or pro';
  if (!isOneOf(body.aspect_ratio, ['16:9', '9:16', '1:1'])) return 'aspect_ratio must be 16:9, 9:16 or 1:1';
  if (!isOneOf(body.sound, ['on', 'off'])) return 'sound must be on or off';
  if (body.sound !== undefined && !SOUND_MODELS.includes(model)) return 'sound is not supported by this model';
  if (body.sound === 'on' && model === 'kling-v2-6' && body.mode !== 'pro') return 'sound needs mode pro';
  const scale = body.cfg_scale ?? 0.5;
  if (typeof scale !== 'number' || scale < 0 || scale > 1) return 'cfg_scale must be in [0, 1]';
  const exclusive = [
    has(body, 'image_tail'),
    has(body, 'static_mask') || has(body, 'dynamic_masks'),
    has(body, 'camera_control'),
  ];
  if (exclusive.filter(Boolean).length > 1) return 'image_tail, masks and camera_control exclude one another';
  return checkCamera(body.camera_control);
}
