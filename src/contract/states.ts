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

/** States from which a task never moves again. */
export const isTerminal = (status: TaskStatus): boolean => status === 'SUCCESS' || status === 'FAILURE';

/** Words of the OpenAI-style video object. */
export type OpenAiVideoStatus = 'unknown' | 'queued' | 'in_progress' | 'completed' | 'failed';

/** Internal state → word of the OpenAI-style object. */
export const OPENAI_STATUS: Readonly<Record<TaskStatus, OpenAiVideoStatus>> = {
  NOT_START: 'unknown',
  SUBMITTED: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'in_progress',
  SUCCESS: 'completed',
  FAILURE: 'failed',
  UNKNOWN: 'unknown',
};

/** Makers of video models, by the short names used in rows, prefixes and folders. */
export const VENDORS = ['kling', 'jimeng', 'hailuo', 'seedance', 'wan', 'veo', 'vidu', 'sora'] as const;
export type VendorName = (typeof VENDORS)[number];
