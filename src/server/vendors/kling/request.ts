import { Type } from 'typebox';
import type { Json, VideoRequest } from '../adapter.ts';
import { assertMaxSize, stripDataUrlPrefix, toUrlOrBase64 } from '../media-encoding.ts';
import { createMetadataParser } from '../metadata-filter.ts';
import { applyExtraFields, matchAspectRatio, omitUndefined, type RequestBody, rejectField } from '../request-body.ts';
import { KLING_MODELS, SOUND_NEEDS_PRO } from './models.ts';

/** The body of `POST /v1/videos/{text2video,image2video}`. */

export type Endpoint = 'text2video' | 'image2video';

const MASK = Type.Object({
  mask: Type.String(),
  trajectories: Type.Array(Type.Object({ x: Type.Number(), y: Type.Number() })),
});
const CAMERA_MOVE = Type.Optional(Type.Number());

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
  }),
);

const RATIOS = ['16:9', '9:16', '1:1'];
const MAX_IMAGE_BYTES = 10_000_000;

function toRatio(size: string): string {
  return (
    matchAspectRatio(size, RATIOS) ??
    rejectField('size', `must be width x height in a ratio of ${RATIOS.join(', ')} for this model`)
  );
}

function toFrames({ images }: VideoRequest, tail: string | undefined): RequestBody {
  if (images.length > 2) rejectField('images', 'may hold two pictures for this model: the first and the last frame');
  const [first, last] = images;
  if (last && tail !== undefined) rejectField('metadata.image_tail', 'and a second picture both name the last frame');
  for (const image of images) assertMaxSize(image, MAX_IMAGE_BYTES, 'image');
  return omitUndefined({
    image: first && toUrlOrBase64(first),
    image_tail: last ? toUrlOrBase64(last) : tail === undefined ? undefined : stripDataUrlPrefix(tail),
  });
}

/** The vendor's value for sound; refused where the vendor would refuse it, or make a silent video at the price of sound. */
function toSound({ model, mode }: VideoRequest, sound: boolean | string | undefined): 'on' | 'off' | undefined {
  if (sound === undefined) return undefined;
  if (sound === false || sound === 'off') return 'off';
  const known = KLING_MODELS.find(({ id }) => id === model);
  if (known && !known.audio) rejectField('metadata.sound', `is not offered by ${model}`);
  if (SOUND_NEEDS_PRO.has(model) && mode !== 'pro') rejectField('metadata.sound', `needs mode pro for ${model}`);
  return 'on';
}

function toCommonBody(request: VideoRequest): RequestBody {
  const { mode = 'std', seconds = 5, size } = request;
  if (mode !== 'std' && mode !== 'pro') rejectField('mode', 'must be std or pro');
  const { image_tail: tail, aspect_ratio: ratio, sound, ...others } = parseMetadata(request.metadata);
  return omitUndefined({
    model_name: request.model,
    prompt: request.prompt,
    ...toFrames(request, tail),
    ...others,
    sound: toSound(request, sound),
    mode,
    duration: String(seconds),
    aspect_ratio: ratio ?? (size === undefined ? undefined : toRatio(size)),
  });
}

/** The vendor's own body; fields the gateway sets itself are not taken from the caller. */
function toOfficialBody(official: { readonly [key: string]: Json }, model: string): RequestBody {
  // The gateway delivers callbacks, and the vendor is sent our task id instead of the caller's.
  const { model: _, callback_url: __, external_task_id: ___, ...body } = official;
  return { ...body, model_name: model };
}

export function toBody(request: VideoRequest): RequestBody {
  const { officialBody, extraFields, model, taskId } = request;
  const body = officialBody ? toOfficialBody(officialBody, model) : toCommonBody(request);
  return { ...applyExtraFields(body, extraFields), external_task_id: taskId };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== '';

export function toEndpoint(request: VideoRequest, body: RequestBody): Endpoint {
  if (request.officialOperation === 'text2video' || request.officialOperation === 'image2video')
    return request.officialOperation;
  return isGiven(body.image) || isGiven(body.image_tail) ? 'image2video' : 'text2video';
}
