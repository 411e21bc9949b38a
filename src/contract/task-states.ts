/** Internal states of a video task, spelled identically in database, API, SDK and console. */
export const TASK_STATUS = {
  NOT_START: 'NOT_START',
  SUBMITTED: 'SUBMITTED',
  QUEUED: 'QUEUED',
  IN_PROGRESS: 'IN_PROGRESS',
  SUCCESS: 'SUCCESS',
  FAILURE: 'FAILURE',
  UNKNOWN: 'UNKNOWN',
} as const;

/** Internal state of a video task. */
export type TaskStatus = (typeof TASK_STATUS)[keyof typeof TASK_STATUS];

/** Final states: a task never leaves them. */
export const isTerminal = (status: TaskStatus): boolean => status === 'SUCCESS' || status === 'FAILURE';

/** Percent reported when the vendor provides none: one step per state. Never show it as a measured value. */
export const COARSE_PROGRESS: Readonly<Record<TaskStatus, number>> = {
  NOT_START: 0,
  UNKNOWN: 0,
  SUBMITTED: 10,
  QUEUED: 20,
  IN_PROGRESS: 30,
  SUCCESS: 100,
  FAILURE: 100,
};

/** Status values of the OpenAI-style video object. */
export type OpenAiVideoStatus = 'unknown' | 'queued' | 'in_progress' | 'completed' | 'failed';

/** Internal state → status of the OpenAI-style object. */
export const OPENAI_STATUS: Readonly<Record<TaskStatus, OpenAiVideoStatus>> = {
  NOT_START: 'unknown',
  SUBMITTED: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'in_progress',
  SUCCESS: 'completed',
  FAILURE: 'failed',
  UNKNOWN: 'unknown',
};

/**
 * Why a video failed, in terms common to all vendors; each has a text and an advice in every language
 * (`messages/failures-en.ts`).
 * - the request: `prompt_refused`, `picture_refused`, `likeness_refused` (a recognizable person), `copyright_refused`,
 *   `content_refused` (prompt or images; the vendor does not say which), `picture_unreadable`, `picture_unsuitable`,
 *   `request_invalid`
 * - the result: `result_refused`, `no_result`
 * - the vendor: `vendor_busy`, `vendor_trouble`, `vendor_check_down` (its moderation is out of service), `unreachable`
 * - the operator's account at the vendor: `account_trouble`, `model_unavailable`, `channel_removed`
 * - the course of the task: `expired`, `timeout`, `unconfirmed`, `cancelled`
 * - `unknown`: none of these
 */
export const FAILURE_CAUSES = [
  'prompt_refused',
  'picture_refused',
  'likeness_refused',
  'copyright_refused',
  'content_refused',
  'picture_unreadable',
  'picture_unsuitable',
  'request_invalid',
  'result_refused',
  'no_result',
  'vendor_busy',
  'vendor_trouble',
  'vendor_check_down',
  'unreachable',
  'account_trouble',
  'model_unavailable',
  'channel_removed',
  'expired',
  'timeout',
  'unconfirmed',
  'cancelled',
  'unknown',
] as const;
/** Why a video failed. */
export type FailureCause = (typeof FAILURE_CAUSES)[number];
