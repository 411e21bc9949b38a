import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address is in one of some ranges; anything that is no IP address is in none.
 *
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
 * An IP address or CIDR range in canonical text: IPv4-mapped addresses as IPv4, as the addresses of clients are written.
 * Undefined for anything else, addresses with a zone included.
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
