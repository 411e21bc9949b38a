import type { FailureCause } from '../../contract/task-states.ts';

/**
 * The closed set of reasons for errors of upstreams:
 * - `user`: the request is wrong; `policy`: its content was refused
 * - `rate`: too many requests, in time or at once; `capacity`: the upstream is overloaded or broken
 * - `auth`, `billing`: the channel's own account; `model`: that account cannot use this model
 * - `missing`: the task is unknown or has expired; `other`: none of these
 */
export const ERROR_REASONS = [
  'user',
  'policy',
  'rate',
  'capacity',
  'auth',
  'billing',
  'model',
  'missing',
  'other',
] as const;
/** One of `ERROR_REASONS`. */
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** An error as a vendor reported it, in terms common to all vendors. */
export interface VendorError {
  readonly reason: ErrorReason;
  /** A more specific cause for the user, where the vendor's code gives one. */
  readonly cause?: FailureCause;
  /** Whether another channel may be tried. Decided by the vendor's own code first, then by the HTTP status. */
  readonly retryable: boolean;
  readonly httpStatus: number;
  /** The vendor's own code as text; empty where there is none. */
  readonly code: string;
  /** The vendor's own message, shown to the caller. */
  readonly message: string;
  /** The field at fault, where the vendor uses the same name as our callers. */
  readonly param?: string;
  /** Milliseconds, from Retry-After or the vendor's body, where given. */
  readonly retryAfterMs?: number;
  /** The response lacks the vendor's envelope, so it came from a firewall, a gateway or a wrong address. */
  readonly isPage?: boolean;
}

/**
 * Reasons that concern a single task when a poll reports them: its submit was accepted, so the account and its model
 * were too.
 */
const TASK_REASONS: ReadonlySet<ErrorReason> = new Set(['user', 'policy', 'missing', 'other', 'model']);

/** Whether an error reported by a poll concerns this task alone. */
const isAboutTask = ({ reason, isPage, httpStatus }: VendorError): boolean =>
  TASK_REASONS.has(reason) || (isPage === true && reason === 'capacity' && httpStatus < 500);

/**
 * A poll whose response says nothing about the task: a 429, a 5xx, a gateway's page, half a body. A single one never
 * ends the task; several odd ones in a row do (`TaskPoller`).
 */
export class PollFailed extends Error {
  /** The vendor's error, where its response was readable. */
  readonly error: VendorError | undefined;
  constructor(message: string, error?: VendorError) {
    super(message);
    this.name = 'PollFailed';
    this.error = error;
  }

  /** Whether the failure is specific to this task, so that it says nothing about its channel. */
  get isOdd(): boolean {
    return this.error === undefined || isAboutTask(this.error);
  }
}

/** A request that this vendor cannot serve, detected before anything was sent; the caller gets 400 with `message`. */
export class UnsupportedRequestError extends Error {
  /** The caller's field at fault, as a dotted path. */
  readonly param: string | undefined;
  constructor(message: string, param?: string) {
    super(message);
    this.name = 'UnsupportedRequestError';
    this.param = param;
  }
}
