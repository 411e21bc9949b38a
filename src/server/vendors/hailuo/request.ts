import { Type } from 'typebox';
import { sortImages } from '../../../contract/generation-ways.ts';
import type { RequestJson, VideoRequest } from '../adapter.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../json-calls.ts';
import { isSameMedia, type MediaText, toUrlOrDataUrl } from '../media.ts';
import { createMetadataParser, rejectField } from '../metadata.ts';
import { ownEntry } from '../untrusted-json.ts';
import { type DurationsByResolution, type GenerationMode, MODES_BY_MODEL } from './models.ts';

/**
 * The body of `POST /v1/video_generation` (MiniMax "Video Generation"): one path, whose image fields select the mode.
 */

export const parseMetadata = createMetadataParser(
  Type.Object({
    resolution: Type.Optional(Type.String()),
    prompt_optimizer: Type.Optional(Type.Boolean()),
    fast_pretreatment: Type.Optional(Type.Boolean()),
    first_frame_image: Type.Optional(Type.String()),
    last_frame_image: Type.Optional(Type.String()),
    subject_reference: Type.Optional(
      Type.Array(Type.Object({ type: Type.Optional(Type.Literal('character')), image: Type.Array(Type.String()) })),
    ),
    aigc_watermark: Type.Optional(Type.Boolean()),
  }),
);
type Metadata = ReturnType<typeof parseMetadata>;

/** Maps the caller's images to body fields; the keys of `metadata` count as images too. */
function toImageFields({ images, model }: VideoRequest, metadata: Metadata): Record<string, RequestJson | undefined> {
  const ways = ownEntry(MODES_BY_MODEL, model);
  const { first, last } = sortImages(images);
  const given = (
    images.length > 2 || ways?.subject ? images : [first, last].filter((image) => image !== undefined)
  ).map(toUrlOrDataUrl);
  if (ways?.subject) {
    if (given.length > 1) rejectField('images', `cannot be used: ${model} takes one image of a face`);
    if (given.length > 0 && metadata.subject_reference)
      rejectField('image', 'and metadata.subject_reference are the same');
    const [face] = given;
    const named = metadata.subject_reference?.map(({ image }) => ({ type: 'character', image }));
    const subject = face === undefined ? named : [{ type: 'character', image: [face] }];
    if (!subject) rejectField('image', `is needed: ${model} keeps the face it shows`);
    return { ...toFrameFields([], metadata), subject_reference: subject };
  }
  const max = !ways || ways.last ? 2 : ways.first ? 1 : 0;
  if (given.length > max)
    rejectField(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} image${max === 2 ? 's' : ''}`,
    );
  const found = toFrameFields(given, metadata);
  if (ways && !ways.text && !found.first_frame_image) rejectField('image', `is needed: ${model} begins with an image`);
  return {
    ...found,
    subject_reference: metadata.subject_reference?.map(({ image }) => ({ type: 'character', image })),
  };
}

/** Each field takes one image: an `image` next to a frame given in `metadata` is sent in the other frame field. */
function toFrameFields(given: readonly MediaText[], metadata: Metadata): Record<string, RequestJson | undefined> {
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (given.length > 0 && first !== undefined && !isSameMedia(first, given[0] ?? '')) {
    rejectField('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (given.length > 1 && last !== undefined && !isSameMedia(last, given[1] ?? '')) {
    rejectField('images', 'and metadata.last_frame_image are two different last frames');
  }
  return { first_frame_image: first ?? given[0], last_frame_image: last ?? given[1] };
}

const RESOLUTION_CLASSES: readonly { readonly upTo: number; readonly names: readonly string[] }[] = [
  { upTo: 600, names: ['512P'] },
  { upTo: 800, names: ['768P', '720P'] },
  { upTo: 1100, names: ['1080P'] },
];

/** `768P` from `768p`, or from `1280x720`: the class of the shorter side, in the model's spelling. */
function toResolution(size: string, offered: readonly string[], landscapeOnly: boolean): string {
  const named = size.trim().toUpperCase();
  if (offered.includes(named)) return named;
  const sides = /^(\d{2,5})[X*](\d{2,5})$/.exec(named);
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])];
  if (landscapeOnly && width <= height)
    rejectField('size', 'cannot be used: this model makes 16:9 unless a first frame gives the shape');
  const short = Math.min(width, height);
  const fitting = RESOLUTION_CLASSES.find(({ upTo }) => short <= upTo)?.names.find((name) => offered.includes(name));
  return (short >= 400 ? fitting : undefined) ?? rejectField('size', `must be one of ${offered.join(', ')}`);
}

const ANY_DURATIONS: DurationsByResolution = { '768P': [6, 10], '512P': [6, 10], '720P': [6, 10], '1080P': [6, 10] };

function modeOf(images: Record<string, RequestJson | undefined>): GenerationMode {
  if (images.subject_reference) return 'subject';
  if (images.last_frame_image) return 'last';
  return images.first_frame_image ? 'first' : 'text';
}

interface ResolvedOptions {
  readonly seconds: number;
  readonly resolution: string;
  readonly images: Record<string, RequestJson | undefined>;
}

/** Resolution and length from the model's table; a model that is not in it is only checked by the vendor. */
function resolveOptions(request: VideoRequest, metadata: Metadata): ResolvedOptions {
  const { model, seconds = 6, size } = request;
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Hailuo models');
  const images = toImageFields(request, metadata);
  const way = modeOf(images);
  const known = ownEntry(MODES_BY_MODEL, model);
  const offer = known ? (known[way] ?? known.first ?? known.text ?? known.subject ?? ANY_DURATIONS) : ANY_DURATIONS;
  const [preferred = '768P'] = Object.keys(offer);
  const resolution =
    metadata.resolution?.toUpperCase() ??
    (size === undefined ? preferred : toResolution(size, Object.keys(offer), way === 'text'));
  const lengths = offer[resolution];
  if (lengths && !lengths.includes(seconds)) {
    rejectField('duration', `must be ${lengths.join(' or ')} seconds for ${model} at ${resolution}`);
  }
  return { seconds, resolution, images };
}

/**
 * The vendor's body for one request.
 * @throws UnsupportedRequestError for values that no field can express
 */
export function toBody(request: VideoRequest): RequestBody {
  const metadata = parseMetadata(request.metadata);
  const { seconds, resolution, images } = resolveOptions(request, metadata);
  const { prompt_optimizer, fast_pretreatment, aigc_watermark } = metadata;
  const body = omitUndefined({
    model: request.model,
    prompt: request.prompt || undefined,
    duration: seconds,
    resolution,
    prompt_optimizer,
    fast_pretreatment,
    aigc_watermark,
    ...images,
  });
  return applyExtraFields(body, request.extraFields);
}
