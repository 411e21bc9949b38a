import ipaddr from 'ipaddr.js';
import { invalidRequest } from '../app-error.ts';
import { isPublicIp } from './is-public-ip.ts';

/** Keys with free text of users, which may begin with a URL without meaning it to be fetched. */
const PROSE_KEYS = new Set(['prompt', 'text', 'negative_prompt', 'negativePrompt']);
const HTTP_SCHEME = /^https?:/i;
/** What fetchers other than ours may follow. Schemes of vendors' own (`gs:`, `oss:`, `asset:`) mean nothing outside of them. */
const FORBIDDEN_SCHEME = /^(file|s?ftps?|tftp|gopher|dict|ldaps?|wss?|smb|jar):/i;
/** What readers skip in front of a URL: controls, and blanks of every kind, a byte order mark among them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the pattern must find
const LEADING_BLANKS = /^[\u0000-\u0020\u007f-\u00a0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]+/;
/** `//host/path` and its spellings with backslashes take their scheme from wherever they are read. */
const NO_SCHEME = /^[\\/]{2}/;
/** Base64 is longer than this; a URL may be too. */
const MAX_SCHEMELESS_LENGTH = 256;
const MAX_URL_LENGTH = 8_192;
/** Names that mean this machine or its network wherever they are resolved (RFC 6761, RFC 6762, RFC 8375, clouds and clusters). */
const PRIVATE_HOST_PATTERN = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|svc|home\.arpa)$/;

/** Whether a host name or IP literal is by itself local or private. Names are not resolved here; the connector checks their IPs. */
function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (ipaddr.isValid(host)) return !isPublicIp(host);
  return !host.includes('.') || PRIVATE_HOST_PATTERN.test(host);
}

/**
 * Refuses URLs of this machine and of private networks anywhere in what a caller sends. Most are not fetched here but
 * handed on, and an upstream that stands in our own network (another gateway) would reach what the caller cannot. Works
 * level by level, since depth is the sender's choice.
 */
export function assertNoPrivateUrls(body: unknown): void {
  const open: [path: string, value: unknown][] = [['', body]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    if (typeof value === 'string') assertPublicUrl(path, value);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value))
      if (typeof inner !== 'string' || !PROSE_KEYS.has(key)) open.push([path === '' ? key : `${path}.${key}`, inner]);
  }
}

/**
 * Refuses a text that is a URL of this machine or of a private network, however it is spelled; anything else passes.
 *
 * @throws AppError `invalid_request`
 */
export function assertPublicUrl(param: string, text: string): void {
  // The URL parser drops line breaks anywhere, so they do not hide a scheme; nor does any number of blanks in front.
  const bare = text.replace(LEADING_BLANKS, '');
  const start = bare
    .slice(0, MAX_URL_LENGTH)
    .replace(/[\t\r\n]/g, '')
    .slice(0, 64);
  if (FORBIDDEN_SCHEME.test(start)) throw invalidRequest(`${param} must be an http(s) address.`, param);
  const hasNoScheme = NO_SCHEME.test(start);
  if (!HTTP_SCHEME.test(start) && !hasNoScheme) return;
  if (hasNoScheme && isBase64(text)) return;
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(hasNoScheme ? `http:${bare}` : bare);
  if (url === null && hasNoScheme && text.length <= MAX_URL_LENGTH) return;
  if (url === null) throw invalidRequest(`${param} is no valid address.`, param);
  if (isPrivateHost(url.hostname)) throw invalidRequest(`${param} must be a public address.`, param);
}

/** Long text of Base64's letters alone, whose first part is no name of this machine: MP3 frames begin with `//`. */
const isBase64 = (text: string): boolean =>
  text.length > MAX_SCHEMELESS_LENGTH &&
  /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text) &&
  !/^[\\/\s]*(localhost|metadata)(?:[/\\]|$)/i.test(text);
