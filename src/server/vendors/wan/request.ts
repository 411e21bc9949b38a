import { Type } from 'typebox';
import type { RequestJson, VideoRequest } from '../adapter-types.ts';
import { isSameMedia, type MediaText, toUrlOrDataUrl } from '../media-to-base64-or-url.ts';
import { createMetadataParser } from '../metadata-parser.ts';
import { matchAspectRatio, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import {
  IMAGE_COUNTS,
  type ModelLine,
  modelLineOf,
  type RequestKind,
  requestKindOf,
  SIZES,
  WAN_RATIOS,
} from './models.ts';

/** The body `{model, input, parameters}` of a video task (Alibaba Cloud Model Studio, "Create a task"). */

const OptionalText = Type.Optional(Type.String());
const OptionalBoolean = Type.Optional(Type.Boolean());
const parseMetadata = createMetadataParser(
  Type.Object({
    input: Type.Optional(
      Type.Object({
        negative_prompt: OptionalText,
        first_frame_url: OptionalText,
        last_frame_url: OptionalText,
        audio_url: OptionalText,
        video_url: OptionalText,
        template: OptionalText,
      }),
    ),
    parameters: Type.Optional(
      Type.Object({
        resolution: OptionalText,
        size: OptionalText,
        prompt_extend: OptionalBoolean,
        watermark: OptionalBoolean,
        audio: OptionalBoolean,
        audio_setting: Type.Optional(Type.Enum(['auto', 'origin'])),
        seed: Type.Optional(Type.Integer()),
      }),
    ),
  }),
);
export const METADATA = parseMetadata.schema;
type Metadata = ReturnType<typeof parseMetadata>;
type Input = NonNullable<Metadata['input']>;
type Parameters = NonNullable<Metadata['parameters']>;

// --- Pictures ---

interface InputImages {
  readonly images: readonly MediaText[];
  /** First and last frame, from the pictures and from the metadata. */
  readonly first: MediaText | undefined;
  readonly last: MediaText | undefined;
  readonly metadata: Input;
}
type Fields = Readonly<Record<string, RequestJson | undefined>>;

const mediaItem = (type: string, url: MediaText | undefined): readonly RequestJson[] =>
  url === undefined ? [] : [{ type, url }];
const mediaItems = (type: string, urls: readonly MediaText[]) => urls.flatMap((url) => mediaItem(type, url));
const frameItems = ({ first, last, metadata }: InputImages): readonly RequestJson[] => [
  ...mediaItem('first_frame', first),
  ...mediaItem('last_frame', last),
  ...mediaItem('driving_audio', metadata.audio_url),
];
/** The keys of the metadata unchanged, for the models that have fields of these names. */
const namedInputFields = ({ metadata }: InputImages): Fields => ({
  first_frame_url: metadata.first_frame_url,
  last_frame_url: metadata.last_frame_url,
  audio_url: metadata.audio_url,
});

const TO_INPUT_FIELDS: Readonly<Record<RequestKind, (given: InputImages) => Fields>> = {
  words: namedInputFields,
  picture: (given) => ({ ...namedInputFields(given), img_url: given.images[0] }),
  frames: (given) => ({ ...namedInputFields(given), first_frame_url: given.first, last_frame_url: given.last }),
  references: (given) => ({ ...namedInputFields(given), reference_urls: given.images }),
  'media-words': namedInputFields,
  'media-picture': (given) => ({ media: frameItems(given) }),
  'media-references': ({ images, metadata }) => ({
    media: [...mediaItems('reference_image', images), ...mediaItem('first_frame', metadata.first_frame_url)],
    audio_url: metadata.audio_url,
  }),
  'media-edit': ({ images, metadata }) => ({
    media: [...mediaItem('video', metadata.video_url), ...mediaItems('reference_image', images)],
  }),
  'media-all': (given) => {
    if (given.images.length < 3) return { media: frameItems(given) };
    const { metadata, images } = given;
    const frames = frameItems({ ...given, first: metadata.first_frame_url, last: metadata.last_frame_url });
    return { media: [...mediaItems('reference_image', images), ...frames] };
  },
};

/** Which models take a video, and that it has an address the vendor can load. */
function checkInputVideo(model: string, kind: RequestKind, { video_url: url }: Input): void {
  const param = 'metadata.input.video_url';
  if (kind !== 'media-edit' && url !== undefined) rejectField(param, `is not a field of ${model}`);
  if (kind === 'media-edit' && url === undefined) rejectField(param, `is needed: ${model} changes a video`);
  if (url !== undefined && !/^(https?|oss):\/\/\S+$/.test(url)) rejectField(param, 'must be an http or oss address');
}

function resolveImages({ images, model }: VideoRequest, kind: RequestKind, metadata: Input): InputImages {
  const [min, max] = modelLineOf(model)?.images ?? IMAGE_COUNTS[kind];
  const urls = images.map(toUrlOrDataUrl);
  const { first_frame_url: start, last_frame_url: end } = metadata;
  if (urls.length > max)
    rejectField(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} picture${max > 1 ? 's' : ''}`,
    );
  if (urls.length + (start === undefined ? 0 : 1) < min)
    rejectField('image', `is needed: ${model} begins with a picture`);
  if (kind.endsWith('frames') || kind === 'media-picture' || kind === 'media-all') {
    if (start !== undefined && urls.length > 0 && !isSameMedia(start, urls[0] ?? '')) {
      rejectField('image', 'and metadata.input.first_frame_url are two different first frames');
    }
    if (end !== undefined && urls.length > 1 && !isSameMedia(end, urls[1] ?? '')) {
      rejectField('images', 'and metadata.input.last_frame_url are two different last frames');
    }
  }
  return { images: urls, first: start ?? urls[0], last: end ?? urls[1], metadata };
}

// --- Size ---

const withAsterisk = (size: string): string => size.trim().toUpperCase().replace(/[X×]/, '*');

/** The class an exact size belongs to. */
export const resolutionClassOf = (size: string): string | undefined =>
  Object.keys(SIZES).find((name) => SIZES[name]?.includes(withAsterisk(size)));

/** An exact size of the model, from `1280x720` or from a class alone. */
function toExactSize(size: string, classes: readonly string[]): string {
  const word = withAsterisk(size);
  const [landscape] = classes.includes(word) ? (SIZES[word] ?? []) : [];
  if (landscape !== undefined) return landscape;
  const offered = classes.flatMap((name) => SIZES[name] ?? []);
  return offered.includes(word) ? word : rejectField('size', `must be one of ${[...classes, ...offered].join(', ')}`);
}

/** A class of the model, from itself or from the exact size whose pixels come nearest. */
function toResolutionClass(size: string, classes: readonly string[]): string {
  const word = withAsterisk(size);
  if (classes.includes(word)) return word;
  if (!/^\d{2,5}\*\d{2,5}$/.test(word)) return rejectField('size', `must be one of ${classes.join(', ')}`);
  const pixels = (text: string) => text.split('*').reduce((product, side) => product * Number(side), 1);
  const distance = (name: string) => Math.abs(Math.log(pixels(SIZES[name]?.[0] ?? '1*1') / pixels(word)));
  return classes.toSorted((a, b) => distance(a) - distance(b))[0] ?? rejectField('size', 'is not known');
}

function toSize(request: VideoRequest, kind: RequestKind, line: ModelLine | undefined, given: Parameters): Fields {
  const { size } = request;
  const classes = line?.classes ?? Object.keys(SIZES);
  const resolution = given.resolution?.toUpperCase();
  const exact = given.size === undefined ? undefined : withAsterisk(given.size);
  if (kind === 'words' || kind === 'references') {
    const asked = size ?? (resolution !== undefined && classes.includes(resolution) ? resolution : line?.classes[0]);
    return { resolution, size: exact ?? (asked === undefined ? undefined : toExactSize(asked, classes)) };
  }
  const wanted = exact ?? size;
  const isFree = kind.startsWith('media-') && kind !== 'media-picture';
  const ratio = isFree && wanted !== undefined ? matchAspectRatio(wanted, WAN_RATIOS) : undefined;
  if (isFree && ratio === undefined && size !== undefined && /[x*×]/i.test(size)) {
    rejectField('size', `must be one of ${classes.join(', ')}, or width x height of ${WAN_RATIOS.join(', ')}`);
  }
  const asked = wanted === undefined ? line?.classes[0] : toResolutionClass(wanted, classes);
  return { resolution: resolution ?? asked, size: exact, ratio };
}

// --- The whole ---

const DEFAULT_SECONDS = 5;

/** Models with one fixed length reject any other value, so the field is left out unless the caller requested a length. */
function toDuration({ seconds, model }: VideoRequest, line: ModelLine | undefined): number | undefined {
  if (!line) return seconds;
  const offered = line.seconds;
  const isOffered = (value: number) =>
    'values' in offered ? offered.values.includes(value) : value >= offered.min && value <= offered.max;
  if (seconds !== undefined && !isOffered(seconds)) {
    const words = 'values' in offered ? offered.values.join(' or ') : `${offered.min} to ${offered.max}`;
    rejectField('duration', `must be ${words} seconds for ${model}`);
  }
  // Without it the whole video is edited.
  if (line.kind === 'media-edit') return seconds;
  const isChoice = !('values' in offered) || offered.values.length > 1;
  return seconds ?? (isChoice ? DEFAULT_SECONDS : undefined);
}

/** The vendor's body for one request. @throws UnsupportedRequestError for what no field of it can express */
export function toBody(request: VideoRequest): RequestBody {
  const { input = {}, parameters = {} } = parseMetadata(request.metadata);
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Wan models');
  const line = modelLineOf(request.model);
  const kind = requestKindOf(request.model);
  checkInputVideo(request.model, kind, input);
  const pictures = TO_INPUT_FIELDS[kind](resolveImages(request, kind, input));
  const { media, ...rest } = pictures;
  const body = {
    model: request.model,
    input: omitUndefined({
      prompt: request.prompt || undefined,
      negative_prompt: input.negative_prompt,
      ...rest,
      media: Array.isArray(media) && media.length > 0 ? media : undefined,
      template: input.template,
    }),
    parameters: omitUndefined({
      ...toSize(request, kind, line, parameters),
      duration: toDuration(request, line),
      prompt_extend: parameters.prompt_extend ?? true,
      watermark: parameters.watermark,
      audio: parameters.audio,
      audio_setting: parameters.audio_setting,
      seed: parameters.seed,
    }),
  };
  return applyExtraFields(body, request.extraFields);
}
