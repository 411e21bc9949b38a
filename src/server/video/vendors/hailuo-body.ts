import { Type } from 'typebox';
import type { Json, VideoRequest } from '../vendor.ts';
import { entryOf } from '../vendor-answer.ts';
import { applyExtra, compact, refuse, type VendorBody } from '../vendor-body.ts';
import { toUrlOrDataUrl } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { type Offer, WAYS, type Way } from './hailuo-models.ts';

/** The body of `POST /v1/video_generation` (MiniMax "Video Generation"): one path, the pictures in it decide what is made. */

export const readMetadata = metadataReader(
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
type Metadata = ReturnType<typeof readMetadata>;

/** Where the caller's pictures go; the keys of `metadata` count as pictures of their own. */
function toPictures({ images, model }: VideoRequest, metadata: Metadata): Record<string, Json | undefined> {
  const ways = entryOf(WAYS, model);
  const given = images.map(toUrlOrDataUrl);
  if (ways?.subject) {
    if (given.length > 1) refuse('images', `cannot be used: ${model} takes one picture of a face`);
    if (given.length > 0 && metadata.subject_reference) refuse('image', 'and metadata.subject_reference are the same');
    const [face] = given;
    const named = metadata.subject_reference?.map(({ image }) => ({ type: 'character', image }));
    const subject = face === undefined ? named : [{ type: 'character', image: [face] }];
    if (!subject) refuse('image', `is needed: ${model} keeps the face it shows`);
    return { ...frames([], metadata), subject_reference: subject };
  }
  const max = !ways || ways.last ? 2 : ways.first ? 1 : 0;
  if (given.length > max)
    refuse(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} picture${max === 2 ? 's' : ''}`,
    );
  const found = frames(given, metadata);
  if (ways && !ways.text && !found.first_frame_image) refuse('image', `is needed: ${model} begins with a picture`);
  return {
    ...found,
    subject_reference: metadata.subject_reference?.map(({ image }) => ({ type: 'character', image })),
  };
}

/** One slot, one picture: an `image` beside a frame named in `metadata` takes the frame that is left. */
function frames(given: readonly string[], metadata: Metadata): Record<string, Json | undefined> {
  const { first_frame_image: first, last_frame_image: last } = metadata;
  if (given.length > 0 && first !== undefined && first !== given[0]) {
    refuse('image', 'and metadata.first_frame_image are two different first frames');
  }
  if (given.length > 1 && last !== undefined && last !== given[1]) {
    refuse('images', 'and metadata.last_frame_image are two different last frames');
  }
  return { first_frame_image: first ?? given[0], last_frame_image: last ?? given[1] };
}

const CLASSES: readonly { readonly upTo: number; readonly names: readonly string[] }[] = [
  { upTo: 600, names: ['512P'] },
  { upTo: 800, names: ['768P', '720P'] },
  { upTo: 1100, names: ['1080P'] },
];

/** `768P` from `768p`, or from `1280x720`: the class of its short side, as the model writes it. */
function toResolution(size: string, offered: readonly string[], landscapeOnly: boolean): string {
  const named = size.trim().toUpperCase();
  if (offered.includes(named)) return named;
  const sides = /^(\d{2,5})[X*](\d{2,5})$/.exec(named);
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])];
  if (landscapeOnly && width <= height)
    refuse('size', 'cannot be used: this model makes 16:9 unless a first frame gives the shape');
  const short = Math.min(width, height);
  const fitting = CLASSES.find(({ upTo }) => short <= upTo)?.names.find((name) => offered.includes(name));
  return (short >= 400 ? fitting : undefined) ?? refuse('size', `must be one of ${offered.join(', ')}`);
}

const ANY: Offer = { '768P': [6, 10], '512P': [6, 10], '720P': [6, 10], '1080P': [6, 10] };

function wayOf(pictures: Record<string, Json | undefined>): Way {
  if (pictures.subject_reference) return 'subject';
  if (pictures.last_frame_image) return 'last';
  return pictures.first_frame_image ? 'first' : 'text';
}

interface Plan {
  readonly seconds: number;
  readonly resolution: string;
  readonly pictures: Record<string, Json | undefined>;
}

/** Resolution and length by the table of the model; a model that is not in it is the vendor's to judge. */
function plan(request: VideoRequest, metadata: Metadata): Plan {
  const { model, seconds = 6, size } = request;
  if (request.mode !== undefined) refuse('mode', 'is not a field of Hailuo models');
  const pictures = toPictures(request, metadata);
  const way = wayOf(pictures);
  const known = entryOf(WAYS, model);
  const offer = known ? (known[way] ?? known.first ?? known.text ?? known.subject ?? ANY) : ANY;
  const [preferred = '768P'] = Object.keys(offer);
  const resolution =
    metadata.resolution?.toUpperCase() ??
    (size === undefined ? preferred : toResolution(size, Object.keys(offer), way === 'text'));
  const lengths = offer[resolution];
  if (lengths && !lengths.includes(seconds)) {
    refuse('duration', `must be ${lengths.join(' or ')} seconds for ${model} at ${resolution}`);
  }
  return { seconds, resolution, pictures };
}

/** The vendor's body for one request. Throws VendorRefusal for what no field of it can say. */
export function toBody(request: VideoRequest): VendorBody {
  const metadata = readMetadata(request.metadata);
  const { seconds, resolution, pictures } = plan(request, metadata);
  const { prompt_optimizer, fast_pretreatment, aigc_watermark } = metadata;
  const body = compact({
    model: request.model,
    prompt: request.prompt || undefined,
    duration: seconds,
    resolution,
    prompt_optimizer,
    fast_pretreatment,
    aigc_watermark,
    ...pictures,
  });
  return applyExtra(body, request.extra);
}
