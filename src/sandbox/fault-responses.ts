import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { ProblemKind } from './define-simulator.ts';
import type { FaultKind } from './faults.ts';

/** A response ready to be written. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** HTTP statuses requested by number, and the problem whose body is sent with them. */
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

/** Faults that respond in the vendor's place, before it has processed the request. */
export const REPLACEMENT_RESPONSES: Readonly<Partial<Record<FaultKind, WireResponse>>> = {
  '502': htmlPage(502),
  html: htmlPage(200),
  empty: { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.alloc(0) },
};

type ResponseFault = (response: ServerResponse, answer: WireResponse) => void;

const HUGE_BYTES = 1024 ** 3;
const BLOCK_BYTES = 16 * 1024 ** 2;
const DEPTH = 100_000;

function writeHead(response: ServerResponse, answer: WireResponse, length: number | undefined): void {
  const { 'content-length': _, ...headers } = answer.headers;
  response.writeHead(answer.status, length === undefined ? headers : { ...headers, 'content-length': String(length) });
}

/** At least one byte, and not all of them. */
const randomPart = (body: Buffer): Buffer => body.subarray(0, 1 + Math.floor(Math.random() * (body.length - 1)));

/** Writes one block repeatedly, as fast as the reader reads, and stops when the reader has disconnected. */
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

/** Same keys, but every value an object. */
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
    // A head that promises no byte is a whole response: the next request on the connection, a submit even, would wait behind it.
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
    const member = gzipSync(Buffer.alloc(BLOCK_BYTES, ' '), { level: 9 });
    writeHead(response, { ...answer, headers: { ...answer.headers, 'content-encoding': 'gzip' } }, undefined);
    writeRepeatedly(response, member, HUGE_BYTES / BLOCK_BYTES, gzipSync(answer.body));
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
