import { Type } from 'typebox';
import type { Json, VideoRequest } from '../vendor.ts';
import { applyExtra, compact, ratioOf, refuse, type VendorBody } from '../vendor-body.ts';
import { toUrlOrDataUrl } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { type Kind, kindOf, type Line, lineOf, PICTURES, SIZES, WAN_RATIOS } from './wan-models.ts';

/** The body `{model, input, parameters}` of a video task (Alibaba Cloud Model Studio, "Create a task"). */

const Text = Type.Optional(Type.String());
const Flag = Type.Optional(Type.Boolean());
const readMetadata = metadataReader(
  Type.Object({
    input: Type.Optional(
      Type.Object({
        negative_prompt: Text,
        first_frame_url: Text,
        last_frame_url: Text,
        audio_url: Text,
        template: Text,
      }),
    ),
    parameters: Type.Optional(
      Type.Object({
        resolution: Text,
        size: Text,
        prompt_extend: Flag,
        watermark: Flag,
        audio: Flag,
        seed: Type.Optional(Type.Integer()),
      }),
    ),
  }),
);
export const METADATA = readMetadata.schema;
type Metadata = ReturnType<typeof readMetadata>;
type Input = NonNullable<Metadata['input']>;
type Settings = NonNullable<Metadata['parameters']>;

// --- Pictures ---

interface Given {
  readonly images: readonly string[];
  /** First and last frame, from the pictures and from the metadata. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly metadata: Input;
}
type Fields = Readonly<Record<string, Json | undefined>>;

const item = (type: string, url: string | undefined): readonly Json[] => (url === undefined ? [] : [{ type, url }]);
const asItems = (type: string, urls: readonly string[]) => urls.flatMap((url) => item(type, url));
const asFrames = ({ first, last, metadata }: Given): readonly Json[] => [
  ...item('first_frame', first),
  ...item('last_frame', last),
  ...item('driving_audio', metadata.audio_url),
];
/** The keys of the metadata as they are, for the models that have fields of these names. */
const named = ({ metadata }: Given): Fields => ({
  first_frame_url: metadata.first_frame_url,
  last_frame_url: metadata.last_frame_url,
  audio_url: metadata.audio_url,
});

const INPUT: Readonly<Record<Kind, (given: Given) => Fields>> = {
  words: named,
  picture: (given) => ({ ...named(given), img_url: given.images[0] }),
  frames: (given) => ({ ...named(given), first_frame_url: given.first, last_frame_url: given.last }),
  references: (given) => ({ ...named(given), reference_urls: given.images }),
  'media-words': named,
  'media-picture': (given) => ({ media: asFrames(given) }),
  'media-references': ({ images, metadata }) => ({
    media: [...asItems('reference_image', images), ...item('first_frame', metadata.first_frame_url)],
    audio_url: metadata.audio_url,
  }),
  'media-all': (given) => {
    if (given.images.length < 3) return { media: asFrames(given) };
    const { metadata, images } = given;
    const frames = asFrames({ ...given, first: metadata.first_frame_url, last: metadata.last_frame_url });
    return { media: [...asItems('reference_image', images), ...frames] };
  },
};

function readPictures({ images, model }: VideoRequest, kind: Kind, metadata: Input): Given {
  const [min, max] = PICTURES[kind];
  const urls = images.map(toUrlOrDataUrl);
  const { first_frame_url: start, last_frame_url: end } = metadata;
  if (urls.length > max)
    refuse(
      max === 0 ? 'image' : 'images',
      `cannot be used: ${model} takes ${max || 'no'} picture${max > 1 ? 's' : ''}`,
    );
  if (urls.length + (start === undefined ? 0 : 1) < min) refuse('image', `is needed: ${model} begins with a picture`);
  if (kind.endsWith('frames') || kind === 'media-picture' || kind === 'media-all') {
    if (start !== undefined && urls.length > 0 && start !== urls[0]) {
      refuse('image', 'and metadata.input.first_frame_url are two different first frames');
    }
    if (end !== undefined && urls.length > 1 && end !== urls[1]) {
      refuse('images', 'and metadata.input.last_frame_url are two different last frames');
    }
  }
  return { images: urls, first: start ?? urls[0], last: end ?? urls[1], metadata };
}

// --- Size ---

const asterisk = (size: string): string => size.trim().toUpperCase().replace(/[X×]/, '*');

/** The class an exact size belongs to. */
export const classOf = (size: string): string | undefined =>
  Object.keys(SIZES).find((name) => SIZES[name]?.includes(asterisk(size)));

/** An exact size of the model, from `1280x720` or from a class alone. */
function toExact(size: string, classes: readonly string[]): string {
  const word = asterisk(size);
  const [landscape] = classes.includes(word) ? (SIZES[word] ?? []) : [];
  if (landscape !== undefined) return landscape;
  const offered = classes.flatMap((name) => SIZES[name] ?? []);
  return offered.includes(word) ? word : refuse('size', `must be one of ${[...classes, ...offered].join(', ')}`);
}

/** A class of the model, from itself or from the exact size whose pixels come nearest. */
function toClass(size: string, classes: readonly string[]): string {
  const word = asterisk(size);
  if (classes.includes(word)) return word;
  if (!/^\d{2,5}\*\d{2,5}$/.test(word)) return refuse('size', `must be one of ${classes.join(', ')}`);
  const pixels = (text: string) => text.split('*').reduce((product, side) => product * Number(side), 1);
  const distance = (name: string) => Math.abs(Math.log(pixels(SIZES[name]?.[0] ?? '1*1') / pixels(word)));
  return classes.toSorted((a, b) => distance(a) - distance(b))[0] ?? refuse('size', 'is not known');
}

function toSize(request: VideoRequest, kind: Kind, line: Line | undefined, given: Settings): Fields {
  const { size } = request;
  const classes = line?.classes ?? Object.keys(SIZES);
  const resolution = given.resolution?.toUpperCase();
  const exact = given.size === undefined ? undefined : asterisk(given.size);
  if (kind === 'words' || kind === 'references') {
    const asked = size ?? (resolution !== undefined && classes.includes(resolution) ? resolution : line?.classes[0]);
    return { resolution, size: exact ?? (asked === undefined ? undefined : toExact(asked, classes)) };
  }
  const wanted = exact ?? size;
  const isFree = kind === 'media-words' || kind === 'media-references' || kind === 'media-all';
  const ratio = isFree && wanted !== undefined ? ratioOf(wanted, WAN_RATIOS) : undefined;
  if (isFree && ratio === undefined && size !== undefined && /[x*×]/i.test(size)) {
    refuse('size', `must be one of ${classes.join(', ')}, or width x height of ${WAN_RATIOS.join(', ')}`);
  }
  const asked = wanted === undefined ? line?.classes[0] : toClass(wanted, classes);
  return { resolution: resolution ?? asked, size: exact, ratio };
}

// --- The whole ---

const DEFAULT_SECONDS = 5;

/** Models of one length refuse to be told it in other words, so it is left out where nobody asked. */
function toDuration({ seconds, model }: VideoRequest, line: Line | undefined): number | undefined {
  if (!line) return seconds;
  const offered = line.seconds;
  const isOffered = (value: number) =>
    'values' in offered ? offered.values.includes(value) : value >= offered.min && value <= offered.max;
  if (seconds !== undefined && !isOffered(seconds)) {
    const words = 'values' in offered ? offered.values.join(' or ') : `${offered.min} to ${offered.max}`;
    refuse('duration', `must be ${words} seconds for ${model}`);
  }
  const isChoice = !('values' in offered) || offered.values.length > 1;
  return seconds ?? (isChoice ? DEFAULT_SECONDS : undefined);
}

/** The vendor's body for one request. Throws VendorRefusal for what no field of it can say. */
export function toBody(request: VideoRequest): VendorBody {
  const { input = {}, parameters = {} } = readMetadata(request.metadata);
  if (request.mode !== undefined) refuse('mode', 'is not a field of Wan models');
  const line = lineOf(request.model);
  const kind = kindOf(request.model);
  const pictures = INPUT[kind](readPictures(request, kind, input));
  const { media, ...rest } = pictures;
  const body = {
    model: request.model,
    input: compact({
      prompt: request.prompt || undefined,
      negative_prompt: input.negative_prompt,
      ...rest,
      media: Array.isArray(media) && media.length > 0 ? media : undefined,
      template: input.template,
    }),
    parameters: compact({
      ...toSize(request, kind, line, parameters),
      duration: toDuration(request, line),
      prompt_extend: parameters.prompt_extend ?? true,
      watermark: parameters.watermark,
      audio: parameters.audio,
      seed: parameters.seed,
    }),
  };
  return applyExtra(body, request.extra);
}
