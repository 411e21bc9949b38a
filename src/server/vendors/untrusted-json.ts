import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import type { TaskStatus } from '../../contract/task-states.ts';
import type { BufferedResponse } from '../platform/outbound/outbound.ts';
import type { VendorError } from '../upstreams/upstream.ts';

/** Undefined for any value that is not an array. */
export const asArray = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined);

/** Text, or undefined for other types and for the empty string. */
export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** A table's own entry for an untrusted key, never an inherited one (`constructor`). */
export const ownEntry = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** Whether a call succeeded by its HTTP status alone: gateways return 201 or 202 where the vendor documents 200. */
export const isSuccessStatus = ({ status }: Pick<BufferedResponse, 'status'>): boolean => status >= 200 && status < 300;

/** Gateways pack provider, deployment and the vendor's own id into one identifier of several hundred characters. */
const ID = /^[\x21-\x7e]{1,4096}$/;

/**
 * An upstream's id: text or a whole number, of bounded length. Whole numbers beyond 2^53 arrive as text with all their digits
 * (`AdapterContext.sendJson`).
 */
export function asId(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  const text = typeof value === 'string' ? value.trim() : '';
  return ID.test(text) ? text : undefined;
}

/** Whether a response names an object other than `id`. Absent, null and empty values name none. */
export const isForeignId = (value: unknown, id: string): boolean =>
  value !== undefined && value !== null && value !== '' && asId(value) !== id;

/** A vendor's code: a number, or its text. Undefined for absent, null, empty and other types. */
export function asCode(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

/** `cdn.vendor.com/file.mp4` and `//cdn.vendor.com/file.mp4`: a host with a dot, and a path. */
const WITHOUT_SCHEME = /^(?:\/\/)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)+(?::\d{1,5})?\/\S+)$/i;

/** An http(s) URL without surrounding whitespace; https if the scheme is missing. */
export function asUrl(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  const bare = WITHOUT_SCHEME.exec(text)?.[1];
  const url = bare === undefined ? text : `https://${bare}`;
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? url : undefined;
}

/** The first URL of a list of texts or objects, or of a single one; in objects, the first of `keys` that holds a URL. */
export function firstUrl(value: unknown, keys: readonly string[] = ['url']): string | undefined {
  for (const item of asArray(value) ?? [value]) {
    const object = asObject(item);
    const found = [item, ...keys.map((key) => object?.[key])].map(asUrl).find((url) => url !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A whole percentage from 0 to 100: of `45`, `45.6`, `"45"`, `"45%"` and of fractions below one. */
export function asPercent(value: unknown): number | undefined {
  const match = typeof value === 'string' ? /^\s*(-?\d{1,12}(?:\.\d{1,18})?)\s*(%?)\s*$/.exec(value) : null;
  const figure = match ? Number(match[1]) : value;
  if (typeof figure !== 'number' || !Number.isFinite(figure)) return undefined;
  const isFraction = figure > 0 && figure < 1 && match?.[2] !== '%';
  return Math.min(100, Math.max(0, Math.floor(isFraction ? Math.round(figure * 1e6) / 1e4 : figure)));
}

/** Upper bounds of the years that are plausible in each unit: seconds until 5138, milliseconds until 5138, then microseconds. */
const MAX_SECONDS = 1e11;
const MAX_MILLISECONDS = 1e14;

/** Unix seconds of a time in seconds, milliseconds or microseconds, distinguished by magnitude, or of an ISO date; as number or text. */
export function asUnixSeconds(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  const isNumeric = /^\d{1,18}(?:\.\d{1,9})?$/.test(text);
  const time = isNumeric ? Number(text) : /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) / 1_000 : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) return undefined;
  const divisor = time < MAX_SECONDS ? 1 : time < MAX_MILLISECONDS ? 1_000 : 1_000_000;
  return Math.floor(time / divisor);
}

/**
 * Status words of all vendors in their normalised spelling. Gateways change cases
 * and tenses, and respond in the words of another vendor, so every adapter reads all
 * of them; where a vendor uses a word differently, its own table takes precedence.
 */
const STATE_BY_WORD: Readonly<Record<string, TaskStatus>> = {
  created: 'SUBMITTED',
  submit: 'SUBMITTED',
  submitted: 'SUBMITTED',
  accepted: 'SUBMITTED',
  received: 'SUBMITTED',
  preparing: 'SUBMITTED',
  initializing: 'SUBMITTED',
  starting: 'SUBMITTED',
  queue: 'QUEUED',
  queued: 'QUEUED',
  queueing: 'QUEUED',
  queuing: 'QUEUED',
  in_queue: 'QUEUED',
  inqueue: 'QUEUED',
  pending: 'QUEUED',
  wait: 'QUEUED',
  waiting: 'QUEUED',
  scheduled: 'QUEUED',
  throttled: 'QUEUED',
  not_start: 'QUEUED',
  not_started: 'QUEUED',
  process: 'IN_PROGRESS',
  processing: 'IN_PROGRESS',
  running: 'IN_PROGRESS',
  generating: 'IN_PROGRESS',
  working: 'IN_PROGRESS',
  uploading: 'IN_PROGRESS',
  in_process: 'IN_PROGRESS',
  in_progress: 'IN_PROGRESS',
  inprogress: 'IN_PROGRESS',
  progress: 'IN_PROGRESS',
  run: 'IN_PROGRESS',
  started: 'IN_PROGRESS',
  active: 'IN_PROGRESS',
  preprocessing: 'IN_PROGRESS',
  // Cancelled or finished only later.
  canceling: 'IN_PROGRESS',
  cancelling: 'IN_PROGRESS',
  success: 'SUCCESS',
  succeed: 'SUCCESS',
  succeeds: 'SUCCESS',
  succeeded: 'SUCCESS',
  successful: 'SUCCESS',
  done: 'SUCCESS',
  complete: 'SUCCESS',
  completed: 'SUCCESS',
  finish: 'SUCCESS',
  finished: 'SUCCESS',
  fail: 'FAILURE',
  failed: 'FAILURE',
  failure: 'FAILURE',
  error: 'FAILURE',
  errored: 'FAILURE',
  cancel: 'FAILURE',
  canceled: 'FAILURE',
  cancelled: 'FAILURE',
  abort: 'FAILURE',
  aborted: 'FAILURE',
  terminated: 'FAILURE',
  expire: 'FAILURE',
  expired: 'FAILURE',
  timeout: 'FAILURE',
  timed_out: 'FAILURE',
  reject: 'FAILURE',
  rejected: 'FAILURE',
  refused: 'FAILURE',
  blocked: 'FAILURE',
  moderated: 'FAILURE',
  filtered: 'FAILURE',
};

type FailureClass = Pick<VendorError, 'reason' | 'cause'>;

/** Failure words that imply a reason. */
const CLASS_BY_WORD: Readonly<Record<string, FailureClass>> = {
  cancel: { reason: 'other', cause: 'cancelled' },
  canceled: { reason: 'other', cause: 'cancelled' },
  cancelled: { reason: 'other', cause: 'cancelled' },
  expire: { reason: 'other', cause: 'expired' },
  expired: { reason: 'other', cause: 'expired' },
  timeout: { reason: 'other', cause: 'timeout' },
  timed_out: { reason: 'other', cause: 'timeout' },
  refused: { reason: 'policy' },
  blocked: { reason: 'policy' },
  moderated: { reason: 'policy' },
  filtered: { reason: 'policy' },
};

/** `InProgress`, `IN PROGRESS`, `TASK_STATUS_IN_PROGRESS` → `in_progress`. */
export const normaliseStateWord = (word: string): string =>
  word
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
    .replace(/^(?:task|job|video)?_?(?:state|status)_/, '');

/**
 * The state that a vendor's status word means; UNKNOWN for words in no table.
 *
 * @param own the vendor's own meanings, by normalised word
 */
export function readTaskState(word: unknown, own: Readonly<Record<string, TaskStatus>> = {}): TaskStatus {
  const normalised = typeof word === 'string' ? normaliseStateWord(word) : '';
  return ownEntry(own, normalised) ?? ownEntry(STATE_BY_WORD, normalised) ?? 'UNKNOWN';
}

/** The reason inside a failure word (`canceled`, `expired`); undefined for words that only say that the task failed. */
export const classifyFailureWord = (word: unknown): FailureClass | undefined =>
  typeof word === 'string' ? ownEntry(CLASS_BY_WORD, normaliseStateWord(word)) : undefined;

/** Whether a word says that a task or a call has succeeded. */
export const isSuccessWord = (word: unknown): boolean => readTaskState(word) === 'SUCCESS';

/** Members about the operator's account at a gateway, which callers must not see: stored responses are shown to them. */
const ACCOUNT_MEMBERS: ReadonlySet<string> = new Set(['user_id', 'username', 'group', 'channel_id', 'quota']);

/** Envelopes and tasks of several gateways, one behind another. */
const MAX_DEPTH = 8;

/** A response without the operator's account at any gateway on its way; the same object if it has nothing about it. */
export function withoutAccount(response: UntrustedObject, depth = 0): UntrustedObject {
  // Gateways keep the response of the next one, or the vendor's, in this member.
  const data = depth < MAX_DEPTH ? asObject(response.data) : undefined;
  const rest = data && withoutAccount(data, depth + 1);
  if (rest === data && !Object.keys(response).some((name) => ACCOUNT_MEMBERS.has(name))) return response;
  const kept = Object.entries(response).filter(([name]) => !ACCOUNT_MEMBERS.has(name));
  return { ...Object.fromEntries(kept), ...(rest !== data && { data: rest }) };
}
