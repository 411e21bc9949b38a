import Type from 'typebox';
import { TASK_STATUS } from './task-states.ts';
import { FAILURE_CAUSES } from './video-failure-causes.ts';

/** A row of the owner's own view; never contains upstream credentials, channels or data of other accounts. */
export const VideoRow = Type.Object({
  task_id: Type.String(),
  model: Type.String(),
  prompt: Type.String(),
  status: Type.Enum(TASK_STATUS),
  progress: Type.String(),
  fail_cause: Type.Enum(['', ...FAILURE_CAUSES], {
    description: 'Why it failed, in terms common to all vendors; empty unless it failed.',
  }),
  fail_reason: Type.String({ description: "The vendor's own message." }),
  error_code: Type.String({ description: "The vendor's own code, where it has one." }),
  quota: Type.Integer(),
  imported: Type.Boolean({
    description:
      'It ended in the program this account was imported from: `quota` was charged there and is in no ledger here.',
  }),
  poster_url: Type.String({ description: 'A short-lived URL of its poster; empty where it has none yet.' }),
  submit_time: Type.Integer(),
  finish_time: Type.Integer(),
});
export const VideoDetail = Type.Object({
  ...VideoRow.properties,
  start_time: Type.Integer(),
  /** Whether the quota was refunded. */
  refunded: Type.Boolean(),
  /** A short-lived URL for playing in a browser; empty before completion. */
  play_url: Type.String(),
  stored: Type.Boolean({ description: 'A copy of the file is kept here.' }),
  stored_until: Type.Integer({ description: 'When that copy is removed, Unix seconds; 0: never, or there is none.' }),
  /** The request parameters, for submitting them again. */
  request: Type.Unknown(),
});
