import ipaddr from 'ipaddr.js';

/** Azure's WireServer hands out instance secrets from an IP address in a public range. */
const AZURE_WIRE_SERVER = '168.63.129.16';

const IPV6_GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an untrusted URL may lead to this IP address: global unicast by the IANA special-purpose registries, nothing else.
 *
 * A positive rule: loopback, private, link-local (cloud metadata), shared (RFC 6598), documentation, multicast and
 * reserved ranges fail it, and so does every IPv6 form that carries an IPv4 address (mapped, NAT64, 6to4, Teredo), since
 * what it reaches depends on the network. Zone identifiers and anything that is no canonical IP text fail too.
 */
export function isPublicIp(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) {
    return ipaddr.IPv4.parse(text).range() === 'unicast' && text !== AZURE_WIRE_SERVER;
  }
  if (!ipaddr.IPv6.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.match(IPV6_GLOBAL_UNICAST) && address.range() === 'unicast';
}

/** IPs of cloud metadata services, which return the machine's secrets: all of IPv4's link-local block, and some outside of it. */
const CLOUD_METADATA_IPS: ReadonlySet<string> = new Set([
  AZURE_WIRE_SERVER,
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
]);

/** Whether an address serves a machine's secrets to the machine itself; no upstream lives there, not even a private one. */
export function isCloudMetadataIp(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return CLOUD_METADATA_IPS.has(address.toString()) || (address.kind() === 'ipv4' && address.range() === 'linkLocal');
}
