import {
  describeWays,
  fits,
  type GenerationWay,
  INPUT_ROLES,
  INPUT_TYPES,
  type InputKind,
  type InputRole,
  type InputType,
  inputRules,
  sortImages,
  VIDEO_OPERATIONS,
  type VideoOperation,
} from '../../contract/generation-ways.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { defined, isObject, type UntrustedObject } from '../../contract/objects.ts';
import { MAX_INPUTS } from '../../contract/video.ts';
import { type AppError, invalidRequest } from '../platform/app-error.ts';
import { type Base64Text, decodeBase64, stripDataUrlPrefix } from '../platform/base64.ts';
import type { UploadedFile } from '../platform/http/body.ts';
import { type BodyImages, JsonRejectedError, parseRequestJson } from '../platform/json.ts';
import { sniffMedia } from '../platform/media-length.ts';
import type { MediaFile, MediaInput, ModelCapability, RequestInput, VideoRequest } from '../vendors/adapter.ts';
import { parseUrl, toFilename } from './request-media.ts';

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

const MEMBERS: ReadonlySet<string> = new Set(['type', 'role', 'url', 'file_id', 'data', 'file', 'at', 'name']);
/** Members with a URL in the message parts of chat APIs. */
const URL_MEMBERS = ['url', 'image_url', 'video_url', 'audio_url'];
const TYPE_WORD = /^(?:input_)?(image|video|audio)(?:_url)?$/i;
const NAME = /^[\p{L}\p{N}_-]{1,40}$/u;
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
  const stray = Object.keys(entry).find((key) => !MEMBERS.has(key) && !URL_MEMBERS.includes(key));
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
  if (url !== undefined && /^https?:/i.test(url)) return { url: parseUrl(url, `${param}.url`) };
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
  if (typeof given !== 'string' || !NAME.test(given))
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

/** An input whose bytes or URL are known, with its type and role. */
export interface ResolvedInput extends InputKind {
  readonly param: string;
  readonly at?: number;
  readonly name?: string;
  /** The account's file it was read from. */
  readonly fileId?: string;
  readonly media: MediaInput;
  /** Measured seconds, rounded up; undefined for images and where nothing needs them. */
  readonly seconds?: number;
}

/** A model as far as it decides about inputs; without a capability nothing is refused. */
export interface InputUse {
  readonly model: string;
  readonly operation: VideoOperation;
  readonly capability: Pick<ModelCapability, 'ways'> | undefined;
}

const waysFor = ({ capability, operation }: InputUse): readonly GenerationWay[] =>
  (capability?.ways ?? []).filter((way) => way.operation === operation);

/**
 * Fills in the roles the caller left out: a single image is the first frame, a video to edit or extend the source, and
 * everything else a reference. A model without that role, but with another one for the type, gets the other one.
 */
export function withRoles<T extends { readonly type: InputType; readonly role: InputRole | undefined }>(
  inputs: readonly T[],
  use: InputUse,
): readonly (T & InputKind)[] {
  const rules = inputRules(waysFor(use));
  const isSingle = inputs.filter(({ type }) => type === 'image').length === 1;
  const hasSource = inputs.some(({ role }) => role === 'source');
  const firstVideo = inputs.find(({ type, role }) => type === 'video' && role === undefined);
  return inputs.map((input) => {
    if (input.role !== undefined) return { ...input, role: input.role };
    const isSource = use.operation !== 'generate' && !hasSource && input === firstVideo;
    const usual: InputRole = isSource ? 'source' : input.type === 'image' && isSingle ? 'first_frame' : 'reference';
    const taken = rules.filter(({ type }) => type === input.type).map(({ role }) => role);
    const [other] = taken;
    return { ...input, role: taken.length === 1 && other !== undefined ? other : usual };
  });
}

/**
 * Refuses inputs the model does not take, before anything is reserved.
 * @throws AppError that names the input and what the model takes
 */
export function assertInputsFit(inputs: readonly ResolvedInput[], use: InputUse): void {
  if (use.capability === undefined) return;
  const ways = waysFor(use);
  const taken = describeWays(ways);
  const refuse = (param: string, why: Localized): AppError =>
    invalidRequest(
      {
        en: `${param} cannot be used: ${why.en}. ${use.model} takes: ${taken}.`,
        'zh-CN': `${param} 不可用：${why['zh-CN']}。${use.model} 支持：${taken}。`,
      },
      param,
    );
  for (const [index, input] of inputs.entries()) {
    const { param, type, role, media, seconds = 0 } = input;
    const rules = inputRules(ways).filter((rule) => rule.type === type);
    if (rules.length === 0) throw refuse(`${param}.type`, REASONS.type(type));
    const rule = rules.find((each) => each.role === role);
    if (rule === undefined) throw refuse(`${param}.role`, REASONS.role(`${type} ${role}`));
    const earlier = inputs.slice(0, index).filter((other) => other.type === type && other.role === role).length;
    if (earlier >= rule.max) throw refuse(param, REASONS.count(String(rule.max)));
    if (sizeOf(media) > rule.maxBytes) throw refuse(param, REASONS.bytes((rule.maxBytes / 1e6).toFixed(1)));
    if (rule.maxSeconds !== undefined && seconds > rule.maxSeconds)
      throw refuse(param, REASONS.seconds(String(rule.maxSeconds)));
  }
  if (!ways.some((way) => fits(way, inputs)))
    throw refuse(fieldOf(inputs), inputs.length === 0 ? REASONS.none() : REASONS.together());
}

/** The member of the body that holds the inputs, `inputs` if there are several. */
function fieldOf(inputs: readonly ResolvedInput[]): string {
  const fields = new Set(inputs.map(({ param }) => param.replace(/[.[].*$/, '')));
  const [field = 'inputs'] = fields;
  return fields.size === 1 ? field : 'inputs';
}

/** Bytes of a file; 0 of one by URL, which only the vendor checks. */
export const sizeOf = (media: MediaInput): number =>
  'bytes' in media ? media.bytes.length : (media.upload?.size ?? 0);

/** Reasons against an input. */
const REASONS = {
  type: (type) => ({ en: `the model takes no ${type} for this`, 'zh-CN': `模型在此不接受 ${type}` }),
  role: (kind) => ({ en: `the model takes no ${kind} for this`, 'zh-CN': `模型在此不接受 ${kind}` }),
  count: (max) => ({ en: `there are more than ${max} of this role`, 'zh-CN': `该角色的数量超过 ${max}` }),
  bytes: (max) => ({ en: `it is larger than ${max} MB`, 'zh-CN': `大小超过 ${max} MB` }),
  seconds: (max) => ({ en: `it is longer than ${max} seconds`, 'zh-CN': `时长超过 ${max} 秒` }),
  none: () => ({ en: 'inputs are missing', 'zh-CN': '缺少输入素材' }),
  together: () => ({ en: 'these do not go together', 'zh-CN': '这些素材不能一起使用' }),
} as const satisfies Readonly<Record<string, (value: string) => Localized>>;

const ORDER: readonly InputRole[] = ['first_frame', 'last_frame'];
const rank = ({ role }: InputKind): number => (ORDER.includes(role) ? ORDER.indexOf(role) : ORDER.length);

/**
 * Inputs by type, in the order of the adapters.
 *
 * @param isFramesFirst false: in the caller's order
 */
export function sortInputs(inputs: readonly ResolvedInput[], isFramesFirst = true) {
  const of = (type: InputType): readonly ResolvedInput[] => {
    const found = inputs.filter((input) => input.type === type);
    return isFramesFirst ? found.toSorted((one, other) => rank(one) - rank(other)) : found;
  };
  const toRequest = ({ media, role, at, fileId }: ResolvedInput): RequestInput => ({
    ...media,
    role,
    ...defined({ at, fileId }),
  });
  return {
    images: of('image').map(toRequest),
    videos: of('video').map(toRequest),
    audios: of('audio').map(toRequest),
    ordered: { image: of('image'), video: of('video'), audio: of('audio') },
  };
}

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

/** Names of inputs in prompts: `@Image1`, `@图1`, or the caller's own name of an input. */
const NUMBERED = /@(image|video|audio|图片|图|视频|音频) ?(\d{1,2})(?!\d)/gi;
const TYPE_OF_WORD: Readonly<Record<string, InputType>> = {
  image: 'image',
  video: 'video',
  audio: 'audio',
  图片: 'image',
  图: 'image',
  视频: 'video',
  音频: 'audio',
};

/**
 * The prompt with the vendor's spelling of the names of inputs; names of no input, and all numbered names where the
 * vendor documents no spelling, are left alone.
 *
 * @param given in the caller's order, by which numbers count
 * @param ordered by type, in the order in which they are sent
 */
export function spellNames(
  prompt: string,
  given: readonly ResolvedInput[],
  ordered: Readonly<Record<InputType, readonly ResolvedInput[]>>,
  promptName: ((type: InputType, number: number) => string) | undefined,
): string {
  const spell = (input: ResolvedInput): string => {
    const number = ordered[input.type].indexOf(input) + 1;
    return promptName?.(input.type, number) ?? `@${input.type[0]?.toUpperCase()}${input.type.slice(1)}${number}`;
  };
  const named = given.filter(({ name }) => name !== undefined);
  const spelled =
    promptName === undefined
      ? prompt
      : prompt.replace(NUMBERED, (text, word: string, number: string) => {
          const type = TYPE_OF_WORD[word.toLowerCase()] ?? 'image';
          const input = given.filter((each) => each.type === type)[Number(number) - 1];
          return input === undefined ? text : spell(input);
        });
  return named
    .toSorted((one, other) => (other.name ?? '').length - (one.name ?? '').length)
    .reduce(
      (text, input) => text.replaceAll(new RegExp(`@${input.name}(?![\\p{L}\\p{N}_-])`, 'gu'), () => spell(input)),
      spelled,
    );
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
