/** Internal states of a video task; the same words in database, API, SDK and console. */
export const TASK_STATUS = {
  NOT_START: 'NOT_START',
  SUBMITTED: 'SUBMITTED',
  QUEUED: 'QUEUED',
  IN_PROGRESS: 'IN_PROGRESS',
  SUCCESS: 'SUCCESS',
  FAILURE: 'FAILURE',
  UNKNOWN: 'UNKNOWN',
} as const;

export type TaskStatus = (typeof TASK_STATUS)[keyof typeof TASK_STATUS];

/** Final states: a task never leaves them. */
export const isTerminal = (status: TaskStatus): boolean => status === 'SUCCESS' || status === 'FAILURE';

/** Percent sent where the vendor reports none: a step for each state, never to be shown as measured. */
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
