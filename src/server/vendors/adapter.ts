import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { GenerationWay, InputRole, InputType, VideoOperation } from '../../contract/generation-ways.ts';
import type { VendorId } from '../../contract/model-kinds.ts';
import { defined } from '../../contract/objects.ts';
import type { VideoPrice } from '../../contract/pricing.ts';
import type { TaskStatus } from '../../contract/task-states.ts';
import { Base64Text, LONG_TEXT_LENGTH, stripDataUrlPrefix } from '../platform/base64.ts';
import { pickNamedKeys, type SchemaKeywords } from '../platform/named-keys.ts';
import { type AdapterContext, UnsupportedRequestError, type VendorError } from '../upstreams/upstream.ts';
import { asText } from './untrusted-json.ts';

/** A secret string. `writeOnly` makes forms mask the input. */
export const SecretText = Type.String({ minLength: 1, writeOnly: true });

/** Credentials that consist of one API key. */
export const API_KEY_CREDENTIALS = Type.Object({ api_key: SecretText }, { additionalProperties: false });

/** Credentials that consist of an access key and a secret key. */
export const KEY_PAIR_CREDENTIALS = Type.Object(
  { access_key: SecretText, secret_key: SecretText },
  { additionalProperties: false },
);

/** One field of a credential form. */
export interface CredentialField {
  readonly name: string;
  /** `json`: an object, pasted or read from a file. */
  readonly kind: 'secret' | 'text' | 'json';
}

/** The fields of a form: one list for each valid set of credentials, in the schema's order. */
export function listCredentialForms(schema: TSchema): readonly (readonly CredentialField[])[] {
  const { anyOf = [schema] } = schema as SchemaKeywords;
  return anyOf.map((option) =>
    Object.entries((option as SchemaKeywords).properties ?? {}).map(([name, property]) => {
      const { type, writeOnly } = property as SchemaKeywords;
      return { name, kind: type === 'object' ? 'json' : writeOnly === true ? 'secret' : 'text' };
    }),
  );
}

/** Any JSON value. Handles and responses are stored unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON of a request that may contain images. */
export type RequestJson = Json | Base64Text | readonly RequestJson[] | { readonly [key: string]: RequestJson };

/** An image of the caller by value, as upload, data URL or Base64. */
export interface MediaFile {
  readonly bytes: Buffer;
  readonly mediaType: string;
  /** Of an upload only. */
  readonly filename?: string;
}

/** A file of the caller that is uploaded to the vendor once the channel is known. */
export interface PendingUpload {
  /** The same for the same content. */
  readonly key: string;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  load(): Promise<Buffer>;
}

/**
 * An input of the caller; `toMediaUrl` and similar functions convert it into the vendor's form. With `upload` the URL is
 * a placeholder, which the vendor's own URI replaces before the submit.
 */
export type MediaInput = { readonly url: string; readonly upload?: PendingUpload } | MediaFile;

/** A vendor's own upload, whose URI its submits take in place of a URL. */
export interface VendorUpload {
  /** Largest file by type, bytes; types without one are not uploaded. */
  readonly maxBytes: Readonly<Partial<Record<InputType, number>>>;
  /** Uploads one file. The URI is reused with the same account until it expires. */
  send(
    file: Required<MediaFile>,
    context: AdapterContext,
  ): Promise<{ readonly uri: string; readonly expiresAtMs: number } | { readonly error: VendorError }>;
  /** Whether a refused submit means that the vendor no longer has a file. */
  isForgotten(error: VendorError): boolean;
}

/**
 * An input of a request. An image without a role comes from the older fields, where the number of images decides what
 * they are for.
 */
export type RequestInput = MediaInput & {
  readonly role?: InputRole;
  /** Seconds from the start, of a keyframe. */
  readonly at?: number;
  /** The account's file it was read from, or its video. */
  readonly fileId?: string;
};

/** One generation as the caller requested it, already validated; adapters only translate it. */
export interface VideoRequest {
  /** Our task id, sent where a vendor accepts a client's own id, so that a job can be found after a lost response. */
  readonly taskId: string;
  /** The vendor's model name. */
  readonly model: string;
  readonly prompt: string;
  /** `image`, then `images`, then `input_reference`, in that order, without repeats. */
  readonly images: readonly RequestInput[];
  /** Videos, with a role each. */
  readonly videos?: readonly RequestInput[];
  /** Audio files, with a role each. */
  readonly audios?: readonly RequestInput[];
  /** Default: generate. */
  readonly operation?: VideoOperation;
  /** Handle of the video to edit or extend, where the account that is called has made it. */
  readonly sourceHandle?: Json;
  /** Parameters of the draft at `sourceHandle`, whose final video is requested. */
  readonly draft?: { readonly seconds: number; readonly hasVideo: boolean };
  /** Whole seconds of all input videos and audio files, where their length was measured. */
  readonly inputSeconds?: number;
  /** From `duration`, otherwise from `seconds`. */
  readonly seconds?: number;
  /** The field that named the length, for messages; default `duration`. */
  readonly lengthField?: 'duration' | 'seconds';
  /** The field that named the files, for messages; default: the older field of their type. */
  readonly filesField?: 'inputs';
  readonly size?: string;
  readonly mode?: string;
  /** The caller's `metadata`, unchecked; the adapter forwards the keys of its own schema and drops the rest. */
  readonly metadata: { readonly [key: string]: unknown };
  /** Arguments of the model's media schema: dotted path in the vendor's body → value. */
  readonly extraFields: readonly { readonly path: string; readonly value: RequestJson }[];
  /** A body in the vendor's own format, where an endpoint accepts one; it overrides the common fields. */
  readonly officialBody?: { readonly [key: string]: RequestJson };
  /** With `officialBody`: the vendor's operation that was called, such as `text2video`. */
  readonly officialOperation?: string;
  /** Fields of the caller's body that are not common ones; only adapters with `passthrough` forward them. */
  readonly nativeFields?: { readonly [key: string]: Json };
}

/** Outcome of a submit: accepted or refused. */
export type SubmitOutcome =
  | {
      readonly kind: 'accepted';
      /** Opaque to all other code, stored with the task and passed to later calls. Never contains a secret. */
      readonly handle: Json;
      /** The vendor's id of the job. */
      readonly upstreamId: string;
      readonly raw: Json;
    }
  | { readonly kind: 'refused'; readonly error: VendorError; readonly raw: Json };

/** Location of the finished video. `url` is public; `protected` needs `content`; `inline` is Base64 inside `raw`. */
export type Artifact =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'protected' }
  | { readonly kind: 'inline' };

/** Outcome of a poll. */
export interface QueryOutcome {
  /** UNKNOWN for a status the adapter does not know, which is never a failure. */
  readonly state: TaskStatus;
  /** In percent, only where the vendor reports a real figure. */
  readonly progress?: number;
  /** Only with SUCCESS. The adapter turns a success without an artifact into FAILURE. */
  readonly artifact?: Artifact;
  /** Only with FAILURE. */
  readonly error?: VendorError;
  /** The vendor's last response; the core cuts long Base64, except of `inline` artifacts, kept separately. */
  readonly raw: Json;
  /** Replaces the stored handle, if the response contains something later calls need (a file id, a new URL). */
  readonly handle?: Json;
}

/**
 * The file the content endpoint fetches. `trusted`: the host comes from our configuration and may receive `headers`.
 */
export type ContentSource =
  | {
      readonly kind: 'fetch';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly trusted: boolean;
      /** The file's public URL in JSON that a trusted host may return instead of the file. */
      addressIn?(json: unknown): string | undefined;
    }
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly mimeType: string };

/** Capabilities of a model; forms and the documentation are generated from them. */
export interface ModelCapability {
  readonly id: string;
  readonly title: string;
  /** Whole seconds that may be requested; a list, or a range. */
  readonly seconds:
    | { readonly values: readonly number[]; readonly default: number }
    | { readonly min: number; readonly max: number; readonly default: number };
  /** Useful values of `size`, in this vendor's notation. */
  readonly sizes: readonly string[];
  readonly ratios: readonly string[];
  readonly resolutions: readonly string[];
  readonly modes: readonly string[];
  readonly audio: boolean;
  readonly negativePrompt: boolean;
  readonly seed: boolean;
  /** The combinations of inputs it takes; a request must fit one of them. */
  readonly ways: readonly GenerationWay[];
  /** Number of images that may be given, and their meaning; derived from the ways. */
  readonly images: {
    readonly min: number;
    readonly max: number;
    readonly roles: readonly ('first_frame' | 'last_frame' | 'reference')[];
  };
  /** Default price in quota, written to the model's row when it is created. */
  readonly price: VideoPrice;
  /** The vendor's list that the default price follows. */
  readonly listed: PriceSource;
}

/** How long a model remains available. Dates are ISO dates (`2026-06-30`). */
export interface ModelLifecycle {
  /** The vendor's host or product this applies to; the same name may remain available on another. */
  readonly route: string;
  readonly stage: 'active' | 'deprecated' | 'retired';
  readonly retiresOn?: string;
  /** The successor the vendor recommends. */
  readonly successor?: string;
  /** Source of the dates. */
  readonly source: string;
  /**
   * When that page, or a copy or quotation of it, was read; null: none was found, and no request is refused because of
   * this entry.
   */
  readonly confirmedOn: string | null;
  /** When the table was last reviewed. */
  readonly checkedOn: string;
}

/** An image model of a vendor. */
export interface ImageModel {
  readonly id: string;
  readonly title: string;
  /** Default price in quota for one image. */
  readonly perCall: number;
}

/** An image as the caller described it. */
export interface ImageRequest {
  /** The vendor's model name. */
  readonly model: string;
  readonly prompt: string;
  /** Images to start from: URLs, or Base64 without a `data:` prefix. */
  readonly inputImages: readonly string[];
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

/** Outcome of an image's submit or poll. */
export type ImageOutcome =
  | { readonly kind: 'done'; readonly urls: readonly string[] }
  | { readonly kind: 'working' }
  | { readonly kind: 'failed'; readonly error: VendorError };

/** Reads a vendor's usage endpoint of an account, for reconciliation. */
interface AccountUsage {
  /** The vendor's billing unit: units, credits. */
  readonly unit: string;
  /** How far its count may be ahead of the end of a job (units deducted at the start) or behind it, in milliseconds. */
  readonly skewMs: number;
  /**
   * The usage counter of the account: increases by the amounts the vendor deducts, and decreases when the account is
   * topped up.
   *
   * @throws PollFailed if the response says nothing about the account
   */
  read(context: AdapterContext): Promise<number>;
}

/**
 * Images generated within seconds and requested through chat. The same rules as for videos apply: one submit, one
 * request per poll.
 */
export interface ImageGeneration {
  readonly models: readonly ImageModel[];
  submit(
    request: ImageRequest,
    context: AdapterContext,
  ): Promise<{ readonly id: string } | { readonly error: VendorError }>;
  /** Polls once. An unreadable response counts as `working`, because it says nothing about the image. */
  query(model: string, id: string, context: AdapterContext): Promise<ImageOutcome>;
}

/** Stored text of a failed task. */
interface FailureText {
  readonly message: string;
  readonly code: string;
}

/**
 * Deviations of a vendor's tasks from the usual form of the OpenAI-style object and the unified task. `data` is the
 * vendor's last response.
 */
export interface TaskPresentation {
  /** The object's `model` is empty. */
  readonly hidesModel?: boolean;
  /** The object repeats its id as `task_id`. */
  readonly repeatsId?: boolean;
  /**
   * Unix seconds of the end, as the vendor reports it; undefined
   * where it reports none. Default: the time of our record.
   */
  completedAt?(data: Json): number | undefined;
  /** The object's `seconds`. Default: none. */
  seconds?(data: Json): string | undefined;
  /**
   * When the object has `metadata.url`: always (the default; empty before the end), when the URL is known, or never.
   */
  readonly url?: 'always' | 'known' | 'never';
  /** The object's `error`. Default: the failure unchanged; undefined for none. */
  error?(failure: FailureText): FailureText | undefined;
  /** Values of the unified task's `status`. Default: ours. */
  readonly statusWords?: Readonly<Record<TaskStatus, string>>;
  /** Whether a job's file has no URL anywhere, and its submit response is only the task's id. */
  isOpaque?(handle: Json): boolean;
}

/** Fields of a form for requests to any vendor. */
type FormField = 'seconds' | 'size' | 'mode' | 'ratio' | 'resolution' | 'audio' | 'seed' | 'negative_prompt';

/** A vendor as administrators see it, whatever its accounts are used for. */
export interface VendorProfile {
  /** The short name used in rows, prefixes and folders. */
  readonly name: string;
  /** The display name. */
  readonly title: string;
  readonly defaultBaseUrl: string;
  /** JSON Schema of the credentials an administrator enters; secret texts are `writeOnly`. */
  readonly credentials: TSchema;
  /** Sends one cheap authenticated request that shows whether the channel's credentials work. */
  checkCredentials(context: AdapterContext): Promise<CredentialCheck>;
}

/** `models`: the upstream's models, where the check reads their list. */
export type CredentialCheck =
  | { readonly ok: true; readonly models?: readonly string[] }
  | { readonly ok: false; readonly error: VendorError };

/** Videos that a vendor generates cheaply first, and again in full once they please. */
export interface VendorDrafts {
  /** How long after its end a draft can be made final, milliseconds. */
  readonly lifetimeMs: number;
  /** Whether a request with this `metadata` asked for a draft. */
  isDraft(metadata: unknown): boolean;
  /** The id of the draft in the `metadata` of a request for its final video. */
  idIn(metadata: unknown): string | undefined;
}

/**
 * One vendor: submit once, poll once. An adapter never loops, sleeps, retries or stores. Everything the vendor reports
 * is a return value. It throws OutboundError when there was no response, PollFailed when the response to a poll says
 * nothing about the task, and UnsupportedRequestError before anything was sent.
 */
export interface VendorAdapter extends VendorProfile {
  readonly name: VendorId;
  readonly models: readonly ModelCapability[];
  /** Ways of a model known by its name alone: what a request can express without the table of models. */
  unlistedWays(model: string): readonly GenerationWay[];
  /** JSON Schema of the keys of `metadata` that reach the vendor; all others are dropped. */
  readonly metadata: TSchema;
  /** Addresses of the videos and audio files in a caller's `metadata`, by their paths. */
  clipsIn?(metadata: VideoRequest['metadata']): Readonly<Record<string, unknown>>;
  /**
   * Dotted paths of keys of `metadata` for which this request has no place, over any channel or, with one, over this
   * channel. They are named to the caller as dropped, and neither sent nor priced. What would change the price or the
   * meaning of the video is refused instead, by `billingFactors` or `assertSendable`. Called with unchecked metadata.
   */
  droppedMetadata?(request: VideoRequest, channel?: Pick<AdapterContext, 'credentials' | 'options'>): readonly string[];
  /** Dotted path of each form field in a request to this service; fields the vendor does not support are missing. */
  readonly formFields: Readonly<Partial<Record<FormField, string>>>;
  /** The host of a channel's calls, where that is not its base URL's; model lifecycles depend on the host. */
  hostOf?(channel: { readonly baseUrl: string; readonly credentials: { readonly [key: string]: unknown } }): string;
  /** A complete request to this service for one of its models; shown in the documentation and run by a test. */
  readonly example: { readonly model: string } & Readonly<Record<string, unknown>>;
  readonly presentation?: TaskPresentation;
  /** Image models of the same accounts. */
  readonly images?: ImageGeneration;
  /** Largest file the vendor takes by value; absent: videos and audio are fetched by URL, images have no limit here. */
  readonly inlineBytes?: Readonly<Partial<Record<InputType, number>>>;
  /** For files that are too large to be sent by value. */
  readonly upload?: VendorUpload;
  /** The name by which a prompt refers to an input of a type, by its number; absent: prompts are sent unchanged. */
  promptName?(type: InputType, number: number): string;
  /** Drafts whose final videos the same account generates later. */
  readonly drafts?: VendorDrafts;
  /** Tasks are polled when a caller reads them; the scheduler polls only the others. */
  readonly refreshOnQuery?: boolean;
  /** The upstream's id is the public task id, and its objects are returned unchanged. */
  readonly passthrough?: boolean;
  /** `content` has the variant `thumbnail`. */
  readonly hasCover?: boolean;
  /** `content` has the variant `spritesheet`. */
  readonly hasSpritesheet?: boolean;
  /** How long the URL of a video is valid, where polling again returns a new one. */
  readonly artifactUrlLifetimeMs?: number;
  /**
   * The price factors of a request (`mode`, `resolution`, `size`, `audio`) and the seconds billed, with the vendor's defaults
   * filled in. `audio` is `'true'` or `'false'`.
   *
   * @throws UnsupportedRequestError for a request that has no price.
   */
  billingFactors(request: VideoRequest): {
    readonly seconds: number;
    /** Of input videos and audio that were not measured; default `inputSeconds` of the request. */
    readonly inputSeconds?: number | undefined;
    readonly factors: { readonly [factor: string]: string };
  };
  /**
   * Refuses what `submit` would refuse over this channel and `billingFactors` does not; asked before anything is
   * reserved. Absent: `billingFactors` translates the whole request, whatever the channel.
   *
   * @throws UnsupportedRequestError
   */
  assertSendable?(request: VideoRequest, channel: Pick<AdapterContext, 'credentials' | 'options'>): void;
  /** Whether the vendor takes inputs of this type only by value; those given by URL are then downloaded. */
  takesByValue?(type: InputType, request: VideoRequest): boolean;
  /**
   * Billed amounts from the vendor's last response about a finished job: `units` (tokens, credits, deductions),
   * `seconds`. Undefined if that response has none. For prices with `settle_by: "vendor"`.
   */
  billedFacts?(raw: Json): BilledFacts | undefined;
  /** Absent where the vendor has no endpoint that reports an account's usage. */
  readonly accountUsage?: AccountUsage;
  submit(request: VideoRequest, context: AdapterContext): Promise<SubmitOutcome>;
  query(handle: Json, context: AdapterContext): Promise<QueryOutcome>;
  /**
   * Finds a job by our task id after the response to a submit was lost; undefined while the vendor knows none, upon
   * which the job may be submitted again. A search may read several pages, the only loop of an adapter. Absent where the
   * vendor cannot search.
   *
   * @param request `sentAtMs`: time of the submit, Unix milliseconds
   */
  findTask?(
    request: { readonly taskId: string; readonly hint: Json; readonly sentAtMs: number },
    context: AdapterContext,
  ): Promise<Json | undefined>;
  /** `hint` for `findTask`, fixed before sending: data the search needs beyond the task id, such as a path. */
  findTaskHint?(request: VideoRequest): Json;
  /**
   * The handle of a job that another program submitted with the same account, derived from the vendor's id; undefined
   * if the id is not enough. Absent: never possible.
   */
  handleOf?(job: { readonly id: string; readonly model: string; readonly isFromText: boolean }): Json | undefined;
  content(handle: Json, raw: Json, variant: string | undefined, context: AdapterContext): Promise<ContentSource>;
  remix?(handle: Json, request: VideoRequest, context: AdapterContext): Promise<SubmitOutcome>;
  /** Deletes the job at the vendor, where the vendor supports it; failures are ignored. */
  deleteTask?(handle: Json, context: AdapterContext): Promise<void>;
}

/** A vendor's billed amounts for a job. */
export interface BilledFacts {
  /** The vendor's own count: tokens, credits, deductions; to a millionth. */
  readonly units?: number;
  /** Whole seconds, rounded up. */
  readonly seconds?: number;
  /** Whole seconds of the inputs, rounded up. */
  readonly input_seconds?: number;
}

/** No job costs this much; a larger figure is treated as an error and ignored. */
const MAX_CREDIBLE = 1_000_000_000;

const MICRO = 1_000_000;

/** A positive count, which some vendors write as text or with decimals. Zero means an unset field, not a free job. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,12}(\.\d{1,12})?$/.test(value.trim()) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isFinite(count) || count <= 0 || count > MAX_CREDIBLE) return undefined;
  return Math.round(count * MICRO) / MICRO || undefined;
}

const firstCount = (values: readonly unknown[]): number | undefined =>
  values.map(toCount).find((count) => count !== undefined);

/** @param places where the figure may be, the vendor's own first; the first that holds a positive count is used */
export function billedUnits(...places: readonly unknown[]): BilledFacts | undefined {
  const units = firstCount(places);
  return units === undefined ? undefined : { units };
}

/** Like `billedUnits`, in seconds. */
export function billedSeconds(...places: readonly unknown[]): BilledFacts | undefined {
  const seconds = firstCount(places);
  return seconds === undefined ? undefined : { seconds: Math.ceil(seconds) };
}

/** Source of a default price. */
export interface PriceSource {
  /** The vendor's own price page. */
  readonly source: string;
  /** When that page, or a published copy or quotation of it, was last compared; null: none was found, and the price is older. */
  readonly confirmedOn: string | null;
  /** The source that was compared instead of the page itself, and the parts the price leaves out. */
  readonly note: string;
}

/**
 * Quota of one unit of the display currency, a US dollar unless it is renamed. Default prices follow the vendors'
 * public lists.
 */
const QUOTA_PER_USD = 500_000;
/** Conversion rate for price lists in yuan; an administrator changes the prices, not the rate. */
const CNY_PER_USD = 7;

/** Converts US dollars to whole quota. */
export const usd = (amount: number): number => Math.round(amount * QUOTA_PER_USD);

/** Converts yuan to whole quota. */
export const cny = (amount: number): number => Math.round((amount * QUOTA_PER_USD) / CNY_PER_USD);

const TOKENS = 1_000_000;

/** Converts US dollars per million tokens to quota per token, rounded to a millionth. */
export const usdPerToken = (amount: number): number => usd(amount) / TOKENS;
/** Converts yuan per million tokens to quota per token, rounded to a millionth. */
export const cnyPerToken = (amount: number): number => cny(amount) / TOKENS;

/** A URL, a data URL or Base64 in a request; a large image is encoded while it is sent. */
export type MediaText = string | Base64Text;

/** Whether two media texts are equal, character by character. */
export const isSameMedia = (one: MediaText, other: MediaText): boolean =>
  one.length === other.length &&
  (one instanceof Base64Text && other instanceof Base64Text ? one.equals(other) : String(one) === String(other));

export { stripDataUrlPrefix };

const encode = (bytes: Buffer, prefix = ''): MediaText =>
  bytes.length < LONG_TEXT_LENGTH ? prefix + bytes.toString('base64') : new Base64Text(bytes, prefix);

/** The bytes as Base64. */
export const toBase64 = ({ bytes }: Pick<MediaFile, 'bytes'>): MediaText => encode(bytes);

/** The file of an input that the vendor takes only by value; those by URL were downloaded before the submit. */
export function fileOf(media: MediaInput): MediaFile {
  if ('bytes' in media) return media;
  throw new UnsupportedRequestError('This vendor takes files by value only.');
}

/** The URL unchanged, or bare Base64. */
export const toUrlOrBase64 = (media: MediaInput): MediaText => ('url' in media ? media.url : toBase64(media));

/** The URL unchanged, or a `data:` URL. */
export const toMediaUrl = (media: MediaInput): MediaText =>
  'url' in media ? media.url : encode(media.bytes, `data:${media.mediaType};base64,`);

/**
 * Refuses an image given by value that is too large for the vendor; images given by URL are only checked by the vendor.
 */
export function assertMaxSize(media: MediaInput, maxBytes: number, param: string): void {
  if ('bytes' in media && media.bytes.length > maxBytes) {
    throw new UnsupportedRequestError(
      `${param} is larger than the ${(maxBytes / 1e6).toFixed(1)} MB this model takes.`,
      param,
    );
  }
}

/** Parses a caller's `metadata` by its `schema`. */
interface MetadataParser<T extends TObject> {
  (metadata: Readonly<Record<string, unknown>>): Static<T>;
  readonly schema: T;
}

/**
 * Creates the parser of one vendor's metadata table: a function from the caller's `metadata` to the keys the schema
 * names. Other keys are dropped, at every depth, so that no host, key or URL can be smuggled to a vendor; a value of
 * the wrong type is refused by its dotted name. Of a union, the first member of the value's own type is used.
 */
export function createMetadataParser<T extends TObject>(schema: T): MetadataParser<T> {
  const validator = Compile(schema);
  const read = (metadata: Readonly<Record<string, unknown>>): Static<T> => {
    const kept = pickNamedKeys(schema, metadata);
    if (validator.Check(kept)) return kept as Static<T>;
    const deep = (path: string): number => path.split('/').length;
    // Every member of a union reports an error; the deepest one belongs to the member the caller meant.
    const [first] = validator.Errors(kept).toSorted((a, b) => deep(b.instancePath) - deep(a.instancePath));
    const path = (first?.instancePath ?? '').split('/').slice(1);
    const param = ['metadata', ...path].join('.');
    throw new UnsupportedRequestError(`${param} ${first?.message ?? 'is not valid'}.`, param);
  };
  return Object.assign(read, { schema });
}

/**
 * Price factors from a vendor's body; unknown ones are omitted. Audio counts if the body sets it, to true or false.
 *
 * @param factors As read from the body, so a value may have any type: media schemas of administrators write into it.
 */
export const knownFactors = (factors: {
  readonly resolution?: unknown;
  readonly size?: string;
  readonly audio?: unknown;
}): { readonly [factor: string]: string } =>
  defined({
    resolution: asText(factors.resolution),
    size: factors.size,
    audio: typeof factors.audio === 'boolean' ? String(factors.audio) : undefined,
  });

const MAX_SECONDS = 3_600;

/** Whole seconds from a vendor's body, as a number or a text; the price depends on them. */
export function parseSeconds(value: unknown, param: string): number {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS)
    return seconds;
  throw new UnsupportedRequestError(`${param} must be whole seconds, from 1 to ${MAX_SECONDS}.`, param);
}

/** Refuses a common field that this vendor does not support. */
export function rejectField(param: string, why: string): never {
  throw new UnsupportedRequestError(`${param} ${why}.`, param);
}

const MONTH_AND_DAY = '(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\\d|3[01])';
/** `-2026-06-12`, `-20260612` or `-260612` at the end of a name. */
const DATE = new RegExp(`-(?:20)?\\d{2}-?${MONTH_AND_DAY}$`);

/** A dated release has the fields and prices of its model line: `model-2026-06-12` is `model`. */
export const undatedModel = (model: string): string => model.replace(DATE, '');
