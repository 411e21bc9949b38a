import type { ProblemKind, Simulator } from '../../src/sandbox/simulator.ts';
import type { ErrorReason } from '../../src/server/upstreams/vendor-errors.ts';
import type { VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';

/** A request and the whole JSON body the vendor must receive for it. */
export interface ExpectedRequest {
  readonly request: Partial<VideoRequest>;
  body(taskId: string): unknown;
}

/** What the contract script cannot know about a vendor. One row per vendor, and per route where there are two. */
export interface ContractCase {
  readonly vendor: VendorAdapter;
  readonly simulator: Simulator;
  readonly model: string;
  readonly text: ExpectedRequest;
  readonly image: ExpectedRequest;
  /**
   * Every key of the vendor's metadata table, with values it takes. The script adds unknown keys at every depth before it
   * sends them.
   */
  readonly metadata: ExpectedRequest;
  /** Our states while a job waits and while it runs, as far as the vendor distinguishes them. */
  readonly waitingState: 'SUBMITTED' | 'QUEUED' | 'IN_PROGRESS';
  readonly wrongCredentials: Readonly<Record<string, unknown>>;
  /** Reasons that differ from those of the script, since the vendor has no word of its own for the problem. */
  readonly reasons?: Readonly<Partial<Record<ProblemKind, ErrorReason>>>;
  /** The vendor's finished job does not state whether there is a file; only a request for the file shows it. */
  readonly missingFileIsUnknown?: true;
  /** The vendor's response to a poll does not name the job, so that one about another job looks like its own. */
  readonly pollNamesNoJob?: true;
}
