import type { Problem, Simulator } from '../../src/sandbox/simulator.ts';
import type { ErrorReason, VideoRequest, VideoVendor } from '../../src/server/video/vendor.ts';

/** A request and the whole JSON body the vendor must receive for it. */
export interface Sent {
  readonly request: Partial<VideoRequest>;
  body(taskId: string): unknown;
}

/** What the contract script cannot know about a vendor. One row per vendor, and per route where there are two. */
export interface VendorRow {
  readonly vendor: VideoVendor;
  readonly simulator: Simulator;
  readonly model: string;
  readonly text: Sent;
  readonly image: Sent;
  /**
   * Every key of the vendor's metadata table, with values it takes. The script adds unknown keys at every depth before it
   * sends them.
   */
  readonly metadata: Sent;
  /** Our states while a job waits and while it runs, as far as the vendor tells them apart. */
  readonly waits: 'SUBMITTED' | 'QUEUED' | 'IN_PROGRESS';
  readonly wrongCredentials: Readonly<Record<string, unknown>>;
  /** Reasons that differ from those of the script, since the vendor has no word of its own for the problem. */
  readonly reasons?: Readonly<Partial<Record<Problem, ErrorReason>>>;
  /** The vendor's finished job does not say whether there is a file, so that only asking for it tells. */
  readonly filesAreUnseen?: true;
}
