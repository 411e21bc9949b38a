import { COARSE_PROGRESS, isTerminal, type TaskStatus } from '../../contract/task-states.ts';

/**
 * Order of the states: a result with a lower rank than the current state is outdated and ignored. UNKNOWN ranks lowest of the
 * submitted ones: an unknown status of a vendor never replaces a known state.
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

const STATES = Object.keys(RANK) as TaskStatus[];
const previousStates = new Map(
  STATES.map((status) => [status, STATES.filter((each) => !isTerminal(each) && RANK[each] <= RANK[status])]),
);

/** The unfinished states from which a task may enter this one. */
export const allowedPreviousStates = (status: TaskStatus): readonly TaskStatus[] => previousStates.get(status) ?? [];

/** Whole percent to show: 100 once ended, below 100 before, the vendor's own figure where there is one. */
export function progressOf(status: TaskStatus, vendorPercent: number | undefined): number {
  if (status === 'SUCCESS' || status === 'FAILURE' || vendorPercent === undefined || !Number.isFinite(vendorPercent))
    return COARSE_PROGRESS[status];
  return Math.max(0, Math.min(99, Math.round(vendorPercent)));
}
