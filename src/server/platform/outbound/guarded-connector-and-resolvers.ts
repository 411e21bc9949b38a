import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import { buildConnector, type Connector } from './undici-without-fetch.ts';

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
  /** Takes the place of `data` events. */
  readonly onread?: OnReadOpts;
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
export function guardedConnector(options: ConnectorOptions): Connector {
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
  return (target, callback) => {
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
  };
}
