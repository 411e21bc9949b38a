import { Type } from 'typebox';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import { UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { Json, VideoRequest } from '../adapter-types.ts';
import { assertMaxSize, type MediaText, toBase64 } from '../media-to-base64-or-url.ts';
import { createMetadataParser } from '../metadata-parser.ts';
import { knownFactors, matchAspectRatio, parseSeconds, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { familyOf, type ModelFamily, VEO_DEFAULT_SECONDS, VEO_RATIOS } from './models.ts';

/** The Gemini API (native) or Vertex AI (cloud platform): the same models through two APIs. */
export type VeoRoute = 'gemini' | 'vertex';

const COMMON_KEYS = {
  aspectRatio: Type.Optional(Type.Enum(['16:9', '9:16'])),
  durationSeconds: Type.Optional(Type.Integer()),
  negativePrompt: Type.Optional(Type.String({ maxLength: 8_000 })),
  personGeneration: Type.Optional(Type.Enum(['allow_all', 'allow_adult', 'dont_allow'])),
  resolution: Type.Optional(Type.String({ maxLength: 16 })),
};
const VERTEX_KEYS = {
  storageUri: Type.Optional(
    Type.String({ maxLength: 1_024, pattern: '^gs://[a-z0-9][a-z0-9._-]{1,220}(?:/[A-Za-z0-9._=-]{1,128})*/?$' }),
  ),
  sampleCount: Type.Optional(Type.Integer()),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295 })),
  generateAudio: Type.Optional(Type.Boolean()),
  enhancePrompt: Type.Optional(Type.Boolean()),
  compressionQuality: Type.Optional(Type.Enum(['optimized', 'lossless'])),
  resizeMode: Type.Optional(Type.Enum(['pad', 'crop'])),
};
const parseGeminiMetadata = createMetadataParser(Type.Object(COMMON_KEYS));
const parseVertexMetadata = createMetadataParser(Type.Object({ ...COMMON_KEYS, ...VERTEX_KEYS }));
const OMNI_KEYS = { task: Type.Optional(Type.Enum(['text_to_video', 'image_to_video', 'reference_to_video'])) };
export const parseOmniMetadata = createMetadataParser(
  Type.Object({ ...COMMON_KEYS, ...OMNI_KEYS, storageUri: VERTEX_KEYS.storageUri }),
);
/** The native route accepts only those it has in common with Vertex AI. */
export const VEO_METADATA = Type.Object({ ...COMMON_KEYS, ...VERTEX_KEYS, ...OMNI_KEYS });

/** A frame's longer side as the vendor's resolution: the same or the next smaller one. */
function resolutionOfFrame(size: string, known: readonly string[]): string {
  const side = Math.max(...size.split(/\D+/).map(Number));
  if (side <= 640 && known.includes('360p')) return '360p';
  return side >= 3840 ? '4k' : side >= 1920 ? '1080p' : '720p';
}

/** `1280x720`, `1080P` or `16:9`; the vendor cannot express anything else. */
function parseSize(
  size: string,
  known: readonly string[],
): { readonly resolution?: string; readonly aspectRatio?: string } {
  if (VEO_RATIOS.includes(size)) return { aspectRatio: size };
  if (/^(?:360p|720p|1080p|4k)$/i.test(size)) return { resolution: size.toLowerCase() };
  const aspectRatio = matchAspectRatio(size, VEO_RATIOS);
  if (aspectRatio === undefined) return rejectField('size', 'must be 720p, 1080p, 4k, or a frame of 16:9 or 9:16');
  return { resolution: resolutionOfFrame(size, known), aspectRatio };
}

/** The requested length and frame, checked against the model: metadata first, then the common fields, then the default. */
export function resolveFrame(request: VideoRequest, family: ModelFamily) {
  const metadata = parseGeminiMetadata(request.metadata);
  const size = request.size === undefined ? {} : parseSize(request.size, family.resolutions);
  const told = metadata.durationSeconds ?? request.seconds;
  const param = metadata.durationSeconds === undefined ? 'duration' : 'metadata.durationSeconds';
  const seconds = told ?? VEO_DEFAULT_SECONDS;
  if (!family.seconds.includes(seconds))
    rejectField(param, `must be ${family.seconds.join(', ')} for ${request.model}`);
  const resolution = metadata.resolution?.toLowerCase() ?? size.resolution ?? '720p';
  if (!family.resolutions.includes(resolution)) {
    const field = metadata.resolution === undefined ? 'size' : 'metadata.resolution';
    rejectField(field, `must mean ${family.resolutions.join(' or ')} for ${request.model}`);
  }
  return { seconds, param, resolution, aspectRatio: metadata.aspectRatio ?? size.aspectRatio };
}

/** Where results go in Cloud Storage: only below what the channel's administrator allows, since it is their bucket. */
export function storageUri(asked: string | undefined, allowed: unknown): string | undefined {
  const root = typeof allowed === 'string' ? `${allowed.replace(/\/+$/, '')}/` : undefined;
  if (asked === undefined) return root;
  if (root === undefined || !`${asked}/`.startsWith(root) || asked.includes('..')) {
    rejectField('metadata.storageUri', 'is not a storage location this service may write to');
  }
  return asked;
}

function vertexParameters(request: VideoRequest, family: ModelFamily, options: AdapterContext['options']) {
  const metadata = parseVertexMetadata(request.metadata);
  // One task has one price and one file.
  if ((metadata.sampleCount ?? 1) !== 1) rejectField('metadata.sampleCount', 'must be 1');
  return {
    storageUri: storageUri(metadata.storageUri, options.storage_uri),
    seed: metadata.seed,
    generateAudio: family.audio ? metadata.generateAudio : undefined,
    enhancePrompt: metadata.enhancePrompt,
    compressionQuality: metadata.compressionQuality,
    resizeMode: request.images.length === 1 ? metadata.resizeMode : undefined,
  };
}

export interface EncodedImage {
  readonly data: MediaText;
  readonly mimeType: string;
}

const toImage = ({ data, mimeType }: EncodedImage) => ({ bytesBase64Encoded: data, mimeType });

/** One picture is the first frame, two are first and last frame, three are references of what must appear in the video. */
function toImageFields(pictures: readonly EncodedImage[], family: ModelFamily, model: string): RequestBody {
  const [first, last] = pictures;
  if (!first) return {};
  if (pictures.length === 1) return { image: toImage(first) };
  if (pictures.length === 2 && last && family.lastFrame) return { image: toImage(first), lastFrame: toImage(last) };
  if (pictures.length > 2 && pictures.length <= family.references) {
    return { referenceImages: pictures.map((picture) => ({ image: toImage(picture), referenceType: 'asset' })) };
  }
  return rejectField('images', `are more than ${model} takes`);
}

/** Refuses options the Gemini API supports only with eight seconds, since the price is computed from the requested length. */
function assertEightSeconds(seconds: number, resolution: string, pictures: number, param: string): void {
  if (seconds !== 8 && (resolution !== '720p' || pictures > 2)) {
    rejectField(param, 'must be 8 with 1080p, 4k or three pictures');
  }
}

/** The body of one submit; the same for both routes but for a handful of parameters. */
export function toVeoBody(
  request: VideoRequest,
  pictures: readonly EncodedImage[],
  route: VeoRoute,
  options: AdapterContext['options'] = {},
): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to Veo');
  const family = familyOf(request.model);
  const { seconds, param, resolution, aspectRatio } = resolveFrame(request, family);
  if (route === 'gemini') assertEightSeconds(seconds, resolution, pictures.length, param);
  const { negativePrompt, personGeneration } = parseGeminiMetadata(request.metadata);
  const parameters = omitUndefined({
    sampleCount: 1,
    durationSeconds: seconds,
    aspectRatio,
    resolution: family.takesResolution ? resolution : undefined,
    negativePrompt,
    personGeneration,
    ...(route === 'vertex' ? vertexParameters(request, family, options) : undefined),
  });
  const instance = { prompt: request.prompt, ...toImageFields(pictures, family, request.model) };
  return applyExtraFields({ instances: [instance], parameters }, request.extraFields);
}

/** The billed parameters. The route is not known yet, so only common ones count; sound counts as on unless it is switched off. */
export function veoBillingFactors(request: VideoRequest) {
  const family = familyOf(request.model);
  const { seconds, resolution } = resolveFrame(request, family);
  const body = applyExtraFields({ parameters: { durationSeconds: seconds, resolution } }, request.extraFields);
  const parameters = body.parameters as { readonly [key: string]: Json };
  const silent = !family.audio || request.metadata.generateAudio === false;
  return {
    seconds: parseSeconds(parameters.durationSeconds, 'duration'),
    factors: knownFactors({ resolution: parameters.resolution, size: request.size, audio: !silent }),
  };
}

const MAX_IMAGE_BYTES = 20_000_000;
const IMAGE_TYPES = /^image\/(?:png|jpeg|webp)$/;

/** Every picture as Base64, since Veo takes no URL; those given by URL are downloaded as from any untrusted host. */
export function loadImages(request: VideoRequest, context: AdapterContext): Promise<readonly EncodedImage[]> {
  return Promise.all(
    request.images.map(async (media, index) => {
      const param = `images.${index}`;
      assertMaxSize(media, MAX_IMAGE_BYTES, param);
      const picture: EncodedImage =
        media.kind === 'url'
          ? await context.fetchImage(media.url, MAX_IMAGE_BYTES)
          : { data: toBase64(media) ?? '', mimeType: media.mimeType };
      if (!IMAGE_TYPES.test(picture.mimeType))
        throw new UnsupportedRequestError('Veo takes PNG, JPEG and WebP pictures.', param);
      return picture;
    }),
  );
}
