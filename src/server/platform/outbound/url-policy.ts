import type { Target } from './exchange.ts';
import { OutboundError } from './outbound-types.ts';

const MAX_URL_LENGTH = 8_192;
const DEFAULT_PORT: { readonly [protocol: string]: string } = { 'http:': '80', 'https:': '443' };

/** Headers a request to an untrusted host may carry; everything else, credentials above all, stays here. */
const UNTRUSTED_HEADERS = new Set([
  'accept',
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
]);

/** Takes a configured URL apart. Plain http would show credentials to the network between, so it needs `private`. */
export function toConfiguredTarget(text: string, isPrivate: boolean): Target {
  const url = parseHttpUrl(text);
  if (url.protocol === 'http:' && !isPrivate) throw blocked('plain http needs a channel marked private');
  return targetOf(url);
}

export interface UntrustedTarget extends Target {
  readonly url: URL;
  /** Listed in `allowedPrivateHosts`, so its IP may be private. */
  readonly isAllowedPrivateHost: boolean;
}

export interface UntrustedUrlPolicy {
  /** `host:port` pairs allowed at any port and IP. */
  readonly allowedPrivateHosts: readonly string[];
  readonly ports: Pick<ReadonlySet<string>, 'has'>;
}

/** Checks everything about an untrusted URL that can be checked before its name is resolved. */
export function toUntrustedTarget(text: string, rule: UntrustedUrlPolicy, from?: URL): UntrustedTarget {
  const url = parseHttpUrl(text, from);
  if (from?.protocol === 'https:' && url.protocol === 'http:') throw blocked('a redirect from https to http');
  const port = url.port || DEFAULT_PORT[url.protocol] || '';
  const isAllowedPrivateHost = rule.allowedPrivateHosts.includes(`${url.hostname}:${port}`);
  if (!isAllowedPrivateHost && !rule.ports.has(port)) throw blocked('this port is not allowed');
  return { ...targetOf(url), url, isAllowedPrivateHost };
}

/**
 * `Location` as its host meant it. Header values are read byte by byte, and hosts put paths into them in UTF-8 without
 * percent-encoding.
 */
export function readLocation(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.toString('latin1') !== value) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}

/** `identity`: a coding would only add a bomb to media that is compressed already. */
export function toUntrustedHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => UNTRUSTED_HEADERS.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), 'accept-encoding': 'identity', 'user-agent': 'reelgate' };
}

function parseHttpUrl(text: string, base?: URL): URL {
  if (text.length > MAX_URL_LENGTH) throw blocked('the address is too long');
  const url = URL.parse(text, base);
  if (url === null) throw blocked('not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw blocked('only http and https are allowed');
  if (url.username !== '' || url.password !== '') throw blocked('credentials inside an address');
  return url;
}

function targetOf(url: URL): Target {
  return { origin: url.origin, path: url.pathname + url.search };
}

function blocked(message: string): OutboundError {
  return new OutboundError('blocked', message);
}
