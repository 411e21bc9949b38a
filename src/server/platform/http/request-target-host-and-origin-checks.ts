import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a request target is spelled plainly. Doubled slashes, dot segments, encoded separators and control characters
 * are used to bypass checks, so no rule behind this ever sees them.
 */
export function isCanonicalRequestTarget(target: string): boolean {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.startsWith('/') && target.length <= 8192 && !/\/\/|%2f|%5c|%00|\\|\/\.{1,2}(?:\/|$)|%2e/i.test(path);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]+)(\/[^#]*)?$/i;
/** A model API's path with the mistakes of base URLs: doubled slashes, several versions of which the last counts, a final slash. */
const VERSIONED_PATH = /^\/+(?:v\d+\/+)*(v\d+(?:beta)?)(\/[^?]*?)?\/*(\?.*)?$/;
/** Models in paths, whose ids may have slashes of their own, plain or encoded. */
const MODEL_PATH = /^(\/v\d+(?:beta)?\/models\/)([^?]+)(.*)$/;

export interface RequestTarget {
  /** In origin form, its path spelled as the routes are. */
  readonly url: string;
  /** The authority of a target in absolute form, which takes the place of `Host` (RFC 9112 section 3.2.2). */
  readonly host: string | undefined;
}

/**
 * Reads the target of a request before any rule sees it; undefined where its spelling is refused. The model APIs are called with base URLs
 * that people type, so their paths are read generously; all others are as they must be.
 */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  const [, host, path = '/'] = ABSOLUTE_FORM.exec(target) ?? [];
  const origin = host === undefined ? target : path;
  const [, version, rest = '', query = ''] = VERSIONED_PATH.exec(origin) ?? [];
  const url = version === undefined ? origin : `/${version}${rest.replace(/\/{2,}/g, '/')}${query}`;
  const [, models, id = '', more] = MODEL_PATH.exec(url) ?? [];
  if (models === undefined) return isCanonicalRequestTarget(url) ? { url, host } : undefined;
  const plain = id.replace(/%2f/gi, '/');
  if (!isCanonicalRequestTarget(`${models}${plain}${more}`)) return undefined;
  return { url: `${models}${plain.replaceAll('/', '%2F')}${more}`, host };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

const hostName = (host: string): string => host.replace(/:\d{1,5}$/, '').toLowerCase();

/** Links come from BASE_URL only; a request for another host name is misdirected or forged. */
export function isKnownHost(host: string | undefined, hosts: readonly string[]): boolean {
  if (host === undefined || hosts.includes(host) || LOOPBACK.test(host)) return true;
  const name = hostName(host);
  return LOOPBACK.test(name) || hosts.includes(name);
}

/**
 * Whether there are two `Host` headers: Node uses the first, but a proxy may have used the last (RFC 9112 section 3.2).
 *
 * @param rawHeaders names and values in turn
 */
export function hasMultipleHostHeaders(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Fetch metadata first, Origin where a browser sends none: unsafe requests of other sites are refused.
 *
 * @param ofPage the request goes to a page of ours: those are sent with `no-referrer`, so that a browser without fetch
 *   metadata posts their forms with `Origin: null`; each such form carries an anti-forgery value of its own
 */
export function isCrossSite(
  method: string,
  headers: IncomingHttpHeaders,
  hosts: readonly string[],
  ofPage = false,
): boolean {
  if (SAFE_METHODS.has(method)) return false;
  const site = headers['sec-fetch-site'];
  // Programs with a bearer key are no browser with a cookie; pages elsewhere may call the model API with their own key.
  if (headers.authorization !== undefined && headers.cookie === undefined) return false;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  if (origin === undefined || (ofPage && origin === 'null')) return false;
  return !URL.canParse(origin) || !isKnownHost(new URL(origin).host, hosts);
}
