import { type Static, Type } from 'typebox';
import type { RequestJson, VideoRequest } from '../adapter-types.ts';
import { type MediaText, toUrlOrDataUrl } from '../media-to-base64-or-url.ts';
import { createMetadataParser } from '../metadata-parser.ts';
import { matchAspectRatio, rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { familyOf, type ModelFamily, SEEDANCE_RATIOS } from './models.ts';

/** The body of `POST /contents/generations/tasks` (Volcengine Ark, "Create a video generation task"). */

const UrlField = Type.Union([Type.Object({ url: Type.String() }), Type.String()]);
/** One element of the content array. A clip is called `video` here and `video_url` by the vendor; both are taken. */
const ContentElement = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.String()),
  image_url: Type.Optional(UrlField),
  video: Type.Optional(UrlField),
  video_url: Type.Optional(UrlField),
  role: Type.Optional(Type.String()),
});
type ContentElement = Static<typeof ContentElement>;

/** Forms and command lines send numbers and flags as text. */
const IntegerOrText = Type.Union([Type.Integer(), Type.String({ pattern: '^-?\\d{1,10}$' })]);
const BooleanOrText = Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])]);
const toInteger = (value: Static<typeof IntegerOrText> | undefined) =>
  value === undefined ? undefined : Number(value);
const toBoolean = (value: Static<typeof BooleanOrText> | undefined) =>
  value === undefined ? undefined : value === true || value === 'true';

const parseMetadata = createMetadataParser(
  Type.Object({
    content: Type.Optional(Type.Array(ContentElement, { maxItems: 32 })),
    resolution: Type.Optional(Type.String()),
    ratio: Type.Optional(Type.String()),
    frames: Type.Optional(IntegerOrText),
    seed: Type.Optional(IntegerOrText),
    generate_audio: Type.Optional(BooleanOrText),
    camera_fixed: Type.Optional(BooleanOrText),
    watermark: Type.Optional(BooleanOrText),
  }),
);

export const METADATA = parseMetadata.schema;

// --- The content array ---

interface ContentItem {
  readonly kind: 'text' | 'image' | 'video';
  /** The prompt, the URL, or a picture as a data URL. */
  readonly value: MediaText;
  readonly role?: string | undefined;
}

const ROLES = ['reference_image', 'first_frame', 'last_frame'];

function toItem(element: ContentElement, index: number): ContentItem {
  const at = `metadata.content.${index}`;
  const { type, text, image_url, role } = element;
  const addressOf = (given: Static<typeof UrlField> | undefined): string => {
    const url = typeof given === 'string' ? given : given?.url;
    return url || rejectField(at, 'has no address');
  };
  if (type === 'text')
    return text === undefined ? rejectField(`${at}.text`, 'is missing') : { kind: 'text', value: text };
  if (type === 'video' || type === 'video_url') {
    return { kind: 'video', value: addressOf(element.video ?? element.video_url) };
  }
  if (type !== 'image_url') return rejectField(`${at}.type`, 'must be text, image_url or video');
  if (role !== undefined && !ROLES.includes(role)) rejectField(`${at}.role`, `must be one of ${ROLES.join(', ')}`);
  return { kind: 'image', value: addressOf(image_url), role };
}

/**
 * The vendor distinguishes three modes by roles alone: a first frame, a first and a last frame, references.
 * Pictures without a role get one by their number and by the roles of the others.
 */
function assignRoles(items: readonly ContentItem[]): readonly ContentItem[] {
  const images = items.filter(({ kind }) => kind === 'image');
  const isReference =
    images.length > 2 || items.some(({ kind, role }) => kind === 'video' || role === 'reference_image');
  const free = ['first_frame', 'last_frame'].filter((role) => !images.some((image) => image.role === role));
  return items.map((item) =>
    item.kind !== 'image' || item.role !== undefined
      ? item
      : { ...item, role: isReference ? 'reference_image' : free.shift() },
  );
}

const TO_WIRE: Readonly<Record<ContentItem['kind'], (item: ContentItem) => RequestBody>> = {
  text: ({ value }) => ({ type: 'text', text: value }),
  image: ({ value, role }) => omitUndefined({ type: 'image_url', image_url: { url: value }, role }),
  video: ({ value }) => ({ type: 'video_url', video_url: { url: value }, role: 'reference_video' }),
};

/**
 * Commands the vendor still executes inside a prompt; those that change the price are refused: only fields are priced. How loosely the
 * vendor reads them is not known, so two dashes of any kind count, with or without a blank around the name, where a number follows.
 */
const COMMAND_NAMES = 'resolution|rs|duration|dur|frames|fps';
const PROMPT_COMMANDS = [
  new RegExp(`(?:^|\\s)--(${COMMAND_NAMES})(?=\\s|=|$)`, 'i'),
  new RegExp(`(?<![\\p{Pd}−ー])(?:[\\p{Pd}−ー]{2,}|[⸺⸻])[^\\S\\n]*(${COMMAND_NAMES})\\s*[=:]?\\s*[\\p{Pd}−]?\\d`, 'iu'),
];

/** The command in a text, also in full-width characters or with invisible ones in between. */
function commandIn(text: string): string | undefined {
  const plain = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  return PROMPT_COMMANDS.map((pattern) => pattern.exec(plain)?.[1]).find((name) => name !== undefined);
}

function rejectPromptCommands(items: readonly ContentItem[]): void {
  for (const { kind, value } of items) {
    const command = kind === 'text' ? commandIn(String(value)) : undefined;
    if (command) rejectField('prompt', `must not carry --${command}: use duration, size or metadata`);
  }
}

function checkImageCounts(items: readonly ContentItem[], given: number, family: ModelFamily, model: string): void {
  const param = given > 1 ? 'images' : 'image';
  const roles = items.flatMap(({ kind, role }) => (kind === 'image' ? [role] : []));
  const references = roles.filter((role) => role === 'reference_image').length;
  const frames = roles.length - references;
  if (given === 0) {
    if (model.includes('i2v') && roles.length === 0) rejectField('image', `is needed: ${model} begins with a picture`);
  } else if (references > family.references) {
    rejectField(param, `cannot be used: ${model} takes ${family.references || 'no'} reference pictures`);
  } else if (frames > family.frames) {
    rejectField(
      param,
      `cannot be used: ${model} takes ${['no picture', 'a first frame', 'a first and a last frame'][family.frames]}`,
    );
  }
}

function toContent(
  request: VideoRequest,
  elements: readonly ContentElement[],
  family: ModelFamily | undefined,
): readonly RequestJson[] {
  const named = elements.map(toItem);
  const isSaid = request.prompt === '' || named.some(({ kind, value }) => kind === 'text' && value === request.prompt);
  const items = assignRoles([
    ...(isSaid ? [] : [{ kind: 'text' as const, value: request.prompt }]),
    ...request.images.map((image) => ({ kind: 'image' as const, value: toUrlOrDataUrl(image) })),
    ...named,
  ]);
  rejectPromptCommands(items);
  if (family) checkImageCounts(items, request.images.length, family, request.model);
  return items.map((item) => TO_WIRE[item.kind](item));
}

// --- Frame and length ---

/** Pixels of a square at each resolution; a size belongs to the nearest. */
const PIXELS: Readonly<Record<string, number>> = {
  '480p': 640 ** 2,
  '720p': 960 ** 2,
  '1080p': 1440 ** 2,
  '4k': 2880 ** 2,
};

function parseSize(size: string, resolutions: readonly string[]): { resolution: string; ratio?: string } {
  const word = size.toLowerCase();
  if (resolutions.includes(word)) return { resolution: word };
  const ratio = matchAspectRatio(size, SEEDANCE_RATIOS);
  const [width = 0, height = 0] = size.split(/[x*×]/i).map(Number);
  if (ratio === undefined) {
    return rejectField(
      'size',
      `must be one of ${resolutions.join(', ')}, or width x height of ${SEEDANCE_RATIOS.join(', ')}`,
    );
  }
  const distance = (name: string) => Math.abs(Math.log((PIXELS[name] ?? 1) / (width * height)));
  const [nearest = '720p'] = resolutions.toSorted((a, b) => distance(a) - distance(b));
  return { resolution: nearest, ratio };
}

export const FRAMES_PER_SECOND = 24;

function checkSeconds(seconds: number, family: ModelFamily, model: string): void {
  if (seconds === -1 && family.auto) return;
  if (seconds < family.min || seconds > family.max) {
    rejectField('duration', `must be ${family.min} to ${family.max} seconds for ${model}`);
  }
}

/** The vendor's body for one request. @throws UnsupportedRequestError for what no field of it can express */
export function toBody(request: VideoRequest): RequestBody {
  const { model, seconds, size } = request;
  const metadata = parseMetadata(request.metadata);
  const family = familyOf(model);
  if (request.mode !== undefined) rejectField('mode', 'is not a field of Seedance models');
  if (seconds !== undefined && family) checkSeconds(seconds, family, model);
  const frame = size === undefined ? undefined : parseSize(size, family?.resolutions ?? Object.keys(PIXELS));
  const frames = toInteger(metadata.frames);
  const body = omitUndefined({
    model,
    content: toContent(request, metadata.content ?? [], family),
    resolution: metadata.resolution?.toLowerCase() ?? frame?.resolution ?? family?.resolution,
    ratio: metadata.ratio ?? frame?.ratio,
    // The vendor ignores the length where frames are given, so no default length is sent.
    duration: seconds ?? (frames === undefined ? 5 : undefined),
    frames,
    seed: toInteger(metadata.seed),
    generate_audio: toBoolean(metadata.generate_audio),
    camera_fixed: toBoolean(metadata.camera_fixed),
    watermark: toBoolean(metadata.watermark),
  });
  return applyExtraFields(body, request.extraFields);
}
