import { invalidRequest } from '../platform/app-error.ts';
import { isCloudMetadataIp, isPublicIp } from '../platform/outbound/is-public-ip.ts';

/**
 * An upstream's base URL as it is stored: scheme, host and port, nothing else. What its name resolves to is checked again
 * by the outbound client at every call.
 *
 * @throws AppError `invalid_request`
 */
export function parseBaseUrl(text: string, isPrivate: boolean): string {
  const invalidUrl = (why: string) => invalidRequest(`base_url ${why}.`, 'base_url');
  const url = URL.parse(text.trim());
  if (url === null) throw invalidUrl('is no URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalidUrl('must start with https://');
  if (url.username !== '' || url.password !== '') throw invalidUrl('must not hold credentials');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    throw invalidUrl("must have no path: the vendor's own is added to it");
  if (isMetadataUrl(text)) throw invalidUrl('is where a cloud hands out the secrets of its machines');
  if (isPrivate) return url.origin;
  if (url.protocol === 'http:') throw invalidUrl('must start with https:// unless options.private is true');
  if (isPrivateHostname(url.hostname))
    throw invalidUrl('is a loopback or private address, which needs options.private to be true');
  return url.origin;
}

/** Host names under which clouds serve their metadata; their IP addresses are known to `isCloudMetadataIp`. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Whether a text is a URL of a cloud's metadata service. No upstream is there, not even of a private channel. */
export function isMetadataUrl(text: string): boolean {
  const name = URL.parse(text.trim())?.hostname.replace(/\.$/, '').toLowerCase() ?? '';
  return METADATA_NAMES.has(name) || isCloudMetadataIp(name.replace(/^\[|\]$/g, ''));
}

/** Names no public host has (RFC 6761, RFC 6762, RFC 8375 and the metadata names of clouds), and every address that is not public. */
export function isPrivateHostname(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name.startsWith('[')) return !isPublicIp(name.slice(1, -1));
  if (/^[\d.]+$/.test(name)) return !isPublicIp(name);
  return !name.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(name);
}
