import type { Target } from './exchange.ts';
import { OutboundError } from './outbound.ts';

const MAX_URL_LENGTH = 8_192;
const DEFAULT_PORT: { readonly [protocol: string]: string } = { 'http:': '80', 'https:': '443' };

/** What a stranger's request may say; everything else, credentials above all, stays here. */
const STRANGER_HEADERS = new Set([
  'accept',
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
]);

/** Takes a configured URL apart. Plain http would show credentials to the network between, so it needs `private`. */
export function configuredTarget(text: string, isPrivate: boolean): Target {
  const url = readUrl(text);
  if (url.protocol === 'http:' && !isPrivate) throw blocked('plain http needs a channel marked private');
  return targetOf(url);
}

export interface StrangerTarget extends Target {
  readonly url: URL;
  /** Named in `alsoHosts`, so the address may be private. */
  readonly vouched: boolean;
}

export interface StrangerRule {
  /** `host:port` pairs allowed at any port and address. */
  readonly alsoHosts: readonly string[];
  readonly ports: ReadonlySet<string>;
}

/** Checks everything about a stranger's URL that can be checked before its name is resolved. */
export function strangerTarget(text: string, rule: StrangerRule, from?: URL): StrangerTarget {
  const url = readUrl(text, from);
  if (from?.protocol === 'https:' && url.protocol === 'http:') throw blocked('a redirect from https to http');
  const port = url.port || DEFAULT_PORT[url.protocol] || '';
  const vouched = rule.alsoHosts.includes(`${url.hostname}:${port}`);
  if (!vouched && !rule.ports.has(port)) throw blocked('this port is not allowed');
  return { ...targetOf(url), url, vouched };
}

/** `identity`: a coding would only add a bomb to media that is compressed already. */
export function strangerHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => STRANGER_HEADERS.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), 'accept-encoding': 'identity', 'user-agent': 'reelgate' };
}

function readUrl(text: string, base?: URL): URL {
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
