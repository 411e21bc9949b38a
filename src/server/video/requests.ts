import type { Static } from 'typebox';
import type { GenerationBody } from '../../contract/video.ts';
import { invalid } from '../platform/errors.ts';
import type { UploadedFile } from '../platform/http/multipart.ts';
import { refuseInsideAddresses } from '../platform/outbound/named-addresses.ts';
import { fromUpload, readMedia } from './media.ts';
import type { Json, Media, VideoRequest } from './vendor.ts';

export type CallerBody = Partial<Static<typeof GenerationBody>> & { readonly [key: string]: unknown };

/** What the three faces hand to the core: the caller's wish, before model and vendor are known. */
export interface Wish {
  readonly model: string;
  readonly prompt: string;
  readonly images: readonly Media[];
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  readonly metadata: { readonly [key: string]: unknown };
  /** The whole body, for media schemas, H's native fields and reuse. */
  readonly body: { readonly [key: string]: unknown };
  readonly official?: { readonly [key: string]: Json };
  /** With `official`: whose body it is; another vendor's models cannot be asked with it. */
  readonly officialOf?: 'kling' | 'jimeng';
  readonly officialOperation?: string;
}

const COMMON = new Set([
  'model',
  'prompt',
  'image',
  'images',
  'duration',
  'size',
  'mode',
  'seconds',
  'input_reference',
  'metadata',
]);

/** Reads the body of the unified and the OpenAI format, which share their fields. */
export function readWish(body: CallerBody, files: readonly UploadedFile[], defaultModel: string | undefined): Wish {
  const model = body.model ?? defaultModel;
  if (model === undefined) throw invalid('model is required.', 'model');
  refuseInsideAddresses(body);
  if (body.duration !== undefined && body.seconds !== undefined && Number(body.seconds) !== body.duration) {
    throw invalid('duration and seconds contradict each other.', 'seconds');
  }
  const seconds = body.duration ?? (body.seconds === undefined ? undefined : readSeconds(body.seconds));
  return {
    model,
    prompt: body.prompt ?? '',
    images: readImages(body, files),
    ...(seconds === undefined ? {} : { seconds }),
    ...(body.size === undefined ? {} : { size: body.size }),
    ...(body.mode === undefined ? {} : { mode: body.mode }),
    metadata: body.metadata ?? {},
    body,
  };
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds < 1 || seconds > 3600) throw invalid('seconds must be from 1 to 3600.', 'seconds');
  return seconds;
}

const MAX_BASE64_TOTAL = 32 * 1024 * 1024;

/** `image`, then `images`, then `input_reference`, then uploaded parts; the same address twice counts once. */
function readImages(body: CallerBody, files: readonly UploadedFile[]): Media[] {
  const reference = body.input_reference;
  const texts: [string, string][] = [
    ...(body.image === undefined ? [] : [['image', body.image] as [string, string]]),
    ...(body.images ?? []).map((text, index): [string, string] => [`images.${index}`, text]),
    ...(reference === undefined
      ? []
      : [['input_reference', typeof reference === 'string' ? reference : reference.image_url] as [string, string]]),
  ];
  const seen = new Set<string>();
  const media: Media[] = [];
  let total = 0;
  for (const [param, text] of texts) {
    if (seen.has(text)) continue;
    seen.add(text);
    total += text.length;
    if (total > MAX_BASE64_TOTAL) throw invalid('The pictures together are larger than this address takes.', param);
    media.push(readMedia(text, param));
  }
  return [...media, ...files.map(fromUpload)];
}

/** Fields beyond the common ones: what H passes through. */
export function nativeFields(body: { readonly [key: string]: unknown }): { readonly [key: string]: Json } {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !COMMON.has(key))) as { [key: string]: Json };
}

/** The vendor request of a wish, once model, vendor and task are known. */
export function toVideoRequest(
  wish: Wish,
  parts: { readonly taskId: string; readonly model: string; readonly extra: VideoRequest['extra'] },
): VideoRequest {
  return {
    taskId: parts.taskId,
    model: parts.model,
    prompt: wish.prompt,
    images: wish.images,
    ...(wish.seconds === undefined ? {} : { seconds: wish.seconds }),
    ...(wish.size === undefined ? {} : { size: wish.size }),
    ...(wish.mode === undefined ? {} : { mode: wish.mode }),
    metadata: wish.metadata,
    extra: parts.extra,
    ...(wish.official === undefined ? {} : { official: wish.official }),
    ...(wish.officialOperation === undefined ? {} : { officialOperation: wish.officialOperation }),
    native: nativeFields(wish.body),
  };
}

/** What did the caller ask for, in the words of the unified task's `action`. */
export function actionOf(wish: Wish): string {
  // Kling's own body may name a last frame beside the picture.
  const images = wish.images.length + (wish.official?.image_tail === undefined ? 0 : 1);
  return images === 0
    ? 'textGenerate'
    : images === 1
      ? 'generate'
      : images === 2
        ? 'firstTailGenerate'
        : 'referenceGenerate';
}
