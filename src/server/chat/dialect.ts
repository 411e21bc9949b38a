import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import type { UntrustedObject } from '../../contract/is-object.ts';

/** What differs between the kinds of model calls; everything else about them is the same relay. */
export interface Dialect {
  /** The vendor whose upstreams have it. */
  readonly vendor: ChatVendor;
  /** Path of the endpoint here and, below its base URL, at the upstream. */
  readonly path: string;
  readonly body: TSchema;
  /** The body in one spelling, where the upstream's readers take two; the bytes keep the caller's. @throws AppError `invalid_request` */
  normalize?(body: UntrustedObject): UntrustedObject;
  /** The path at the upstream, where the model and streaming are part of it. */
  upstreamPath?(model: string, stream: boolean): string;
  /** Where an upstream counts the tokens of a request, and the member of its response; undefined: nowhere. */
  readonly count: { path(model: string): string; readonly key: string } | undefined;
  /** The member whose object holds the limit; undefined: the body itself. */
  readonly limitContainer?: string;
  /**
   * The body's keys that limit the response's tokens; upstreams differ in which of them they use, so the largest counts.
   * Empty: nothing is generated as text.
   */
  readonly maxTokensKeys: readonly string[];
  /** What is set aside for where the body names no bound. */
  readonly defaultMaxTokens: number;
  /** Whether `n` requests several choices, each of which may reach the limit. */
  readonly hasChoiceCount: boolean;
  /** Usage of a stream must be requested with `stream_options`, and arrives in an event of its own. */
  readonly streamUsageIsOptIn: boolean;
  /** The member that holds the question. */
  readonly promptKey: string;
  /** The member every complete response has; a body without it is not a valid response. */
  readonly resultKey: string;
  /** The member that a valid response has in place of it when the question was refused. */
  readonly refusalKey?: string;
  /** The caller's headers that an upstream of the same dialect gets as they are, in lower case. */
  readonly forwardedHeaders: readonly string[];
  /** The response header that the dialect's clients read the id of a request from, beside `x-request-id`. */
  readonly idHeader: string | undefined;
  /** How the member with the figures begins in the bytes of an event; null there does not count. */
  readonly usageMarkers: readonly string[];
  /**
   * The figures of a body or an event, at their own places. Nowhere else: other members may repeat parts of the request (schemas
   * of tools), where a caller could forge a usage.
   */
  findUsage(value: unknown): UntrustedObject | undefined;
  /** How many choices an event completes; a stream with fewer than were requested and without `[DONE]` was cut off. */
  countFinishedChoices(event: UntrustedObject): number;
  /** Whether an event surely says nothing: no content, call, figures or reason of an end. Undefined: each event of the dialect does. */
  isPreamble?(event: UntrustedObject): boolean;
  /** Whether a complete response says as little. */
  isEmptyResponse?(answer: UntrustedObject): boolean;
  /** In the bytes of an event by which a stream may tell of a failure without the word error. */
  readonly failureMarker?: string;
  /** Bytes; an event that outgrows it ends the stream. */
  readonly maxEventBytes: number;
  /** The generated text of one event of a stream, tool calls and reasoning included. */
  extractEventText(event: UntrustedObject): string;
  /** The generated text of a complete response. */
  extractResponseText(answer: UntrustedObject): string;
  /** An error as an event of a stream in progress; `body` is the envelope. */
  toErrorEvent(body: string): string;
}

export const MAX_TEXT_EVENT_BYTES = 1024 * 1024;
/** Base64 of the largest pictures there are. */
export const MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024;

/** An untrusted value as a list; empty where it is none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** An untrusted value as text; empty where it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Whether a member holds nothing that a caller could miss. */
export const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : typeof value === 'object' && Object.keys(value).length === 0);

/** Whether an object has figures, and one of them is not zero. */
export const hasFigures = (usage: UntrustedObject | undefined): boolean =>
  usage !== undefined && Object.values(usage).some((figure) => typeof figure === 'number' && figure > 0);
