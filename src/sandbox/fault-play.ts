import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { FaultKind } from './faults.ts';
import type { Problem } from './simulator.ts';

/** An answer ready to be written. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** HTTP statuses asked for by number, and the problem whose words go with them. */
export const STATUS_PROBLEM: Readonly<Partial<Record<FaultKind, Problem>>> = {
  '401': 'unauthorized',
  '403': 'forbidden',
  '429': 'rate',
  '500': 'broken',
  '503': 'overloaded',
  '504': 'timeout',
};

const PAGE =
  '<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Something went wrong</h1></body></html>\n';
const html = (status: number): Answer => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: Buffer.from(PAGE),
});

/** Faults that answer in the vendor's place, before it has looked at the request. */
export const INSTEAD: Readonly<Partial<Record<FaultKind, Answer>>> = {
  '502': html(502),
  html: html(200),
  empty: { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.alloc(0) },
};

type Play = (response: ServerResponse, answer: Answer) => void;

const HUGE_BYTES = 1024 ** 3;
const BLOCK_BYTES = 16 * 1024 ** 2;
const DEPTH = 100_000;

function writeHead(response: ServerResponse, answer: Answer, length: number | undefined): void {
  const { 'content-length': _, ...headers } = answer.headers;
  response.writeHead(answer.status, length === undefined ? headers : { ...headers, 'content-length': String(length) });
}

/** Writes one block as often as it takes, as fast as the reader reads, and stops when it has left. */
function pour(response: ServerResponse, block: Buffer, times: number, last: Buffer): void {
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

/** Faults that bend the answer on its way out, after the vendor has served the request. */
export const PLAYS: Readonly<Partial<Record<FaultKind, Play>>> = {
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
    pour(response, Buffer.alloc(1024 ** 2, ' '), HUGE_BYTES / 1024 ** 2, answer.body);
  },
  bomb(response, answer) {
    const member = gzipSync(Buffer.alloc(BLOCK_BYTES, ' '), { level: 9 });
    writeHead(response, { ...answer, headers: { ...answer.headers, 'content-encoding': 'gzip' } }, undefined);
    pour(response, member, HUGE_BYTES / BLOCK_BYTES, gzipSync(answer.body));
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
