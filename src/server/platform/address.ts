import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Answers the address of the client behind a request. */
export type AddressOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Looks through proxies we trust and nobody else. X-Forwarded-For counts only when the peer itself is trusted; then the
 * rightmost address that is not trusted is the client, since everything left of it is what that client claims.
 *
 * @param trusted addresses and CIDR ranges
 * @throws TypeError naming the entry that is neither
 */
export function makeAddressOf(trusted: readonly string[]): AddressOf {
  const proxies = toBlockList(trusted);
  const isTrusted = (address: string): boolean => proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return ({ headers, socket }) => {
    let address = toPlainAddress(socket.remoteAddress ?? '') ?? 'unknown';
    if (trusted.length === 0 || isIP(address) === 0) return address;
    const forwarded = headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
    while (hops.length > 0 && isTrusted(address)) {
      const next = toPlainAddress(hops.pop() ?? '');
      // What a trusted proxy could not name stays with the proxy: junk must never become a key of its own.
      if (next === undefined) break;
      address = next;
    }
    return address;
  };
}

/** The key of an address in limits: IPv6 by /64, which is what one customer gets, else the address. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const parts = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`;
}

/** Canonical text of an address: no port, no brackets, no zone, IPv4-mapped as IPv4. Undefined for anything else. */
function toPlainAddress(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 4) return bare;
  return family === 6 ? ipaddr.process(bare).toString() : undefined;
}

function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address);
    const widest = family === 6 ? 128 : 32;
    const bits = prefix === undefined ? widest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (family === 0 || !(bits <= widest)) throw new TypeError(`"${entry}" is neither an address nor a CIDR range`);
    list.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
