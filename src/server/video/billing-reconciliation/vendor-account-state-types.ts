import type { Channel } from '../../channels/directory.ts';
import type { BilledComparison } from './compare-vendor-billed-with-settled.ts';

/** What is known of the account behind a channel whose vendor tells what it took. */
export interface VendorAccountState {
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly readAt: number | null;
  readonly failedAt: number | null;
  readonly error: string;
  readonly unit: string;
  /** How far the vendor's count may be ahead of or behind the ends of videos. */
  readonly skewMs: number;
  /** Undefined before there are two readings, the newer of them older than `skewMs`. */
  readonly judgement: BilledComparison | undefined;
}
