import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import type { BufferedResponse } from '../platform/outbound/outbound.ts';
import type { VendorError } from '../upstreams/upstream.ts';
import {
  type ErrorClass,
  isPolicyText,
  isSuccessCode,
  readReason,
  reasonForStatus,
  type ToldReason,
  toVendorError,
} from './error-mapping.ts';
import { readTaskState } from './task-state.ts';
import { asArray, asCode, asId, asText, asUrl, isForeignId } from './untrusted-json.ts';

/**
 * Reads vendor responses that relays rearrange: inside `{code, data}`, with a second id, with the file's URL in another
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

// --- URLs ---

const ADDRESS_MEMBERS = ['video_url', 'url', 'uri', 'download_url', 'video'];
const MAX_DEPTH = 4;

/** Members in which compatible services put the URL of a finished file, after the vendor's own. */
const ADDRESS_PLACES = [
  ...['video_url', 'url', 'video', 'videos', 'result_url', 'result', 'results', 'output', 'outputs'],
  ...['content', 'metadata', 'data'],
];

/** Candidates for a URL: the value itself, each entry of a list, the members of an object. */
function candidatesIn(value: unknown, depth = 0): readonly unknown[] {
  if (value === undefined || value === null || depth > MAX_DEPTH) return [];
  const entries = asArray(value);
  if (entries) return entries.flatMap((entry) => candidatesIn(entry, depth + 1));
  const holder = asObject(value);
  if (!holder) return [value];
  return ADDRESS_MEMBERS.flatMap((name) => candidatesIn(holder[name], depth + 1));
}

const valueAt = (holder: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => asObject(value)?.[name], holder);

/**
 * The URL of a finished task's file, or the value in its place:
 * undefined for nothing, another type for a damaged response.
 *
 * @param places The vendor's own, as dotted paths; other places of compatible services follow
 */
export function addressOf(task: unknown, places: readonly string[]): unknown {
  const own = places.flatMap((place) => candidatesIn(valueAt(task, place)));
  const all = [...own, ...ADDRESS_PLACES.flatMap((place) => candidatesIn(valueAt(task, place)))];
  const found = all.find((value) => asUrl(value) !== undefined) ?? own[0];
  if (found !== undefined) return found;
  const held = valueAt(task, places[0] ?? '');
  return asArray(held) ? undefined : held;
}

// --- Errors ---

/**
 * Whether a response without a task is an error, whatever its HTTP status: an error with a message or a code, or a code
 * with a message.
 */
export function isErrorAnswer(json: unknown): boolean {
  const answer = asObject(json);
  if (!answer) return false;
  const { code, message } = readReason(answer.error, answer.errors);
  if (code !== '' || message !== undefined) return true;
  const envelopeCode = [answer.code, answer.err_code, answer.error_code].map(asCode).find((it) => it !== undefined);
  const isBad = answer.success === false || (envelopeCode !== undefined && !isSuccessCode(envelopeCode));
  return isBad && readReason(answer).message !== undefined;
}

/** The error of a relay in place of the vendor's own response. */
export function relayedError(response: BufferedResponse): VendorError {
  const told = readReason(response.json);
  return toVendorError(response, 0, { ...told, message: told.message ?? '', meaning: classifyByWords(told) });
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
  return status >= 400 || state === 'FAILURE' || (state === 'UNKNOWN' && (isErrorAnswer(json) || isErrorAnswer(task)));
}

/** Patterns for messages whose code is missing or unknown; the first match counts. */
const WORDS: readonly (readonly [pattern: RegExp, meaning: ErrorClass])[] = [
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
 * by its message, otherwise by a code that is an HTTP status.
 */
export function classifyByWords({ code, message = '' }: ToldReason): ErrorClass | undefined {
  const found = WORDS.find(([pattern]) => pattern.test(message))?.[1];
  if (!found && isPolicyText(`${code} ${message}`)) return { reason: 'policy' };
  return found ?? (/^[45]\d\d$/.test(code) ? { reason: reasonForStatus(Number(code)) } : undefined);
}
