import { type Operation, PROBLEM_KINDS } from './define-simulator.ts';

/**
 * Faults on demand. Where a job is begun nevertheless, the caller cannot know it: the ambiguous submit.
 *
 * The vendor has processed nothing:
 * - `401` `403` `429` `500` `502` `503` `504`: that HTTP status, with the vendor's body where it has one
 * - a `ProblemKind`: the vendor's own response, status included (which may be 200)
 * - `reset`: the connection breaks before the request is processed; `hang`: no response ever
 * - `html`: HTTP 200 with a gateway's page; `empty`: HTTP 200 without a byte
 *
 * The request was served, then:
 * - `drop`: the connection breaks before the first byte of the response; `hang-after`: no byte either, but it stays open
 * - `truncated`: half the response, then the connection breaks; `malformed`: half the response, ended as if it were whole
 * - `cut`: the same as `truncated` at a random byte; `stall`: a random part, then no further byte, but it stays open
 * - `no-length`: the same as `malformed`, chunked; `padded`: the response and a page behind it, with the length of both
 * - `slow`: the response at 1 byte/s; `huge`: the response inside 1 GiB of padding; `bomb`: the same, gzipped 1000:1
 * - `deep`: 100,000 nested arrays; `wrong-types`: every value of the response replaced by an object
 * - `duplicate`: the response to the request before this one, again
 * - `reordered`: a job is reported one state earlier than it is
 *
 * For submits, how the begun job ends: `job-fail`, `job-filtered`, `job-expire`, `job-cancel`, `job-vanish`,
 * `job-empty`, `job-strange`, `job-stuck`, `job-slow` (ten times as long).
 */
export const FAULT_KINDS = [
  '401',
  '403',
  '429',
  '500',
  '502',
  '503',
  '504',
  ...PROBLEM_KINDS,
  'reset',
  'hang',
  'html',
  'empty',
  'drop',
  'hang-after',
  'truncated',
  'malformed',
  'cut',
  'stall',
  'no-length',
  'padded',
  'slow',
  'huge',
  'bomb',
  'deep',
  'wrong-types',
  'duplicate',
  'reordered',
  'job-fail',
  'job-filtered',
  'job-expire',
  'job-cancel',
  'job-vanish',
  'job-empty',
  'job-strange',
  'job-stuck',
  'job-slow',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Simulator's name; all of them by default. */
  readonly vendor?: string;
  /** All but `token` and `other` by default. */
  readonly operation?: Operation;
  /** How many requests it is applied to; default 1, `Infinity` until removed. */
  readonly times?: number;
  /** Matching requests served normally before the first faulty one. */
  readonly after?: number;
  /** Only requests whose path, query or body contain this text. */
  readonly match?: string;
  /** Retry-After of `429` and `503`: seconds, an HTTP date, or an invalid value. */
  readonly retryAfter?: string;
  /** Replaces the vendor's usual text. */
  readonly message?: string;
}

export interface FaultHandle {
  /** How many requests it has been applied to. */
  readonly timesUsed: number;
  remove(): void;
}

/** Chooses the fault of a request that no pending fault matches. `text`: its path, query and body. */
export type FaultChooser = (vendor: string, operation: Operation, text: () => string) => FaultKind | undefined;

interface QueuedFault {
  readonly fault: Fault;
  left: number;
  wait: number;
  used: number;
}

/** The pending faults; the one added first is applied first. */
export class FaultQueue {
  readonly #entries = new Set<QueuedFault>();
  chooser: FaultChooser | undefined;

  add(fault: Fault): FaultHandle {
    const entry: QueuedFault = { fault, left: fault.times ?? 1, wait: fault.after ?? 0, used: 0 };
    this.#entries.add(entry);
    const entries = this.#entries;
    return {
      get timesUsed() {
        return entry.used;
      },
      remove: () => void entries.delete(entry),
    };
  }

  clear(): void {
    this.#entries.clear();
  }

  /** The fault to apply to this request, if any; counts as one use of it. */
  take(vendor: string, operation: Operation, contains: (text: string) => boolean): Fault | undefined {
    for (const entry of this.#entries) {
      const { fault } = entry;
      if (fault.vendor !== undefined && fault.vendor !== vendor) continue;
      if (
        fault.operation === undefined ? operation === 'token' || operation === 'other' : fault.operation !== operation
      ) {
        continue;
      }
      if (fault.match !== undefined && !contains(fault.match)) continue;
      if (entry.wait > 0) {
        entry.wait -= 1;
        continue;
      }
      entry.used += 1;
      entry.left -= 1;
      if (entry.left <= 0) this.#entries.delete(entry);
      return fault;
    }
    return undefined;
  }
}
