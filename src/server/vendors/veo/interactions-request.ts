import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { Json, VideoRequest } from '../adapter-types.ts';
import { knownFactors, parseSeconds, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { familyOf } from './models.ts';
import { type EncodedImage, parseOmniMetadata, resolveFrame, storageUri, type VeoRoute } from './request.ts';

/**
 * What the pictures are for. One begins the video, more than two are references of what must appear; of two, the model makes
 * the first and the last frame by itself, and there is no task of that name.
 */
function taskOf(pictures: number): string | undefined {
  if (pictures === 1) return 'image_to_video';
  return pictures > 2 ? 'reference_to_video' : undefined;
}

/**
 * Where the video is delivered. The Gemini API keeps a file; Vertex AI needs a bucket for that, and puts the video into its
 * answers otherwise.
 */
function deliveryOf(request: VideoRequest, route: VeoRoute, options: AdapterContext['options']) {
  if (route === 'gemini') return { delivery: 'uri' };
  const bucket = storageUri(parseOmniMetadata(request.metadata).storageUri, options.storage_uri);
  return bucket === undefined ? {} : { delivery: 'uri', gcs_uri: bucket };
}

/** The body of one submit (`CreateModelInteraction` of github.com/googleapis/js-genai); lengths are texts such as `8s`. */
export function toInteractionBody(
  request: VideoRequest,
  pictures: readonly EncodedImage[],
  route: VeoRoute,
  options: AdapterContext['options'] = {},
): RequestBody {
  if (request.mode !== undefined) rejectField('mode', 'is not known to Gemini Omni');
  const family = familyOf(request.model);
  if (pictures.length > family.references) rejectField('images', `are more than ${request.model} takes`);
  const { seconds, resolution, aspectRatio } = resolveFrame(request, family);
  const task = parseOmniMetadata(request.metadata).task ?? taskOf(pictures.length);
  const format = { type: 'video', aspect_ratio: aspectRatio, resolution, duration: `${seconds}s` };
  const images = pictures.map(({ data, mimeType }) => ({ type: 'image', data, mime_type: mimeType }));
  const body = omitUndefined({
    model: request.model,
    input: [...images, { type: 'text', text: request.prompt }],
    background: true,
    response_format: omitUndefined({ ...format, ...deliveryOf(request, route, options) }),
    generation_config: task === undefined ? undefined : { video_config: { task } },
  });
  return applyExtraFields(body, request.extraFields);
}

/** The billed parameters; sound is always made. */
export function interactionBillingFactors(request: VideoRequest) {
  const { seconds, resolution } = resolveFrame(request, familyOf(request.model));
  const body = applyExtraFields({ response_format: { duration: `${seconds}s`, resolution } }, request.extraFields);
  const format = body.response_format as { readonly [key: string]: Json };
  const told = typeof format.duration === 'string' ? format.duration.replace(/s$/, '') : format.duration;
  return {
    seconds: parseSeconds(told, 'duration'),
    factors: knownFactors({ resolution: format.resolution, size: request.size, audio: true }),
  };
}
