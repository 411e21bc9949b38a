import type { ProblemKind, Simulator } from '../../src/sandbox/simulator.ts';
import type { ErrorReason } from '../../src/server/upstreams/upstream.ts';
import type { VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';

/** A request and the complete JSON body the vendor must receive for it. */
export interface ExpectedRequest {
  readonly request: Partial<VideoRequest>;
  body(taskId: string): unknown;
}

/**
 * Facts about a vendor that the contract script cannot derive. One row per vendor, or per route of vendors with two.
 */
export interface ContractCase {
  readonly vendor: VendorAdapter;
  readonly simulator: Simulator;
  readonly model: string;
  readonly text: ExpectedRequest;
  readonly image: ExpectedRequest;
  /**
   * Keys of the vendor's metadata table, with accepted values. The script adds unknown keys at every depth before it
   * sends them.
   */
  readonly metadata: ExpectedRequest;
  /** The same for keys that other models have, or that exclude those of `metadata`. */
  readonly moreMetadata?: readonly ExpectedRequest[];
  /** Keys that need more than a request, such as an earlier task; tests of their own send them. */
  readonly metadataElsewhere?: readonly string[];
  /** Our states while a job waits and while it runs, as far as the vendor distinguishes them. */
  readonly waitingState: 'SUBMITTED' | 'QUEUED' | 'IN_PROGRESS';
  readonly wrongCredentials: Readonly<Record<string, unknown>>;
  /** Reasons that differ from the script's because the vendor has no specific code for the problem. */
  readonly reasons?: Readonly<Partial<Record<ProblemKind, ErrorReason>>>;
  /** The vendor's finished job does not state whether there is a file; only a request for the file shows it. */
  readonly missingFileIsUnknown?: true;
  /** The vendor's poll response does not name the job, so a response about another job looks like its own. */
  readonly pollNamesNoJob?: true;
}
