import type { TaskStatus } from '../../contract/task-states.ts';
import type { VendorError } from '../upstreams/upstream.ts';
import { ownEntry } from './untrusted-json.ts';

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
