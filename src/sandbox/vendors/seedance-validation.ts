/** What Ark accepts for each series of models, and the errors it returns. */
interface Model {
  readonly resolutions: readonly string[];
  readonly resolution: string;
  readonly min: number;
  readonly max: number;
  readonly auto: boolean;
  readonly frames: number;
  readonly references: number;
  readonly audio: boolean;
}

const ALL = ['480p', '720p', '1080p'];
const one = (frames: number, resolution: string, references = 0): Model => {
  return { resolutions: ALL, resolution, min: 2, max: 12, auto: false, frames, references, audio: false };
};
const two = (resolutions: readonly string[], max: number, references: number): Model => {
  return { resolutions, resolution: '720p', min: 4, max, auto: true, frames: 2, references, audio: true };
};

const MODELS: Readonly<Record<string, Model>> = {
  '1-0-pro': one(2, '1080p'),
  '1-0-pro-fast': one(1, '1080p'),
  '1-0-lite-t2v': one(0, '720p'),
  '1-0-lite-i2v': one(2, '720p', 4),
  '1-5-pro': two(ALL, 12, 0),
  '2-0': two([...ALL, '4k'], 15, 9),
  '2-0-fast': two(['480p', '720p'], 15, 9),
  '2-0-mini': two(['480p', '720p'], 15, 9),
  '2-5': two(ALL, 30, 9),
};

export const modelOf = (id: string): Model | undefined =>
  MODELS[/^(?:doubao-|dreamina-)?seedance-([a-z0-9-]+?)(?:-\d{6})?$/.exec(id)?.[1] ?? ''];

const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'];
const MEDIA_URL = /^https?:\/\/|^data:image\/[a-z0-9.+-]+;base64,|^asset:\/\//;

interface Item {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly role?: unknown;
  readonly image_url?: { readonly url?: unknown };
  readonly video_url?: { readonly url?: unknown };
}

const isMediaUrl = (value: unknown): boolean => typeof value === 'string' && MEDIA_URL.test(value);

function isItem(item: Item): boolean {
  if (item.type === 'text') return typeof item.text === 'string';
  if (item.type === 'image_url') return isMediaUrl(item.image_url?.url);
  return item.type === 'video_url' && isMediaUrl(item.video_url?.url) && item.role === 'reference_video';
}

/** Whether the roles form one of the three modes: a first frame, a first and a last frame, references. */
function areRoles(items: readonly Item[], model: Model): boolean {
  const images = items.filter(({ type }) => type === 'image_url').map(({ role }) => role);
  const references = images.filter((role) => role === 'reference_image').length;
  const frames = images.length - references;
  const videos = items.filter(({ type }) => type === 'video_url').length;
  if (videos > 0 && model.references < 9) return false;
  if (references + videos > 0) return frames === 0 && references <= model.references && videos <= 3;
  if (frames > model.frames) return false;
  if (frames === 2) return images.includes('first_frame') && images.includes('last_frame');
  return frames === 0 || images[0] === undefined || images[0] === 'first_frame';
}

const isWhole = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

/** The name of the first wrong field; body fields are checked strictly. */
export function findInvalidField(body: Readonly<Record<string, unknown>>, model: Model): string | undefined {
  const { content, duration, frames, resolution, ratio, seed } = body;
  if (!Array.isArray(content) || content.length === 0) return 'content';
  const items = content as readonly Item[];
  if (!items.every(isItem) || !areRoles(items, model)) return 'content';
  const hasText = items.some(({ type, text }) => type === 'text' && text !== '');
  if (!hasText && items.every(({ type }) => type === 'text')) return 'content';
  if (resolution !== undefined && !model.resolutions.some((name) => name === resolution)) return 'resolution';
  if (ratio !== undefined && !RATIOS.some((name) => name === ratio)) return 'ratio';
  if (frames !== undefined && !(isWhole(frames, 29, 289) && (Number(frames) - 25) % 4 === 0)) return 'frames';
  if (duration !== undefined && !isWhole(duration, model.min, model.max) && !(model.auto && duration === -1)) {
    return 'duration';
  }
  if (seed !== undefined && !isWhole(seed, -1, 2 ** 32 - 1)) return 'seed';
  if (body.generate_audio !== undefined && !model.audio) return 'generate_audio';
  return ['generate_audio', 'camera_fixed', 'watermark'].find((name) => !isFlag(body[name]));
}
