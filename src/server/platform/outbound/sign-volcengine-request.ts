import { createHash, createHmac } from 'node:crypto';

/** A request to a Volcengine service, before it is signed. */
export interface UnsignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Of the body, one after another. */
  readonly pieces: Iterable<string | Buffer>;
  /** Signed too, besides `host` and the two headers the signature adds; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SigningKey {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'HMAC-SHA256';

function sha256(pieces: Iterable<string | Buffer>): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** RFC 3986: only unreserved characters stay bare. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

function toQuery(parameters: URLSearchParams): string {
  const pairs = [...parameters].map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.sort((a, b) => (a < b ? -1 : 1)).join('&');
}

/** `20260102T030405Z` */
const toStamp = (nowMs: number): string => new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');

/**
 * Signs a request with Volcengine's HMAC-SHA256 scheme (volcengine.com/docs/6369/67269): like AWS's version 4, but the key
 * chain starts from the bare secret. Gives all headers to send but `host`, which the outbound client writes from the URL.
 */
export function signVolcengineRequest(
  request: UnsignedRequest,
  key: SigningKey,
  nowMs: number,
): Readonly<Record<string, string>> {
  const { pathname, searchParams, host } = new URL(request.url);
  const stamp = toStamp(nowMs);
  const date = stamp.slice(0, 8);
  const bodyHash = sha256(request.pieces);
  const signed: Record<string, string> = { ...request.headers, 'x-date': stamp, 'x-content-sha256': bodyHash };
  const lines = Object.entries({ ...signed, host })
    .map(([name, value]) => [name, value.trim().replace(/ +/g, ' ')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = lines.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    pathname
      .split('/')
      .map((part) => encode(decodeURIComponent(part)))
      .join('/'),
    toQuery(searchParams),
    lines.map(([name, value]) => `${name}:${value}\n`).join(''),
    names,
    bodyHash,
  ].join('\n');
  const scope = `${date}/${key.region}/${key.service}/request`;
  const signingKey = [date, key.region, key.service, 'request'].reduce<string | Buffer>(hmac, key.secretKey);
  const signature = hmac(signingKey, [ALGORITHM, stamp, scope, sha256([canonical])].join('\n')).toString('hex');
  const authorization = `${ALGORITHM} Credential=${key.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...signed, authorization };
}
