import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Schema from 'typebox/schema';
import type { Endpoint } from '../src/contract/endpoint.ts';
import { toOpenApi } from '../src/server/api-reference/openapi.ts';

/**
 * Checks every response of every service under test against the OpenAPI document, whether it was sent by Fastify, a
 * stream or a fast path. A response that the document does not describe fails the test process.
 */

/** Longer JSON bodies are not recorded. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Only the service's own responses have this header, not those of simulated vendors in the same process. */
const MARK = 'x-request-id';
/** By content coding. */
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };

interface Operation {
  readonly pattern: RegExp;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}
interface MediaType {
  readonly schema?: object;
}

/** Operations by method, those with fewer parameters first. */
let operations: ReadonlyMap<string, readonly Operation[]> | undefined;
const mismatches = new Set<string>();
const validators = new WeakMap<object, ReturnType<typeof Schema.Compile>>();

/** @throws AssertionError if any response so far was not described */
export const assertResponsesDescribed = (): void =>
  assert.deepEqual([...mismatches], [], 'responses that the OpenAPI document does not describe');

if (!process.env.WITHOUT_TEST_RUNNER) process.once('exit', assertResponsesDescribed);

/** Starts checking the responses of a service with these endpoints. */
export function checkResponses(endpoints: readonly Endpoint[]): void {
  if (operations !== undefined) return;
  const document = JSON.parse(
    JSON.stringify(toOpenApi(endpoints, { version: 'test', baseUrl: 'http://127.0.0.1', userHeader: 'X' })),
  ) as { paths: Record<string, Record<string, Operation>> };
  const found = new Map<string, Operation[]>();
  const paths = Object.entries(document.paths).sort(
    ([a], [b]) => (a.match(/[{*]/g)?.length ?? 0) - (b.match(/[{*]/g)?.length ?? 0),
  );
  for (const [path, methods] of paths) {
    const pattern = new RegExp(
      `^${path
        .replace(/[.+()]/g, '\\$&')
        .replace(/\{\w+\}/g, '[^/]+')
        .replace(/\*/g, '.*')}$`,
    );
    for (const [method, { responses }] of Object.entries(methods))
      found.set(method, [...(found.get(method) ?? []), { pattern, responses }]);
  }
  operations = found;
  recordResponses(check);
}

interface RecordedResponse {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type: string;
  /** Undefined if the body was too long or the request was HEAD. */
  readonly body: string | undefined;
}

function check({ method, path, status, type, body }: RecordedResponse): void {
  const known = operations?.get(method === 'head' ? 'get' : method);
  const operation =
    known?.find(({ pattern }) => pattern.test(path)) ??
    known?.find(({ pattern }) => pattern.test(path.replace(/\/$/, '')));
  if (operation === undefined) return;
  const place = `${method.toUpperCase()} ${path} ${status}`;
  const response = operation.responses[status] ?? (status >= 400 ? operation.responses['default'] : undefined);
  if (response === undefined) return void mismatches.add(`${place}: the status is not documented`);
  if (status === 202 || status === 204 || (status >= 300 && status < 400)) return;
  const content = response.content ?? {};
  const family = type.replace(/\/.*/, '/*');
  const media = content[type] ?? content[family];
  if (media === undefined)
    return void mismatches.add(`${place}: ${type} is none of ${Object.keys(content).join(', ')}`);
  if (media.schema === undefined || type !== 'application/json' || body === undefined) return;
  const problem = problemOf(media.schema, body);
  if (problem !== undefined) mismatches.add(`${place}: ${problem}: ${body.slice(0, 300)}`);
}

function problemOf(schema: object, body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return 'the body is no JSON';
  }
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Schema.Compile(schema as never);
    validators.set(schema, validator);
  }
  if (validator.Check(value)) return undefined;
  const [, errors] = validator.Errors(value);
  return errors
    .slice(0, 3)
    .map(({ instancePath, message }) => `${instancePath} ${message}`)
    .join('; ');
}

/** Calls back at the end of each response that the service in this process sends. */
function recordResponses(onResponse: (response: RecordedResponse) => void): void {
  const chunks = new WeakMap<ServerResponse, Buffer[]>();
  const keep = (response: ServerResponse, chunk: unknown, encoding: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const kept = chunks.get(response) ?? [];
    const known = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
    kept.push(typeof chunk === 'string' ? Buffer.from(chunk, known) : Buffer.from(chunk));
    chunks.set(response, kept);
  };
  const { write, end, writeHead } = ServerResponse.prototype;
  const types = new WeakMap<ServerResponse, { type: string; marked: boolean; coding: string }>();
  ServerResponse.prototype.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    const headers = args.find((each) => typeof each === 'object' && each !== null) as
      | Record<string, unknown>
      | undefined;
    const read = (name: string): string => {
      const given = Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
      const value = given ?? this.getHeader(name);
      return typeof value === 'string' ? value : '';
    };
    types.set(this, {
      type: (read('content-type').split(';', 1)[0] ?? '').trim(),
      marked: read(MARK) !== '',
      coding: read('content-encoding'),
    });
    return Reflect.apply(writeHead, this, args);
  } as typeof writeHead;
  ServerResponse.prototype.write = function (this: ServerResponse, ...args: unknown[]) {
    if (isJson(this, types)) keep(this, args[0], args[1]);
    return Reflect.apply(write, this, args);
  } as typeof write;
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
    if (isJson(this, types) && this.req.method !== 'HEAD') keep(this, args[0], args[1]);
    const result: unknown = Reflect.apply(end, this, args);
    const { type, marked, coding } = types.get(this) ?? { type: '', marked: false, coding: '' };
    if (marked && !this.destroyed) {
      const sent = Buffer.concat(chunks.get(this) ?? []);
      const bytes = sent.length > 0 ? (DECODERS[coding]?.(sent) ?? sent) : sent;
      onResponse({
        method: (this.req.method ?? 'GET').toLowerCase(),
        path: (this.req.url ?? '').split('?', 1)[0] ?? '',
        status: this.statusCode,
        type,
        body: this.req.method === 'HEAD' || bytes.length > MAX_BODY_BYTES ? undefined : bytes.toString(),
      });
    }
    return result;
  } as typeof end;
}

function isJson(response: ServerResponse, types: WeakMap<ServerResponse, { type: string }>): boolean {
  const type = types.get(response)?.type ?? String(response.getHeader('content-type') ?? '');
  return type.startsWith('application/json');
}
