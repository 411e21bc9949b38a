import { isIP } from 'node:net';
import { BlockedIpError, guardedLookup, type Resolve } from './guarded-connector-and-resolvers.ts';
import { ProxyAgent } from './undici-without-fetch.ts';

export interface ProxyOptions {
  readonly resolve: Resolve;
  /** IPs a proxy may have. */
  readonly allows: (address: string) => boolean;
  readonly timeoutMs: number;
  /** Sockets to one origin behind a proxy. */
  readonly connections: number;
}

/** More are configured by nobody; one that is not used any more keeps no socket. */
const MAX_PROXIES = 200;

/**
 * Agents for requests through proxies, one for each proxy. The IP of the proxy is checked; the names behind it are resolved by
 * the proxy itself.
 */
export class Proxies {
  readonly #options: ProxyOptions;
  readonly #agents = new Map<string, ProxyAgent>();

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  /** @throws BlockedIpError where the URL names an IP that is not allowed */
  agentFor(url: string): ProxyAgent {
    const known = this.#agents.get(url);
    if (known !== undefined) return known;
    const { allows, timeoutMs, connections } = this.#options;
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !allows(host)) throw new BlockedIpError('the proxy has an address that is not public');
    this.#forgetOldest();
    const agent = new ProxyAgent({
      uri: url,
      // Plain http too, so that a proxy never sees the credentials of a request.
      proxyTunnel: true,
      connectTimeout: timeoutMs,
      proxyTls: { lookup: guardedLookup(this.#options) },
      connections,
      allowH2: false,
      pipelining: 1,
    });
    this.#agents.set(url, agent);
    return agent;
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  #forgetOldest(): void {
    const [oldest] = this.#agents;
    if (oldest === undefined || this.#agents.size < MAX_PROXIES) return;
    this.#agents.delete(oldest[0]);
    void oldest[1].close();
  }
}
