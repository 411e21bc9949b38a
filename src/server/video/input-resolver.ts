import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import {
  describeWays,
  fits,
  type GenerationWay,
  type InputKind,
  type InputRole,
  type InputType,
  inputRules,
  type VideoOperation,
} from '../../contract/generation-ways.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { asObject, defined } from '../../contract/objects.ts';
import type { Price, VideoPrice } from '../../contract/pricing.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { Semaphore, SingleFlight } from '../platform/concurrency.ts';
import { measureSeconds, sniffMedia } from '../platform/media-length.ts';
import { type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import type {
  MediaFile,
  MediaInput,
  ModelCapability,
  RequestInput,
  VendorAdapter,
  VideoRequest,
} from '../vendors/adapter.ts';
import { type Content, type ContentDelivery, type PlayLinks, VENDOR_CREDENTIAL } from './content.ts';
import { type GivenInput, mapInputs, parseUrl, sizeOf, typeOfMedia } from './request-media.ts';
import type { Task, TaskStore } from './task-store.ts';
import { parseTerms } from './task-store.ts';

/** A file this service keeps: an upload, or a video made here. */
interface InputFile {
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  load(): Promise<Buffer>;
  /** A signed, single-purpose, short-lived URL for a vendor that fetches its inputs. */
  address(): Promise<string>;
  /** The same for the same content. */
  readonly key: string;
  /** The video it is, where it was made here. */
  readonly task?: Task;
}

/** Owner of the files a request may name. */
interface InputOwner {
  readonly userId: number;
  /** A video belongs to the token that submitted it; without a token all videos of the account count. */
  readonly tokenId?: number | undefined;
}

/** Finds a file by the id a caller wrote; undefined for an unknown one and for one of another account. */
export type FindInputFile = (fileId: string, owner: InputOwner) => Promise<InputFile | undefined>;

/** The part of a request that names inputs. */
interface RequestedInputs {
  readonly inputs?: readonly GivenInput[];
  readonly operation?: VideoOperation;
  readonly metadata?: VideoRequest['metadata'];
}

/** Inputs in the form adapters expect. */
export interface ResolvedInputs {
  readonly inputs: readonly ResolvedInput[];
  /** Whole seconds of all videos and audio files, each rounded up; undefined where nothing needed them. */
  readonly inputSeconds?: number;
  /** The video that is edited or extended, where it was made here. */
  readonly source?: Task;
}

/** Of a request without typed inputs. */
export const NO_INPUTS: ResolvedInputs = { inputs: [] };

interface InputResolverDependencies {
  /** Asked in order; the first that knows the id. */
  readonly finders: readonly FindInputFile[];
  readonly outbound: Pick<OutboundClient, 'requestUntrusted'>;
}

/** Larger files are not measured. */
const MAX_MEASURED_BYTES = 100_000_000;
const FETCH_TIMEOUT_MS = 60_000;
/** Files held in memory at a time while they are measured. */
const MAX_MEASURED_AT_ONCE = 2;
const MAX_WAITING = 1_000;
const RETRY_AFTER_SECONDS = 10;
/** Files whose length is known: a form asks for a quote at each change, and then submits the same files. */
const MAX_LENGTHS = 10_000;

interface Located extends Omit<GivenInput, 'type' | 'source'> {
  readonly type: InputType;
  readonly fileId?: string;
  readonly source: { readonly url: string } | { readonly bytes: Buffer; readonly mediaType: string } | InputFile;
}

/** Finds the files of a request, fills in roles, and measures the length of videos and audio where it counts. */
export class InputResolver {
  readonly #dependencies: InputResolverDependencies;
  readonly #measuring = new Semaphore(MAX_MEASURED_AT_ONCE, MAX_WAITING);
  readonly #lengths = new LRUCache<string, { readonly seconds: number | undefined }>(upToEntries(MAX_LENGTHS));
  readonly #lengthReads = new SingleFlight<number | undefined>();
  constructor(dependencies: InputResolverDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError that names the input */
  async resolve(
    { inputs: given = [], operation = 'generate', metadata = {} }: RequestedInputs,
    owner: InputOwner,
    use: InputUse,
    { adapter, price }: { readonly adapter: VendorAdapter; readonly price: Price },
  ): Promise<ResolvedInputs> {
    const located = await Promise.all(given.map((input) => this.#locate(input, owner)));
    const clips = adapter.clipsIn?.(metadata) ?? {};
    const hasVideo = located.some(({ type }) => type === 'video') || namesVideo(clips);
    const isCounted = countsInputSeconds(price, hasVideo);
    const named = isCounted ? await this.#measureNamed(clips) : [];
    if (given.length + named.length === 0) return NO_INPUTS;
    const isPriced = operation !== 'generate' || isCounted;
    const inputs = await Promise.all(
      withRoles(located, use).map(async (input): Promise<ResolvedInput> => {
        const { source, ...rest } = input;
        const seconds = await this.#measure(input, use, isPriced);
        const media = await toMedia(input, adapter);
        return defined({ ...rest, media, seconds: seconds === undefined ? undefined : Math.ceil(seconds) });
      }),
    );
    const measured = [...inputs.flatMap(({ seconds }) => seconds ?? []), ...named];
    const tasks = located.flatMap(({ source }) => ('task' in source ? (source.task ?? []) : []));
    return defined({
      inputs,
      inputSeconds: measured.length === 0 ? undefined : measured.reduce((sum, each) => sum + each, 0),
      source: operation === 'generate' ? undefined : tasks[0],
    });
  }

  /**
   * Downloads the inputs by URL that the vendor takes only by value.
   * @throws AppError `invalid_request` for one that cannot be downloaded, or is no file of its type
   */
  async download(
    request: VideoRequest,
    { takesByValue }: Pick<VendorAdapter, 'takesByValue'>,
    capability: Pick<ModelCapability, 'ways'> | undefined,
  ): Promise<VideoRequest> {
    if (takesByValue === undefined) return request;
    const rules = (capability?.ways ?? []).flatMap(({ inputs }) => inputs);
    const load = (type: InputType, inputs: readonly RequestInput[] = []): Promise<readonly RequestInput[]> => {
      const isNeeded = takesByValue(type, request);
      const limits = rules.filter((rule) => rule.type === type).map(({ maxBytes }) => maxBytes);
      const maxBytes = limits.length === 0 ? MAX_MEASURED_BYTES : Math.max(...limits);
      return Promise.all(
        inputs.map(async (input): Promise<RequestInput> => {
          if (!isNeeded || !('url' in input) || input.upload !== undefined) return input;
          const { url, ...rest } = input;
          return { ...rest, ...(await this.#downloadFile(url, type, maxBytes, request.filesField ?? type)) };
        }),
      );
    };
    const { images, videos, audios } = request;
    if (![...images, ...(videos ?? []), ...(audios ?? [])].some((input) => 'url' in input)) return request;
    const loaded = await Promise.all([load('image', images), load('video', videos), load('audio', audios)]);
    return { ...request, images: loaded[0], videos: loaded[1], audios: loaded[2] };
  }

  async #downloadFile(url: string, type: InputType, maxBytes: number, param: string): Promise<MediaFile> {
    const bytes = await this.#fetch(url, maxBytes);
    if (bytes === undefined)
      throw invalidRequest(`The ${type} at the given address could not be fetched, or is too large.`, param);
    const found = sniffMedia(bytes);
    if (found?.type !== type) throw invalidRequest(`The ${type} at the given address is of no known kind.`, param);
    return { bytes, mediaType: found.mediaType };
  }

  /** @throws AppError for an unknown id */
  async #locate(input: GivenInput, owner: InputOwner): Promise<Located> {
    const { source, param } = input;
    if (!('fileId' in source)) return { ...input, source, type: input.type ?? 'image' };
    const file = await this.find(source.fileId, owner);
    if (file === undefined) throw noSuchFile(param);
    const type = typeOfMedia(file.mediaType);
    const field = param.startsWith('inputs[') ? `${param}.type` : param;
    if (input.type !== undefined && input.type !== type)
      throw invalidRequest(`${field} is ${input.type}, but the file is of type ${type}.`, field);
    return { ...input, type, source: file, fileId: source.fileId };
  }

  /** The file with that id, if it belongs to the owner. */
  async find(fileId: string, owner: InputOwner): Promise<InputFile | undefined> {
    for (const find of this.#dependencies.finders) {
      const file = await find(fileId, owner);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /**
   * The request of a video that has waited, with the account's files read again, and large ones to be uploaded.
   * @throws AppError for a file that no longer exists
   */
  async renew(request: VideoRequest, owner: InputOwner, adapter: VendorAdapter): Promise<VideoRequest> {
    const renewed = new Map<string, ResolvedInput['media']>();
    const { images, videos = [], audios = [] } = request;
    for (const { fileId } of [...images, ...videos, ...audios]) {
      if (fileId === undefined || renewed.has(fileId)) continue;
      const file = await this.find(fileId, owner);
      if (file === undefined) throw new AppError('file_not_found');
      const media = { param: 'inputs', role: undefined, type: typeOfMedia(file.mediaType), source: file };
      renewed.set(fileId, await toMedia(media, adapter));
    }
    const complete = mapInputs(request, (input) => {
      const media = renewed.get(input.fileId ?? '') ?? ('bytes' in input ? uploadIfLarge(input, adapter) : undefined);
      return media === undefined
        ? input
        : { ...media, ...defined({ role: input.role, at: input.at, fileId: input.fileId }) };
    });
    return this.download(
      complete,
      adapter,
      adapter.models.find(({ id }) => id === request.model),
    );
  }

  /** A length that only a limit needs is left to the vendor where it cannot be measured. */
  async #measure(
    { param, type, role, source }: Located,
    use: InputUse,
    isPriced: boolean,
  ): Promise<number | undefined> {
    if (type === 'image') return undefined;
    const rules = inputRules((use.capability?.ways ?? []).filter(({ operation }) => operation === use.operation));
    const limit = rules.find((rule) => rule.type === type && rule.role === role)?.maxSeconds;
    if (!isPriced && limit === undefined) return undefined;
    const seconds = await this.#secondsOf(source);
    if (seconds === undefined && isPriced) throw unmeasured(param);
    return seconds;
  }

  /**
   * Whole seconds of clips named in `metadata`. Those at a vendor's own address (`asset://`) are left to the vendor.
   * @throws AppError for one that cannot be measured
   */
  #measureNamed(clips: Readonly<Record<string, unknown>>): Promise<readonly number[]> {
    const urls = Object.entries(clips).flatMap(([param, url]) =>
      typeof url === 'string' && /^https?:/i.test(url.trim()) ? [{ param, url: url.trim() }] : [],
    );
    return Promise.all(
      urls.map(async ({ param, url }) => {
        const seconds = await this.#secondsOf({ url: parseUrl(url, param) });
        if (seconds === undefined) throw unmeasured(param);
        return Math.ceil(seconds);
      }),
    );
  }

  /** @throws AppError `rate_limit_exceeded` if too many files wait to be measured */
  async #secondsOf(source: Located['source']): Promise<number | undefined> {
    if ('bytes' in source) return measureSeconds(source.bytes);
    if ('url' in source) return this.#secondsIn(() => this.#fetch(source.url, MAX_MEASURED_BYTES));
    const known = this.#lengths.get(source.key);
    if (known !== undefined) return known.seconds;
    return this.#lengthReads.run(source.key, async () => {
      const seconds = await this.#secondsIn(() => source.load());
      this.#lengths.set(source.key, { seconds });
      return seconds;
    });
  }

  async #secondsIn(read: () => Promise<Buffer | undefined>): Promise<number | undefined> {
    const release = await this.#measuring.acquire(FETCH_TIMEOUT_MS);
    if (release === undefined)
      throw new AppError('rate_limit_exceeded', {
        params: { seconds: String(RETRY_AFTER_SECONDS) },
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    const bytes = await read().finally(release);
    return bytes === undefined ? undefined : measureSeconds(bytes);
  }

  /** The bytes at a public URL; undefined if they cannot be fetched. */
  async #fetch(url: string, maxBytes: number): Promise<Buffer | undefined> {
    try {
      const { status, body } = await this.#dependencies.outbound.requestUntrusted({
        method: 'GET',
        url,
        signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
        maxBytes,
        totalTimeoutMs: FETCH_TIMEOUT_MS,
      });
      if (status === 200) return await buffer(body);
      body.destroy();
      return undefined;
    } catch (error) {
      if (error instanceof OutboundError) return undefined;
      throw error;
    }
  }
}

const unmeasured = (param: string): AppError =>
  invalidRequest(`${param} cannot be measured, and the price depends on its length.`, param);

/** An id of the OpenAI-style edit or extension is `video`; a vendor's own format has ids in place of URLs. */
function noSuchFile(param: string): AppError {
  if (param === 'video') return new AppError('task_not_exist');
  const field = /^input(?:s\[|_reference$)/.test(param) ? `${param}.file_id` : param;
  return invalidRequest(`${field} names no file of yours.`, field);
}

/** Whether one of the clips named in metadata is a video, by its path. */
const namesVideo = (clips: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(clips).some(([path, url]) => url !== undefined && /video[^.]*$/.test(path));

/** Whether the price of a request depends on the length of its inputs: some lines apply only to requests with a video. */
const countsInputSeconds = (price: Price, hasVideo: boolean): boolean =>
  ((price as VideoPrice).lines ?? []).some(
    ({ when = {}, per_input_second: rate = 0 }) =>
      (rate > 0 || Object.hasOwn(when, 'input_seconds')) &&
      (hasVideo || when.input_video?.every((value) => String(value) === 'true') !== true),
  );

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
  const spellNumbered = (text: string, word: string, number: string): string => {
    const type = TYPE_OF_WORD[word.toLowerCase()] ?? 'image';
    const input = given.filter((each) => each.type === type)[Number(number) - 1];
    return input === undefined ? text : spell(input);
  };
  const named = given.filter(({ name }) => name !== undefined);
  const spelled = promptName === undefined ? prompt : prompt.replace(NUMBERED, spellNumbered);
  return named
    .toSorted((one, other) => (other.name ?? '').length - (one.name ?? '').length)
    .reduce(
      (text, input) => text.replaceAll(new RegExp(`@${input.name}(?![\\p{L}\\p{N}_-])`, 'gu'), () => spell(input)),
      spelled,
    );
}

/** Stands for the vendor's URI until the file is uploaded. */
const PENDING_UPLOAD_URL = 'https://upload.invalid/';

const inlineLimit = (type: InputType, inlineBytes: VendorAdapter['inlineBytes']): number =>
  inlineBytes?.[type] ?? (type === 'image' ? Number.POSITIVE_INFINITY : 0);

function toPendingUpload(file: MediaFile): MediaInput {
  const { bytes, mediaType } = file;
  const upload = { key: hash('sha256', bytes), mediaType, size: bytes.length, load: async () => bytes };
  return { url: PENDING_UPLOAD_URL, upload };
}

/** A file that is too large to be sent by value as an upload; undefined for another one. */
function uploadIfLarge(
  { bytes, mediaType }: MediaFile,
  { inlineBytes, upload }: Pick<VendorAdapter, 'inlineBytes' | 'upload'>,
): MediaInput | undefined {
  const type = typeOfMedia(mediaType);
  const isLarge = bytes.length > inlineLimit(type, inlineBytes) && bytes.length <= (upload?.maxBytes[type] ?? 0);
  return isLarge ? toPendingUpload({ bytes, mediaType }) : undefined;
}

/** The request with images of the older fields that are too large to be sent by value as uploads. */
export function withUploads(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'inlineBytes' | 'upload'>,
): VideoRequest {
  const images = request.images.map((image) => {
    const pending = 'bytes' in image ? uploadIfLarge(image, adapter) : undefined;
    return pending === undefined ? image : { ...pending, ...defined({ role: image.role, at: image.at }) };
  });
  return { ...request, images };
}

/** By value where the vendor takes that, otherwise through its own upload, otherwise by URL. */
async function toMedia(
  { param, type, source }: Located,
  { title, inlineBytes, upload }: VendorAdapter,
): Promise<ResolvedInput['media']> {
  if ('url' in source) return source;
  const size = 'bytes' in source ? source.bytes.length : source.size;
  const limit = inlineLimit(type, inlineBytes);
  const isUploaded = size > limit && size <= (upload?.maxBytes[type] ?? 0);
  if (isUploaded && 'load' in source) {
    const { mediaType, key } = source;
    return { url: PENDING_UPLOAD_URL, upload: { key, mediaType, size, load: () => source.load() } };
  }
  if ('bytes' in source) {
    if (size <= limit) return source;
    if (isUploaded) return toPendingUpload(source);
    const why =
      limit === 0 ? `${title} fetches every ${type} by URL` : `${title} takes at most ${limit / 1e6} MB by value`;
    throw invalidRequest(`${param} must be given by url or file_id: ${why}.`, param);
  }
  return size <= limit ? { bytes: await source.load(), mediaType: source.mediaType } : { url: await source.address() };
}

/** A finished draft, and what a request for its final video takes from it. */
export interface FoundDraft {
  readonly task: Task;
  readonly request: Required<Pick<VideoRequest, 'sourceHandle' | 'draft'>>;
}

interface DraftSearch {
  readonly metadata: VideoRequest['metadata'];
  readonly owner: InputOwner;
  readonly adapter: Pick<VendorAdapter, 'name' | 'drafts'>;
  readonly model: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Finds the draft that `metadata` names.
 * @returns undefined if it names none
 * @throws AppError for one that cannot be made final, before anything is reserved
 */
export async function findDraft(
  store: Pick<TaskStore, 'findForToken' | 'findForUser'>,
  { metadata, owner: { userId, tokenId }, adapter, model, now }: DraftSearch,
): Promise<FoundDraft | undefined> {
  const { drafts } = adapter;
  const id = drafts?.idIn(metadata);
  if (drafts === undefined || id === undefined) return undefined;
  const task = await (tokenId === undefined ? store.findForUser(id, userId) : store.findForToken(id, tokenId));
  const isDraft = task?.vendor === adapter.name && drafts.isDraft(asObject(JSON.parse(task.request))?.metadata);
  if (task === undefined || !isDraft || task.status !== 'SUCCESS' || task.handle === null)
    throw invalidRequest('metadata.draft_task names no finished draft of yours.', 'metadata.draft_task');
  if (task.model !== model)
    throw invalidRequest(`model must be ${task.model}: the draft was generated with it.`, 'model');
  if (now >= task.finish_time + drafts.lifetimeMs)
    throw invalidRequest('metadata.draft_task names a draft that has expired.', 'metadata.draft_task');
  const facts = parseTerms(task.pricing)?.facts ?? {};
  const draft = { seconds: Number(facts.seconds ?? 0), hasVideo: facts.input_video === 'true' };
  return { task, request: { sourceHandle: JSON.parse(task.handle), draft } };
}

interface SourceVideosDependencies {
  readonly store: Pick<TaskStore, 'findForToken' | 'findForUser'>;
  readonly contentDelivery: Pick<ContentDelivery, 'open'>;
  readonly playLinks: Pick<PlayLinks, 'create'>;
  readonly clock: Clock;
  /** Base URL of this service. */
  readonly baseUrl: string;
}

/** Videos made here, as inputs of other videos. */
export class SourceVideos {
  readonly #dependencies: SourceVideosDependencies;
  constructor(dependencies: SourceVideosDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws AppError `task_not_completed` */
  readonly find: FindInputFile = async (id, owner) => {
    const task = await this.#findTask(id, owner);
    return task === undefined ? undefined : this.#open(task);
  };

  #findTask(id: string, { userId, tokenId }: InputOwner): Promise<Task | undefined> {
    const { store } = this.#dependencies;
    return tokenId === undefined ? store.findForUser(id, userId) : store.findForToken(id, tokenId);
  }

  /**
   * Reads the file only when its bytes are needed: a form asks for a quote at each change, and the length of the same
   * video is known after the first one.
   */
  async #open(task: Task): Promise<InputFile> {
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const { playLinks, clock, baseUrl } = this.#dependencies;
    const content = await this.#openContent(task);
    const announced = content.headers['content-length'] ?? '';
    let bytes: Promise<Buffer> | undefined;
    if (/^\d{1,15}$/.test(announced)) content.body.destroy();
    else bytes = readWhole(content.body);
    return {
      mediaType: 'video/mp4',
      size: bytes === undefined ? Number(announced) : (await bytes).length,
      key: task.id,
      task,
      load: () => {
        bytes ??= this.#openContent(task).then(({ body }) => readWhole(body));
        return bytes;
      },
      address: async () => baseUrl + playLinks.create(task.public_id, VENDOR_CREDENTIAL, clock.now()),
    };
  }

  #openContent(task: Task): Promise<Content> {
    return this.#dependencies.contentDelivery.open(task, {
      signal: AbortSignal.timeout(LOAD_TIMEOUT_MS),
      watchAccess: () => () => undefined,
    });
  }
}

/** @throws AppError `content_unavailable` for a file that breaks off */
const readWhole = (body: Readable): Promise<Buffer> =>
  buffer(body).catch((error: unknown) => {
    throw isAppError(error) ? error : new AppError('content_unavailable', { cause: error });
  });

const LOAD_TIMEOUT_MS = 120_000;
