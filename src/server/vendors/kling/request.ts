import { Type } from 'typebox';
import { matchAspectRatio, sortImages } from '../../../contract/generation-ways.ts';
import { asObject } from '../../../contract/objects.ts';
import {
  assertMaxSize,
  createMetadataParser,
  type MediaInput,
  type RequestJson,
  rejectField,
  stripDataUrlPrefix,
  toUrlOrBase64,
  type VideoRequest,
} from '../adapter.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../json-calls.ts';
import { KLING_MODELS, MAX_IMAGE_BYTES, MODES_4K, OMNI_MODELS, SOUND_NEEDS_PRO } from './models.ts';

/** Endpoint and body of `POST /v1/videos/{text2video,image2video,omni-video}`. */

export const ENDPOINTS = ['text2video', 'image2video', 'omni-video'] as const;
/** The three endpoints of a submit. */
export type Endpoint = (typeof ENDPOINTS)[number];

const MASK = Type.Object({
  mask: Type.String(),
  trajectories: Type.Array(Type.Object({ x: Type.Number(), y: Type.Number() })),
});
const VIDEO = Type.Object({
  video_url: Type.String(),
  refer_type: Type.Optional(Type.Enum(['feature', 'base'])),
  keep_original_sound: Type.Optional(Type.Enum(['yes', 'no'])),
});
const CAMERA_MOVE = Type.Optional(Type.Number());

/** Parses the caller's metadata by the vendor's table. */
export const parseMetadata = createMetadataParser(
  Type.Object({
    negative_prompt: Type.Optional(Type.String()),
    image_tail: Type.Optional(Type.String()),
    cfg_scale: Type.Optional(Type.Number()),
    aspect_ratio: Type.Optional(Type.String()),
    camera_control: Type.Optional(
      Type.Object({
        type: Type.Optional(Type.String()),
        config: Type.Optional(
          Type.Object({
            horizontal: CAMERA_MOVE,
            vertical: CAMERA_MOVE,
            pan: CAMERA_MOVE,
            tilt: CAMERA_MOVE,
            roll: CAMERA_MOVE,
            zoom: CAMERA_MOVE,
          }),
        ),
      }),
    ),
    static_mask: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    dynamic_masks: Type.Optional(Type.Union([Type.String(), Type.Array(MASK)])),
    sound: Type.Optional(Type.Union([Type.Boolean(), Type.Enum(['on', 'off'])])),
    video_list: Type.Optional(Type.Array(VIDEO, { maxItems: 1 })),
    element_list: Type.Optional(Type.Array(Type.Object({ element_id: Type.Integer() }), { maxItems: 10 })),
  }),
);

const RATIOS = ['16:9', '9:16', '1:1'];

/** The vendor's aspect ratio for a size. */
export function toRatio(size: string): string {
  return (
    matchAspectRatio(size, RATIOS) ??
    rejectField('size', `must be width x height in a ratio of ${RATIOS.join(', ')} for this model`)
  );
}

/**
 * Checks the size of an image.
 * @throws UnsupportedRequestError
 */
export const assertImageSize = (image: MediaInput): void => assertMaxSize(image, MAX_IMAGE_BYTES, 'image');

function toFrames({ images }: VideoRequest, tail: string | undefined): RequestBody {
  if (images.length > 2) rejectField('images', 'may hold two images for this model: the first and the last frame');
  const { first, last } = sortImages(images);
  if (last && tail !== undefined) rejectField('metadata.image_tail', 'and a second image both name the last frame');
  for (const image of images) assertImageSize(image);
  return omitUndefined({
    image: first && toUrlOrBase64(first),
    image_tail: last ? toUrlOrBase64(last) : tail === undefined ? undefined : stripDataUrlPrefix(tail),
  });
}

const MAX_OMNI_IMAGES = 7;

/** The omni endpoint has one list of images: those without a type are references that the prompt names. */
function toImageList({ images }: VideoRequest, tail: string | undefined): RequestBody {
  if (images.length > MAX_OMNI_IMAGES) rejectField('images', `may hold ${MAX_OMNI_IMAGES} images for this model`);
  if (tail !== undefined && images.length !== 1) rejectField('metadata.image_tail', 'needs one image, the first frame');
  for (const image of images) assertImageSize(image);
  const { first, last } = sortImages(images);
  const list = images.map((image) =>
    omitUndefined({
      image_url: toUrlOrBase64(image),
      type: image === first ? 'first_frame' : image === last ? 'end_frame' : undefined,
    }),
  );
  if (tail !== undefined) list.push({ image_url: stripDataUrlPrefix(tail), type: 'end_frame' });
  return list.length === 0 ? {} : { image_list: list };
}

/** A video to edit is the base of the result, and a reference lends its features. */
function toVideoList({ videos = [] }: VideoRequest, named: unknown): RequestBody {
  if (videos.length === 0) return {};
  if (named !== undefined) rejectField('metadata.video_list', 'and inputs both name a video');
  return {
    video_list: videos.map((video) => ({
      video_url: toUrlOrBase64(video),
      refer_type: video.role === 'source' ? 'base' : 'feature',
    })),
  };
}

const findModel = (model: string) => KLING_MODELS.find(({ id }) => id === model);

/**
 * The vendor's value for audio. Refused where the vendor would refuse it, or would charge for audio and generate a
 * silent video.
 */
function toSound({ model, mode }: VideoRequest, sound: boolean | string | undefined): 'on' | 'off' | undefined {
  if (sound === undefined) return undefined;
  if (sound === false || sound === 'off') return 'off';
  const known = findModel(model);
  if (known && !known.audio) rejectField('metadata.sound', `is not offered by ${model}`);
  if (SOUND_NEEDS_PRO.has(model) && mode !== 'pro') rejectField('metadata.sound', `needs mode pro for ${model}`);
  return 'on';
}

function toCommonBody(request: VideoRequest): RequestBody {
  const { mode = 'std', seconds = 5, size } = request;
  if (mode !== 'std' && mode !== 'pro' && !(mode === '4k' && MODES_4K.has(request.model)))
    rejectField('mode', MODES_4K.has(request.model) ? 'must be std, pro or 4k' : 'must be std or pro');
  const { image_tail: tail, aspect_ratio: ratio, sound, ...others } = parseMetadata(request.metadata);
  const isEdit = request.operation === 'edit';
  if (isEdit && request.seconds !== undefined)
    rejectField('duration', `cannot be given: ${request.model} keeps the length of the video`);
  for (const [field, given] of Object.entries({ size, 'metadata.aspect_ratio': ratio }))
    if (isEdit && given !== undefined)
      rejectField(field, `cannot be given: ${request.model} keeps the frame of the video`);
  return omitUndefined({
    model_name: request.model,
    prompt: request.prompt,
    ...(OMNI_MODELS.has(request.model) ? toImageList(request, tail) : toFrames(request, tail)),
    ...others,
    ...toVideoList(request, others.video_list),
    sound: toSound(request, sound),
    mode,
    duration: isEdit ? undefined : String(seconds),
    aspect_ratio: isEdit ? undefined : (ratio ?? (size === undefined ? undefined : toRatio(size))),
  });
}

/** The vendor's own body with its media, without the caller's values of fields that the gateway sets itself. */
function toOfficialBody(
  official: NonNullable<VideoRequest['officialBody']>,
  { model, images, videos = [], officialOperation }: VideoRequest,
): RequestBody {
  // The gateway sends callbacks itself, and the vendor receives our task id instead of the caller's.
  const { model: _, callback_url: __, external_task_id: ___, image_list, video_list, ...body } = official;
  const complete = (list: RequestJson | undefined, key: string, media: readonly MediaInput[]) => {
    const replace = (entry: RequestJson, index: number): RequestJson => {
      const one = media[index];
      return one === undefined ? entry : { ...(asObject(entry) as RequestBody), [key]: toUrlOrBase64(one) };
    };
    return Array.isArray(list) ? list.map(replace) : list;
  };
  const { first, last } = officialOperation === 'image2video' ? sortImages(images) : {};
  return omitUndefined({
    ...body,
    ...(first && { image: toUrlOrBase64(first) }),
    ...(last && { image_tail: toUrlOrBase64(last) }),
    image_list: complete(image_list, 'image_url', images),
    video_list: complete(video_list, 'video_url', videos),
    model_name: model,
  });
}

/** The vendor's body for one request. */
export function toBody(request: VideoRequest): RequestBody {
  const { officialBody, extraFields, taskId } = request;
  const body = officialBody ? toOfficialBody(officialBody, request) : toCommonBody(request);
  return { ...applyExtraFields(body, extraFields), external_task_id: taskId };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== '';

/** Checks that the endpoint serves the model; otherwise the vendor would report the model as unknown. */
function checkedEndpoint(endpoint: Endpoint, model: string): Endpoint {
  const known = findModel(model);
  const isWrong = OMNI_MODELS.has(model) !== (endpoint === 'omni-video');
  if (known && (isWrong || (endpoint === 'text2video' && known.images.min > 0)))
    rejectField('model_name', `must be another model: ${endpoint} does not have ${model}`);
  return endpoint;
}

/** The endpoint for a request. */
export function toEndpoint(request: VideoRequest, body: RequestBody): Endpoint {
  const official = ENDPOINTS.find((name) => name === request.officialOperation);
  if (official !== undefined) return checkedEndpoint(official, request.model);
  if (OMNI_MODELS.has(request.model)) return 'omni-video';
  if (isGiven(body.image) || isGiven(body.image_tail)) return 'image2video';
  if ((findModel(request.model)?.images.min ?? 0) > 0)
    rejectField('images', `is required: ${request.model} makes videos from images only`);
  return 'text2video';
}
