import type { FailureCause } from '../../contract/video-failure-causes.ts';
import type { ErrorReason, VendorError } from '../upstreams/vendor-errors.ts';

/** Why a task ended without a video: for people (`cause`), and as the vendor or this service put it. */
export interface Failure {
  readonly cause: FailureCause;
  readonly message: string;
  /** Empty where there is none. */
  readonly code: string;
}

/** What the user is told where the vendor's code says no more than its reason. */
const CAUSE_BY_REASON: Readonly<Record<ErrorReason, FailureCause>> = {
  user: 'request_invalid',
  policy: 'content_refused',
  rate: 'vendor_busy',
  capacity: 'vendor_trouble',
  auth: 'account_trouble',
  billing: 'account_trouble',
  model: 'model_unavailable',
  missing: 'expired',
  other: 'unknown',
};

export const causeOf = ({ cause, reason }: Pick<VendorError, 'cause' | 'reason'>): FailureCause =>
  cause ?? CAUSE_BY_REASON[reason];

/** A failure as the vendor reported it. */
export const toFailure = (error: VendorError | undefined): Failure =>
  error === undefined
    ? { cause: 'unknown', message: 'the vendor gave no reason', code: '' }
    : { cause: causeOf(error), message: error.message || error.code || 'the vendor gave no reason', code: error.code };
