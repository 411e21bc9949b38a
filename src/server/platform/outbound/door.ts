import { setTimeout } from 'node:timers/promises';
import { answerHandler } from './answer.ts';
import { responseHandler } from './body.ts';
import { guardedConnector, type Resolve, resolveByDns, resolveBySystem } from './connector.ts';
import { Exchange, type Target } from './exchange.ts';
import { Gate } from './gate.ts';
import {
  type ConfiguredRequest,
  type ExchangeControl,
  type ExchangeHandler,
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundResponse,
  type StrangerRequest,
} from './outbound.ts';
import { isCloudMetadata, isPublicAddress } from './public-address.ts';
import { configuredTarget, type StrangerTarget, strangerHeaders, strangerTarget } from './target.ts';
import { Agent } from './undici.ts';

export interface OutboundOptions {
  /** Strangers' exchanges under way at once, in the whole process; default 256, and four times as many may wait. */
  readonly maxStrangers?: number;
  /** Sockets to one configured origin; further requests wait for one. Default 4 096. */
  readonly maxSocketsPerOrigin?: number;
  /** For names in our own configuration; default the operating system's resolver. */
  readonly resolveConfigured?: Resolve;
  /** For names strangers give; default DNS alone. */
  readonly resolveStranger?: Resolve;
  /** Ports a stranger's address may name; default 80 and 443. */
  readonly strangerPorts?: readonly number[];
  /** The address rule; default global unicast only. Tests replace it, nothing else. */
  readonly isPublicAddress?: (address: string) => boolean;
}

const JSON_MAX_BYTES = 8 * 1024 * 1024;
const JSON_TOTAL_TIMEOUT_MS = 60_000;
const STRANGER_MAX_BYTES = 1024 ** 3;
const STRANGER_TOTAL_TIMEOUT_MS = 15 * 60_000;
const STRANGER_WAIT_MS = 5_000;
const STRANGER_SOCKETS_PER_ORIGIN = 64;
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The longest connect bound that makes sense; the exchange keeps the request's own. */
const DIAL_TIMEOUT_MS = 10_000;
const CLOSE_LOOK_MS = 20;

/** Opens the door out. Whoever opens it closes it. */
export function openOutbound(options: OutboundOptions = {}): Outbound {
  return new Door(options);
}

class Door implements Outbound {
  /** Three sets of sockets, so that none opened under a looser rule serves a stricter one. */
  readonly #open: Agent;
  readonly #guarded: Agent;
  readonly #strangers: Agent;
  readonly #gate: Gate;
  readonly #closing = new AbortController();
  readonly #strangerPorts: ReadonlySet<string>;

  constructor(options: OutboundOptions) {
    const allows = options.isPublicAddress ?? isPublicAddress;
    const own = options.resolveConfigured ?? resolveBySystem;
    const foreign = options.resolveStranger ?? resolveByDns();
    const sockets = options.maxSocketsPerOrigin ?? 4_096;
    const maxStrangers = options.maxStrangers ?? 256;
    const opened = (resolve: Resolve, rule: (address: string) => boolean, sockets: number): Agent => {
      const dial = { resolve, allows: rule, timeoutMs: DIAL_TIMEOUT_MS, signal: this.#closing.signal };
      return new Agent({ connect: guardedConnector(dial), connections: sockets, allowH2: false, pipelining: 1 });
    };
    this.#open = opened(own, (address) => !isCloudMetadata(address), sockets);
    this.#guarded = opened(own, allows, sockets);
    this.#strangers = opened(foreign, allows, STRANGER_SOCKETS_PER_ORIGIN);
    this.#strangerPorts = new Set((options.strangerPorts ?? [80, 443]).map(String));
    this.#gate = new Gate(maxStrangers, maxStrangers * 4);
  }

  configured(request: ConfiguredRequest): Promise<OutboundResponse> {
    return new Promise((resolve, reject) => {
      this.stream(request, responseHandler(resolve, reject));
    });
  }

  json(request: ConfiguredRequest): Promise<OutboundAnswer> {
    return new Promise((resolve, reject) => {
      const timed =
        request.totalTimeoutMs === undefined ? { ...request, totalTimeoutMs: JSON_TOTAL_TIMEOUT_MS } : request;
      const handler = answerHandler(request.maxBytes ?? JSON_MAX_BYTES, resolve, reject);
      this.#beginConfigured(timed, handler, new Exchange(timed, handler, Number.POSITIVE_INFINITY));
    });
  }

  stream(request: ConfiguredRequest, handler: ExchangeHandler): ExchangeControl {
    return this.#beginConfigured(request, handler, new Exchange(request, handler));
  }

  #beginConfigured(request: ConfiguredRequest, handler: ExchangeHandler, exchange: Exchange): Exchange {
    const isPrivate = request.private === true;
    let target: Target;
    try {
      target = configuredTarget(request.url, isPrivate);
    } catch (error) {
      handler.fail(error as OutboundError);
      return exchange;
    }
    return exchange.begin(isPrivate ? this.#open : this.#guarded, target, configuredHeaders(request.headers));
  }

  async stranger(request: StrangerRequest): Promise<OutboundResponse> {
    const rule = { alsoHosts: request.alsoHosts ?? [], ports: this.#strangerPorts };
    const endsAt = performance.now() + (request.totalTimeoutMs ?? STRANGER_TOTAL_TIMEOUT_MS);
    let target = strangerTarget(request.url, rule);
    for (let hop = 0; ; hop++) {
      const response = await this.#askStranger(request, target, endsAt);
      const location = REDIRECTS.has(response.status) ? response.headers.location : undefined;
      if (location === undefined) return response;
      response.body.destroy();
      if (hop === MAX_REDIRECTS) throw new OutboundError('blocked', `more than ${MAX_REDIRECTS} redirects`);
      target = strangerTarget(location, rule, target.url);
    }
  }

  /** Holds a place at the gate until the body has ended. */
  async #askStranger(request: StrangerRequest, target: StrangerTarget, endsAt: number): Promise<OutboundResponse> {
    const leave = await this.#gate.enter(request.connectTimeoutMs ?? STRANGER_WAIT_MS);
    if (leave === undefined) throw new OutboundError('connect', 'too many exchanges with foreign hosts are under way');
    const bounded = {
      ...request,
      maxBytes: request.maxBytes ?? STRANGER_MAX_BYTES,
      totalTimeoutMs: Math.max(1, endsAt - performance.now()),
    };
    return new Promise((resolve, reject) => {
      new Exchange(bounded, responseHandler(resolve, reject, leave)).begin(
        target.vouched ? this.#open : this.#strangers,
        target,
        strangerHeaders(request.headers),
      );
    });
  }

  async close(graceMs = 0): Promise<void> {
    const agents = [this.#open, this.#guarded, this.#strangers];
    const isBusy = (): boolean =>
      agents.some((agent) => Object.values(agent.stats).some(({ size }) => size !== undefined && size > 0));
    const endsAt = performance.now() + graceMs;
    while (isBusy() && performance.now() < endsAt) await setTimeout(CLOSE_LOOK_MS);
    this.#closing.abort();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }
}

/** Uncoded answers by default: nothing to unpack, and chunks of a stream arrive as they were sent. */
function configuredHeaders(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return 'accept-encoding' in headers ? headers : { 'accept-encoding': 'identity', ...headers };
}
