import {
  INPUT_ROLES,
  INPUT_TYPES,
  type InputKind,
  type InputRole,
  type InputType,
  sortImages,
  VIDEO_OPERATIONS,
  type VideoOperation,
} from '../../contract/generation-ways.ts';
import { defined, isObject, type UntrustedObject } from '../../contract/objects.ts';
import { MAX_INPUTS, STANDARD_FIELDS, VIDEO_JSON_LIMIT } from '../../contract/video.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import {
  Base64Text,
  decodeBase64,
  imageTooLarge,
  MAX_IMAGE_BYTES,
  MAX_IMAGE_LENGTH,
  parseDataUrl,
  stripDataUrlPrefix,
} from '../platform/base64.ts';
import type { UploadedFile } from '../platform/http/body.ts';
import { type BodyImages, JsonRejectedError, parseRequestJson } from '../platform/json.ts';
import { detectMediaType, registeredType } from '../platform/media.ts';
import { sniffMedia } from '../platform/media-length.ts';
import { assertPublicUrl } from '../platform/outbound/guard.ts';
import type { MediaFile, MediaInput, ModelCapability, RequestInput, VideoRequest } from '../vendors/adapter.ts';

/** `any`: a frame or a reference, depending on how the model interprets an image in this position. */
type ImageRole = 'any' | 'first' | 'last' | 'reference';

/** An image of a request as sent by the caller, not yet parsed. */
interface GivenImage {
  /** The member of the body, or the part of the form. */
  readonly field: string;
  /** Path in the body, for error messages. */
  readonly param: string;
  readonly role: ImageRole;
  readonly content: string | Base64Text | UploadedFile;
}

/**
 * The media of a request: images of the common fields first, then those of fields with a clear meaning, then uploads.
 */
export interface GivenMedia {
  readonly images: readonly GivenImage[];
  /** Members that hold media but match no rule of this module. */
  readonly unread: readonly string[];
}

/** Names for an image in other APIs and their clients, without the parts removed by {@link stemOf}. */
const ROLE_BY_STEM: ReadonlyMap<string, ImageRole> = new Map(
  Object.entries({
    any: 'image img picture photo pic binary input_image input_img image_input init_image source_image prompt_image input_reference',
    first:
      'first_frame first_frame_image first_image start_frame start_frame_image start_image image_start initial_frame initial_image begin_frame begin_image head_frame head_image',
    last: 'last_frame last_frame_image last_image end_frame end_frame_image end_image image_end final_frame final_image tail_frame tail_image image_tail',
    reference:
      'reference reference_image reference_img reference_picture ref_image ref_img image_reference image_ref subject_reference subject_image',
  } satisfies Record<ImageRole, string>).flatMap(([role, stems]) =>
    stems.split(' ').map((stem) => [stem, role as ImageRole] as const),
  ),
);

/** Suffixes of a field name that do not change its meaning. */
const FORM_WORDS = new Set('url urls uri uris base64 b64 data file files list path paths'.split(' '));

const wordsOf = (name: string): string[] =>
  name
    .replace(/\[.*$/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

/**
 * A field name in snake case and singular, without the words that only describe the encoding: `imageUrls` becomes
 * `image`.
 */
function stemOf(name: string): string {
  const words = wordsOf(name);
  while (words.length > 1 && FORM_WORDS.has(words.at(-1) ?? '')) words.pop();
  return words.map((word) => word.replace(/(?<=[a-z]{2})s$/, '')).join('_');
}

const imageRoleOf = (name: string): ImageRole | undefined => ROLE_BY_STEM.get(stemOf(name));

/** Members of an object that may hold its image. */
const IMAGE_KEYS = ['url', 'image_url', 'uri', 'image', 'data', 'base64', 'b64_json', 'src'];

interface Place {
  readonly field: string;
  readonly param: string;
  readonly role: ImageRole;
}

/** Collects the images in a member, which may be a string, an object or a list; empty ones count as absent. */
function* imagesIn(value: unknown, place: Place, bodyImages: BodyImages): Generator<GivenImage> {
  const { param } = place;
  if (value === undefined || value === null || value === '') return;
  if (typeof value === 'string') {
    yield { ...place, content: bodyImages.get(param) ?? value };
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries())
      yield* imagesIn(inner, { ...place, param: `${param}.${index}` }, bodyImages);
    return;
  }
  if (!isObject(value)) throw notAnImage(param);
  const keys = Object.keys(value);
  if (keys.length === 0) return;
  // Form notation such as `images[0]`.
  if (keys.every((key) => /^\d{1,2}$/.test(key))) {
    for (const key of keys) yield* imagesIn(value[key], { ...place, param: `${param}.${key}` }, bodyImages);
    return;
  }
  const key = IMAGE_KEYS.find((each) => value[each] !== undefined && value[each] !== null && value[each] !== '');
  if (key === undefined) throw notAnImage(param);
  const given = typeof value.role === 'string' && value.role !== '' ? value.role : undefined;
  const role = given === undefined ? place.role : imageRoleOf(given);
  if (role === undefined) throw invalidRequest(`${param}.role is not an image role.`, `${param}.role`);
  yield* imagesIn(value[key], { ...place, role, param: `${param}.${key}` }, bodyImages);
}

const notAnImage = (param: string): AppError =>
  invalidRequest(`${param} must be an http(s) address, a data URL or Base64.`, param);

const isPlain = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean';

const MAX_IMAGES = 20;
const COMMON_FIELDS = ['image', 'images', 'input_reference'];

/** Finds the media in a body of the unified or OpenAI's format. */
export function findMedia(
  body: { readonly [key: string]: unknown },
  files: readonly UploadedFile[],
  bodyImages: BodyImages,
): GivenMedia {
  const others = Object.keys(body).filter((field) => !STANDARD_FIELDS.has(field) && field !== 'callback_url');
  const named = others.filter((field) => imageRoleOf(field) !== undefined && !isPlain(body[field]));
  const images = [...COMMON_FIELDS, ...named].flatMap((field) => [
    ...imagesIn(body[field], { field, param: field, role: imageRoleOf(field) ?? 'any' }, bodyImages),
  ]);
  if (images.length > MAX_IMAGES) throw invalidRequest(`images may hold ${MAX_IMAGES} images at most.`, 'images');
  return {
    images: [...images, ...files.map(toGivenFile)],
    unread: others.filter((field) => !named.includes(field) && holdsMedia(field, body[field])),
  };
}

/** A part with an unknown name is taken as the image, unless its name identifies it as something else. */
function toGivenFile(content: UploadedFile): GivenImage {
  const { field } = content;
  const role = imageRoleOf(field);
  if (role === undefined && wordsOf(field).some((word) => /^(mask|audio|voice|video|clip)s?$/.test(word)))
    throw unusable(field);
  return { field, param: field, role: role ?? 'any', content };
}

const MEDIA_WORD =
  /^(images?|img|pictures?|photos?|pics?|frames?|keyframes?|videos?|clips?|movies?|audios?|music|sounds?|voices?|speech|masks?|media|references?|refs?|assets?|attachments?|files?|uploads?)$/;
const ID_WORDS = /^(?:.+_)?(?:file|image|video|audio|voice|asset|media|upload)_ids?$/;
const ADDRESS = /^\s*(?:[a-z][a-z0-9+.-]{0,20}:\/\/|\/\/|data:)/i;
const MEDIA_DATA_URL = /^\s*data:\s*(?:image|video|audio)\//i;
const LONG_BASE64 = /^[A-Za-z0-9+/_=-]{64}/;
const MAX_DEPTH = 8;

/** Whether a member of a body holds media: a URL or Base64 under a media name, a file id, or a data URL. */
function holdsMedia(name: string, value: unknown, isMedia = false, depth = 0): boolean {
  const words = wordsOf(name);
  const isNamed = isMedia || words.some((word) => MEDIA_WORD.test(word));
  if (typeof value === 'string') {
    if (MEDIA_DATA_URL.test(value)) return true;
    if (value !== '' && ID_WORDS.test(words.join('_'))) return true;
    return isNamed && (ADDRESS.test(value) || LONG_BASE64.test(value));
  }
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return false;
  // `{type: "image", url}` in a list of parts.
  const { type } = value as { readonly type?: unknown };
  const isPart = isNamed || (typeof type === 'string' && wordsOf(type).some((word) => MEDIA_WORD.test(word)));
  return Object.entries(value).some(([key, inner]) =>
    holdsMedia(Array.isArray(value) ? name : key, inner, isPart, depth + 1),
  );
}

const unusable = (field: string): AppError =>
  invalidRequest(
    `${field} is not used here: images go into image, images or input_reference, other media into metadata where the model has them.`,
    field,
  );

/** Determines which of the given media a model accepts. */
export interface MediaUse {
  readonly model: string;
  /** Undefined for a model that is not listed. */
  readonly capability: Pick<ModelCapability, 'images' | 'ways'> | undefined;
  /** Whether a member is an argument of the model's media schema. */
  readonly isDeclared: (field: string) => boolean;
  /** Unread members reach the upstream under their own names. */
  readonly passthrough: boolean;
}

/**
 * Returns the images in the order adapters expect, and the members they came from.
 * @throws AppError for unusable media
 */
export function arrangeMedia(
  { images, unread }: GivenMedia,
  { model, capability, isDeclared, passthrough }: MediaUse,
): { readonly images: readonly RequestInput[]; readonly fields: ReadonlySet<string> } {
  const isPassedOn = (field: string): boolean =>
    isDeclared(field) || (passthrough && !['any', 'first'].includes(imageRoleOf(field) ?? ''));
  const stray = unread.find((field) => !isPassedOn(field));
  if (stray !== undefined) throw unusable(stray);
  const read = images.filter(
    ({ field, content }) => isFile(content) || COMMON_FIELDS.includes(field) || !isPassedOn(field),
  );
  const used = withoutRepeats(read);
  const of = (role: ImageRole) => used.filter((each) => each.role === role);
  const [any, first, last, references] = [of('any'), of('first'), of('last'), of('reference')];
  const roles = capability?.images.roles ?? (['first_frame', 'last_frame', 'reference'] as const);
  const reject = (image: GivenImage | undefined, why: string): void => {
    if (image !== undefined) throw invalidRequest(`${image.param} cannot be used: ${why}.`, image.field);
  };
  if (roles.length === 0) reject(used[0], `${model} takes no images`);
  if (!roles.includes('first_frame')) reject(first[0], `${model} takes no first frame`);
  if (!roles.includes('last_frame')) reject(last[0], `${model} takes no last frame`);
  if (!roles.includes('reference')) reject(references[0], `${model} takes no reference images`);
  reject(first[1] ?? last[1], 'there is another image for this frame');
  if (any.length + references.length > 0) reject(first[0], 'there is another image beside the first frame');
  if (references.length > 0 || any.length + first.length !== 1)
    reject(last[0], 'a last frame needs one image, the first frame, beside it');
  const ordered = parsed([...first, ...any, ...references, ...last]);
  // Images without a role get one by their number, which may be that of frames.
  const arranged =
    references.length === 0 ? ordered : ordered.map((image) => ({ ...image, role: 'reference' as const }));
  return { images: arranged, fields: new Set(read.map(({ field }) => field)) };
}

/**
 * Drops images that a field repeats from an earlier one, except where one image is both first and last frame. Within a
 * field every image counts: the same image twice is the start and end of a loop.
 */
function withoutRepeats(images: readonly GivenImage[]): readonly GivenImage[] {
  const kept: GivenImage[] = [];
  images.forEach((image, index) => {
    const same = (others: readonly GivenImage[]) => others.filter((other) => isRepeated(image, other));
    const inField = same(images.slice(0, index)).filter(({ field }) => field === image.field);
    if (same(kept).length <= inField.length) kept.push(image);
  });
  return kept;
}

const isRepeated = (image: GivenImage, other: GivenImage): boolean =>
  !isFile(image.content) &&
  !isFile(other.content) &&
  (other.role === 'last') === (image.role === 'last') &&
  isSameImage(other.content, image.content);

const isSameImage = (one: string | Base64Text, other: string | Base64Text): boolean =>
  one === other || (one instanceof Base64Text && other instanceof Base64Text && one.equals(other));

const isFile = (content: GivenImage['content']): content is UploadedFile =>
  typeof content === 'object' && 'mimeType' in content;

function parsed(images: readonly GivenImage[]): readonly MediaInput[] {
  let total = 0;
  return images.map(({ content, param, field }) => {
    if (isFile(content)) return fromUpload(content);
    total += content.length;
    if (total > VIDEO_JSON_LIMIT) throw new AppError('body_too_large', { params: { limit: '32 MB' }, param });
    return parseMedia(content, field === 'input_reference' ? field : param);
  });
}

/** A shorter text is too short to contain the bytes that identify the image type. */
const MIN_BASE64_LENGTH = 16;

/** Reads an image given in JSON: an http(s) URL, a data URL, whose declared type is not trusted, or bare Base64. */
export function parseMedia(given: string | Base64Text, param: string): MediaInput {
  if (typeof given !== 'string') return { bytes: given.bytes, mediaType: mediaTypeOf(given.bytes, param) };
  if (/^https?:/i.test(given)) return { url: parseUrl(given, param) };
  const base64 = stripDataUrlPrefix(given);
  if (/^data:/i.test(base64)) throw invalidRequest(`${param} must be an image in Base64.`, param);
  if (given.length > MAX_IMAGE_LENGTH) throw imageTooLarge(param);
  const bytes = base64.length < MIN_BASE64_LENGTH ? undefined : decodeBase64(base64);
  if (bytes === undefined) throw notAnImage(param);
  return { bytes, mediaType: mediaTypeOf(bytes, param) };
}

export const toFilename = (name: string): string => name.replace(/[^\w.-]/g, '_').slice(0, 80) || 'upload';

/** An uploaded file part. */
export const fromUpload = ({ field, filename, bytes }: UploadedFile): MediaInput => ({
  bytes,
  mediaType: mediaTypeOf(bytes, field),
  filename: toFilename(filename),
});

/** Detected from the bytes; the declared type is not trusted. */
function mediaTypeOf(bytes: Buffer, param: string): string {
  if (bytes.length > MAX_IMAGE_BYTES) throw imageTooLarge(param);
  const mediaType = detectMediaType(bytes.toString('base64', 0, 24));
  if (mediaType === undefined)
    throw invalidRequest(`${param} is not an image of a supported type (PNG, JPEG, WebP, GIF, BMP, TIFF).`, param);
  return mediaType;
}

/**
 * Returns a body in which `form(image)` replaces each image, of which the body holds only the start. Only the objects
 * around an image are copied.
 */
export function withImages(
  body: UntrustedObject,
  images: BodyImages,
  form: (image: Base64Text) => unknown,
): UntrustedObject {
  let whole = body;
  for (const [path, image] of images)
    if (Object.hasOwn(body, path.split('.', 1)[0] ?? '')) whole = replaceAt(whole, path.split('.'), form(image));
  return whole;
}

/** A copy with another value at the path, whose holders exist. */
export function replaceAt<T extends object>(holder: T, [key = '', ...rest]: readonly string[], value: unknown): T {
  const inner = rest.length === 0 ? value : replaceAt(Reflect.get(holder, key) as object, rest, value);
  return Object.assign(Array.isArray(holder) ? [...holder] : { ...holder }, { [key]: inner }) as T;
}

/** @throws AppError for anything but an http(s) URL without credentials */
export function parseUrl(text: string, param: string): string {
  if (text.length > 8192 || !URL.canParse(text)) throw invalidRequest(`${param} is not a valid URL.`, param);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw invalidRequest(`${param} must not carry a user name or password.`, param);
  return text;
}

/**
 * A data URL in the form vendors accept: the registered media type, without parameters. Any other text is returned
 * unchanged.
 */
function normalizeDataUrl(text: string): string {
  const { mediaType = '', base64 = '' } = parseDataUrl(text) ?? {};
  return mediaType === '' ? text : `data:${registeredType(mediaType)};base64,${base64}`;
}

/** Normalizes every data URL in a value; unchanged parts are not copied. */
export function normalizeDataUrls<T>(value: T): T {
  if (typeof value === 'string') return (/^data:/i.test(value) ? normalizeDataUrl(value) : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const changed = entries.flatMap(([key, inner]) => {
    const normal: unknown = normalizeDataUrls(inner);
    return normal === inner ? [] : [[key, normal] as const];
  });
  if (changed.length === 0) return value;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  return Object.assign(copy, Object.fromEntries(changed)) as T;
}

/** Where an input's bytes are. */
export type InputSource =
  | { readonly url: string }
  | MediaFile
  /** An uploaded file, or a video made here. */
  | { readonly fileId: string };

/** One input as the caller described it. */
export interface GivenInput {
  /** `inputs[0]`, for error messages. */
  readonly param: string;
  /** Undefined for a file id without a type: the file determines it. */
  readonly type: InputType | undefined;
  readonly role: InputRole | undefined;
  readonly at?: number;
  readonly name?: string;
  readonly source: InputSource;
}

const INPUT_MEMBERS: ReadonlySet<string> = new Set(['type', 'role', 'url', 'file_id', 'data', 'file', 'at', 'name']);
/** Members with a URL in the message parts of chat APIs. */
const URL_MEMBERS = ['url', 'image_url', 'video_url', 'audio_url'];
const TYPE_WORD = /^(?:input_)?(image|video|audio)(?:_url)?$/i;
const INPUT_NAME = /^[\p{L}\p{N}_-]{1,40}$/u;
const MAX_AT_SECONDS = 3_600;

/** Other words for a role, without the words for its type. */
const ROLE_WORDS: Readonly<Record<string, InputRole>> = {
  first: 'first_frame',
  start_frame: 'first_frame',
  last: 'last_frame',
  end_frame: 'last_frame',
  key_frame: 'keyframe',
  ref: 'reference',
};

/**
 * Reads the member `inputs` of a body, and the files of a form that belong to it (`inputs[0].file`).
 * @throws AppError that names the field, such as `inputs[0].role`
 */
export function parseInputs(
  value: unknown,
  files: readonly UploadedFile[],
  bodyImages: BodyImages,
): readonly GivenInput[] {
  const entries = entriesOf(value);
  for (const { field } of files) {
    const index = FILE_PART.exec(field)?.[1];
    if (index !== undefined && !entries.has(index)) entries.set(index, {});
  }
  if (entries.size > MAX_INPUTS) throw invalidRequest(`inputs may hold ${MAX_INPUTS} at most.`, 'inputs');
  return [...entries].map(([index, entry]) => {
    const file = files.find(({ field }) => FILE_PART.exec(field)?.[1] === index);
    return toInput(`inputs[${index}]`, entry, file, bodyImages.get(`inputs.${index}.data`));
  });
}

/** Names of the form's parts with a file of `inputs`. */
const FILE_PART = /^inputs\[(\d{1,2})\](?:\.file|\[file\])?$/;
export const isInputPart = (field: string): boolean => FILE_PART.test(field);

function entriesOf(value: unknown): Map<string, unknown> {
  if (value === undefined || value === null || value === '') return new Map();
  if (typeof value === 'string') return entriesOf(parseList(value));
  if (Array.isArray(value)) return new Map(value.map((entry: unknown, index) => [String(index), entry]));
  if (isObject(value) && Object.keys(value).every((key) => /^\d{1,2}$/.test(key)))
    return new Map(Object.entries(value).toSorted(([one], [other]) => Number(one) - Number(other)));
  throw invalidRequest('inputs must be a list of objects.', 'inputs');
}

function parseList(text: string): unknown {
  try {
    return parseRequestJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof JsonRejectedError)) throw error;
    throw invalidRequest('inputs must be the JSON of a list of objects.', 'inputs');
  }
}

function toInput(
  param: string,
  entry: unknown,
  file: UploadedFile | undefined,
  decoded: Base64Text | undefined,
): GivenInput {
  if (!isObject(entry)) throw invalidRequest(`${param} must be an object with type and url, file_id or data.`, param);
  const stray = Object.keys(entry).find((key) => !INPUT_MEMBERS.has(key) && !URL_MEMBERS.includes(key));
  if (stray !== undefined) throw invalidRequest(`${param}.${stray} is not a field of an input.`, `${param}.${stray}`);
  const source = sourceOf(param, entry, file, decoded);
  const type = typeOf(param, entry, source);
  const role = roleOf(param, entry.role);
  const at = secondsAt(param, entry.at, role);
  const name = nameOf(param, entry.name);
  return { param, type, role, source, ...defined({ at, name }) };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function textOf(entry: UntrustedObject, key: string, param: string): string | undefined {
  const value = entry[key];
  if (!isGiven(value)) return undefined;
  if (isObject(value) && URL_MEMBERS.includes(key) && key !== 'url') return textOf(value, 'url', `${param}.${key}`);
  if (typeof value !== 'string') throw invalidRequest(`${param}.${key} must be a string.`, `${param}.${key}`);
  return value.trim();
}

function sourceOf(
  param: string,
  entry: UntrustedObject,
  file: UploadedFile | undefined,
  decoded: Base64Text | undefined,
): InputSource {
  const urls = URL_MEMBERS.flatMap((key) => textOf(entry, key, param) ?? []);
  const fileId = textOf(entry, 'file_id', param);
  const data = decoded ?? textOf(entry, 'data', param);
  const given = [...urls, fileId, data, file].filter((each) => each !== undefined);
  if (given.length !== 1) throw invalidRequest(`${param} must have exactly one of url, file_id and data.`, param);
  if (fileId !== undefined) return { fileId };
  if (file !== undefined) return toFile(`${param}.file`, file.bytes, file.filename);
  const [url] = urls;
  if (url !== undefined && /^https?:/i.test(url)) {
    assertPublicUrl(`${param}.url`, url);
    return { url: parseUrl(url, `${param}.url`) };
  }
  if (url !== undefined && !/^data:/i.test(url))
    throw invalidRequest(`${param}.url must be an http(s) address or a data URL.`, `${param}.url`);
  return toFile(`${param}.${url === undefined ? 'data' : 'url'}`, bytesOf(param, data ?? url ?? ''));
}

function bytesOf(param: string, data: string | Base64Text): Buffer {
  if (typeof data !== 'string') return data.bytes;
  const bytes = decodeBase64(stripDataUrlPrefix(data));
  if (bytes === undefined || bytes.length === 0)
    throw invalidRequest(`${param}.data must be Base64 or a data URL.`, `${param}.data`);
  return bytes;
}

function toFile(param: string, bytes: Buffer, filename?: string): MediaFile {
  const media = sniffMedia(bytes);
  if (media === undefined)
    throw invalidRequest(
      `${param} is no file of a known kind (PNG, JPEG, WebP, GIF, BMP, TIFF, MP4, MOV, WebM, MP3, WAV, M4A, OGG).`,
      param,
    );
  return defined({
    bytes,
    mediaType: media.mediaType,
    filename: filename === undefined ? undefined : toFilename(filename),
  });
}

/** `image/png` is an image. */
export const typeOfMedia = (mediaType: string): InputType => {
  const type = INPUT_TYPES.find((each) => mediaType.startsWith(`${each}/`));
  return type ?? 'image';
};

function typeOf(param: string, { type: given }: UntrustedObject, source: InputSource): InputType | undefined {
  const found = 'bytes' in source ? typeOfMedia(source.mediaType) : undefined;
  if (!isGiven(given)) {
    if (found !== undefined || 'fileId' in source) return found;
    throw invalidRequest(`${param}.type is required: ${INPUT_TYPES.join(', ')}.`, `${param}.type`);
  }
  const word = TYPE_WORD.exec(typeof given === 'string' ? given.trim() : '')?.[1]?.toLowerCase();
  const type = INPUT_TYPES.find((each) => each === word);
  if (type === undefined)
    throw invalidRequest(`${param}.type must be one of ${INPUT_TYPES.join(', ')}.`, `${param}.type`);
  if (found !== undefined && found !== type)
    throw invalidRequest(`${param}.type is ${type}, but the file is of type ${found}.`, `${param}.type`);
  return type;
}

function roleOf(param: string, given: unknown): InputRole | undefined {
  if (!isGiven(given)) return undefined;
  const word =
    typeof given === 'string'
      ? given
          .trim()
          .toLowerCase()
          .replace(/[\s-]+/g, '_')
      : '';
  const plain = word.replace(/_(?:image|video|audio)$/, '');
  const role =
    INPUT_ROLES.find((each) => each === plain) ?? (Object.hasOwn(ROLE_WORDS, plain) ? ROLE_WORDS[plain] : undefined);
  if (role === undefined)
    throw invalidRequest(`${param}.role must be one of ${INPUT_ROLES.join(', ')}.`, `${param}.role`);
  return role;
}

function secondsAt(param: string, given: unknown, role: InputRole | undefined): number | undefined {
  if (!isGiven(given)) {
    if (role === 'keyframe') throw invalidRequest(`${param}.at is required for a keyframe.`, `${param}.at`);
    return undefined;
  }
  const at = typeof given === 'string' && /^ *\d{1,4}(\.\d{1,6})? *$/.test(given) ? Number(given) : given;
  if (typeof at !== 'number' || !(at >= 0 && at <= MAX_AT_SECONDS))
    throw invalidRequest(`${param}.at must be seconds from 0 to ${MAX_AT_SECONDS}.`, `${param}.at`);
  if (role !== 'keyframe') throw invalidRequest(`${param}.at belongs to a keyframe.`, `${param}.at`);
  return at;
}

function nameOf(param: string, given: unknown): string | undefined {
  if (!isGiven(given)) return undefined;
  if (typeof given !== 'string' || !INPUT_NAME.test(given))
    throw invalidRequest(`${param}.name must be 1 to 40 letters, digits, - or _.`, `${param}.name`);
  return given;
}

/** @throws AppError for an unknown word */
export function parseOperation(given: unknown): VideoOperation {
  if (!isGiven(given)) return 'generate';
  const word = typeof given === 'string' ? given.trim().toLowerCase() : '';
  const operation = VIDEO_OPERATIONS.find((each) => each === word);
  if (operation === undefined)
    throw invalidRequest(`operation must be one of ${VIDEO_OPERATIONS.join(', ')}.`, 'operation');
  return operation;
}

/** The images, videos and audio files of a request. */
export const inputsOf = ({ images, videos = [], audios = [] }: VideoRequest): readonly RequestInput[] => [
  ...images,
  ...videos,
  ...audios,
];

/** The request with each image, video and audio file replaced. */
export function mapInputs(request: VideoRequest, change: (input: RequestInput) => RequestInput): VideoRequest {
  const { images, videos, audios } = request;
  return defined({
    ...request,
    images: images.map(change),
    videos: videos?.map(change),
    audios: audios?.map(change),
  });
}

/** Bytes of a file; 0 of one by URL, which only the vendor checks. */
export const sizeOf = (media: MediaInput): number =>
  'bytes' in media ? media.bytes.length : (media.upload?.size ?? 0);

/** The kinds of typed inputs. */
export const typedKinds = (type: InputType, inputs: readonly RequestInput[]): readonly InputKind[] =>
  inputs.map(({ role = 'reference' }) => ({ type, role }));

/** The kinds of images: by role, or by their number in the older fields. */
export function kindsOfImages(images: readonly RequestInput[]): readonly InputKind[] {
  if (images.some(({ role }) => role !== undefined)) return typedKinds('image', images);
  const { first, last, references } = sortImages(images);
  return [
    ...(first === undefined ? [] : [{ type: 'image', role: 'first_frame' } as const]),
    ...(last === undefined ? [] : [{ type: 'image', role: 'last_frame' } as const]),
    ...references.map(() => ({ type: 'image', role: 'reference' }) as const),
  ];
}
