import { Resolver, lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector, type Connector } from './undici.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Finds all addresses of a name; rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** An address that the guard does not let us dial. */
export class AddressBlocked extends Error {}

/** A name that has no address. */
export class NameUnresolved extends Error {}

/** The operating system's way, hosts file included: for hosts of our own configuration. */
export const resolveBySystem: Resolve = async (hostname) =>
  (await systemLookup(hostname, { all: true, order: 'verbatim' })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));

/**
 * DNS alone, for names strangers give. getaddrinfo would occupy one of the few threads that file system and password
 * hashing share for as long as a hostile name server cares to be slow.
 */
export function resolveByDns(timeoutMs = 2_000): Resolve {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
    return [
      ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 as const })),
      ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 as const })),
    ];
  };
}

/**
 * A connector that dials only what `allows` accepts. Names are resolved inside the socket's own look-up, so that the
 * addresses checked are the addresses dialled and a name server that changes its mind gains nothing. One refused address
 * among several refuses the name. HTTP/2 is not offered: one request per socket is what makes "did it leave?" answerable.
 */
export function guardedConnector(options: {
  readonly resolve: Resolve;
  readonly allows: (address: string) => boolean;
  readonly timeoutMs: number;
  /** Ends dialling under way, which undici's own `destroy` leaves alone. */
  readonly signal: AbortSignal;
}): Connector {
  const check = (address: string): void => {
    if (!options.allows(address)) throw new AddressBlocked('the host has an address that is not public');
  };
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    resolveChecked(hostname).then(
      ([first, ...rest]) => {
        if (all) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
  async function resolveChecked(hostname: string): Promise<[ResolvedAddress, ...ResolvedAddress[]]> {
    const addresses = await options.resolve(hostname).catch((cause: unknown) => {
      throw new NameUnresolved('the host name could not be resolved', { cause });
    });
    for (const { address } of addresses) check(address);
    const [first, ...rest] = addresses;
    if (first === undefined) throw new NameUnresolved('the host name has no address');
    return [first, ...rest];
  }
  const dial = buildConnector({ allowH2: false, timeout: options.timeoutMs, lookup, autoSelectFamily: true });
  const dialling = new Set<Socket>();
  options.signal.addEventListener('abort', () => {
    for (const socket of dialling) socket.destroy();
  });
  return (target, callback) => {
    // A socket to an IP literal never asks `lookup`.
    if (isIP(target.hostname) !== 0) {
      try {
        check(target.hostname);
      } catch (error) {
        queueMicrotask(() => callback(error as AddressBlocked, null));
        return;
      }
    }
    // The declared type hides that undici's connector returns the socket it dials with.
    const socket = dial(target, (...result) => {
      dialling.delete(socket);
      callback(...result);
    }) as unknown as Socket;
    dialling.add(socket);
  };
}
