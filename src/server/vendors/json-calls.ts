import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asObject, defined, isObject, type UntrustedObject } from '../../contract/objects.ts';
import type { FailureCause } from '../../contract/task-states.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { Base64Text } from '../platform/base64.ts';
import {
  type BufferedResponse,
  OutboundError,
  type OutboundRequest,
  parseRetryAfter,
} from '../platform/outbound/outbound.ts';
import {
  type AdapterContext,
  type ErrorReason,
  PollFailed,
  UnsupportedRequestError,
  type VendorError,
} from '../upstreams/upstream.ts';
import type {
  ContentSource,
  Json,
  MediaFile,
  QueryOutcome,
  RequestJson,
  SubmitOutcome,
  VideoRequest,
} from './adapter.ts';
import {
  asArray,
  asCode,
  asId,
  asText,
  asUrl,
  isForeignId,
  isSuccessWord,
  ownEntry,
  readTaskState,
  withoutAccount,
} from './untrusted-json.ts';

/**
 * Helpers for adapters of vendors with JSON over HTTP: a key in a header, a task id as the whole handle, one GET for a
 * poll, and the video at a public URL.
 */

/** Headers of a request. */
export type Headers = Readonly<Record<string, string>>;

/** Headers with the channel's API key as a bearer token. */
export const bearerHeaders = ({ credentials }: Pick<AdapterContext, 'credentials'>): Headers => ({
  authorization: `Bearer ${String(credentials.api_key)}`,
});

/** Sends a GET request. */
export const getJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'GET', url, headers, signal: context.signal });

/** Sends a DELETE request. */
export const deleteJson = (context: AdapterContext, url: string, headers: Headers): Promise<BufferedResponse> =>
  context.sendJson({ method: 'DELETE', url, headers, signal: context.signal });

/** Sends a POST request with a JSON body. */
export const postJson = (
  context: AdapterContext,
  url: string,
  headers: Headers,
  body: RequestBody,
): Promise<BufferedResponse> =>
  context.sendJson(withJsonBody({ method: 'POST', url, headers, signal: context.signal }, body));

/**
 * The request with `body` as JSON; unchanged without a body. Can be sent only once, because large images are encoded
 * while it is sent.
 */
export const withJsonBody = (request: OutboundRequest, body: RequestJson | undefined): OutboundRequest =>
  body === undefined
    ? request
    : withSerializedBody(
        { ...request, headers: { ...request.headers, 'content-type': 'application/json' } },
        serializeJsonBody(body),
      );

/** Like `withJsonBody`, for JSON that is already serialized and whose type is in the headers. */
export const withSerializedBody = (request: OutboundRequest, body: string | LongJsonBody): OutboundRequest =>
  typeof body === 'string'
    ? { ...request, body }
    : {
        ...request,
        headers: { ...request.headers, 'content-length': String(body.byteLength) },
        body: Readable.from(inTurns(body.pieces()), { objectMode: false }),
      };

/** Yields one piece per turn of the event loop, because the system may accept many megabytes without a wait. */
async function* inTurns(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

/** The response in its stored form: its JSON without the operator's account, otherwise the start of its text. */
export function toRawResponse({ json, text }: BufferedResponse): Json {
  if (json === undefined) return text.slice(0, 2_000);
  const response = asObject(json);
  return (response === undefined ? json : withoutAccount(response)) as Json;
}

/** The id in a handle of `acceptedSubmit`; empty for anything else, which the vendor does not know. */
export const parseIdHandle = (handle: Json): string => asId(asObject(handle)?.id) ?? '';

/**
 * An accepted submit, or one that is refused because the response contains an error instead of an id.
 * @throws OutboundError `mayHaveArrived` if there is neither: a job may exist nevertheless.
 */
export function acceptedSubmit(id: string | undefined, response: BufferedResponse, handle?: Json): SubmitOutcome {
  if (id === undefined && isErrorResponse(response.json)) return refusedSubmit(relayedError(response), response);
  if (id === undefined) throw ambiguousSubmit(response);
  return { kind: 'accepted', handle: handle ?? { id }, upstreamId: id, raw: toRawResponse(response) };
}

/**
 * A refused submit.
 * @throws OutboundError `mayHaveArrived` if a gateway timed out: the job may have started, and a second one would be
 * charged too.
 */
export function refusedSubmit(error: VendorError, response: BufferedResponse): SubmitOutcome {
  if (mayHaveStarted(response, error)) throw ambiguousSubmit(response);
  return { kind: 'refused', error, raw: toRawResponse(response) };
}

/**
 * A finished task, from the value in the place of its video's URL. Text or nothing is the vendor's statement that there
 * is no video, which is a failure; any other type is a damaged response, and the next poll's may be intact.
 *
 * @throws PollFailed
 */
export function finishedTask(url: unknown, response: BufferedResponse, code = ''): QueryOutcome {
  const parsed = asUrl(url);
  const raw = toRawResponse(response);
  if (parsed !== undefined) return { state: 'SUCCESS', artifact: { kind: 'url', url: parsed }, raw };
  if (url !== undefined && url !== null && typeof url !== 'string') throw unreadablePoll(response);
  return successWithoutArtifact(raw, code);
}

/**
 * A file that needs no credentials, from the response stored with the task.
 * @throws PollFailed if it has no URL.
 */
export function publicFile(url: unknown): ContentSource {
  const parsed = asUrl(url);
  if (parsed === undefined) throw new PollFailed('the stored response of this task has no URL of the video');
  return { kind: 'fetch', url: parsed, headers: {}, trusted: false };
}

/** The class of a vendor's code: by the whole code, otherwise by the part before its first dot. */
export const classifyByTable =
  (classes: Readonly<Record<string, ErrorClass>>) =>
  (code: string): ErrorClass | undefined =>
    ownEntry(classes, code) ?? ownEntry(classes, code.split('.', 1)[0] ?? '');

/** A vendor's request body while it is being built. */
export type RequestBody = { [key: string]: RequestJson };

/** Names that reach into prototypes, in any part of a path. */
const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const ARRAY_INDEX = /^\d{1,3}$/;

const isContainer = (value: unknown): value is RequestBody | RequestJson[] =>
  typeof value === 'object' && value !== null && !(value instanceof Base64Text);

function getChild(parent: RequestBody | RequestJson[], key: string): RequestJson | undefined {
  if (Array.isArray(parent)) return ARRAY_INDEX.test(key) ? parent[Number(key)] : undefined;
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function setChild(parent: RequestBody | RequestJson[], key: string, value: RequestJson, path: string): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (ARRAY_INDEX.test(key) && Number(key) <= parent.length) parent[Number(key)] = value;
  else throw new UnsupportedRequestError(`${path} does not lead into the upstream's request.`, path);
}

/**
 * Sets `value` at a dotted path (`parameters.seed`, `content.0.text`), creating missing objects; numbers index existing
 * arrays. Refuses paths through prototypes and through values that are not containers. Containers on the path are
 * copied before they are written to, so that only `body` itself changes.
 */
export function setPath(body: RequestBody, path: string, value: RequestJson): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  if (last === '' || keys.includes('') || PROTOTYPE_KEYS.has(last) || keys.some((key) => PROTOTYPE_KEYS.has(key))) {
    throw new UnsupportedRequestError(`${path} is no path into the upstream's request.`, path);
  }
  let parent: RequestBody | RequestJson[] = body;
  for (const key of keys) {
    const found = getChild(parent, key);
    if (found !== undefined && !isContainer(found))
      throw new UnsupportedRequestError(`${path} leads through a value.`, path);
    const next: RequestBody | RequestJson[] = Array.isArray(found) ? [...found] : { ...found };
    setChild(parent, key, next, path);
    parent = next;
  }
  setChild(parent, last, value, path);
}

/**
 * Writes the arguments of the model's media schema over the body; they take precedence because an administrator
 * declared them.
 */
export function applyExtraFields(body: RequestBody, extra: VideoRequest['extraFields']): RequestBody {
  for (const { path, value } of extra) setPath(body, path, value);
  return body;
}

/** Drops undefined values: `{a: 1, b: undefined}` → `{a: 1}`. */
export const omitUndefined = <Value extends RequestJson>(
  fields: Readonly<Record<string, Value | undefined>>,
): { [key: string]: Value } => defined(fields) as { [key: string]: Value };

/** JSON of a request with large images, which are encoded while it is sent. */
export class LongJsonBody {
  readonly #parts: readonly (string | Base64Text)[];
  /** For `Content-Length`. */
  readonly byteLength: number;

  constructor(value: RequestJson) {
    const parts: (string | Base64Text)[] = [];
    let json = '';
    for (const part of jsonParts(value)) {
      if (typeof part === 'string') json += part;
      else {
        parts.push(json, part);
        json = '';
      }
    }
    this.#parts = [...parts, json];
    this.byteLength = this.#parts.reduce<number>(
      (sum, part) => sum + (typeof part === 'string' ? Buffer.byteLength(part) : part.length),
      0,
    );
  }

  /** Yields all bytes from the start on each call. */
  *pieces(): Generator<Buffer> {
    for (const part of this.#parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* part.pieces();
    }
  }
}

/** Serializes the JSON of a request, with the same result as `JSON.stringify`. */
export const serializeJsonBody = (value: RequestJson): string | LongJsonBody =>
  holdsBase64(value) ? new LongJsonBody(value) : JSON.stringify(value);

/** Small bodies, as nearly all are, are written by `JSON.stringify` alone. */
const holdsBase64 = (value: RequestJson | undefined): boolean =>
  value instanceof Base64Text ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsBase64));

function* jsonParts(value: RequestJson): Generator<string | Base64Text> {
  if (!holdsBase64(value)) yield JSON.stringify(value);
  else if (value instanceof Base64Text) yield* ['"', value, '"'];
  else {
    const isList = Array.isArray(value);
    // A member without a value is omitted, an element without one is null.
    const entries = Object.entries(value as object).filter(([, inner]) => isList || inner !== undefined);
    yield isList ? '[' : '{';
    for (const [index, [key, inner]] of entries.entries()) {
      yield `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(key)}:`}`;
      yield* jsonParts(inner ?? null);
    }
    yield isList ? ']' : '}';
  }
}

/** Meaning of a vendor's code; `retryable` and `cause` only where they differ from the reason's own. */
export interface ErrorClass {
  readonly reason: ErrorReason;
  readonly retryable?: boolean;
  readonly cause?: FailureCause;
}

/** The class of a failure whose code is missing or unknown. */
export const UNKNOWN_FAILURE: ErrorClass = { reason: 'other' };

/**
 * Whether another channel should be tried: yes if the fault lies with this channel, its account or its vendor, no if it
 * lies with the request.
 */
const RETRYABLE_BY_REASON: Readonly<Record<ErrorReason, boolean>> = {
  user: false,
  policy: false,
  missing: false,
  other: false,
  rate: true,
  capacity: true,
  auth: true,
  billing: true,
  model: true,
};

const REASON_BY_STATUS: Readonly<Record<number, ErrorReason>> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'user',
  408: 'capacity',
  409: 'capacity',
  429: 'rate',
};

/** The fallback where the vendor's own code is missing or unknown (RFC 9110 section 15). */
export function reasonForStatus(status: number): ErrorReason {
  if (status >= 500) return 'capacity';
  return REASON_BY_STATUS[status] ?? (status >= 400 ? 'user' : 'other');
}

/** Statuses of a gateway that timed out waiting for the vendor: RFC 9110 section 15.6.5, Cloudflare. */
const GATEWAY_TIMEOUTS: ReadonlySet<number> = new Set([504, 524]);

/** Whether a refused submit may have started a job: a gateway timed out, and the response is not the vendor's own. */
export const mayHaveStarted = ({ status }: BufferedResponse, error: VendorError): boolean =>
  GATEWAY_TIMEOUTS.has(status) && error.isPage === true;

/** Words of content checks in the messages and codes of all vendors. */
const POLICY_WORDS =
  /risk.?control|risk not pass|sensitive|content.?(?:security|safety|policy|filter|moderation)|moderat(?:ed|ion)|policy.?violation|violat\w* .{0,40}polic|prohibited|nsfw|safety (?:filter|system|check)|responsible ai|风控|敏感|违规|审核(?:不|未)通过/i;

/** Whether a vendor's text names its content check as the reason. */
export const isPolicyText = (text: string): boolean => POLICY_WORDS.test(text);

/** Members in which some vendor or gateway puts the message of a failure, or its code. */
const MESSAGE_KEYS = [
  ...['message', 'msg', 'error_message', 'errorMessage', 'error_msg', 'err_msg', 'errmsg', 'task_status_msg'],
  ...['status_msg', 'fail_reason', 'failReason', 'failure_reason', 'failureReason', 'fail_msg', 'failMsg', 'failure'],
  ...['reason', 'detail', 'details', 'description'],
] as const;
const CODE_KEYS = [
  ...['code', 'error_code', 'errorCode', 'err_code', 'errcode', 'failureCode', 'failure_code', 'fail_code'],
  ...['status_code', 'reason', 'type'],
] as const;
const NESTED_KEYS = ['error', 'err', 'errors', 'failure', 'base_resp', 'detail', 'details'] as const;
const MAX_REASON_DEPTH = 4;

/** The reason of a failure as the vendor reported it. */
export interface ReportedReason {
  /** Empty if no code was found. */
  readonly code: string;
  readonly message: string | undefined;
}

/**
 * Finds the reason of a failure in values of a response: texts, objects, and objects nested in those. The first message
 * found wins, and the first code. Codes and messages of success are ignored.
 *
 * @param places the vendor's documented place first
 */
export function readReason(...places: readonly unknown[]): ReportedReason {
  let code: string | undefined;
  let message: string | undefined;
  const visit = (place: unknown, depth: number): void => {
    if (depth > MAX_REASON_DEPTH || (code !== undefined && message !== undefined)) return;
    if (typeof place === 'string') message ??= toReasonText(place);
    for (const item of asArray(place)?.slice(0, 3) ?? []) visit(item, depth + 1);
    const object = asObject(place);
    if (object === undefined) return;
    message ??= MESSAGE_KEYS.map((key) => toReasonText(object[key])).find((text) => text !== undefined);
    code ??= CODE_KEYS.map((key) => toReasonCode(object[key])).find((text) => text !== undefined);
    for (const key of NESTED_KEYS) visit(object[key], depth + 1);
  };
  for (const place of places) visit(place, 0);
  return { code: code ?? '', message };
}

function toReasonText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || isSuccessCode(text) ? undefined : text;
}

function toReasonCode(value: unknown): string | undefined {
  const code = asCode(value);
  return code === undefined || isSuccessCode(code) || code.length > 100 ? undefined : code;
}

/** Whether an envelope's code, as `asCode` reads it, reports success: `0`, `200`, `success`, `ok`. */
export const isSuccessCode = (code: string): boolean => /^(?:0+|200|ok)$/i.test(code) || isSuccessWord(code);

/** A longer wait is cut, so that the channel is tried again. */
const MAX_RETRY_AFTER_MS = HOUR_MS;

/** A 3xx or 4xx without the vendor's envelope, such as a gateway's page: the connection is at fault, not the caller. */
const PAGE: ErrorClass = { reason: 'capacity' };

/**
 * Builds an error from the vendor's code, or from the HTTP status if the code is unknown.
 *
 * @param details `isPage`: the response lacks the vendor's envelope. Default: true if it has no code, message or known
 * meaning.
 */
export function toVendorError(
  response: BufferedResponse,
  nowMs: number,
  details: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string;
    readonly meaning?: ErrorClass;
    readonly isPage?: boolean;
  },
): VendorError {
  const { code = '', message = '', isPage = !code && !message && !details.meaning } = details;
  const meaning = details.meaning ?? classifyUnknown(response.status, `${code} ${message}`, isPage);
  const retryAfterMs = parseRetryAfter(response.headers, nowMs);
  return defined({
    reason: meaning.reason,
    cause: meaning.cause,
    retryable: meaning.retryable ?? RETRYABLE_BY_REASON[meaning.reason],
    httpStatus: response.status,
    code,
    message: message || `The upstream answered HTTP ${response.status} without a reason.`,
    param: details.param,
    retryAfterMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS),
    isPage: isPage || undefined,
  });
}

/** The class of an error without a known code. */
function classifyUnknown(status: number, text: string, isPage: boolean): ErrorClass {
  const reason = reasonForStatus(status);
  if (isPage) return status === 403 || reason === 'user' || reason === 'other' ? PAGE : { reason };
  return reason === 'user' && isPolicyText(text) ? { reason: 'policy' } : { reason };
}

/** A failure of the task itself, with the details of a poll's response. */
export function failedTask(
  raw: Json,
  details: {
    readonly reason: ErrorReason;
    readonly cause?: FailureCause;
    readonly code?: string;
    readonly message?: string;
    readonly httpStatus?: number;
  },
): QueryOutcome {
  const { code = '', message = '', cause } = details;
  const isPolicy = details.reason === 'other' && cause === undefined && isPolicyText(`${code} ${message}`);
  const error: VendorError = defined({
    reason: isPolicy ? 'policy' : details.reason,
    cause,
    retryable: false,
    httpStatus: details.httpStatus ?? 200,
    code,
    message: message || 'The upstream says that the task failed, without a reason.',
  });
  return { state: 'FAILURE', error, raw };
}

/** Treats success without a video as a failure. */
export const successWithoutArtifact = (raw: Json, code = ''): QueryOutcome =>
  failedTask(raw, {
    reason: 'other',
    cause: 'no_result',
    code,
    message: 'The upstream says that the task succeeded, but gives no video.',
  });

/**
 * A submit response that is neither success nor refusal: HTTP 200 with a page, half a body, no id. The job may exist,
 * so it is thrown as a lost response and the submit is never repeated.
 */
export function ambiguousSubmit(response: BufferedResponse): OutboundError {
  return new OutboundError('body', `the upstream answered HTTP ${response.status} without a task id`, {
    mayHaveArrived: true,
  });
}

/** A poll whose response cannot be read, contradicts itself or is about another task. */
export const unreadablePoll = (response: BufferedResponse): PollFailed =>
  new PollFailed(`the upstream answered HTTP ${response.status} with something else than the task`);

/** A poll that was refused: sent too early, with a wrong key, or during an outage. */
export const rejectedPoll = (error: VendorError): PollFailed => new PollFailed(error.message, error);

/**
 * Builds a body by RFC 7578; objects become bracketed names (`input_reference[image_url]`), as in the official clients.
 */
export function toMultipart(fields: RequestBody, file: Required<MediaFile>, fileField: string) {
  const boundary = `reelgate-${randomBytes(16).toString('hex')}`;
  const parts: Buffer[] = [];
  const part = (disposition: string, value: Buffer) => {
    parts.push(
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`),
      value,
      Buffer.from('\r\n'),
    );
  };
  const quote = (name: string) => name.replace(/[\r\n"]/g, (sign) => encodeURIComponent(sign));
  const field = (name: string, value: Json): void => {
    if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) field(`${name}[${key}]`, inner);
    } else part(`name="${quote(name)}"`, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  };
  // The only file is the last part, so everything else is plain JSON.
  for (const [name, value] of Object.entries(fields)) field(name, value as Json);
  const type = file.mediaType.replace(/[\r\n]/g, '');
  part(`name="${fileField}"; filename="${quote(file.filename)}"\r\ncontent-type: ${type}`, file.bytes);
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) };
}

/*
 * The rest reads responses that relays rearrange: inside `{code, data}`, with a second id, with the file's URL in another
 * member, with an error behind HTTP 200.
 */

/** Names of the members that hold a task's id and state, the vendor's own first. */
export interface TaskMembers {
  readonly ids: readonly string[];
  readonly state: string;
}

const TASK_MEMBERS: TaskMembers = { ids: ['id', 'task_id'], state: 'status' };

const ENVELOPE_MEMBERS = ['data', 'result', 'response'];

/**
 * Finds the task in a response: the response itself, or the content of its envelope. An envelope may have a `status` of
 * its own, so an object that has both an id and a state is preferred, then one inside an envelope.
 */
export function unwrapTask(json: unknown, { ids, state }: TaskMembers = TASK_MEMBERS): UntrustedObject | undefined {
  const outer = asObject(json);
  if (!outer) return undefined;
  const inner = ENVELOPE_MEMBERS.map((name) => asObject(asArray(outer[name])?.[0] ?? outer[name])).filter(
    (held) => held !== undefined,
  );
  const hasId = (task: UntrustedObject) => ids.some((name) => asId(task[name]) !== undefined);
  const hasState = (task: UntrustedObject) => asText(task[state]) !== undefined;
  return (
    [outer, ...inner].find((task) => hasId(task) && hasState(task)) ??
    inner.find(hasState) ??
    (hasState(outer) ? outer : undefined) ??
    [outer, ...inner].find(hasId) ??
    outer
  );
}

/**
 * The vendor's own response, which a relay may have put into an envelope.
 * @param isOwn recognises the vendor's own form
 */
export function unwrapResponse(
  response: BufferedResponse,
  isOwn: (json: UntrustedObject) => boolean,
): BufferedResponse {
  const outer = asObject(response.json);
  if (outer === undefined || isOwn(outer)) return response;
  const inner = ENVELOPE_MEMBERS.map((name) => asObject(outer[name])).find((held) => held !== undefined && isOwn(held));
  return inner === undefined ? response : { ...response, json: inner };
}

/** Whether a response has the form `{code, data}`, and not twice. */
export const hasOwnEnvelope = ({ data }: UntrustedObject): boolean =>
  data !== undefined && asObject(data)?.data === undefined;

/** The id of a new task. Relays put the number of a row in `id` and the task's own id in `task_id`. */
export function taskIdIn(task: UntrustedObject | undefined, { ids }: TaskMembers = TASK_MEMBERS): string | undefined {
  const found = ids.map((name) => asId(task?.[name])).filter((id) => id !== undefined);
  return found.find((id) => /\D/.test(id)) ?? found[0];
}

/** Whether a response is about the task `id`: one of its ids matches, or it has none. */
export function isAboutTask(task: UntrustedObject, id: string, { ids }: TaskMembers = TASK_MEMBERS): boolean {
  const values = ids.map((name) => task[name]);
  return values.some((value) => asId(value) === id) || !values.some((value) => isForeignId(value, id));
}

const URL_MEMBERS = ['video_url', 'url', 'uri', 'download_url', 'video', 'videos'];
const MAX_DEPTH = 4;

/**
 * Dotted paths at which compatible services put the URL of a finished file; tried after the vendor's own. Gateways have
 * it in place of a reason, and last in their copy of the vendor's response.
 */
const URL_PLACES = [
  ...['video_url', 'url', 'video', 'videos', 'result_url', 'result', 'results', 'output', 'outputs'],
  ...['content', 'metadata', 'fail_reason', 'data', 'task_result', 'data.data', 'data.data.task_result'],
];

/** Candidates for a URL: the value itself, each entry of a list, the members of an object. */
function candidatesIn(value: unknown, depth = 0): readonly unknown[] {
  if (value === undefined || value === null || depth > MAX_DEPTH) return [];
  const entries = asArray(value);
  if (entries) return entries.flatMap((entry) => candidatesIn(entry, depth + 1));
  const holder = asObject(value);
  if (!holder) return [value];
  return URL_MEMBERS.flatMap((name) => candidatesIn(holder[name], depth + 1));
}

const valueAt = (holder: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => asObject(value)?.[name], holder);

/**
 * The URL of a finished task's file. Without one, the value at the vendor's own path, from which `finishedTask` decides
 * whether the vendor has no video or the response is damaged.
 *
 * @param places the vendor's own dotted paths
 */
export function fileUrlOf(task: unknown, places: readonly string[]): unknown {
  const own = places.flatMap((place) => candidatesIn(valueAt(task, place)));
  const all = [...own, ...URL_PLACES.flatMap((place) => candidatesIn(valueAt(task, place)))];
  const found = all.find((value) => asUrl(value) !== undefined) ?? own[0];
  if (found !== undefined) return found;
  const held = valueAt(task, places[0] ?? '');
  return asArray(held) ? undefined : held;
}

/**
 * Whether a response without a task is an error, whatever its HTTP status: an error with a message or a code, or a code
 * with a message.
 */
export function isErrorResponse(json: unknown): boolean {
  const answer = asObject(json);
  if (!answer) return false;
  const { code, message } = readReason(answer.error, answer.errors);
  if (code !== '' || message !== undefined) return true;
  const envelopeCode = [answer.code, answer.err_code, answer.error_code].map(asCode).find((it) => it !== undefined);
  const isBad = answer.success === false || (envelopeCode !== undefined && !isSuccessCode(envelopeCode));
  return isBad && readReason(answer).message !== undefined;
}

/** The error of a relay in place of the vendor's own response. */
function relayedError(response: BufferedResponse): VendorError {
  const reported = readReason(response.json);
  return toVendorError(response, 0, {
    ...reported,
    message: reported.message ?? '',
    meaning: classifyByWords(reported),
  });
}

/**
 * Whether the response to a submit refuses it: by its status, by an error instead of a task, or by a task that has
 * already failed.
 */
export function isRefusedSubmit(
  { status, json }: BufferedResponse,
  task: UntrustedObject | undefined,
  members: TaskMembers = TASK_MEMBERS,
): boolean {
  const state = readTaskState(task?.[members.state]);
  return (
    status >= 400 || state === 'FAILURE' || (state === 'UNKNOWN' && (isErrorResponse(json) || isErrorResponse(task)))
  );
}

/** Codes of gateways, beside which the message may be in any language: New API (`types/error.go`), this service. */
const REASON_BY_GATEWAY_CODE: Readonly<Record<string, ErrorReason>> = {
  access_denied: 'auth',
  'channel:invalid_key': 'auth',
  'channel:no_available_key': 'auth',
  quota_not_enough: 'billing',
  insufficient_quota: 'billing',
  insufficient_user_quota: 'billing',
  insufficient_balance: 'billing',
  pre_consume_token_quota_failed: 'billing',
  model_not_found: 'model',
  model_not_allowed: 'model',
  get_channel_failed: 'capacity',
  sensitive_words_detected: 'policy',
  prompt_blocked: 'policy',
};

/** The class of a message whose code is missing or unknown; the first match counts. */
const CLASS_BY_MESSAGE: readonly (readonly [pattern: RegExp, meaning: ErrorClass])[] = [
  [
    /(?:insufficient|not enough|not sufficient|no|low)\W.{0,16}(?:balance|quota|credits?|funds)|quota is not enough|overdue|余额不足|额度不足|欠费/i,
    { reason: 'billing' },
  ],
  [/rate.?limit|too many (?:requests|tasks)|频繁/i, { reason: 'rate' }],
  [/overload|no available channel|temporarily unavailable|system busy|繁忙|无可用渠道/i, { reason: 'capacity' }],
  [/(?:invalid|incorrect|expired).{0,12}(?:api.?key|token)|unauthori[sz]ed|无效的令牌/i, { reason: 'auth' }],
];

/**
 * The class of an error that the vendor's own table does not list:
 * by a gateway's code, then by its message, otherwise by a code that is an HTTP status.
 */
export function classifyByWords({ code, message = '' }: ReportedReason): ErrorClass | undefined {
  const reason = ownEntry(REASON_BY_GATEWAY_CODE, code);
  if (reason !== undefined) return { reason };
  const found = CLASS_BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1];
  if (!found && isPolicyText(`${code} ${message}`)) return { reason: 'policy' };
  return found ?? (/^[45]\d\d$/.test(code) ? { reason: reasonForStatus(Number(code)) } : undefined);
}
