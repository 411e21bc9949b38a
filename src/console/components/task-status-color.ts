import type { TaskStatus } from '../../contract/task-states.ts';

/** Colours of the theme for the states of a task. */
export const TASK_STATUS_COLOR: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'gray',
  SUBMITTED: 'gray',
  QUEUED: 'gray',
  IN_PROGRESS: 'blue',
  SUCCESS: 'teal',
  FAILURE: 'red',
  UNKNOWN: 'yellow',
};
