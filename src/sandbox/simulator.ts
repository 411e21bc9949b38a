import type { Job, JobPhase, JobSnapshot, JobStore, NewJob } from './jobs.ts';
import type { AspectRatio, MediaFile } from './media.ts';

/** The purpose of a request, by which faults select it. `other` is affected only by faults that name it. */
export type Operation = 'submit' | 'query' | 'content' | 'token' | 'other';

/**
 * What can be wrong, in vendor-independent terms. Each simulator reports it in its own: status, envelope, code and text.
 * - `unauthorized`: credentials missing or wrong; `forbidden`: this account may not
 * - `billing`: no money left; `model`: this account cannot use this model, or there is none of this name
 * - `rate`: too fast; `concurrency`: too many at once; `overloaded`: 503; `broken`: 500; `timeout`: 504
 * - `policy`: refused content; `invalid`: a wrong request; `not_found`: an unknown task or path
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
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

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
  /** The body as a JSON object; undefined when it is none. */
  json(): Readonly<Record<string, unknown>> | undefined;
  /** The body as multipart/form-data or a url-encoded form; rejects when it is neither. */
  form(): Promise<FormData>;
}

/** Thrown between the parts of a stream: the connection breaks there, or the response just ends. */
export class StreamInterrupted extends Error {
  readonly clean: boolean;
  constructor(clean = false) {
    super('the stream ends here');
    this.clean = clean;
  }
}

export type SimulatorResponse =
  | {
      readonly kind: 'body';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** A file of the sandbox; the sandbox implements Range, HEAD and ETag for it. */
  | { readonly kind: 'media'; readonly file: MediaFile }
  /** Parts written as they are produced; ended early when the client disconnects. */
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly pieces: AsyncIterable<string | Buffer>;
    };

/** The context of a simulator's handlers; one per request, so that faults and prompt markers apply to the right job. */
export interface SimulatorContext {
  /** Unix milliseconds. */
  now(): number;
  /** This simulator's own base URL, without a path. */
  readonly url: string;
  readonly jobs: JobStore;
  /** Begins a job whose outcome is decided by the faults and the markers in its prompt. */
  createJob(job: NewJob): Job;
  /** Reads a job for a query: counts the poll, and reports the states out of order where a fault requires that. */
  pollJob(job: Job): JobSnapshot;
  /** The job's file, for simulators whose response is the file itself. */
  media(job: Job, kind?: 'video' | 'thumbnail'): MediaFile;
  /** A public URL of the job's file on the artifact host, which needs no credentials. */
  artifactUrl(job: Job, kind?: 'video' | 'thumbnail'): string;
  /** What the artifact host serves for a job in place of the file that all jobs share. */
  fileOf(file: MediaFile, jobId: string): MediaFile;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The whole path, or a pattern over it with named groups. */
  readonly path: string | RegExp;
  /** Query parameters that must have these values (dispatch by `Action`). */
  readonly query?: Readonly<Record<string, string>>;
  readonly operation: Operation;
  /** Serves without `authorize`, as token endpoints do. */
  readonly open?: boolean;
  handle(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse | Promise<SimulatorResponse>;
}

export interface Simulator {
  /** Unique among the simulators that run together; a vendor's name, or that with the name of a second route. */
  readonly name: string;
  /** The vendor, where `name` is more specific, as that of a second route. */
  readonly vendor?: string;
  /** The vendor's models this API serves, where the vendor has two APIs; all of them by default. */
  readonly models?: RegExp;
  /** The settings of a channel to this simulator; some contain its own base URL (a service account's token_uri). */
  credentials(at: { readonly url: string }): Readonly<Record<string, unknown>>;
  readonly routes: readonly Route[];
  /** Undefined when the credentials are right. They are fully verified, as the vendor does. */
  authorize(
    request: SimulatorRequest,
    context: SimulatorContext,
  ): SimulatorResponse | undefined | Promise<SimulatorResponse | undefined>;
  /** The vendor's own response for a problem; `message` replaces its usual text. */
  problem(problem: ProblemKind, message?: string): SimulatorResponse;
}

/** Checks a simulator's definition and returns it; every simulator is defined through it. */
export const defineSimulator = (simulator: Simulator): Simulator => simulator;

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): SimulatorResponse {
  const body = Buffer.from(JSON.stringify(value));
  return { kind: 'body', status, headers: { 'content-type': 'application/json', ...headers }, body };
}

export const fileResponse = (media: MediaFile): SimulatorResponse => ({ kind: 'media', file: media });

let serial = 0;

/** Fifteen digits: the second, then a running number, so that a later run never issues an id of an earlier one. */
export function newDigits(nowMs: number): string {
  serial = (serial + 1) % 100_000;
  return `${Math.floor(nowMs / 1_000)}${String(serial).padStart(5, '0')}`;
}

/** The shape of the nearest stored clip for a ratio (`16:9`), a size (`1280x720`, `1280*720`), or anything else. */
export function toShape(text: unknown): AspectRatio {
  const match = typeof text === 'string' ? /^(\d+)\s*[:x*]\s*(\d+)$/i.exec(text) : null;
  const ratio = match ? Number(match[1]) / Number(match[2]) : 16 / 9;
  if (ratio > 1.15) return '16:9';
  return ratio < 0.87 ? '9:16' : '1:1';
}

export type { AspectRatio, Job, JobPhase, JobSnapshot, NewJob };
