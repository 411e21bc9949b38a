import { Type } from 'typebox';
import { type Json, type VendorCall, VendorRefusal, type VideoRequest } from '../vendor.ts';
import { applyExtra, compact, ratioOf, readSeconds, refuse, type VendorBody } from '../vendor-body.ts';
import { refuseLarge, toBase64 } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { familyOf, VEO_DEFAULT_SECONDS, VEO_RATIOS, type VeoFamily } from './veo-models.ts';

/** The Gemini API (native) or Vertex AI (cloud platform): one model, two doors. */
export type VeoRoute = 'gemini' | 'vertex';

const both = {
  aspectRatio: Type.Optional(Type.Enum(['16:9', '9:16'])),
  durationSeconds: Type.Optional(Type.Integer()),
  negativePrompt: Type.Optional(Type.String({ maxLength: 8_000 })),
  personGeneration: Type.Optional(Type.Enum(['allow_all', 'allow_adult', 'dont_allow'])),
  resolution: Type.Optional(Type.String({ maxLength: 16 })),
};
const vertexOnly = {
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
const readGemini = metadataReader(Type.Object(both));
const readVertex = metadataReader(Type.Object({ ...both, ...vertexOnly }));
/** The native route takes those it has in common with Vertex AI alone. */
export const VEO_METADATA = readVertex.schema;

/** A frame's longer side to the vendor's word, as large as the frame or the next below. */
function wordOfFrame(size: string): string {
  const side = Math.max(...size.split(/\D+/).map(Number));
  return side >= 3840 ? '4k' : side >= 1920 ? '1080p' : '720p';
}

/** `1280x720`, `1080P` or `16:9`; the vendor has no word for anything else. */
function readSize(size: string): { readonly resolution?: string; readonly aspectRatio?: string } {
  if (VEO_RATIOS.includes(size)) return { aspectRatio: size };
  if (/^(?:720p|1080p|4k)$/i.test(size)) return { resolution: size.toLowerCase() };
  const aspectRatio = ratioOf(size, VEO_RATIOS);
  if (aspectRatio === undefined) return refuse('size', 'must be 720p, 1080p, 4k, or a frame of 16:9 or 9:16');
  return { resolution: wordOfFrame(size), aspectRatio };
}

/** The length and the frame asked for, checked against the model: metadata first, then the common fields, then the default. */
function readFrame(request: VideoRequest, family: VeoFamily) {
  const metadata = readGemini(request.metadata);
  const size = request.size === undefined ? {} : readSize(request.size);
  const told = metadata.durationSeconds ?? request.seconds;
  const param = metadata.durationSeconds === undefined ? 'duration' : 'metadata.durationSeconds';
  const seconds = told ?? VEO_DEFAULT_SECONDS;
  if (!family.seconds.includes(seconds)) refuse(param, `must be ${family.seconds.join(', ')} for ${request.model}`);
  const resolution = metadata.resolution?.toLowerCase() ?? size.resolution ?? '720p';
  if (!family.resolutions.includes(resolution)) {
    const field = metadata.resolution === undefined ? 'size' : 'metadata.resolution';
    refuse(field, `must mean ${family.resolutions.join(' or ')} for ${request.model}`);
  }
  return { seconds, param, resolution, aspectRatio: metadata.aspectRatio ?? size.aspectRatio };
}

/** Where results go in Cloud Storage: only below what the channel's administrator allows, since it is their bucket. */
function storageUri(asked: string | undefined, allowed: unknown): string | undefined {
  const root = typeof allowed === 'string' ? `${allowed.replace(/\/+$/, '')}/` : undefined;
  if (asked === undefined) return root;
  if (root === undefined || !`${asked}/`.startsWith(root) || asked.includes('..')) {
    refuse('metadata.storageUri', 'is not a storage location this service may write to');
  }
  return asked;
}

function vertexParameters(request: VideoRequest, family: VeoFamily, options: VendorCall['options']) {
  const metadata = readVertex(request.metadata);
  // One task has one price and one file.
  if ((metadata.sampleCount ?? 1) !== 1) refuse('metadata.sampleCount', 'must be 1');
  return {
    storageUri: storageUri(metadata.storageUri, options.storage_uri),
    seed: metadata.seed,
    generateAudio: family.audio ? metadata.generateAudio : undefined,
    enhancePrompt: metadata.enhancePrompt,
    compressionQuality: metadata.compressionQuality,
    resizeMode: request.images.length === 1 ? metadata.resizeMode : undefined,
  };
}

export interface VeoPicture {
  readonly data: string;
  readonly mimeType: string;
}

const toImage = ({ data, mimeType }: VeoPicture) => ({ bytesBase64Encoded: data, mimeType });

/** One picture begins the video, two begin and end it, three are what shall appear in it. */
function toPictures(pictures: readonly VeoPicture[], family: VeoFamily, model: string): VendorBody {
  const [first, last] = pictures;
  if (!first) return {};
  if (pictures.length === 1) return { image: toImage(first) };
  if (pictures.length === 2 && last && family.lastFrame) return { image: toImage(first), lastFrame: toImage(last) };
  if (pictures.length > 2 && pictures.length <= family.references) {
    return { referenceImages: pictures.map((picture) => ({ image: toImage(picture), referenceType: 'asset' })) };
  }
  return refuse('images', `are more than ${model} takes`);
}

/** Refuses what the Gemini API makes only in eight seconds, which would be another length than the one paid for. */
function refuseShort(seconds: number, resolution: string, pictures: number, param: string): void {
  if (seconds !== 8 && (resolution !== '720p' || pictures > 2)) {
    refuse(param, 'must be 8 with 1080p, 4k or three pictures');
  }
}

/** The body of one submit; the same for both routes but for a handful of parameters. */
export function toVeoBody(
  request: VideoRequest,
  pictures: readonly VeoPicture[],
  route: VeoRoute,
  options: VendorCall['options'] = {},
): VendorBody {
  if (request.mode !== undefined) refuse('mode', 'is not known to Veo');
  const family = familyOf(request.model);
  const { seconds, param, resolution, aspectRatio } = readFrame(request, family);
  if (route === 'gemini') refuseShort(seconds, resolution, pictures.length, param);
  const { negativePrompt, personGeneration } = readGemini(request.metadata);
  const parameters = compact({
    sampleCount: 1,
    durationSeconds: seconds,
    aspectRatio,
    resolution: family.takesResolution ? resolution : undefined,
    negativePrompt,
    personGeneration,
    ...(route === 'vertex' ? vertexParameters(request, family, options) : {}),
  });
  const instance = { prompt: request.prompt, ...toPictures(pictures, family, request.model) };
  return applyExtra({ instances: [instance], parameters }, request.extra);
}

const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** What is billed. The route is not known yet, so that only what both have counts; sound is always made but where told. */
export function meterVeo(request: VideoRequest) {
  const family = familyOf(request.model);
  const { seconds, resolution } = readFrame(request, family);
  const body = applyExtra({ parameters: { durationSeconds: seconds, resolution } }, request.extra);
  const parameters = body.parameters as { readonly [key: string]: Json };
  const silent = !family.audio || request.metadata.generateAudio === false;
  return {
    seconds: readSeconds(parameters.durationSeconds, 'duration'),
    factors: {
      resolution: asText(parameters.resolution),
      audio: String(!silent),
      ...(request.size === undefined ? {} : { size: request.size }),
    },
  };
}

const MAX_IMAGE_BYTES = 20_000_000;
const PICTURE_TYPES = /^image\/(?:png|jpeg|webp)$/;

/** Every picture as Base64, since Veo takes no address; those named by one are fetched through the stranger's door. */
export function loadPictures(request: VideoRequest, call: VendorCall): Promise<readonly VeoPicture[]> {
  return Promise.all(
    request.images.map(async (media, index) => {
      const param = `images.${index}`;
      refuseLarge(media, MAX_IMAGE_BYTES, param);
      const picture: VeoPicture =
        media.kind === 'url'
          ? await call.loadImage(media.url, MAX_IMAGE_BYTES)
          : { data: toBase64(media) ?? '', mimeType: media.mimeType };
      if (!PICTURE_TYPES.test(picture.mimeType))
        throw new VendorRefusal('Veo takes PNG, JPEG and WebP pictures.', param);
      return picture;
    }),
  );
}
