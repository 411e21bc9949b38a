import type { TSchema } from 'typebox';
import type { VendorId } from '../../contract/model-kinds.ts';
import type { VideoPrice } from '../../contract/pricing.ts';
import type { TaskStatus } from '../../contract/task-states.ts';
import type { Base64Text } from '../platform/base64.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import type { VendorError } from '../upstreams/vendor-errors.ts';

/** Any JSON value. Handles and responses are stored as they are. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** JSON of a request that may hold images. */
export type RequestJson = Json | Base64Text | readonly RequestJson[] | { readonly [key: string]: RequestJson };

/** An image of the caller by value, however it was given. */
export interface MediaFile {
  readonly bytes: Buffer;
  readonly mediaType: string;
  /** Of an upload. */
  readonly filename?: string;
}

/** An image of the caller; `media.ts` converts it into the vendor's form. */
export type MediaInput = { readonly url: string } | MediaFile;

/** One generation as the caller requested it, already validated; adapters only translate it. */
export interface VideoRequest {
  /** Our task id: sent where a vendor takes a client's own id, so that a job can be found after a lost response. */
  readonly taskId: string;
  /** The vendor's model name. */
  readonly model: string;
  readonly prompt: string;
  /** `image`, then `images`, then `input_reference`, in that order, without repeats. */
  readonly images: readonly MediaInput[];
  /** From `duration`, else `seconds`. */
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  /** The caller's `metadata`, unchecked; the adapter forwards the keys of its own schema and drops the rest. */
  readonly metadata: { readonly [key: string]: unknown };
  /** Arguments of the model's media schema: dotted path in the vendor's body → value. */
  readonly extraFields: readonly { readonly path: string; readonly value: RequestJson }[];
  /** A body in the vendor's own format, where an endpoint takes that; it wins over the common fields. */
  readonly officialBody?: { readonly [key: string]: RequestJson };
  /** With `officialBody`: which of the vendor's own operations was called, such as `text2video`. */
  readonly officialOperation?: string;
  /** Fields of the caller's body that are not common ones; only adapters with `passthrough` send them on. */
  readonly nativeFields?: { readonly [key: string]: Json };
}

export type SubmitOutcome =
  | {
      readonly kind: 'accepted';
      /** Opaque to all other code, stored with the task, passed to later calls. Never contains a secret. */
      readonly handle: Json;
      /** The vendor's id of the job. */
      readonly upstreamId: string;
      readonly raw: Json;
    }
  | { readonly kind: 'refused'; readonly error: VendorError; readonly raw: Json };

/** Where the finished video is. `url` is public; `protected` needs `content`; `inline` is Base64 inside `raw`. */
export type Artifact =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'protected' }
  | { readonly kind: 'inline' };

export interface QueryOutcome {
  /** UNKNOWN for a status the adapter does not know; that is never a failure. */
  readonly state: TaskStatus;
  /** Percent, only where the vendor gives a real figure. */
  readonly progress?: number;
  /** With SUCCESS. The adapter turns a success without an artifact into FAILURE. */
  readonly artifact?: Artifact;
  /** With FAILURE. */
  readonly error?: VendorError;
  /** The vendor's last response; long Base64 strings are cut by the core, except for `inline` artifacts kept apart. */
  readonly raw: Json;
  /** Replaces the stored handle, where the response has something later calls need (a file id, a new URL). */
  readonly handle?: Json;
}

/** What the content endpoint fetches. `trusted`: the host comes from our configuration and may receive `headers`. */
export type ContentSource =
  | {
      readonly kind: 'fetch';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly trusted: boolean;
      /** The file's public URL in JSON that a trusted host may answer in place of the file. */
      addressIn?(json: unknown): string | undefined;
    }
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly mimeType: string };

/** What a model can do; forms and the documentation are made from it. */
export interface ModelCapability {
  readonly id: string;
  readonly title: string;
  /** Whole seconds that may be requested; a list, or a range. */
  readonly seconds:
    | { readonly values: readonly number[]; readonly default: number }
    | { readonly min: number; readonly max: number; readonly default: number };
  /** Values of `size` that make sense, in this vendor's way of writing them. */
  readonly sizes: readonly string[];
  readonly ratios: readonly string[];
  readonly resolutions: readonly string[];
  readonly modes: readonly string[];
  readonly audio: boolean;
  readonly negativePrompt: boolean;
  readonly seed: boolean;
  /** How many images may be given, and what they mean. */
  readonly images: {
    readonly min: number;
    readonly max: number;
    readonly roles: readonly ('first_frame' | 'last_frame' | 'reference')[];
  };
  /** Default price in quota, written to the model's row when it is first made. */
  readonly price: VideoPrice;
  /** The vendor's list that the default price follows. */
  readonly listed: PriceSource;
}

/** How long a model can still be used. Dates are ISO dates (`2026-06-30`). */
export interface ModelLifecycle {
  /** The vendor's host or product this applies to: the same name may remain available on another. */
  readonly route: string;
  readonly stage: 'active' | 'deprecated' | 'retired';
  readonly retiresOn?: string;
  /** The vendor's own recommendation. */
  readonly successor?: string;
  /** Where this is said. */
  readonly source: string;
  /** When that page, or a copy or quotation of it, was read; null: none was found, and nothing is refused by this. */
  readonly confirmedOn: string | null;
  /** When the table was read through. */
  readonly checkedOn: string;
}

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

export type ImageOutcome =
  | { readonly kind: 'done'; readonly urls: readonly string[] }
  | { readonly kind: 'working' }
  | { readonly kind: 'failed'; readonly error: VendorError };

/** How a vendor's usage endpoint of an account is read, for reconciliation. */
interface AccountUsage {
  /** What the vendor counts: units, credits. */
  readonly unit: string;
  /** By how much its count may be ahead of the end of a job (units taken when it begins) or behind it. */
  readonly skewMs: number;
  /**
   * The usage counter of the account: ascends by what the vendor takes from it, and falls where it is topped up.
   *
   * @throws PollFailed where the answer says nothing about the account
   */
  read(context: AdapterContext): Promise<number>;
}

/** Images made in seconds, requested through chat. The same rules as for videos: submit once, poll once. */
export interface ImageGeneration {
  readonly models: readonly ImageModel[];
  submit(
    request: ImageRequest,
    context: AdapterContext,
  ): Promise<{ readonly id: string } | { readonly error: VendorError }>;
  /** Polls once. A response that cannot be read counts as `working`, since it shows nothing about the image. */
  query(model: string, id: string, context: AdapterContext): Promise<ImageOutcome>;
}

/** Text of a failed task as it is stored. */
interface FailureText {
  readonly message: string;
  readonly code: string;
}

/**
 * How a vendor's tasks appear in the OpenAI-style object and in the unified task, where that differs from the usual. `data` is
 * the vendor's last response.
 */
export interface TaskPresentation {
  /** The object's `model` is empty. */
  readonly hidesModel?: boolean;
  /** The object repeats its id as `task_id`. */
  readonly repeatsId?: boolean;
  /** Unix seconds of the end, as the vendor reports it; undefined where it does not. By default the time of our record. */
  completedAt?(data: Json): number | undefined;
  /** The object's `seconds`. By default it has none. */
  seconds?(data: Json): string | undefined;
  /** When the object has `metadata.url`: always (the default; empty before the end), where it is known, or never. */
  readonly url?: 'always' | 'known' | 'never';
  /** The object's `error`. By default the failure as it is; undefined for none. */
  error?(failure: FailureText): FailureText | undefined;
  /** Values of the unified task's `status`. By default our own. */
  readonly statusWords?: Readonly<Record<TaskStatus, string>>;
  /** Jobs whose file has no URL anywhere, and whose submit response is the task's id alone. */
  isOpaque?(handle: Json): boolean;
}

/** The fields of a form that draws one request for any vendor. */
type FormField = 'seconds' | 'size' | 'mode' | 'ratio' | 'resolution' | 'audio' | 'seed' | 'negative_prompt';

/** What an administrator needs to know of a vendor, whatever its accounts are used for. */
export interface VendorProfile {
  /** The short name used in rows, prefixes and folders. */
  readonly name: string;
  /** The display name. */
  readonly title: string;
  readonly defaultBaseUrl: string;
  /** JSON Schema of the credentials an administrator enters; secret texts are `writeOnly`. */
  readonly credentials: TSchema;
  /** One cheap authenticated request that shows whether the channel's credentials work. */
  checkCredentials(context: AdapterContext): Promise<CredentialCheck>;
}

/** `models`: what the upstream lists, where the check reads its list. */
export type CredentialCheck =
  | { readonly ok: true; readonly models?: readonly string[] }
  | { readonly ok: false; readonly error: VendorError };

/**
 * One vendor: submit once, poll once. An adapter never loops, sleeps, retries or stores. Everything the vendor reports is a
 * return value. It throws OutboundError when there was no response, PollFailed when the response to a poll says nothing about
 * the task, UnsupportedRequestError before anything was sent.
 */
export interface VendorAdapter extends VendorProfile {
  readonly name: VendorId;
  readonly models: readonly ModelCapability[];
  /** JSON Schema of the keys of `metadata` that reach the vendor; all others are dropped. */
  readonly metadata: TSchema;
  /** The dotted path in a request to this service where each field of a form goes; what the vendor has no field for is missing. */
  readonly formFields: Readonly<Partial<Record<FormField, string>>>;
  /** The host a channel's calls go to, where that is not its base URL's: ends of models are told apart by it. */
  hostOf?(channel: { readonly baseUrl: string; readonly credentials: { readonly [key: string]: unknown } }): string;
  /** A whole request to this service for one of its models; shown in the documentation and run by a test. */
  readonly example: { readonly model: string } & Readonly<Record<string, unknown>>;
  readonly presentation?: TaskPresentation;
  /** Image models of the same accounts. */
  readonly images?: ImageGeneration;
  /** Tasks are polled when somebody reads them; the scheduler polls those nobody reads. */
  readonly refreshOnQuery?: boolean;
  /** The upstream's id is the public task id, and its objects are passed through. */
  readonly passthrough?: boolean;
  /** `content` has the variant `thumbnail`. */
  readonly hasCover?: boolean;
  /** `content` has the variant `spritesheet`. */
  readonly hasSpritesheet?: boolean;
  /** How long the URL of a video is valid, where polling again gives a new one. */
  readonly artifactUrlLifetimeMs?: number;
  /**
   * The price factors of a request (`mode`, `resolution`, `size`, `audio`) and the seconds billed, with the vendor's defaults
   * filled in. `audio` is `'true'` or `'false'`.
   *
   * @throws UnsupportedRequestError for a request that has no price.
   */
  billingFactors(request: VideoRequest): {
    readonly seconds: number;
    readonly factors: { readonly [factor: string]: string };
  };
  /**
   * What the vendor says it billed, in its last answer about a finished job: `units` (tokens, credits, deductions),
   * `seconds`. Undefined where that answer has none. For prices with `settle_by: "vendor"`.
   */
  billedFacts?(raw: Json): BilledFacts | undefined;
  /** Absent where the vendor has no endpoint that tells what it took from an account. */
  readonly accountUsage?: AccountUsage;
  submit(request: VideoRequest, context: AdapterContext): Promise<SubmitOutcome>;
  query(handle: Json, context: AdapterContext): Promise<QueryOutcome>;
  /**
   * Finds a job by our task id after the response to a submit was lost; undefined while the vendor knows none. Absent where
   * the vendor cannot search.
   */
  findTask?(
    request: { readonly taskId: string; readonly hint: Json },
    context: AdapterContext,
  ): Promise<Json | undefined>;
  /** `hint` for `findTask`, fixed before sending: what the search needs beyond the task id, such as a path. */
  findTaskHint?(request: VideoRequest): Json;
  /**
   * The handle of a job that another program submitted with the same account, by the vendor's id of it; undefined where more than that
   * would have to be known. Absent: never.
   */
  handleOf?(job: { readonly id: string; readonly model: string; readonly isFromText: boolean }): Json | undefined;
  content(handle: Json, raw: Json, variant: string | undefined, context: AdapterContext): Promise<ContentSource>;
  remix?(handle: Json, request: VideoRequest, context: AdapterContext): Promise<SubmitOutcome>;
  /** Deletes the job at the vendor, where it has that; failures are ignored. */
  deleteTask?(handle: Json, context: AdapterContext): Promise<void>;
}

/** What a vendor says it billed for a job. */
export interface BilledFacts {
  /** Its own count: tokens, credits, deductions; to a millionth. */
  readonly units?: number;
  /** Whole seconds; a begun one counts. */
  readonly seconds?: number;
}

/** No job is billed as much; a larger figure is treated as an error and ignored. */
const MAX_CREDIBLE = 1_000_000_000;

const MICRO = 1_000_000;

/** A positive count, which some vendors write as text or with decimals. Zero is a field that was not filled in, not a free job. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,12}(\.\d{1,12})?$/.test(value.trim()) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isFinite(count) || count <= 0 || count > MAX_CREDIBLE) return undefined;
  return Math.round(count * MICRO) / MICRO || undefined;
}

const firstCount = (values: readonly unknown[]): number | undefined =>
  values.map(toCount).find((count) => count !== undefined);

/** @param places where the figure may stand, the vendor's own first; the first that holds a positive count decides */
export function billedUnits(...places: readonly unknown[]): BilledFacts | undefined {
  const units = firstCount(places);
  return units === undefined ? undefined : { units };
}

/** The same in seconds. */
export function billedSeconds(...places: readonly unknown[]): BilledFacts | undefined {
  const seconds = firstCount(places);
  return seconds === undefined ? undefined : { seconds: Math.ceil(seconds) };
}

/** Where a default price was read. */
export interface PriceSource {
  /** The vendor's own page of prices. */
  readonly source: string;
  /** When that page, or a published copy or quotation of it, was last compared; null: none was found, and the price is older. */
  readonly confirmedOn: string | null;
  /** What was compared instead of the page itself, and what the price leaves out. */
  readonly note: string;
}
