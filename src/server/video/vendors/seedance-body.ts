import { type Static, Type } from 'typebox';
import type { Json, VideoRequest } from '../vendor.ts';
import { applyExtra, compact, ratioOf, refuse, type VendorBody } from '../vendor-body.ts';
import { toUrlOrDataUrl } from '../vendor-media.ts';
import { metadataReader } from '../vendor-metadata.ts';
import { type Family, familyOf, SEEDANCE_RATIOS } from './seedance-models.ts';

/** The body of `POST /contents/generations/tasks` (Volcengine Ark, "Create a video generation task"). */

const Address = Type.Union([Type.Object({ url: Type.String() }), Type.String()]);
/** One element of the content array. A clip is called `video` here and `video_url` by the vendor; both are taken. */
const Element = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.String()),
  image_url: Type.Optional(Address),
  video: Type.Optional(Address),
  video_url: Type.Optional(Address),
  role: Type.Optional(Type.String()),
});
type Element = Static<typeof Element>;

/** Numbers and flags written as text are what forms and command lines send. */
const Whole = Type.Union([Type.Integer(), Type.String({ pattern: '^-?\\d{1,10}$' })]);
const Flag = Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])]);
const toWhole = (value: Static<typeof Whole> | undefined) => (value === undefined ? undefined : Number(value));
const toFlag = (value: Static<typeof Flag> | undefined) =>
  value === undefined ? undefined : value === true || value === 'true';

const readMetadata = metadataReader(
  Type.Object({
    content: Type.Optional(Type.Array(Element, { maxItems: 32 })),
    resolution: Type.Optional(Type.String()),
    ratio: Type.Optional(Type.String()),
    frames: Type.Optional(Whole),
    seed: Type.Optional(Whole),
    generate_audio: Type.Optional(Flag),
    camera_fixed: Type.Optional(Flag),
    watermark: Type.Optional(Flag),
  }),
);

export const METADATA = readMetadata.schema;

// --- The content array ---

interface Item {
  readonly kind: 'text' | 'image' | 'video';
  /** The words, or the address. */
  readonly value: string;
  readonly role?: string | undefined;
}

const ROLES = ['reference_image', 'first_frame', 'last_frame'];

function toItem(element: Element, index: number): Item {
  const at = `metadata.content.${index}`;
  const { type, text, image_url, role } = element;
  const addressOf = (given: Static<typeof Address> | undefined): string => {
    const url = typeof given === 'string' ? given : given?.url;
    return url || refuse(at, 'has no address');
  };
  if (type === 'text') return text === undefined ? refuse(`${at}.text`, 'is missing') : { kind: 'text', value: text };
  if (type === 'video' || type === 'video_url') {
    return { kind: 'video', value: addressOf(element.video ?? element.video_url) };
  }
  if (type !== 'image_url') return refuse(`${at}.type`, 'must be text, image_url or video');
  if (role !== undefined && !ROLES.includes(role)) refuse(`${at}.role`, `must be one of ${ROLES.join(', ')}`);
  return { kind: 'image', value: addressOf(image_url), role };
}

/**
 * The vendor tells three ways of working apart by roles alone: a first frame, a first and a last frame, references.
 * Pictures without a role get theirs from their number and their company.
 */
function withRoles(items: readonly Item[]): readonly Item[] {
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

const WIRE: Readonly<Record<Item['kind'], (item: Item) => VendorBody>> = {
  text: ({ value }) => ({ type: 'text', text: value }),
  image: ({ value, role }) => compact({ type: 'image_url', image_url: { url: value }, role }),
  video: ({ value }) => ({ type: 'video_url', video_url: { url: value }, role: 'reference_video' }),
};

/** Commands the vendor still obeys inside a prompt; those that set the price must be said where the price is read. */
const COMMAND = /(?:^|\s)--(rs|resolution|dur|duration|frames|fps)(?=\s|=|$)/i;

function checkWords(items: readonly Item[]): void {
  for (const { kind, value } of items) {
    const command = kind === 'text' ? COMMAND.exec(value)?.[1] : undefined;
    if (command) refuse('prompt', `must not carry --${command}: use duration, size or metadata`);
  }
}

function checkImages(items: readonly Item[], given: number, family: Family, model: string): void {
  const param = given > 1 ? 'images' : 'image';
  const roles = items.flatMap(({ kind, role }) => (kind === 'image' ? [role] : []));
  const references = roles.filter((role) => role === 'reference_image').length;
  const frames = roles.length - references;
  if (given === 0) {
    if (model.includes('i2v') && roles.length === 0) refuse('image', `is needed: ${model} begins with a picture`);
  } else if (references > family.references) {
    refuse(param, `cannot be used: ${model} takes ${family.references || 'no'} reference pictures`);
  } else if (frames > family.frames) {
    refuse(
      param,
      `cannot be used: ${model} takes ${['no picture', 'a first frame', 'a first and a last frame'][family.frames]}`,
    );
  }
}

function toContent(request: VideoRequest, elements: readonly Element[], family: Family | undefined): readonly Json[] {
  const named = elements.map(toItem);
  const isSaid = request.prompt === '' || named.some(({ kind, value }) => kind === 'text' && value === request.prompt);
  const items = withRoles([
    ...(isSaid ? [] : [{ kind: 'text' as const, value: request.prompt }]),
    ...request.images.map((image) => ({ kind: 'image' as const, value: toUrlOrDataUrl(image) })),
    ...named,
  ]);
  checkWords(items);
  if (family) checkImages(items, request.images.length, family, request.model);
  return items.map((item) => WIRE[item.kind](item));
}

// --- Frame and length ---

/** Pixels of a square at each resolution; a size belongs to the nearest. */
const PIXELS: Readonly<Record<string, number>> = {
  '480p': 640 ** 2,
  '720p': 960 ** 2,
  '1080p': 1440 ** 2,
  '4k': 2880 ** 2,
};

function readSize(size: string, resolutions: readonly string[]): { resolution: string; ratio?: string } {
  const word = size.toLowerCase();
  if (resolutions.includes(word)) return { resolution: word };
  const ratio = ratioOf(size, SEEDANCE_RATIOS);
  const [width = 0, height = 0] = size.split(/[x*×]/i).map(Number);
  if (ratio === undefined) {
    return refuse(
      'size',
      `must be one of ${resolutions.join(', ')}, or width x height of ${SEEDANCE_RATIOS.join(', ')}`,
    );
  }
  const distance = (name: string) => Math.abs(Math.log((PIXELS[name] ?? 1) / (width * height)));
  const [nearest = '720p'] = resolutions.toSorted((a, b) => distance(a) - distance(b));
  return { resolution: nearest, ratio };
}

export const FRAMES_PER_SECOND = 24;

function checkSeconds(seconds: number, family: Family, model: string): void {
  if (seconds === -1 && family.auto) return;
  if (seconds < family.min || seconds > family.max) {
    refuse('duration', `must be ${family.min} to ${family.max} seconds for ${model}`);
  }
}

/** The vendor's body for one request. Throws VendorRefusal for what no field of it can say. */
export function toBody(request: VideoRequest): VendorBody {
  const { model, seconds, size } = request;
  const metadata = readMetadata(request.metadata);
  const family = familyOf(model);
  if (request.mode !== undefined) refuse('mode', 'is not a field of Seedance models');
  if (seconds !== undefined && family) checkSeconds(seconds, family, model);
  const frame = size === undefined ? undefined : readSize(size, family?.resolutions ?? Object.keys(PIXELS));
  const frames = toWhole(metadata.frames);
  const body = compact({
    model,
    content: toContent(request, metadata.content ?? [], family),
    resolution: metadata.resolution?.toLowerCase() ?? frame?.resolution ?? family?.resolution,
    ratio: metadata.ratio ?? frame?.ratio,
    // Frames win over a length at the vendor, so a length of our own would only confuse.
    duration: seconds ?? (frames === undefined ? 5 : undefined),
    frames,
    seed: toWhole(metadata.seed),
    generate_audio: toFlag(metadata.generate_audio),
    camera_fixed: toFlag(metadata.camera_fixed),
    watermark: toFlag(metadata.watermark),
  });
  return applyExtra(body, request.extra);
}
