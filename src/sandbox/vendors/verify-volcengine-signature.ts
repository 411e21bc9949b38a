import { createHash, createHmac } from 'node:crypto';
import type { SimulatorRequest } from '../define-simulator.ts';

export interface SignatureProblem {
  readonly status: number;
  readonly codeN: number;
  readonly code: string;
  readonly message: string;
}

export interface Expected {
  readonly accessKey: string;
  readonly secretKey: string;
  /** `region/service/request` */
  readonly scope: string;
  readonly nowMs: number;
}

const MAX_SKEW_MS = 15 * 60_000;
const mismatch = (message: string): SignatureProblem => ({
  status: 401,
  codeN: 100_010,
  code: 'SignatureDoesNotMatch',
  message,
});

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Unix milliseconds of `20260102T030405Z`. */
function readStamp(stamp: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp)?.slice(1).map(Number);
  const [year = Number.NaN, month = 1, day, hour, minute, second] = parts ?? [];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * Rebuilds a Volcengine signature from the headers the request lists as signed, as the service does: clients differ in
 * which ones those are. Undefined when the signature is right.
 */
export function verifyVolcengineSignature(request: SimulatorRequest, expected: Expected): SignatureProblem | undefined {
  const header = request.headers.authorization ?? '';
  const match =
    /^HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (!match) {
    return {
      status: 401,
      codeN: 100_009,
      code: 'MissingAuthenticationToken',
      message: 'The request carries no signature.',
    };
  }
  const [, accessKey, date = '', scope = '', names = '', signature] = match;
  if (accessKey !== expected.accessKey) {
    return { status: 401, codeN: 100_009, code: 'InvalidAccessKey', message: 'The access key does not exist.' };
  }
  const stamp = request.headers['x-date'] ?? '';
  const signed = names.split(';');
  if (scope !== expected.scope || !stamp.startsWith(date)) return mismatch('The credential scope is wrong.');
  if (!signed.includes('x-date')) return mismatch('x-date must be signed.');
  if (!(Math.abs(readStamp(stamp) - expected.nowMs) <= MAX_SKEW_MS)) {
    return {
      status: 401,
      codeN: 100_024,
      code: 'InvalidTimestamp',
      message: 'The signature has expired or is not yet valid.',
    };
  }
  const bodyHash = sha256(request.body);
  if ((request.headers['x-content-sha256'] ?? bodyHash) !== bodyHash)
    return mismatch('X-Content-Sha256 is not that of the body.');
  const query = [...request.query]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const lines = signed.map((name) => `${name}:${(request.headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [request.method, request.path, query, lines, names, bodyHash].join('\n');
  const key = [date, ...scope.split('/')].reduce<string | Buffer>(hmac, expected.secretKey);
  const toSign = ['HMAC-SHA256', stamp, `${date}/${scope}`, sha256(canonical)].join('\n');
  return hmac(key, toSign).toString('hex') === signature
    ? undefined
    : mismatch('The request signature we calculated does not match the signature you provided.');
}
