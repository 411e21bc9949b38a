import type { TSchema } from 'typebox';
import type { TaskStatus, VendorName } from '../../contract/states.ts';
import type { OutboundAnswer, OutboundRequest } from '../platform/outbound/outbound.ts';

/** Anything JSON can hold; handles and raw answers are stored as they are. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * A picture (or, for D, a clip) given by the caller. Base64 is kept as the text it came as, without a `data:` prefix,
 * never decoded here. `vendor-media.ts` turns it into the forms vendors take.
 */
export type Media =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'base64'; readonly data: string; readonly mimeType: string }
  | { readonly kind: 'file'; readonly bytes: Buffer; readonly mimeType: string; readonly filename: string };

/** One generation as the caller asked for it, already checked; adapters translate it and decide nothing else. */
export interface VideoRequest {
  /** Our task id: sent along where a vendor takes a client's own id, so that a lost answer can be looked up. */
  readonly taskId: string;
  /** The vendor's model name. */
  readonly model: string;
  readonly prompt: string;
  /** `image`, then `images`, then `input_reference`, in that order, without repeats. */
  readonly images: readonly Media[];
  /** From `duration`, else `seconds`. */
  readonly seconds?: number;
  readonly size?: string;
  readonly mode?: string;
  /** The caller's `metadata` as it came (an object); the adapter forwards the keys of its own table and drops the rest. */
  readonly metadata: { readonly [key: string]: unknown };
  /** Arguments of the model's media schema: dotted path in the vendor's body → value. */
  readonly extra: readonly { readonly path: string; readonly value: Json }[];
  /** The vendor's official body, on the vendor-format routes of A and B only; it wins over the common fields. */
  readonly official?: { readonly [key: string]: Json };
  /** With `official`: which of the vendor's own operations was called (`text2video`, `image2video`; A only). */
  readonly officialOperation?: string;
  /** H only: further native fields of the caller's body, passed through as they are. */
  readonly native?: { readonly [key: string]: Json };
}

/** What arrives with every call: the adapter holds no state, clock, credentials or sockets of its own. */
export interface VendorCall {
  /** Without a path and without a trailing slash; the adapter adds the vendor's own path. */
  readonly baseUrl: string;
  /** The channel's decrypted credentials, of the shape of `credentials` below. */
  readonly credentials: { readonly [key: string]: unknown };
  /** The channel's own options as the administrator wrote them. */
  readonly options: { readonly [key: string]: unknown };
  /** Unix milliseconds. */
  now(): number;
  /** One JSON exchange with the vendor; throws OutboundError when there was no answer. */
  json(request: OutboundRequest & { readonly maxBytes?: number }): Promise<OutboundAnswer>;
  /**
   * Bytes of a picture the caller named by URL, as Base64, through the stranger's door (for vendors that take no URL);
   * throws VendorRefusal when it cannot be had, is larger than `maxBytes`, or is no picture.
   */
  loadImage(url: string, maxBytes: number): Promise<{ data: string; mimeType: string }>;
  /**
   * A secret kept for its life (Vertex access tokens): one flight at a time per key, shared by all calls of the channel.
   * `rejected` is a value the vendor has just refused: it is replaced when it is still the one kept, so that a hundred
   * calls refused together ask for one new token and not for a hundred.
   */
  cached(key: string, make: () => Promise<{ value: string; expiresAtMs: number }>, rejected?: string): Promise<string>;
  readonly signal: AbortSignal;
}

/**
 * The closed set of reasons a vendor's error is put into. `user`: the request is wrong. `policy`: refused content.
 * `rate`: too fast, or too many at once. `capacity`: the vendor is overloaded or broken. `auth`, `billing`: the channel's
 * own account. `model`: this account cannot use this model. `missing`: unknown or expired task. `other`: none of these.
 */
export type ErrorReason = 'user' | 'policy' | 'rate' | 'capacity' | 'auth' | 'billing' | 'model' | 'missing' | 'other';

export interface VendorError {
  readonly reason: ErrorReason;
  /** Whether another channel should be asked; decided by the vendor's own code first, then by HTTP status. */
  readonly retryable: boolean;
  /** Whether the channel should rest, and how: `auth`/`billing`/`rate`/`capacity` errors say something about the channel. */
  readonly httpStatus: number;
  /** The vendor's own code as text; empty where there is none. */
  readonly code: string;
  /** The vendor's own words, for the caller. */
  readonly message: string;
  /** The field at fault, where the vendor names it in our callers' words too (H). */
  readonly param?: string;
  /** From Retry-After or the vendor's body, where given. */
  readonly retryAfterMs?: number;
}

export type SubmitOutcome =
  | {
      readonly kind: 'accepted';
      /** Opaque, stored, given back to `query`; holds what later calls need (family of the path, req_key, …), no secret. */
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
  /** UNKNOWN for a vendor word that is not in the table; never a failure for that. */
  readonly state: TaskStatus;
  /** Percent, only where the vendor gives a real figure. */
  readonly progress?: number;
  /** With SUCCESS; success without an artifact is answered as FAILURE by the adapter. */
  readonly artifact?: Artifact;
  /** With FAILURE. */
  readonly error?: VendorError;
  /** The vendor's last answer; long Base64 strings are cut by the core, except for `inline` artifacts kept apart. */
  readonly raw: Json;
  /** A handle that replaces the stored one, where the answer taught something (a file id, a new address). */
  readonly handle?: Json;
}

/** What the content endpoint shall fetch. `trusted` hosts come from our configuration and get `headers`. */
export type ContentSource =
  | {
      readonly kind: 'fetch';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly trusted: boolean;
    }
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly mimeType: string };

/** A poll that says nothing about the task: a 429, a 5xx, a gateway's HTML page. Thrown by `query`, never a failure. */
export class CouldNotAsk extends Error {
  readonly error: VendorError | undefined;
  constructor(message: string, error?: VendorError) {
    super(message);
    this.name = 'CouldNotAsk';
    this.error = error;
  }
}

/** A request that this vendor cannot serve as asked, found before anything was sent; answered as 400 with `message`. */
export class VendorRefusal extends Error {
  /** The caller's field at fault, dotted. */
  readonly param: string | undefined;
  constructor(message: string, param?: string) {
    super(message);
    this.name = 'VendorRefusal';
    this.param = param;
  }
}

/** What a model can do; the console draws its form from it and the README its table. */
export interface ModelCapability {
  readonly id: string;
  readonly title: string;
  /** Whole seconds that may be asked for; a list, or a range. */
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
  /** How many pictures may be given, and what they mean. */
  readonly images: {
    readonly min: number;
    readonly max: number;
    readonly roles: readonly ('first_frame' | 'last_frame' | 'reference')[];
  };
  /** Default price in quota, written to the model's row when it is first made. */
  readonly price: {
    readonly per_call: number;
    readonly per_second: number;
    readonly multipliers?: { readonly [factor: string]: { readonly [value: string]: number } };
  };
}

/**
 * One vendor: start once, look once. An adapter never loops, sleeps, retries or stores. It throws OutboundError when there
 * was no answer, CouldNotAsk when a poll's answer says nothing about the task, VendorRefusal before sending; everything
 * the vendor tells us is a value.
 */
export interface VideoVendor {
  readonly name: VendorName;
  /** As shown to people. */
  readonly title: string;
  readonly defaultBaseUrl: string;
  /** JSON Schema of the credentials an administrator enters. */
  readonly credentials: TSchema;
  readonly models: readonly ModelCapability[];
  /** JSON Schema of the keys of `metadata` that reach the vendor; all others are dropped. */
  readonly metadata: TSchema;
  /** F only: tasks are refreshed when a query arrives; the synchronizer sweeps those nobody polls. */
  readonly refreshOnQuery?: boolean;
  /** The upstream's id is the public task id and its objects pass through (H). */
  readonly passthrough?: boolean;
  /** How long an address of a video stays good, where asking once more gives a fresh one. */
  readonly addressLifeMs?: number;
  /**
   * Price factors this request falls under (`mode`, `resolution`, `size`, `audio`) and the seconds billed, by the vendor's
   * defaults. `audio` is `true` or `false`. Throws VendorRefusal for a request that has no price.
   */
  meter(request: VideoRequest): { readonly seconds: number; readonly factors: { readonly [factor: string]: string } };
  submit(request: VideoRequest, call: VendorCall): Promise<SubmitOutcome>;
  query(handle: Json, call: VendorCall): Promise<QueryOutcome>;
  /** Finds a job by our task id after a lost submit answer; undefined when the vendor has no such look-up or no such job yet. */
  lookup?(request: { readonly taskId: string; readonly hint: Json }, call: VendorCall): Promise<Json | undefined>;
  /** `hint` for `lookup`, fixed before sending (the path family for Kling). */
  lookupHint?(request: VideoRequest): Json;
  content(handle: Json, raw: Json, variant: string | undefined, call: VendorCall): Promise<ContentSource>;
  remix?(handle: Json, request: VideoRequest, call: VendorCall): Promise<SubmitOutcome>;
  /** Deletes the job at the vendor, where it has that; failures are ignored. */
  remove?(handle: Json, call: VendorCall): Promise<void>;
  /** One cheap authenticated call that shows whether the channel's credentials work. */
  probe(call: VendorCall): Promise<{ readonly ok: true } | { readonly ok: false; readonly error: VendorError }>;
}
