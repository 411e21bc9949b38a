import { asObject } from '../../contract/objects.ts';

/** What each series of models makes; the vendor detects most mistakes only when it works on the task. */
interface Model {
  readonly kind: 'words' | 'picture' | 'frames' | 'references' | 'media';
  readonly classes: readonly string[];
  /** Accepted seconds, as a list or a range. */
  readonly seconds: readonly number[] | readonly [min: number, to: 'to', max: number];
  readonly audio?: boolean;
}

const HD = ['720P', '1080P'];
const ALL = ['480P', '720P', '1080P'];
const LONG = [2, 'to', 15] as const;
const EDITED = [2, 3, 4, 5, 6, 7, 8, 9, 10];

const MODELS: Readonly<Record<string, Model>> = {
  'wan2.6-t2v': { kind: 'words', classes: HD, seconds: LONG, audio: true },
  'wan2.5-t2v-preview': { kind: 'words', classes: ALL, seconds: [5, 10], audio: true },
  'wan2.2-t2v-plus': { kind: 'words', classes: ['480P', '1080P'], seconds: [5] },
  'wanx2.1-t2v-turbo': { kind: 'words', classes: ['480P', '720P'], seconds: [5] },
  'wanx2.1-t2v-plus': { kind: 'words', classes: ['720P'], seconds: [5] },
  'wan2.6-i2v': { kind: 'picture', classes: HD, seconds: LONG, audio: true },
  'wan2.6-i2v-flash': { kind: 'picture', classes: HD, seconds: LONG, audio: true },
  'wan2.5-i2v-preview': { kind: 'picture', classes: ALL, seconds: [5, 10], audio: true },
  'wan2.2-i2v-flash': { kind: 'picture', classes: ['480P', '720P'], seconds: [5] },
  'wan2.2-i2v-plus': { kind: 'picture', classes: ['480P', '1080P'], seconds: [5] },
  'wanx2.1-i2v-turbo': { kind: 'picture', classes: ['480P', '720P'], seconds: [3, 4, 5] },
  'wanx2.1-i2v-plus': { kind: 'picture', classes: ['720P'], seconds: [5] },
  'wan2.2-kf2v-flash': { kind: 'frames', classes: ALL, seconds: [5] },
  'wanx2.1-kf2v-plus': { kind: 'frames', classes: ['720P'], seconds: [5] },
  'wan2.6-r2v': { kind: 'references', classes: HD, seconds: LONG, audio: true },
  'wan2.7-t2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-i2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-r2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-videoedit': { kind: 'media', classes: HD, seconds: [0, ...EDITED], audio: true },
  'happyhorse-1.1-t2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.1-i2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.1-r2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-t2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-i2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-r2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'wan3.0-video': { kind: 'media', classes: ALL, seconds: [2, 'to', 30], audio: true },
};

export const modelOf = (id: string): Model | undefined => MODELS[id.replace(/^wan2\.1-/, 'wanx2.1-')];

const SIZES: Readonly<Record<string, readonly string[]>> = {
  '480P': ['832*480', '480*832', '624*624'],
  '720P': ['1280*720', '720*1280', '960*960', '1088*832', '832*1088'],
  '1080P': ['1920*1080', '1080*1920', '1440*1440', '1632*1248', '1248*1632'],
};

type Fields = Readonly<Record<string, unknown>>;
export const asFields = (value: unknown): Fields => asObject(value) ?? {};

const isFile = (value: unknown): boolean =>
  typeof value === 'string' && /^(https?|oss):\/\/|^data:image\/[a-z]+;base64,/.test(value);

const SETS = [
  'first_frame',
  'driving_audio+first_frame',
  'first_frame+last_frame',
  'driving_audio+first_frame+last_frame',
  'first_clip',
  'first_clip+last_frame',
];

function findInvalidMedia(model: string, input: Fields): string | undefined {
  const media = (input.media ?? []) as readonly { type?: unknown; url?: unknown }[];
  if (!Array.isArray(media) || !media.every(({ url }) => isFile(url))) return 'input.media is invalid';
  if ('img_url' in input) return 'input.img_url is not supported by this model';
  const types = media.map(({ type }) => (typeof type === 'string' ? type : '')).toSorted((a, b) => (a < b ? -1 : 1));
  const references = types.filter((type) => type === 'reference_image' || type === 'reference_video').length;
  if (/i2v/.test(model) && !SETS.includes(types.join('+'))) return 'the types of input.media do not go together';
  const videos = types.filter((type) => type === 'video').length;
  if (model === 'wan2.7-videoedit' ? videos !== 1 || references > 4 : videos > 0) return 'input.media is invalid';
  const most = model.startsWith('happyhorse') ? 9 : 5;
  if (/r2v/.test(model) && (references < 1 || references > most)) return `input.media needs 1 to ${most} references`;
  return undefined;
}

/** What is refused at once: the few fields that the vendor checks when a task is submitted. */
export function findErrorAtSubmit(id: string, model: Model, body: Fields): string | undefined {
  const input = asFields(body.input);
  if (model.kind === 'words' && typeof input.prompt !== 'string') return 'input.prompt is required';
  if (model.kind === 'picture' && !isFile(input.img_url) && input.template === undefined)
    return 'input.img_url is required';
  if (model.kind === 'frames' && !isFile(input.first_frame_url)) return 'input.first_frame_url is required';
  if (model.kind === 'references' && !Array.isArray(input.reference_urls)) return 'input.reference_urls is required';
  return model.kind === 'media' ? findInvalidMedia(id, input) : undefined;
}

/** What makes the task fail when the vendor works on it. */
export function findErrorInTask(model: Model, body: Fields): string | undefined {
  const { size, resolution, duration = 5, seed } = asFields(body.parameters);
  const exact = model.classes.flatMap((name) => SIZES[name] ?? []);
  const takesSize = model.kind === 'words' || model.kind === 'references';
  if (takesSize && size !== undefined && !exact.some((name) => name === size))
    return `size must be in ${exact.join(',')}`;
  if (!takesSize && resolution !== undefined && !model.classes.some((name) => name === resolution)) {
    return `resolution must be in ${model.classes.join(',')}`;
  }
  const [min, to, max] = model.seconds;
  const isOffered =
    to === 'to'
      ? Number.isInteger(duration) && Number(duration) >= Number(min) && Number(duration) <= Number(max)
      : (model.seconds as readonly unknown[]).includes(duration);
  if (!isOffered) return 'duration customization is not supported';
  if (seed !== undefined && !(Number.isInteger(seed) && Number(seed) >= 0 && Number(seed) < 2 ** 31))
    return 'seed is invalid';
  return undefined;
}
