import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type BrotliOptions, brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { Agent, type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { Semaphore } from '../concurrency.ts';
import { tryParse } from '../json.ts';
import {
  BlockedIpError,
  failOnReset,
  guardedConnector,
  guardedLookup,
  isCloudMetadataIp,
  isPublicIp,
  type ReadingOptions,
  type Resolve,
  resolveByDns,
  resolveBySystem,
} from './guard.ts';
import {
  type BufferedResponse,
  type ConfiguredRequest,
  codingOf,
  Exchange,
  type ExchangeControl,
  type ExchangeHandler,
  type OutboundClient,
  OutboundError,
  type OutboundResponse,
  type StreamedRequest,
  type Target,
  type UntrustedPost,
  type UntrustedRequest,
} from './outbound.ts';

/** Options of the client, with defaults for production. */
export interface OutboundOptions {
  /** Concurrent exchanges with untrusted hosts in the whole process; default 256, and four times as many may wait. */
  readonly maxUntrusted?: number;
  /**
   * Sockets per configured origin for `stream`, and as many for all other requests; further requests wait for one.
   * Default 4 096.
   */
  readonly maxSocketsPerOrigin?: number;
  /** Resolves names in our own configuration; default: the operating system's resolver. */
  readonly resolveConfigured?: Resolve;
  /** Resolves names of untrusted URLs; default: DNS only, without the hosts file. */
  readonly resolveUntrusted?: Resolve;
  /** Ports permitted in an untrusted URL; default 80 and 443. */
  readonly untrustedPorts?: readonly number[];
  /** W3C `traceparent` of the span that sends a configured request; sent with it. */
  readonly traceparent?: () => string | undefined;
  /** Which IPs are permitted; default: global unicast only. Replaced only by tests. */
  readonly isPublicIp?: (address: string) => boolean;
}

const JSON_MAX_BYTES = 8 * 1024 * 1024;
const JSON_TOTAL_TIMEOUT_MS = 60_000;
const UNTRUSTED_MAX_BYTES = 1024 ** 3;
const UNTRUSTED_TOTAL_TIMEOUT_MS = 15 * 60_000;
const UNTRUSTED_WAIT_MS = 5_000;
const UNTRUSTED_EXCHANGES = 256;
/** How many exchanges may wait per untrusted exchange in flight. */
const WAITING_PER_EXCHANGE = 4;
const UNTRUSTED_PORTS = [80, 443];
const SOCKETS_PER_ORIGIN = 4_096;
const UNTRUSTED_SOCKETS_PER_ORIGIN = 64;
/** For sockets that receive files: with hundreds in flight, read-ahead would account for most of their memory. */
const NOTHING_AHEAD: ReadingOptions = { highWaterMark: 0 };
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The longest sensible connect timeout; each exchange enforces the request's own. */
const DIAL_TIMEOUT_MS = 10_000;
const CLOSE_POLL_MS = 20;

/** Ports a webhook may be sent to: those of the web, and those outside the range of system services. */
const WEBHOOK_PORTS = { has: (port: string): boolean => port === '80' || port === '443' || Number(port) > 1023 };

/** Opens the outbound HTTP client. The caller must close it. */
export function openOutbound(options: OutboundOptions = {}): OutboundClient {
  return new OutboundHttpClient(options);
}

/** Sends requests to configured hosts under one rule of permitted IPs. */
interface ConfiguredSenders {
  readonly agent: Agent;
  /** For `stream`, so that polls never wait behind model calls. */
  readonly streamAgent: Agent;
  readonly proxies: Proxies;
}

class OutboundHttpClient implements OutboundClient {
  /** Separate sets of sockets, so that no socket opened under a looser rule serves a stricter one. */
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
    const guarded = (
      resolve: Resolve,
      rule: (address: string) => boolean,
      reading: ReadingOptions = {},
    ): buildConnector.connector =>
      guardedConnector({ resolve, allows: rule, timeoutMs: DIAL_TIMEOUT_MS, signal: this.#closing.signal, reading });
    const opened = (connect: buildConnector.connector, connections: number): Agent =>
      new Agent({ connect, connections, allowH2: false, pipelining: 1, factory: openPool });
    const allowsPrivate = (address: string): boolean => !isCloudMetadataIp(address);
    const configured = (rule: (address: string) => boolean): ConfiguredSenders => ({
      agent: opened(guarded(own, rule), sockets),
      streamAgent: opened(guarded(own, rule), sockets),
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
      this.#begin(request, handler, new Exchange(request, handler), this.#sendersFor(request).agent);
    });
  }

  requestJson(request: ConfiguredRequest): Promise<BufferedResponse> {
    return new Promise((resolve, reject) => {
      const timed = { ...request, totalTimeoutMs: request.totalTimeoutMs ?? JSON_TOTAL_TIMEOUT_MS };
      const handler = bufferingHandler(request.maxBytes ?? JSON_MAX_BYTES, resolve, reject);
      const exchange = new Exchange(timed, handler, Number.POSITIVE_INFINITY);
      this.#begin(timed, handler, exchange, this.#sendersFor(request).agent);
    });
  }

  stream(request: StreamedRequest, handler: ExchangeHandler): ExchangeControl {
    return this.#begin(request, handler, new Exchange(request, handler), this.#sendersFor(request).streamAgent);
  }

  #sendersFor(request: ConfiguredRequest): ConfiguredSenders {
    return request.private === true ? this.#private : this.#public;
  }

  /** Sends a request to a configured host, through its proxy if it has one. Never throws. */
  #begin(request: ConfiguredRequest, handler: ExchangeHandler, exchange: Exchange, agent: Dispatcher): Exchange {
    const { url, private: isPrivate = false, proxy } = request;
    let target: Target;
    let dispatcher: Dispatcher = agent;
    try {
      target = toConfiguredTarget(url, isPrivate);
      if (proxy !== undefined) dispatcher = this.#sendersFor(request).proxies.agentFor(proxy);
    } catch (error) {
      handler.fail(new OutboundError('blocked', (error as Error).message));
      return exchange;
    }
    return exchange.begin(
      dispatcher,
      target,
      withTraceparent(withUncodedResponse({ ...CLIENT_HEADERS, ...request.headers }), this.#traceparent()),
    );
  }

  async requestUntrusted(request: UntrustedRequest): Promise<OutboundResponse> {
    const rule = { allowedPrivateHosts: request.allowedPrivateHosts ?? [], ports: this.#untrustedPorts };
    const endsAt = performance.now() + (request.totalTimeoutMs ?? UNTRUSTED_TOTAL_TIMEOUT_MS);
    const { maxRedirects = MAX_REDIRECTS } = request;
    let target = toUntrustedTarget(request.url, rule);
    for (let hop = 0; ; hop++) {
      const response = await this.#requestUntrustedOnce(request, target, endsAt);
      const location = REDIRECTS.has(response.status) ? response.headers.location : undefined;
      if (location === undefined) return response;
      response.body.destroy();
      if (hop === maxRedirects) throw new OutboundError('blocked', `more than ${maxRedirects} redirects`);
      target = toUntrustedTarget(readLocation(location), rule, target.url);
    }
  }

  postUntrusted({ allowHttp, allowedPrivateHosts, headers, ...request }: UntrustedPost): Promise<BufferedResponse> {
    return new Promise((resolve, reject) => {
      const target = toUntrustedTarget(request.url, { allowedPrivateHosts, ports: WEBHOOK_PORTS });
      if (target.url.protocol === 'http:' && !allowHttp && !target.isAllowedPrivateHost)
        throw new OutboundError('blocked', 'plain http is not allowed');
      let head: Pick<BufferedResponse, 'status' | 'headers'> | undefined;
      const handler = bufferingHandler(request.maxBytes ?? JSON_MAX_BYTES, resolve, (error) => {
        if (head === undefined || error.phase !== 'body') reject(error);
        else resolve({ ...head, text: '', json: undefined });
      });
      const recordingHead: ExchangeHandler = {
        ...handler,
        head(status, received, control) {
          head = { status, headers: received };
          handler.head(status, received, control);
        },
      };
      new Exchange({ ...request, method: 'POST' }, recordingHead, Number.POSITIVE_INFINITY).begin(
        target.isAllowedPrivateHost ? this.#private.agent : this.#untrustedAgent,
        target,
        withUncodedResponse(headers),
      );
    });
  }

  /** Holds a slot until the body has ended. */
  async #requestUntrustedOnce(
    request: UntrustedRequest,
    target: UntrustedTarget,
    endsAt: number,
  ): Promise<OutboundResponse> {
    const release = await this.#untrustedSlots.acquire(request.connectTimeoutMs ?? UNTRUSTED_WAIT_MS);
    if (release === undefined)
      throw new OutboundError('connect', 'too many exchanges with foreign hosts are in flight');
    const bounded = {
      ...request,
      maxBytes: request.maxBytes ?? UNTRUSTED_MAX_BYTES,
      totalTimeoutMs: Math.max(1, endsAt - performance.now()),
    };
    return new Promise((resolve, reject) => {
      new Exchange(bounded, streamingHandler(resolve, reject, release, request.readAheadBytes)).begin(
        target.isAllowedPrivateHost ? this.#privateFileAgent : this.#untrustedAgent,
        target,
        toUntrustedHeaders(request.headers),
      );
    });
  }

  async close(graceMs = 0): Promise<void> {
    const configured = [this.#private, this.#public];
    const agents = [
      ...configured.flatMap(({ agent, streamAgent }) => [agent, streamAgent]),
      this.#untrustedAgent,
      this.#privateFileAgent,
    ];
    const isBusy = (): boolean =>
      agents.some((agent) => Object.values(agent.stats).some(({ size }) => size !== undefined && size > 0));
    const endsAt = performance.now() + graceMs;
    while (isBusy() && performance.now() < endsAt) await setTimeout(CLOSE_POLL_MS);
    this.#closing.abort();
    await Promise.all([...agents, ...configured.map(({ proxies }) => proxies)].map((each) => each.destroy()));
  }
}

/** A pool even for a single connection, because a pool lets sockets be read once more before a connection is reused. */
const openPool = (origin: string | URL, options: object): Pool => new Pool(origin, options);

/** Common firewalls, Cloudflare's among them, refuse requests without these headers. */
const CLIENT_HEADERS = { accept: '*/*', 'user-agent': 'reelgate' };

const withTraceparent = (
  headers: Readonly<Record<string, string>>,
  traceparent: string | undefined,
): Readonly<Record<string, string>> => (traceparent === undefined ? headers : { ...headers, traceparent });

/**
 * Requests unencoded responses by default: there is nothing to decompress, and chunks of a stream arrive as they were
 * sent.
 */
function withUncodedResponse(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return 'accept-encoding' in headers ? headers : { 'accept-encoding': 'identity', ...headers };
}

type Decoder = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: { readonly [coding: string]: Decoder } = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress),
};

/** Collects a response in memory, up to `maxBytes` both as sent and as decoded. */
export function bufferingHandler(
  maxBytes: number,
  resolve: (answer: BufferedResponse) => void,
  reject: (error: OutboundError) => void,
): ExchangeHandler {
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  let chunks: Buffer[] = [];
  let size = 0;
  const settle = (bytes: Buffer, whole: boolean): void => {
    const text = bytes.toString('utf8');
    resolve({ status, headers, text, json: whole ? tryParse(text, { longIntegersAsText: true }) : undefined });
  };
  return {
    head(gotStatus, gotHeaders) {
      status = gotStatus;
      headers = gotHeaders;
    },
    chunk(bytes, control) {
      size += bytes.length;
      chunks.push(bytes);
      if (size <= maxBytes) return;
      const cut = Buffer.concat(chunks).subarray(0, maxBytes);
      chunks = [];
      // Settled first, so that the failure caused by the abort has no effect.
      if (codingOf(headers) === undefined) settle(cut, false);
      else reject(new OutboundError('body', `the answer is longer than ${maxBytes} bytes`));
      control.abort();
    },
    end() {
      const [first] = chunks;
      const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
      const coding = codingOf(headers);
      if (coding === undefined || bytes.length === 0) settle(bytes, true);
      else decode(bytes, coding, maxBytes).then((decoded) => settle(decoded, true), reject);
    },
    fail(error) {
      reject(error);
    },
  };
}

async function decode(bytes: Buffer, coding: string, maxBytes: number): Promise<Buffer> {
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decoder === undefined) throw new OutboundError('body', 'the answer has a content coding that was not asked for');
  try {
    return await decoder(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    throw new OutboundError('body', 'the answer could not be decoded within its bound', { cause });
  }
}

/** A response body as a stream. Pauses the socket while it is not read, and aborts the exchange when destroyed. */
class ResponseBody extends Readable {
  readonly #control: ExchangeControl;
  constructor(control: ExchangeControl, highWaterMark: number) {
    super({ highWaterMark });
    this.#control = control;
    // A body may fail before its receiver has it. The error is kept for the receiver and must not end the process.
    this.on('error', () => {});
  }
  override _read(): void {
    this.#control.resume();
  }
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#control.abort();
    callback(error);
  }
}

/**
 * Releases the memory of a chunk immediately after its last use. With many downloads in flight, most of their memory
 * would otherwise wait for the garbage collector. No other code holds the chunks of this client's bodies. Chunks that
 * share memory with the next one, and those of other streams, are left alone.
 */
export function freeChunk(body: Readable, { buffer, byteLength }: Buffer): void {
  if (body instanceof ResponseBody && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    buffer.transfer(0);
}

const READ_AHEAD_BYTES = 64 * 1024;

/** Converts the handler interface to a promise of head and body. `onEnd` runs once, however the exchange ends. */
export function streamingHandler(
  resolve: (response: OutboundResponse) => void,
  reject: (error: OutboundError) => void,
  onEnd: () => void = () => {},
  readAheadBytes = READ_AHEAD_BYTES,
): ExchangeHandler {
  let body: ResponseBody | undefined;
  return {
    head(status, headers, control) {
      body = new ResponseBody(control, readAheadBytes);
      resolve({ status, headers, body });
    },
    chunk(bytes, control) {
      if (body?.push(bytes) === false) control.pause();
    },
    end() {
      onEnd();
      body?.push(null);
    },
    fail(error) {
      onEnd();
      if (body === undefined) reject(error);
      // A receiver that destroyed the body needs no error; other receivers get it.
      else if (!body.destroyed) body.destroy(error);
    },
  };
}

interface ProxyOptions {
  readonly resolve: Resolve;
  /** Which IPs a proxy may have. */
  readonly allows: (address: string) => boolean;
  readonly timeoutMs: number;
  /** Sockets per origin behind a proxy. */
  readonly connections: number;
}

/** Far more than anyone configures; an unused proxy holds no socket. */
const MAX_PROXIES = 200;

/**
 * Agents for requests through proxies, one per proxy. The proxy's IP is checked; the proxy itself resolves the names
 * behind it.
 */
export class Proxies {
  readonly #options: ProxyOptions;
  readonly #agents = new LRUCache<string, ProxyAgent>({
    max: MAX_PROXIES,
    dispose: (agent) => void agent.close(),
  });

  constructor(options: ProxyOptions) {
    this.#options = options;
  }

  /** @throws BlockedIpError when the URL contains an IP that is not permitted */
  agentFor(url: string): ProxyAgent {
    const known = this.#agents.get(url);
    if (known !== undefined) return known;
    const { allows, timeoutMs, connections } = this.#options;
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !allows(host)) throw new BlockedIpError('the proxy has an address that is not public');
    const agent = new ProxyAgent({
      uri: url,
      // Even for plain http, so that a proxy never sees the credentials of a request.
      proxyTunnel: true,
      connectTimeout: timeoutMs,
      proxyTls: { lookup: guardedLookup(this.#options) },
      factory: (origin, { connect, ...pool }: Pool.Options) =>
        new Pool(origin, { ...pool, connect: failOnReset(connect as buildConnector.connector) }),
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
}

const MAX_URL_LENGTH = 8_192;
const DEFAULT_PORT: { readonly [protocol: string]: string } = { 'http:': '80', 'https:': '443' };

/** Headers that a request to an untrusted host may carry; all others, above all credentials, are dropped. */
const UNTRUSTED_HEADERS = new Set([
  'accept',
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
]);

/** Parses a configured URL. Plain http would expose credentials to the network in between, so it requires `private`. */
export function toConfiguredTarget(text: string, isPrivate: boolean): Target {
  const url = parseHttpUrl(text);
  if (url.protocol === 'http:' && !isPrivate) throw blocked('plain http needs a channel marked private');
  return targetOf(url);
}

interface UntrustedTarget extends Target {
  readonly url: URL;
  /** Listed in `allowedPrivateHosts`, so its IP may be private. */
  readonly isAllowedPrivateHost: boolean;
}

interface UntrustedUrlPolicy {
  /** `host:port` pairs permitted with any port and IP. */
  readonly allowedPrivateHosts: readonly string[];
  readonly ports: Pick<ReadonlySet<string>, 'has'>;
}

/** Checks everything about an untrusted URL that can be checked before its name is resolved. */
export function toUntrustedTarget(text: string, rule: UntrustedUrlPolicy, from?: URL): UntrustedTarget {
  const url = parseHttpUrl(text, from);
  if (from?.protocol === 'https:' && url.protocol === 'http:') throw blocked('a redirect from https to http');
  const port = url.port || DEFAULT_PORT[url.protocol] || '';
  const isAllowedPrivateHost = rule.allowedPrivateHosts.includes(`${url.hostname}:${port}`);
  if (!isAllowedPrivateHost && !rule.ports.has(port)) throw blocked('this port is not allowed');
  return { ...targetOf(url), url, isAllowedPrivateHost };
}

/**
 * Decodes `Location` as its host intended it. Header values are read byte by byte, and hosts send UTF-8 paths without
 * percent-encoding.
 */
export function readLocation(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.toString('latin1') !== value) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}

/** `identity`, because a coding would only add decompression bombs to media that is already compressed. */
export function toUntrustedHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => UNTRUSTED_HEADERS.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), 'accept-encoding': 'identity', 'user-agent': 'reelgate' };
}

function parseHttpUrl(text: string, base?: URL): URL {
  if (text.length > MAX_URL_LENGTH) throw blocked('the address is too long');
  const url = URL.parse(text, base);
  if (url === null) throw blocked('not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw blocked('only http and https are allowed');
  if (url.username !== '' || url.password !== '') throw blocked('credentials inside an address');
  return url;
}

function targetOf(url: URL): Target {
  return { origin: url.origin, path: url.pathname + url.search };
}

function blocked(message: string): OutboundError {
  return new OutboundError('blocked', message);
}
