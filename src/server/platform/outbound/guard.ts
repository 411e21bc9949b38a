import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector, errors } from 'undici';
import { invalidRequest } from '../app-error.ts';

export interface ResolvedIp {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves all IP addresses of a name; rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedIp[]>;

/** An IP address that the guard does not allow. */
export class BlockedIpError extends Error {}

/** A name that has no IP address. */
export class HostNotFoundError extends Error {}

/** The operating system's way, hosts file included: for hosts of our own configuration. */
export const resolveBySystem: Resolve = async (hostname) =>
  (await systemLookup(hostname, { all: true, order: 'verbatim' })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));

const DNS_TRIES = 2;

/**
 * DNS alone, for names of untrusted hosts. getaddrinfo would occupy one of the few threads that file system and password
 * hashing share for as long as a hostile name server cares to be slow.
 *
 * @param timeoutMs for the first try; c-ares doubles it for the second
 * @param servers `ip:port` of name servers in place of the system's
 */
export function resolveByDns(timeoutMs = 2_000, servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: timeoutMs, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
    return [
      ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 as const })),
      ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 as const })),
    ];
  };
}

interface IpGuard {
  readonly resolve: Resolve;
  readonly allows: (address: string) => boolean;
}

/** @throws BlockedIpError */
function assertAllowed({ allows }: Pick<IpGuard, 'allows'>, address: string): void {
  if (!allows(address)) throw new BlockedIpError('the host has an address that is not public');
}

/** Resolves a name for a socket, and fails where one of its IPs is not allowed. */
export function guardedLookup(guard: IpGuard): LookupFunction {
  return (hostname, { all }, callback) => {
    resolveChecked(guard, hostname).then(
      ([first, ...rest]) => {
        if (all) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

async function resolveChecked(guard: IpGuard, hostname: string): Promise<[ResolvedIp, ...ResolvedIp[]]> {
  const addresses = await guard.resolve(hostname).catch((cause: unknown) => {
    throw new HostNotFoundError('the host name could not be resolved', { cause });
  });
  for (const { address } of addresses) assertAllowed(guard, address);
  const [first, ...rest] = addresses;
  if (first === undefined) throw new HostNotFoundError('the host name has no address');
  return [first, ...rest];
}

/** How sockets are read: options of `net.connect` and `tls.connect`. */
export interface ReadingOptions {
  /** Bytes that are read ahead of the response's reader. */
  readonly highWaterMark?: number;
}

export interface ConnectorOptions extends IpGuard {
  readonly timeoutMs: number;
  readonly reading?: ReadingOptions;
  /** Aborts connection attempts in progress, which undici's own `destroy` does not. */
  readonly signal: AbortSignal;
}

/**
 * A connector that connects only to IPs `allows` accepts. Names are resolved in the socket's own `lookup`, so that the checked
 * IPs are the ones connected to and DNS rebinding (another IP on the next query) has no effect. One refused IP among several
 * refuses the name. HTTP/2 is not offered: only with one request per socket is it known whether a request was sent.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const check = (address: string): void => assertAllowed(options, address);
  const lookup = guardedLookup(options);
  const dial = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    lookup,
    autoSelectFamily: true,
    // undici passes what it does not know on to `net.connect` and `tls.connect`.
    ...options.reading,
  });
  const dialling = new Set<Socket>();
  options.signal.addEventListener('abort', () => {
    for (const socket of dialling) socket.destroy();
  });
  return failOnReset((target, callback) => {
    // A socket to an IP literal never calls `lookup`.
    if (isIP(target.hostname) !== 0) {
      try {
        check(target.hostname);
      } catch (error) {
        queueMicrotask(() => callback(error as BlockedIpError, null));
        return;
      }
    }
    // The declared type hides that undici's connector returns the socket it connects with.
    const socket = dial(target, (...result) => {
      dialling.delete(socket);
      callback(...result);
    }) as unknown as Socket;
    dialling.add(socket);
  });
}

/**
 * Reports system errors of established connections as lost sockets. undici takes a reset for the proper end of a body without a
 * length, and fails requests that only wait for the connection although they could take another.
 */
export function failOnReset(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...result) => {
      result[1]?.prependListener('error', (error) => {
        // undici's own errors pass here too: time limits, aborts.
        if ('syscall' in error) Object.assign(error, { code: LOST_SOCKET });
      });
      callback(...result);
    });
}

const LOST_SOCKET = new errors.SocketError().code;

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
