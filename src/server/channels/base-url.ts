import { invalid } from '../platform/errors.ts';
import { isPublicAddress } from '../platform/outbound/public-address.ts';

/**
 * An upstream's address as it is stored: scheme, host and port, nothing else. What its name resolves to is checked again
 * by the door at every call.
 *
 * @throws AppError `invalid_request`
 */
export function readBaseUrl(text: string, isPrivate: boolean): string {
  const refuse = (why: string) => invalid(`base_url ${why}.`, 'base_url');
  const url = URL.parse(text.trim());
  if (url === null) throw refuse('is no address');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must start with https://');
  if (url.username !== '' || url.password !== '') throw refuse('must not hold credentials');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    throw refuse("must have no path: the vendor's own is added to it");
  if (isPrivate) return url.origin;
  if (url.protocol === 'http:') throw refuse('must start with https:// unless options.private is true');
  if (isPrivateHost(url.hostname))
    throw refuse('is a loopback or private address, which needs options.private to be true');
  return url.origin;
}

/** Names no public host has (RFC 6761, RFC 6762, RFC 8375 and the metadata names of clouds), and every address that is not public. */
function isPrivateHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name.startsWith('[')) return !isPublicAddress(name.slice(1, -1));
  if (/^[\d.]+$/.test(name)) return !isPublicAddress(name);
  return !name.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(name);
}
