export type ViduTask = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

/** Seconds a model makes on each path, first and last; a path it does not have is absent. */
interface Model {
  readonly seconds: Readonly<Partial<Record<ViduTask, readonly [first: number, last: number]>>>;
  readonly resolutions: readonly string[];
}

const LARGE = ['540p', '720p', '1080p'];
const MODELS: Readonly<Record<string, Model>> = {
  'viduq3-pro': {
    seconds: { text2video: [1, 16], img2video: [1, 16], 'start-end2video': [1, 16] },
    resolutions: LARGE,
  },
  'viduq3-turbo': {
    seconds: { text2video: [1, 16], img2video: [1, 16], 'start-end2video': [1, 16], reference2video: [3, 16] },
    resolutions: LARGE,
  },
  'viduq3-pro-fast': { seconds: { img2video: [1, 16] }, resolutions: ['720p', '1080p'] },
  viduq3: { seconds: { reference2video: [3, 16] }, resolutions: LARGE },
  'viduq3-mix': { seconds: { reference2video: [3, 16] }, resolutions: ['720p', '1080p'] },
  viduq2: { seconds: { text2video: [1, 10], reference2video: [1, 10] }, resolutions: LARGE },
  'viduq2-pro': {
    seconds: { img2video: [1, 10], 'start-end2video': [1, 8], reference2video: [0, 10] },
    resolutions: LARGE,
  },
  'viduq2-turbo': { seconds: { img2video: [1, 10], 'start-end2video': [1, 8] }, resolutions: LARGE },
  'viduq2-pro-fast': { seconds: { img2video: [1, 10], 'start-end2video': [1, 8] }, resolutions: ['720p', '1080p'] },
  viduq1: {
    seconds: { text2video: [5, 5], img2video: [5, 5], 'start-end2video': [5, 5], reference2video: [5, 5] },
    resolutions: ['1080p'],
  },
  'viduq1-classic': { seconds: { img2video: [5, 5], 'start-end2video': [5, 5] }, resolutions: ['1080p'] },
  'vidu2.0': {
    seconds: { img2video: [4, 8], 'start-end2video': [4, 8], reference2video: [4, 4] },
    resolutions: ['360p', '720p', '1080p'],
  },
};

type Check = (value: unknown) => boolean;
const isText =
  (max: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= max;
const isFlag: Check = (value) => typeof value === 'boolean';
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
const isWhole: Check = (value) => Number.isSafeInteger(value);

/** A URL, or Base64 behind its MIME type: the vendor does not accept it bare. */
const isPicture: Check = (value) =>
  typeof value === 'string' &&
  (/^https?:\/\/\S+$/.test(value) || /^data:image\/(?:png|jpe?g|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(value));

const EVERYWHERE: Readonly<Record<string, Check>> = {
  model: isText(64),
  prompt: isText(5000),
  duration: isWhole,
  seed: isWhole,
  resolution: isText(8),
  movement_amplitude: isOneOf('auto', 'small', 'medium', 'large'),
  bgm: isFlag,
  audio: isFlag,
  off_peak: isFlag,
  payload: isText(1_048_576),
  watermark: isFlag,
  wm_position: isWhole,
  wm_url: isText(2048),
  meta_data: isText(1_048_576),
  callback_url: isText(2048),
};
const RATIO = { aspect_ratio: isOneOf('16:9', '9:16', '1:1', '4:3', '3:4') };
const PICTURES: Check = (value) => Array.isArray(value) && value.every(isPicture);
const VOICE = { audio_type: isOneOf('all', 'speech_only', 'sound_effect_only') };
const PLACE: Readonly<Record<ViduTask, Readonly<Record<string, Check>>>> = {
  text2video: { ...RATIO, style: isOneOf('general', 'anime') },
  img2video: { ...VOICE, images: PICTURES, voice_id: isText(64), is_rec: isFlag },
  'start-end2video': { images: PICTURES, is_rec: isFlag },
  reference2video: { ...RATIO, ...VOICE, images: PICTURES },
};
const PICTURE_COUNT: Readonly<Record<ViduTask, readonly [least: number, most: number]>> = {
  text2video: [0, 0],
  img2video: [1, 1],
  'start-end2video': [2, 2],
  reference2video: [1, 7],
};

/** The vendor's objection to a submit's body; undefined when it is valid. */
export function checkViduBody(
  task: ViduTask,
  body: Readonly<Record<string, unknown>>,
): { reason: string; message: string } | undefined {
  const wrong = (reason: string, message: string) => ({ reason, message });
  const known: Readonly<Record<string, Check>> = { ...EVERYWHERE, ...PLACE[task] };
  for (const [key, value] of Object.entries(body)) {
    const check = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!check) return wrong('FieldUnwanted', `field ${key} is unwanted`);
    if (!check(value)) return wrong('FieldInvalid', `field ${key} is invalid`);
  }
  if (body.model === undefined) return wrong('FieldLacking', 'field model is lacking');
  const text = (key: string): string => (typeof body[key] === 'string' ? body[key] : '');
  const model = MODELS[text('model')];
  const seconds = model?.seconds[task];
  if (!model || !seconds) return wrong('ModelUnavailable', `model ${text('model')} is unavailable for ${task}`);
  const needsPrompt = task === 'text2video' || task === 'reference2video';
  if (needsPrompt && !body.prompt) return wrong('FieldLacking', 'field prompt is lacking');
  const [least, most] = PICTURE_COUNT[task];
  const count = Array.isArray(body.images) ? body.images.length : 0;
  if (count < least || count > most) return wrong('FieldItemCountOutOfRange', 'field images has a wrong count');
  const isTwo = body.model === 'vidu2.0';
  const duration = Number(body.duration ?? (isTwo ? 4 : 5));
  if (duration < seconds[0] || duration > seconds[1] || (isTwo && duration !== 4 && duration !== 8)) {
    return wrong('FieldInvalid', 'field duration is invalid');
  }
  const small = isTwo && duration === 8 ? ['720p'] : isTwo && task === 'reference2video' ? ['360p', '720p'] : undefined;
  const resolutions = small ?? model.resolutions;
  if (body.resolution !== undefined && !resolutions.includes(text('resolution'))) {
    return wrong('FieldInvalid', 'field resolution is invalid');
  }
  return undefined;
}
