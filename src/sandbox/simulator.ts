import type { Job, JobStore, Look, NewJob, Phase } from './jobs.ts';
import type { MediaFile, Shape } from './media.ts';

/** What a request is for; faults are aimed at these. `other` is out of their reach unless named. */
export type Operation = 'submit' | 'query' | 'content' | 'token' | 'other';

/**
 * What can be wrong, in no vendor's words. Each simulator says it in its own: status, envelope, code and text.
 * - `unauthorized`: credentials missing or wrong; `forbidden`: this account may not
 * - `billing`: no money left; `model`: this account cannot use this model, or there is none of this name
 * - `rate`: too fast; `concurrency`: too many at once; `overloaded`: 503; `broken`: 500; `timeout`: 504
 * - `policy`: refused content; `invalid`: a wrong request; `not_found`: an unknown task or path
 */
export type Problem =
  | 'unauthorized'
  | 'forbidden'
  | 'billing'
  | 'model'
  | 'rate'
  | 'concurrency'
  | 'overloaded'
  | 'broken'
  | 'timeout'
  | 'policy'
  | 'invalid'
  | 'not_found';

export interface SimulatorRequest {
  readonly method: string;
  /** As it stood on the wire, without the query. */
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

/** Thrown among the pieces of a stream: the connection breaks there, or the answer just ends. */
export class CutOff extends Error {
  readonly clean: boolean;
  constructor(clean = false) {
    super('the stream ends here');
    this.clean = clean;
  }
}

export type Reply =
  | {
      readonly kind: 'body';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** A file of the sandbox, with Range, HEAD and ETag answered by the kit. */
  | { readonly kind: 'media'; readonly file: MediaFile }
  /** Pieces written as they come; ended early when the client leaves. */
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly pieces: AsyncIterable<string | Buffer>;
    };

/** What a simulator's handlers work with; one per request, so that faults and prompt markers reach the job they concern. */
export interface Stage {
  /** Unix milliseconds. */
  now(): number;
  /** This simulator's own address, without a path. */
  readonly url: string;
  readonly jobs: JobStore;
  /** Begins a job whose fate is decided by the faults and the markers in its prompt. */
  begin(job: NewJob): Job;
  /** Looks at a job on behalf of a query: counts the poll, and shows the states in disorder where a fault asks for that. */
  look(job: Job): Look;
  /** The job's file, for simulators that answer with bytes. */
  media(job: Job, kind?: 'video' | 'thumbnail'): MediaFile;
  /** A public address of the job's file on the artifact host, which knows no credentials. */
  artifactUrl(job: Job, kind?: 'video' | 'thumbnail'): string;
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
  handle(request: SimulatorRequest, stage: Stage): Reply | Promise<Reply>;
}

export interface Simulator {
  /** Unique among the simulators that run together; a vendor's name, or that with the name of a second route. */
  readonly name: string;
  /** The vendor's models this door serves, where it has two; all of them by default. */
  readonly models?: RegExp;
  /** What a channel to this simulator is given; some need the address they run at (a service account's token_uri). */
  credentials(at: { readonly url: string }): Readonly<Record<string, unknown>>;
  readonly routes: readonly Route[];
  /** Undefined when the credentials are right. They are verified for real, as the vendor does. */
  authorize(request: SimulatorRequest, stage: Stage): Reply | undefined | Promise<Reply | undefined>;
  /** The vendor's own answer for a problem; `message` replaces its usual text. */
  problem(problem: Problem, message?: string): Reply;
}

/** Checks a simulator's shape and gives it back; the one way to write one. */
export const defineSimulator = (simulator: Simulator): Simulator => simulator;

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  const body = Buffer.from(JSON.stringify(value));
  return { kind: 'body', status, headers: { 'content-type': 'application/json', ...headers }, body };
}

export const file = (media: MediaFile): Reply => ({ kind: 'media', file: media });

let serial = 0;

/** Fifteen digits: the second, then a running number, so that a later run never gives an id of an earlier one. */
export function newDigits(nowMs: number): string {
  serial = (serial + 1) % 100_000;
  return `${Math.floor(nowMs / 1_000)}${String(serial).padStart(5, '0')}`;
}

/** The shape of the nearest stored clip for a ratio (`16:9`), a size (`1280x720`, `1280*720`), or anything else. */
export function toShape(text: unknown): Shape {
  const match = typeof text === 'string' ? /^(\d+)\s*[:x*]\s*(\d+)$/i.exec(text) : null;
  const ratio = match ? Number(match[1]) / Number(match[2]) : 16 / 9;
  if (ratio > 1.15) return '16:9';
  return ratio < 0.87 ? '9:16' : '1:1';
}

export type { Job, Look, NewJob, Phase, Shape };
