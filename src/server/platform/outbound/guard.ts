import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector, errors } from 'undici';
import { invalidRequest } from '../app-error.ts';

/** An IP address of a name. */
export interface ResolvedIp {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves all IP addresses of a name; rejects when there are none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedIp[]>;

/** An IP address that the guard does not permit. */
export class BlockedIpError extends Error {}

/** A name that has no IP address. */
export class HostNotFoundError extends Error {}

/** Resolves like the operating system, including the hosts file: for hosts in our own configuration. */
export const resolveBySystem: Resolve = async (hostname) =>
  (await systemLookup(hostname, { all: true, order: 'verbatim' })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));

const DNS_TRIES = 2;

/**
 * Resolves by DNS only, for names of untrusted hosts. getaddrinfo would occupy one of the few threads shared with file
 * system access and password hashing, for as long as a hostile name server delays its answer.
 * @param timeoutMs for the first attempt; c-ares doubles it for the second
 * @param servers `ip:port` of name servers to use instead of the system's
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

/** Resolves a name for a socket, and fails if any of its IPs is not permitted. */
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
  /** Bytes to read ahead of the response's reader. */
  readonly highWaterMark?: number;
}

/** Options of a guarded connector. */
export interface ConnectorOptions extends IpGuard {
  readonly timeoutMs: number;
  readonly reading?: ReadingOptions;
  /** Aborts connection attempts in progress, which undici's own `destroy` does not. */
  readonly signal: AbortSignal;
}

/**
 * A connector that connects only to IPs that `allows` accepts. Names are resolved in the socket's own `lookup`, so that
 * the checked IPs are the ones connected to and DNS rebinding (another IP on the next query) has no effect. One refused
 * IP among several refuses the name. HTTP/2 is not offered, because only with one request per socket is it known
 * whether a request was sent.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const check = (address: string): void => assertAllowed(options, address);
  const lookup = guardedLookup(options);
  const dial = buildConnector({
    allowH2: false,
    timeout: options.timeoutMs,
    lookup,
    autoSelectFamily: true,
    // undici passes options it does not know to `net.connect` and `tls.connect`.
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
    // The declared type hides that undici's connector returns the connecting socket.
    const socket = dial(target, (...result) => {
      dialling.delete(socket);
      callback(...result);
    }) as unknown as Socket;
    dialling.add(socket);
  });
}

/**
 * Reports system errors of established connections as lost sockets. undici mistakes a reset for the proper end of a
 * body without a length, and fails requests that merely wait for the connection although another could serve them.
 */
export function failOnReset(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...result) => {
      result[1]?.prependListener('error', (error) => {
        // undici's own errors, timeouts and aborts, also pass through here.
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
 * Whether an untrusted URL may lead to this IP address: only global unicast according to the IANA special-purpose
 * registries. As an allow-list it excludes loopback, private, link-local (cloud metadata), shared (RFC 6598),
 * documentation, multicast and reserved ranges, and every IPv6 form that carries an IPv4 address (mapped, NAT64, 6to4,
 * Teredo), because its target depends on the network. Zone identifiers and any non-canonical IP text are excluded too.
 */
export function isPublicIp(text: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) {
    return ipaddr.IPv4.parse(text).range() === 'unicast' && text !== AZURE_WIRE_SERVER;
  }
  if (!ipaddr.IPv6.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.IPv6.parse(text);
  return address.match(IPV6_GLOBAL_UNICAST) && address.range() === 'unicast';
}

/**
 * IPs of cloud metadata services, which return the machine's secrets: IPv4's entire link-local block, and some outside
 * of it.
 */
const CLOUD_METADATA_IPS: ReadonlySet<string> = new Set([
  AZURE_WIRE_SERVER,
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
]);

/**
 * Whether an address serves a machine's secrets to that machine; no upstream has such an address, not even a private
 * one.
 */
export function isCloudMetadataIp(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return CLOUD_METADATA_IPS.has(address.toString()) || (address.kind() === 'ipv4' && address.range() === 'linkLocal');
}

/** Keys with free text of users, which may start with a URL that is not meant to be fetched. */
const PROSE_KEYS = new Set(['prompt', 'text', 'negative_prompt', 'negativePrompt']);
const HTTP_SCHEME = /^https?:/i;
/**
 * Schemes that other fetchers might follow. Vendors' own schemes (`gs:`, `oss:`, `asset:`) mean nothing outside of
 * them.
 */
const FORBIDDEN_SCHEME = /^(file|s?ftps?|tftp|gopher|dict|ldaps?|wss?|smb|jar):/i;
/**
 * Characters that URL parsers skip in front of a URL: control characters and all blanks, including a byte order mark.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the pattern must find
const LEADING_BLANKS = /^[\u0000-\u0020\u007f-\u00a0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]+/;
/** `//host/path` and its variants with backslashes inherit the scheme of the context in which they are read. */
const NO_SCHEME = /^[\\/]{2}/;
/** Base64 exceeds this length; so may a URL. */
const MAX_SCHEMELESS_LENGTH = 256;
const MAX_URL_LENGTH = 8_192;
/** Names that resolve to this machine or its network anywhere (RFC 6761, RFC 6762, RFC 8375, clouds and clusters). */
const PRIVATE_HOST_PATTERN = /(^|\.)(localhost|local|localdomain|internal|intranet|lan|svc|home\.arpa)$/;

/**
 * Whether a host name or IP literal is in itself local or private. Names are not resolved here; the connector checks
 * their IPs.
 */
function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (ipaddr.isValid(host)) return !isPublicIp(host);
  return !host.includes('.') || PRIVATE_HOST_PATTERN.test(host);
}

/**
 * Refuses URLs of this machine and of private networks anywhere in a caller's input. Most URLs are not fetched here but
 * forwarded, and an upstream in our own network (such as another gateway) could reach hosts that the caller cannot.
 * Works level by level, because the sender controls the depth.
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
 * Refuses a text that is a URL of this machine or of a private network, in any spelling; all other texts pass.
 * @throws AppError `invalid_request`
 */
export function assertPublicUrl(param: string, text: string): void {
  // The URL parser drops line breaks anywhere and blanks in front, so neither can hide a scheme.
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
  if (url === null) throw invalidRequest(`${param} is not a valid URL.`, param);
  if (isPrivateHost(url.hostname)) throw invalidRequest(`${param} must be a public address.`, param);
}

/** Long text of Base64 characters only, whose first segment is not a local name: MP3 frames start with `//`. */
const isBase64 = (text: string): boolean =>
  text.length > MAX_SCHEMELESS_LENGTH &&
  /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text) &&
  !/^[\\/\s]*(localhost|metadata)(?:[/\\]|$)/i.test(text);
