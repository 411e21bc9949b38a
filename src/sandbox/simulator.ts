import type { Job, JobPhase, JobSnapshot, JobStore, NewJob } from './jobs.ts';
import type { AspectRatio, MediaFile } from './media.ts';

/** Purpose of a request, by which faults select it. `other` is only affected by faults that name it. */
export type Operation = 'submit' | 'query' | 'content' | 'token' | 'other';

/**
 * Problems in vendor-independent terms. Each simulator reports them in its own form: status, envelope, code and text.
 * - `unauthorized`: credentials missing or wrong; `forbidden`: the account lacks permission
 * - `billing`: no money left; `model`: the model does not exist or is not available to the account
 * - `rate`: too fast; `concurrency`: too many at once; `overloaded`: 503; `broken`: 500; `timeout`: 504
 * - `policy`: rejected content; `invalid`: an invalid request; `not_found`: an unknown task or path
 */
export const PROBLEM_KINDS = [
  'unauthorized',
  'forbidden',
  'billing',
  'model',
  'rate',
  'concurrency',
  'overloaded',
  'broken',
  'timeout',
  'policy',
  'invalid',
  'not_found',
] as const;
/** Name of a problem. */
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** A request as seen by a simulator. */
export interface SimulatorRequest {
  readonly method: string;
  /** As received, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Named groups of the route's pattern, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The body as a JSON object; undefined if it is not one. */
  json(): Readonly<Record<string, unknown>> | undefined;
  /** The body as multipart/form-data or a URL-encoded form; rejects if it is neither. */
  form(): Promise<FormData>;
}

/** Thrown between the parts of a stream: the connection breaks there, or the response simply ends. */
export class StreamInterrupted extends Error {
  readonly clean: boolean;
  constructor(clean = false) {
    super('the stream ends here');
    this.clean = clean;
  }
}

/** A response of a simulator. */
export type SimulatorResponse =
  | {
      readonly kind: 'body';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** A file of the sandbox; the sandbox implements Range, HEAD and ETag for it. */
  | { readonly kind: 'media'; readonly file: MediaFile }
  /** Parts written as they are produced; ends early if the client disconnects. */
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly pieces: AsyncIterable<string | Buffer>;
    };

/** Context of a simulator's handlers; one per request, so that faults and prompt markers apply to the right job. */
export interface SimulatorContext {
  /** Unix milliseconds. */
  now(): number;
  /** The simulator's own base URL, without a path. */
  readonly url: string;
  readonly jobs: JobStore;
  /** Starts a job whose outcome is determined by faults and by markers in its prompt. */
  createJob(job: NewJob): Job;
  /** Reads a job for a query: counts the poll, and reports states out of order if a fault requires that. */
  pollJob(job: Job): JobSnapshot;
  /** The job's file, for simulators whose response is the file itself. */
  media(job: Job, kind?: 'video' | 'thumbnail'): MediaFile;
  /** A public URL of the job's file on the artifact host, which needs no credentials. */
  artifactUrl(job: Job, kind?: 'video' | 'thumbnail'): string;
  /** File served by the artifact host for a job, instead of the one shared by all jobs. */
  fileOf(file: MediaFile, jobId: string): MediaFile;
}

/** A route of a simulator. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The whole path, or a pattern over it with named groups. */
  readonly path: string | RegExp;
  /** Required values of query parameters (dispatch by `Action`). */
  readonly query?: Readonly<Record<string, string>>;
  readonly operation: Operation;
  /** Skips `authorize`, as token endpoints do. */
  readonly open?: boolean;
  handle(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse | Promise<SimulatorResponse>;
}

/** Definition of a simulated vendor or upstream. */
export interface Simulator {
  /** Unique among simulators that run together; a vendor's name, or the name of the vendor's second route. */
  readonly name: string;
  /** The vendor, if `name` is that of a second route. */
  readonly vendor?: string;
  /** Models served by this API if the vendor has two APIs; default: all of them. */
  readonly models?: RegExp;
  /**
   * Settings of a channel that uses this simulator; some contain the simulator's own base URL (a service account's
   * token_uri).
   */
  credentials(at: { readonly url: string }): Readonly<Record<string, unknown>>;
  readonly routes: readonly Route[];
  /** Undefined if the credentials are right. Verified completely, as the vendor does. */
  authorize(
    request: SimulatorRequest,
    context: SimulatorContext,
  ): SimulatorResponse | undefined | Promise<SimulatorResponse | undefined>;
  /** The vendor's own response to a problem; `message` replaces its usual text. */
  problem(problem: ProblemKind, message?: string): SimulatorResponse;
}

/** Type-checks a simulator's definition; every simulator is defined through it. */
export const defineSimulator = (simulator: Simulator): Simulator => simulator;

/** A JSON response. */
export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): SimulatorResponse {
  const body = Buffer.from(JSON.stringify(value));
  return { kind: 'body', status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** A response with a file of the sandbox. */
export const fileResponse = (media: MediaFile): SimulatorResponse => ({ kind: 'media', file: media });

let serial = 0;

/** Fifteen digits: the second followed by a serial number, so that a later run never reuses an id of an earlier one. */
export function newDigits(nowMs: number): string {
  serial = (serial + 1) % 100_000;
  return `${Math.floor(nowMs / 1_000)}${String(serial).padStart(5, '0')}`;
}

/** Shape of the stored clip closest to a ratio (`16:9`), a size (`1280x720`, `1280*720`), or any other text. */
export function toShape(text: unknown): AspectRatio {
  const match = typeof text === 'string' ? /^(\d+)\s*[:x*]\s*(\d+)$/i.exec(text) : null;
  const ratio = match ? Number(match[1]) / Number(match[2]) : 16 / 9;
  if (ratio > 1.15) return '16:9';
  return ratio < 0.87 ? '9:16' : '1:1';
}

export type { AspectRatio, Job, JobPhase, JobSnapshot, NewJob };
