import type { Operation, Problem } from './simulator.ts';

/**
 * What can go wrong on demand. Where a job is begun all the same, the caller cannot know it: the ambiguous submit.
 *
 * Nothing has happened at the vendor:
 * - `401` `403` `429` `500` `502` `503` `504`: that HTTP status, in the vendor's words where it has them
 * - a `Problem` by its name: the vendor's own answer, status included (which may be 200)
 * - `reset`: the connection breaks before the request is looked at; `hang`: no answer ever
 * - `html`: HTTP 200 with a gateway's page; `empty`: HTTP 200 without a byte
 *
 * The request was served, then:
 * - `drop`: no byte of the answer comes; `hang-after`: the same, but the connection stays
 * - `truncated`: half the answer, then the connection breaks; `malformed`: half the answer, as if it were whole
 * - `slow`: the answer at 1 byte/s; `huge`: the answer inside 1 GiB of padding; `bomb`: the same, gzipped 1000:1
 * - `deep`: 100,000 nested arrays; `wrong-types`: every value of the answer replaced by an object
 * - `duplicate`: the answer to the request before this one, again
 * - `reordered`: a job is shown one state earlier than it is
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
  'reset',
  'hang',
  'html',
  'empty',
  'drop',
  'hang-after',
  'truncated',
  'malformed',
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
] as const satisfies readonly (Problem | string)[];
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Simulator's name; all of them by default. */
  readonly vendor?: string;
  /** All but `token` and `other` by default. */
  readonly operation?: Operation;
  /** How many requests it befalls; default 1, `Infinity` until removed. */
  readonly times?: number;
  /** Requests left in peace before the first. */
  readonly after?: number;
  /** Only requests whose path, query or body contain this text. */
  readonly match?: string;
  /** Retry-After of `429` and `503`: seconds, an HTTP date, or nonsense. */
  readonly retryAfter?: string;
  /** Replaces the vendor's usual text. */
  readonly message?: string;
}

export interface FaultHandle {
  /** How often it has befallen a request. */
  readonly used: number;
  remove(): void;
}

/** Chooses what befalls a request that no waiting fault does. `text`: its path, query and body. */
export type Weather = (vendor: string, operation: Operation, text: () => string) => FaultKind | undefined;

interface Entry {
  readonly fault: Fault;
  left: number;
  wait: number;
  used: number;
}

/** The faults that are waiting; the one added first befalls first. */
export class FaultBook {
  readonly #entries = new Set<Entry>();
  weather: Weather | undefined;

  add(fault: Fault): FaultHandle {
    const entry: Entry = { fault, left: fault.times ?? 1, wait: fault.after ?? 0, used: 0 };
    this.#entries.add(entry);
    const entries = this.#entries;
    return {
      get used() {
        return entry.used;
      },
      remove: () => void entries.delete(entry),
    };
  }

  clear(): void {
    this.#entries.clear();
  }

  /** The fault that befalls this request, if any; uses it up. */
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
