import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type Operation, PROBLEM_KINDS, type ProblemKind } from './simulator.ts';

/**
 * Faults on demand. If a job starts despite the fault, the caller cannot know: the ambiguous submit.
 *
 * The vendor has processed nothing:
 * - `401` `403` `429` `500` `502` `503` `504`: that HTTP status, with the vendor's body if it has one
 * - a `ProblemKind`: the vendor's own response, status included (which may be 200)
 * - `reset`: the connection breaks before the request is processed; `hang`: never responds
 * - `html`: HTTP 200 with a gateway's page; `empty`: HTTP 200 without a byte
 *
 * The request was served, then:
 * - `drop`: the connection breaks before the first byte of the response; `hang-after`: sends no byte but keeps it open
 * - `truncated`: half the response, then the connection breaks; `malformed`: half the response, ended as if complete
 * - `cut`: like `truncated`, at a random byte; `stall`: a random part, then no further byte on an open connection
 * - `no-length`: like `malformed`, chunked; `padded`: the response followed by a page, with the length of both
 * - `slow`: the response at 1 byte/s; `huge`: the response inside 1 GiB of padding; `bomb`: like `huge`, gzipped 1000:1
 * - `deep`: 100,000 nested arrays; `wrong-types`: every value of the response replaced by an object
 * - `duplicate`: the response to the previous request
 * - `reordered`: reports a job one state earlier than it is
 *
 * For submits, the outcome of the started job: `job-fail`, `job-filtered`, `job-expire`, `job-cancel`, `job-vanish`,
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
/** Name of a fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A pending fault and the requests it applies to. */
export interface Fault {
  readonly kind: FaultKind;
  /** Simulator's name; default: all simulators. */
  readonly vendor?: string;
  /** Default: all operations except `token` and `other`. */
  readonly operation?: Operation;
  /** Number of requests the fault applies to; default 1, `Infinity` until removed. */
  readonly times?: number;
  /** Number of matching requests served normally before the first faulty one. */
  readonly after?: number;
  /** Restricts the fault to requests whose path, query or body contain this text. */
  readonly match?: string;
  /** Retry-After of `429` and `503`: seconds, an HTTP date, or an invalid value. */
  readonly retryAfter?: string;
  /** Replaces the vendor's usual message. */
  readonly message?: string;
}

/** Controls a fault after it was added. */
export interface FaultHandle {
  /** Number of requests the fault has been applied to. */
  readonly timesUsed: number;
  remove(): void;
}

/** Chooses the fault of a request that matches no pending fault. `text`: its path, query and body. */
export type FaultChooser = (vendor: string, operation: Operation, text: () => string) => FaultKind | undefined;

interface QueuedFault {
  readonly fault: Fault;
  left: number;
  wait: number;
  used: number;
}

/** Pending faults, applied in the order they were added. */
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

  /** Takes the fault for this request, if any, and counts one use. */
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

/** A response ready to be written. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** HTTP statuses that faults request by number, with the problem whose body is sent. */
export const PROBLEM_BY_STATUS: Readonly<Partial<Record<FaultKind, ProblemKind>>> = {
  '401': 'unauthorized',
  '403': 'forbidden',
  '429': 'rate',
  '500': 'broken',
  '503': 'overloaded',
  '504': 'timeout',
};

const GATEWAY_PAGE =
  '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Something went wrong</h1></body></html>\n';
const htmlPage = (status: number): WireResponse => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: Buffer.from(GATEWAY_PAGE),
});

/** Faults that respond instead of the vendor, before it has processed the request. */
export const REPLACEMENT_RESPONSES: Readonly<Partial<Record<FaultKind, WireResponse>>> = {
  '502': htmlPage(502),
  html: htmlPage(200),
  empty: { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.alloc(0) },
};

type ResponseFault = (response: ServerResponse, answer: WireResponse) => void;

const HUGE_BYTES = 1024 ** 3;
const BLOCK_BYTES = 16 * 1024 ** 2;
/** A compressed block, computed once. */
let bombMember: Buffer | undefined;
const DEPTH = 100_000;

function writeHead(response: ServerResponse, answer: WireResponse, length: number | undefined): void {
  const { 'content-length': _, ...headers } = answer.headers;
  response.writeHead(answer.status, length === undefined ? headers : { ...headers, 'content-length': String(length) });
}

/** At least one byte, but not all of them. */
const randomPart = (body: Buffer): Buffer => body.subarray(0, 1 + Math.floor(Math.random() * (body.length - 1)));

/** Writes one block repeatedly, as fast as the reader consumes it, until the reader disconnects. */
function writeRepeatedly(response: ServerResponse, block: Buffer, times: number, last: Buffer): void {
  let left = times;
  const go = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(block)) return void response.once('drain', go);
    }
    if (!response.destroyed) response.end(last);
  };
  go();
}

/** Keeps the keys and replaces every value with an object. */
function wrongTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wrongTypes);
  if (typeof value !== 'object' || value === null) return { unexpected: true };
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wrongTypes(inner)]));
}

/** Faults that alter the response after the vendor has served the request. */
export const RESPONSE_FAULTS: Readonly<Partial<Record<FaultKind, ResponseFault>>> = {
  drop: (response) => void response.socket?.destroy(),
  'hang-after': () => undefined,
  truncated(response, answer) {
    writeHead(response, answer, answer.body.length);
    response.write(answer.body.subarray(0, answer.body.length >> 1), () => response.socket?.destroy());
  },
  malformed(response, answer) {
    const half = answer.body.subarray(0, answer.body.length >> 1);
    writeHead(response, answer, half.length);
    response.end(half);
  },
  cut(response, answer) {
    writeHead(response, answer, answer.body.length);
    response.write(randomPart(answer.body), () => response.socket?.destroy());
  },
  stall(response, answer) {
    // A head that announces zero bytes is a complete response, and the next request on the connection, even a submit,
    // would wait behind it.
    if (answer.body.length < 2) return;
    writeHead(response, answer, answer.body.length);
    response.write(randomPart(answer.body));
  },
  'no-length'(response, answer) {
    writeHead(response, answer, undefined);
    response.end(answer.body.subarray(0, answer.body.length >> 1));
  },
  padded(response, answer) {
    const body = Buffer.concat([answer.body, Buffer.from(GATEWAY_PAGE)]);
    writeHead(response, answer, body.length);
    response.end(body);
  },
  slow(response, answer) {
    writeHead(response, answer, answer.body.length);
    response.flushHeaders();
    let sent = 0;
    const timer = setInterval(() => {
      response.write(answer.body.subarray(sent, sent + 1));
      sent += 1;
      if (sent >= answer.body.length) response.end();
    }, 1_000);
    response.once('close', () => clearInterval(timer));
  },
  huge(response, answer) {
    writeHead(response, answer, undefined);
    writeRepeatedly(response, Buffer.alloc(1024 ** 2, ' '), HUGE_BYTES / 1024 ** 2, answer.body);
  },
  bomb(response, answer) {
    bombMember ??= gzipSync(Buffer.alloc(BLOCK_BYTES, ' '), { level: 9 });
    writeHead(response, { ...answer, headers: { ...answer.headers, 'content-encoding': 'gzip' } }, undefined);
    writeRepeatedly(response, bombMember, HUGE_BYTES / BLOCK_BYTES, gzipSync(answer.body));
  },
  deep(response, answer) {
    const body = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;
    writeHead(response, answer, body.length);
    response.end(body);
  },
  'wrong-types'(response, answer) {
    const isJson = answer.headers['content-type'] === 'application/json';
    const body = isJson ? Buffer.from(JSON.stringify(wrongTypes(JSON.parse(answer.body.toString())))) : answer.body;
    writeHead(response, answer, body.length);
    response.end(body);
  },
};

/** Prompt markers that cause a fault; all of them affect the submit or the job it starts. */
const PROMPT_MARKERS: Readonly<Record<string, FaultKind>> = {
  '[fail]': 'job-fail',
  '[filtered]': 'job-filtered',
  '[slow]': 'job-slow',
  '[stuck]': 'job-stuck',
  '[expire]': 'job-expire',
  '[cancel]': 'job-cancel',
  '[vanish]': 'job-vanish',
  '[empty]': 'job-empty',
  '[strange]': 'job-strange',
  '[policy]': 'policy',
  '[invalid]': 'invalid',
  '[rate]': 'rate',
  '[billing]': 'billing',
  '[429]': '429',
  '[500]': '500',
  '[503]': '503',
  '[html]': 'html',
  '[drop]': 'drop',
  '[hang]': 'hang',
};

const MARKER_PATTERN = /\[[a-z0-9]{3,8}\]/g;
/** Only the start is searched: prompts are short, and longer texts are images. */
const SEARCHED_BYTES = 64 * 1024;

/** Finds the first marker in a submit's body. */
export function findMarker(body: Buffer): FaultKind | undefined {
  if (!body.subarray(0, SEARCHED_BYTES).includes('[')) return undefined;
  const ends = [
    body.subarray(0, SEARCHED_BYTES),
    body.subarray(Math.max(SEARCHED_BYTES, body.length - SEARCHED_BYTES)),
  ];
  for (const end of ends) {
    for (const [word] of end.toString('latin1').matchAll(MARKER_PATTERN)) {
      const kind = PROMPT_MARKERS[word];
      if (kind !== undefined) return kind;
    }
  }
  return undefined;
}
