import { setTimeout } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { getOrMakeEntry } from '../get-or-make-entry.ts';
import { bufferingHandler } from './buffered-response.ts';
import { Exchange, type ExchangeDispatcher, type Target } from './exchange.ts';
import {
  guardedConnector,
  type ReadingOptions,
  type Resolve,
  resolveByDns,
  resolveBySystem,
} from './guarded-connector-and-resolvers.ts';
import { Http1Agent } from './http1/http1-agent.ts';
import { READ_INTO_ONE_BUFFER } from './http1/socket-read-buffer.ts';
import { isCloudMetadataIp, isPublicIp } from './is-public-ip.ts';
import {
  type BufferedResponse,
  type ConfiguredRequest,
  type ExchangeControl,
  type ExchangeHandler,
  type OutboundClient,
  OutboundError,
  type OutboundResponse,
  type StreamedRequest,
  type UntrustedPost,
  type UntrustedRequest,
} from './outbound-types.ts';
import { Proxies } from './proxy-agents.ts';
import { Semaphore } from './semaphore.ts';
import { streamingHandler } from './streamed-response.ts';
import { Agent, type Connector } from './undici-without-fetch.ts';
import {
  readLocation,
  toConfiguredTarget,
  toUntrustedHeaders,
  toUntrustedTarget,
  type UntrustedTarget,
} from './url-policy.ts';

export interface OutboundOptions {
  /** Concurrent exchanges with untrusted hosts in the whole process; default 256, and four times as many may wait. */
  readonly maxUntrusted?: number;
  /** Sockets to one configured origin for `stream`, and as many for all else; further requests wait for one. Default 4 096. */
  readonly maxSocketsPerOrigin?: number;
  /** For names in our own configuration; default the operating system's resolver. */
  readonly resolveConfigured?: Resolve;
  /** Resolves names of untrusted URLs; default DNS only, without the hosts file. */
  readonly resolveUntrusted?: Resolve;
  /** Ports an untrusted URL may name; default 80 and 443. */
  readonly untrustedPorts?: readonly number[];
  /** W3C `traceparent` of what a configured request belongs to; sent with it. */
  readonly traceparent?: () => string | undefined;
  /** Which IPs are allowed; default global unicast only. Replaced only by tests. */
  readonly isPublicIp?: (address: string) => boolean;
}

const JSON_MAX_BYTES = 8 * 1024 * 1024;
const JSON_TOTAL_TIMEOUT_MS = 60_000;
const UNTRUSTED_MAX_BYTES = 1024 ** 3;
const UNTRUSTED_TOTAL_TIMEOUT_MS = 15 * 60_000;
const UNTRUSTED_WAIT_MS = 5_000;
const UNTRUSTED_EXCHANGES = 256;
/** How many may wait for each untrusted exchange under way. */
const WAITING_PER_EXCHANGE = 4;
const UNTRUSTED_PORTS = [80, 443];
const SOCKETS_PER_ORIGIN = 4_096;
const UNTRUSTED_SOCKETS_PER_ORIGIN = 64;
/** For sockets that bring files: with hundreds under way most of their memory would be what is read ahead. */
const NOTHING_AHEAD: ReadingOptions = { highWaterMark: 0 };
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The longest connect bound that makes sense; the exchange keeps the request's own. */
const DIAL_TIMEOUT_MS = 10_000;
const CLOSE_POLL_MS = 20;
const MAX_KNOWN_TARGETS = 500;

/** Ports a webhook may go to: those of the web, and those no system service has. */
const WEBHOOK_PORTS = { has: (port: string): boolean => port === '80' || port === '443' || Number(port) > 1023 };

/** Opens the outbound HTTP client. The caller must close it. */
export function openOutbound(options: OutboundOptions = {}): OutboundClient {
  return new OutboundHttpClient(options);
}

/** What sends requests to configured hosts by one rule of which IPs are allowed. */
interface ConfiguredSenders {
  readonly agent: Agent;
  /** For `stream`, whose targets are kept. */
  readonly streamAgent: Http1Agent;
  readonly streamTargets: LRUCache<string, Target>;
  readonly proxies: Proxies;
}

class OutboundHttpClient implements OutboundClient {
  /** Sets of sockets, so that none opened under a looser rule serves a stricter one. */
  readonly #private: ConfiguredSenders;
  readonly #public: ConfiguredSenders;
  readonly #untrustedAgent: Agent;
  /** For files of private channels. */
  readonly #privateFileAgent: Agent;
  readonly #untrustedSlots: Semaphore;
  readonly #closing = new AbortController();
  readonly #untrustedPorts: ReadonlySet<string>;
  readonly #traceparent: () => string | undefined;

  constructor(options: OutboundOptions) {
    const allows = options.isPublicIp ?? isPublicIp;
    const own = options.resolveConfigured ?? resolveBySystem;
    const foreign = options.resolveUntrusted ?? resolveByDns();
    const sockets = options.maxSocketsPerOrigin ?? SOCKETS_PER_ORIGIN;
    const maxUntrusted = options.maxUntrusted ?? UNTRUSTED_EXCHANGES;
    const guarded = (resolve: Resolve, rule: (address: string) => boolean, reading: ReadingOptions = {}): Connector =>
      guardedConnector({ resolve, allows: rule, timeoutMs: DIAL_TIMEOUT_MS, signal: this.#closing.signal, reading });
    const opened = (connect: Connector, connections: number): Agent =>
      new Agent({ connect, connections, allowH2: false, pipelining: 1 });
    const allowsPrivate = (address: string): boolean => !isCloudMetadataIp(address);
    const configured = (rule: (address: string) => boolean): ConfiguredSenders => ({
      agent: opened(guarded(own, rule), sockets),
      streamAgent: new Http1Agent(guarded(own, rule, READ_INTO_ONE_BUFFER), sockets),
      streamTargets: new LRUCache({ max: MAX_KNOWN_TARGETS }),
      proxies: new Proxies({ resolve: own, allows: rule, timeoutMs: DIAL_TIMEOUT_MS, connections: sockets }),
    });
    this.#private = configured(allowsPrivate);
    this.#public = configured(allows);
    this.#untrustedAgent = opened(guarded(foreign, allows, NOTHING_AHEAD), UNTRUSTED_SOCKETS_PER_ORIGIN);
    this.#privateFileAgent = opened(guarded(own, allowsPrivate, NOTHING_AHEAD), sockets);
    this.#traceparent = options.traceparent ?? (() => undefined);
    this.#untrustedPorts = new Set((options.untrustedPorts ?? UNTRUSTED_PORTS).map(String));
    this.#untrustedSlots = new Semaphore(maxUntrusted, maxUntrusted * WAITING_PER_EXCHANGE);
  }

  request(request: ConfiguredRequest): Promise<OutboundResponse> {
    return new Promise((resolve, reject) => {
      const handler = streamingHandler(resolve, reject, undefined, request.readAheadBytes);
      this.#beginConfigured(request, handler, new Exchange(request, handler));
    });
  }

  requestJson(request: ConfiguredRequest): Promise<BufferedResponse> {
    return new Promise((resolve, reject) => {
      const timed = { ...request, totalTimeoutMs: request.totalTimeoutMs ?? JSON_TOTAL_TIMEOUT_MS };
      const handler = bufferingHandler(request.maxBytes ?? JSON_MAX_BYTES, resolve, reject);
      this.#beginConfigured(timed, handler, new Exchange(timed, handler, Number.POSITIVE_INFINITY));
    });
  }

  #beginConfigured(request: ConfiguredRequest, handler: ExchangeHandler, exchange: Exchange): void {
    const { url, private: isPrivate = false } = request;
    this.#begin(request, handler, exchange, this.#sendersFor(request).agent, () => toConfiguredTarget(url, isPrivate));
  }

  /** Its URLs are few, those of model calls, so that each is checked and taken apart once. */
  stream(request: StreamedRequest, handler: ExchangeHandler): ExchangeControl {
    const { url, private: isPrivate = false } = request;
    const { streamAgent, streamTargets } = this.#sendersFor(request);
    return this.#begin(request, handler, new Exchange(request, handler), streamAgent, () =>
      getOrMakeEntry<string, Target>(streamTargets, url, () => toConfiguredTarget(url, isPrivate)),
    );
  }

  #sendersFor(request: ConfiguredRequest): ConfiguredSenders {
    return request.private === true ? this.#private : this.#public;
  }

  /** @param toTarget throws where the URL is not allowed */
  #begin(
    request: ConfiguredRequest,
    handler: ExchangeHandler,
    exchange: Exchange,
    agent: ExchangeDispatcher,
    toTarget: () => Target,
  ): Exchange {
    const { proxy } = request;
    let target: Target;
    let dispatcher = agent;
    try {
      target = toTarget();
      if (proxy !== undefined) dispatcher = this.#sendersFor(request).proxies.agentFor(proxy);
    } catch (error) {
      handler.fail(new OutboundError('blocked', (error as Error).message));
      return exchange;
    }
    return exchange.begin(
      dispatcher,
      target,
      withTraceparent(withUncodedResponse(request.headers), this.#traceparent()),
    );
  }

  async requestUntrusted(request: UntrustedRequest): Promise<OutboundResponse> {
    const rule = { allowedPrivateHosts: request.allowedPrivateHosts ?? [], ports: this.#untrustedPorts };
    const endsAt = performance.now() + (request.totalTimeoutMs ?? UNTRUSTED_TOTAL_TIMEOUT_MS);
    let target = toUntrustedTarget(request.url, rule);
    for (let hop = 0; ; hop++) {
      const response = await this.#requestUntrustedOnce(request, target, endsAt);
      const location = REDIRECTS.has(response.status) ? response.headers.location : undefined;
      if (location === undefined) return response;
      response.body.destroy();
      if (hop === MAX_REDIRECTS) throw new OutboundError('blocked', `more than ${MAX_REDIRECTS} redirects`);
      target = toUntrustedTarget(readLocation(location), rule, target.url);
    }
  }

  postUntrusted({ allowHttp, allowedPrivateHosts, headers, ...request }: UntrustedPost): Promise<BufferedResponse> {
    return new Promise((resolve, reject) => {
      const target = toUntrustedTarget(request.url, { allowedPrivateHosts, ports: WEBHOOK_PORTS });
      if (target.url.protocol === 'http:' && !allowHttp && !target.isAllowedPrivateHost)
        throw new OutboundError('blocked', 'plain http is not allowed');
      const handler = bufferingHandler(request.maxBytes ?? JSON_MAX_BYTES, resolve, reject);
      new Exchange({ ...request, method: 'POST' }, handler, Number.POSITIVE_INFINITY).begin(
        target.isAllowedPrivateHost ? this.#private.agent : this.#untrustedAgent,
        target,
        withUncodedResponse(headers),
      );
    });
  }

  /** Holds a place at the gate until the body has ended. */
  async #requestUntrustedOnce(
    request: UntrustedRequest,
    target: UntrustedTarget,
    endsAt: number,
  ): Promise<OutboundResponse> {
    const leave = await this.#untrustedSlots.acquire(request.connectTimeoutMs ?? UNTRUSTED_WAIT_MS);
    if (leave === undefined) throw new OutboundError('connect', 'too many exchanges with foreign hosts are under way');
    const bounded = {
      ...request,
      maxBytes: request.maxBytes ?? UNTRUSTED_MAX_BYTES,
      totalTimeoutMs: Math.max(1, endsAt - performance.now()),
    };
    return new Promise((resolve, reject) => {
      new Exchange(bounded, streamingHandler(resolve, reject, leave, request.readAheadBytes)).begin(
        target.isAllowedPrivateHost ? this.#privateFileAgent : this.#untrustedAgent,
        target,
        toUntrustedHeaders(request.headers),
      );
    });
  }

  async close(graceMs = 0): Promise<void> {
    const configured = [this.#private, this.#public];
    const agents = [...configured.map(({ agent }) => agent), this.#untrustedAgent, this.#privateFileAgent];
    const isBusy = (): boolean =>
      configured.some(({ streamAgent }) => streamAgent.isBusy) ||
      agents.some((agent) => Object.values(agent.stats).some(({ size }) => size !== undefined && size > 0));
    const endsAt = performance.now() + graceMs;
    while (isBusy() && performance.now() < endsAt) await setTimeout(CLOSE_POLL_MS);
    this.#closing.abort();
    for (const { streamAgent } of configured) streamAgent.destroy();
    await Promise.all([...agents, ...configured.map(({ proxies }) => proxies)].map((each) => each.destroy()));
  }
}

const withTraceparent = (
  headers: Readonly<Record<string, string>>,
  traceparent: string | undefined,
): Readonly<Record<string, string>> => (traceparent === undefined ? headers : { ...headers, traceparent });

/** Unencoded responses by default: nothing to decompress, and chunks of a stream arrive as they were sent. */
function withUncodedResponse(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return 'accept-encoding' in headers ? headers : { 'accept-encoding': 'identity', ...headers };
}
