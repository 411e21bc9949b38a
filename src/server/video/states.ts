import type { TaskStatus } from '../../contract/states.ts';

/**
 * How far along a state is. News of a lower rank than the present state is old news and is ignored. UNKNOWN ranks lowest
 * of all that was submitted: a word nobody knows never takes a known state away.
 */
const RANK: Readonly<Record<TaskStatus, number>> = {
  NOT_START: 0,
  UNKNOWN: 1,
  SUBMITTED: 2,
  QUEUED: 3,
  IN_PROGRESS: 4,
  FAILURE: 5,
  SUCCESS: 5,
};

export const rankOf = (status: TaskStatus): number => RANK[status];

/** Coarse percent where the vendor gives none. */
const PROGRESS: Readonly<Record<TaskStatus, number>> = {
  NOT_START: 0,
  UNKNOWN: 0,
  SUBMITTED: 10,
  QUEUED: 20,
  IN_PROGRESS: 30,
  SUCCESS: 100,
  FAILURE: 100,
};

/** Whole percent to show: 100 at an end, below 100 before it, and the vendor's real figure where there is one. */
export function progressOf(status: TaskStatus, vendorPercent: number | undefined): number {
  if (status === 'SUCCESS' || status === 'FAILURE' || vendorPercent === undefined || !Number.isFinite(vendorPercent))
    return PROGRESS[status];
  return Math.max(0, Math.min(99, Math.round(vendorPercent)));
}
