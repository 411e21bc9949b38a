import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returns the IP address of the client that sent a request. */
type ClientIpResolver = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Skips only trusted proxies. X-Forwarded-For counts only when the peer itself is trusted; then the rightmost IP
 * address that is not trusted is the client, because the client sent everything left of it and may have forged it.
 * @param trusted IP addresses and CIDR ranges
 * @throws TypeError naming the entry that is neither
 */
export function createClientIpResolver(trusted: readonly string[]): ClientIpResolver {
  const isTrusted = createIpCheck(trusted);
  return ({ headers, socket }) => {
    let address = toCanonicalIp(socket.remoteAddress ?? '') ?? 'unknown';
    if (trusted.length === 0 || isIP(address) === 0) return address;
    const forwarded = headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
    while (hops.length > 0 && isTrusted(address)) {
      const next = toCanonicalIp(hops.pop() ?? '');
      // An invalid entry is attributed to the proxy that sent it: invalid text must never become a rate-limit key.
      if (next === undefined) break;
      address = next;
    }
    return address;
  };
}

/**
 * The rate-limit key of an IP address: a prefix for IPv6, the address for IPv4.
 * @param prefix 64: the network of one customer; 48: the largest that a single customer usually gets
 */
export function toIpLimitKey(address: string, prefix: 48 | 64 = 64): string {
  if (isIP(address) !== 6) return address;
  // A socket that also accepts IPv4 (HOST=::) names its peers so, and all of them share the prefix.
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const parts = parsed.parts.slice(0, prefix / 16);
  return `${parts.map((part) => part.toString(16)).join(':')}::/${prefix}`;
}

/**
 * Canonical text of an IP address: no port, no brackets, no zone, IPv4-mapped as IPv4. Undefined for any other text.
 */
function toCanonicalIp(text: string): string | undefined {
  if (isIP(text) === 4) return text;
  const bare = text
    .trim()
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 4) return bare;
  return family === 6 ? ipaddr.process(bare).toString() : undefined;
}

/**
 * Creates a check whether an IP address is within any of the ranges; text that is not an IP address is in none.
 * @param ranges IP addresses and CIDR ranges
 * @throws TypeError naming the entry that is neither
 */
export function createIpCheck(ranges: readonly string[]): (ip: string) => boolean {
  const list = new BlockList();
  for (const entry of ranges) {
    const range = parseIpRange(entry);
    if (range === undefined) throw new TypeError(`"${entry}" is neither an address nor a CIDR range`);
    list.addSubnet(range.address, range.bits, range.family);
  }
  return (ip) => isIP(ip) !== 0 && list.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Canonical text of an IP address or CIDR range: IPv4-mapped addresses as IPv4, like client addresses. Undefined for
 * any other text, including addresses with a zone.
 */
export function toIpRange(text: string): string | undefined {
  const range = parseIpRange(text.trim());
  if (range === undefined || range.address.includes('%')) return undefined;
  const address = ipaddr.process(range.address);
  const isMapped = range.family === 'ipv6' && address.kind() === 'ipv4';
  if (isMapped && range.bits < 96) return undefined;
  const bits = isMapped ? range.bits - 96 : range.bits;
  return bits === (address.kind() === 'ipv6' ? 128 : 32) ? address.toString() : `${address}/${bits}`;
}

interface IpRange {
  readonly address: string;
  readonly bits: number;
  readonly family: 'ipv4' | 'ipv6';
}

function parseIpRange(text: string): IpRange | undefined {
  const slash = text.indexOf('/');
  const [address, prefix] = slash < 0 ? [text, undefined] : [text.slice(0, slash), text.slice(slash + 1)];
  const family = isIP(address);
  const widest = family === 6 ? 128 : 32;
  const bits = prefix === undefined ? widest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (family === 0 || !(bits <= widest)) return undefined;
  return { address, bits, family: family === 6 ? 'ipv6' : 'ipv4' };
}
