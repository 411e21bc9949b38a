import ipaddr from 'ipaddr.js';
import { invalid } from '../errors.ts';
import { isPublicAddress } from './public-address.ts';

/** What people write, which may well begin with an address. */
const PROSE = new Set(['prompt', 'text', 'negative_prompt', 'negativePrompt']);
const WEB = /^https?:/i;
/** What fetchers other than ours may follow. Schemes of vendors' own (`gs:`, `oss:`, `asset:`) mean nothing outside of them. */
const NO_WEB = /^(file|s?ftps?|tftp|gopher|dict|ldaps?|wss?|smb|jar):/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const CONTROLS = /^[\u0000-\u0020]+/;
const LONGEST = 8_192;
/** Names that mean this machine or its network wherever they are asked for (RFC 6761, RFC 6762, RFC 8375, clouds and clusters). */
const INSIDE = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|svc|home\.arpa)$/;

/** Whether a host is this machine or one of a private network by its spelling alone; names are looked up by who dials them. */
function isInside(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (ipaddr.isValid(host)) return !isPublicAddress(host);
  return !host.includes('.') || INSIDE.test(host);
}

/**
 * Refuses addresses of this machine and of private networks anywhere in what a caller sends. Most are not fetched here but
 * handed on, and an upstream that stands in our own network (another gateway) would reach what the caller cannot. Works
 * level by level, since depth is the sender's choice.
 */
export function refuseInsideAddresses(body: unknown): void {
  const open: [path: string, value: unknown][] = [['', body]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next;
    if (typeof value === 'string') check(path, value);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value))
      if (typeof inner !== 'string' || !PROSE.has(key)) open.push([path === '' ? key : `${path}.${key}`, inner]);
  }
}

/**
 * The members by which the formats of model calls name an address: a text, or an object that holds it as `url`. In capitals
 * too: some readers (Go's encoding/json) do not tell them apart.
 */
const MEDIA = /^(image|video|audio|file)_url$/i;

/** The same where nearly everything is prose: only what is named as the address of a medium is looked at. */
export function refuseInsideMedia(body: unknown): void {
  const open: unknown[] = [body];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (MEDIA.test(key)) checkMedium(key, inner);
      if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
}

function checkMedium(key: string, medium: unknown): void {
  if (typeof medium === 'string') check(key, medium);
  if (typeof medium !== 'object' || medium === null) return;
  for (const [name, url] of Object.entries(medium))
    if (typeof url === 'string' && name.toLowerCase() === 'url') check(`${key}.${name}`, url);
}

function check(param: string, text: string): void {
  // The URL parser drops blanks at the front and line breaks anywhere, so they do not hide a scheme.
  const start = text
    .slice(0, 64)
    .replace(/[\t\r\n]/g, '')
    .replace(CONTROLS, '');
  if (NO_WEB.test(start)) throw invalid(`${param} must be an http(s) address.`, param);
  if (!WEB.test(start)) return;
  const url = text.length > LONGEST ? null : URL.parse(text);
  if (url === null) throw invalid(`${param} is no valid address.`, param);
  if (isInside(url.hostname)) throw invalid(`${param} must be a public address.`, param);
}
