import type {
  ServerResponse as HeldResponse,
  IncomingMessage,
  OutgoingHttpHeader,
  OutgoingHttpHeaders,
  ServerResponse as Response,
  Server,
} from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { CollectedRequest, createServer, ServerResponse } from './body.ts';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

const MAX_CONNECTIONS = 20_000;
/**
 * Uploads of 500 MB over slow lines take an hour, heads never do; a body that stalls is ended by
 * `ConnectionLimits`. nginx keeps connections for 60 s, less than we do.
 */
const TIMEOUTS = { requestTimeout: 2 * 3_600_000, keepAliveTimeout: 72_000, headersTimeout: 10_000 } as const;
/** A client that takes no byte of a whole response for this long counts as disconnected; the bytes are in memory. */
const WRITE_STALL_MS = 60_000;
const SWEEP_INTERVAL_MS = 100;
/** An event loop turn shorter than this had no events to process. */
const QUIET_TURN_MS = 0.3;
const MAX_QUIET_WAIT_MS = 2_000;
/**
 * nginx notices that a server is gone when a new connection is refused; until then it sends requests on kept
 * connections.
 */
const MAX_KEPT_AFTER_CLOSE_MS = 1_000;

/**
 * The port of the service, open from the first moment of the process (health checks are answered while the schema is
 * migrated) until the end of a drain. During a drain every response carries `Connection: close`, so that a proxy moves
 * its kept connections elsewhere before they are closed.
 */
export class PortLifecycle {
  readonly server: Server;
  readonly #starting = new RequestsDuringStart();
  #handler: RequestHandler = this.#starting.handle;
  /** Time of `performance.now()`; undefined: not draining. */
  #drainingSince: number | undefined;

  constructor(writeStallMs = WRITE_STALL_MS) {
    const isDraining = () => this.#drainingSince !== undefined;
    class DrainingResponse extends ServerResponse {
      // Decided when the head is sent, so that it includes requests in flight when the drain started.
      override writeHead(status: number, message?: string | Headers, headers?: Headers): this {
        if (isDraining()) this.shouldKeepAlive = false;
        // Node accepts headers as the second or third argument.
        return super.writeHead(status, message as string | undefined, headers);
      }

      // The timer restarts with every byte that leaves, and Node replaces it once the response is finished.
      override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), callback?: () => void): this {
        super.end(chunk, encoding as BufferEncoding, callback);
        const { socket } = this;
        if (socket === null || socket.writableLength > 0) this.setTimeout(writeStallMs, () => this.destroy());
        return this;
      }
    }
    const classes = {
      IncomingMessage: CollectedRequest as typeof IncomingMessage,
      ServerResponse: DrainingResponse,
    };
    const options = { maxHeaderSize: 16_384, ...TIMEOUTS, ...classes };
    this.server = createServer(options, (request, response) => this.#handler(request, response as Response));
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /** Opens the port; a second call returns the same address. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    if (!this.server.listening)
      await new Promise<void>((resolve, reject) => {
        this.server.once('error', reject);
        // Clients try both addresses of this name, and IPv6 may be disabled.
        this.server.listen(port, host === 'localhost' ? '127.0.0.1' : host, () => {
          this.server.off('error', reject);
          resolve();
        });
      });
    return this.server.address() as AddressInfo;
  }

  /** Lets the service itself answer from now on, starting with the requests that have waited. */
  serve(handler: RequestHandler): void {
    this.#handler = handler;
    this.#starting.passTo(handler);
  }

  /**
   * Closes every connection after its response from now on; the port stays open.
   * @returns the start of the drain, as a time of `performance.now()`
   */
  drain(): number {
    this.#drainingSince ??= performance.now();
    return this.#drainingSince;
  }

  /**
   * Closes the port, gives requests in flight `graceMs`, then aborts them. After a drain, connections without a request
   * are kept for up to a second longer than the port.
   */
  async close(graceMs: number): Promise<void> {
    const drainedMs = performance.now() - this.drain();
    if (graceMs > 0) await untilQuiet();
    // Not the HTTP server's own method, which would close connections without a request at the same moment.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.server, () => resolve()));
    const ended = new AbortController();
    const keptMs = Math.min(drainedMs, graceMs, MAX_KEPT_AFTER_CLOSE_MS);
    const sweeping = this.#endUnusedConnections(keptMs, graceMs, ended.signal);
    await closed;
    ended.abort();
    await sweeping;
    // Stops the HTTP server's own timer.
    this.server.close(() => {});
  }

  async #endUnusedConnections(keptMs: number, graceMs: number, ended: AbortSignal): Promise<void> {
    const closedAt = performance.now();
    if (keptMs > SWEEP_INTERVAL_MS) await delay(keptMs, undefined, { signal: ended }).catch(() => {});
    else this.server.closeIdleConnections();
    for (let passedMs = 0; passedMs < graceMs && !ended.aborted; passedMs = performance.now() - closedAt) {
      await delay(SWEEP_INTERVAL_MS, undefined, { signal: ended }).catch(() => {});
      if (!ended.aborted) await untilQuiet();
      this.server.closeIdleConnections();
    }
    if (!ended.aborted) this.server.closeAllConnections();
  }
}

/**
 * Resolves just after the event loop has polled for events and found none, so that no connection waits to be accepted
 * and no request waits to be read: connections closed at this moment are almost certainly unused.
 */
async function untilQuiet(): Promise<void> {
  const giveUpAt = performance.now() + MAX_QUIET_WAIT_MS;
  for (let quietTurns = 0; quietTurns < 2 && performance.now() < giveUpAt; ) {
    const turnBegan = performance.now();
    await nextTurn();
    quietTurns = performance.now() - turnBegan < QUIET_TURN_MS ? quietTurns + 1 : 0;
  }
}

/** Handles a request, possibly before the service is constructed. */
export type RequestHandler = (request: IncomingMessage, response: HeldResponse) => void;

/** A load balancer without health checks sends requests as soon as the port is open; a startup takes seconds. */
const MAX_WAIT_MS = 20_000;
const MAX_WAITING = 1_000;
const RETRY_AFTER_SECONDS = '2';

/** Answers health checks before the service is constructed, and lets all other requests wait for it. */
export class RequestsDuringStart {
  readonly #waiting = new Map<HeldResponse, { readonly request: IncomingMessage; readonly timer: NodeJS.Timeout }>();
  readonly #maxWaitMs: number;

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Reads no part of the body before the service takes over the request. */
  readonly handle: RequestHandler = (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path === '/livez') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
    if (path === '/readyz') return refuse(response, { ready: false, reason: 'migrating' });
    const tooLong = () => {
      this.#waiting.delete(response);
      refuse(response, { success: false, message: 'The service is starting. Try again in a few seconds.' });
    };
    if (this.#waiting.size >= MAX_WAITING) return tooLong();
    this.#waiting.set(response, { request, timer: setTimeout(tooLong, this.#maxWaitMs).unref() });
    response.once('close', () => this.#drop(response));
  };

  /** Hands the waiting requests over. */
  passTo(handler: RequestHandler): void {
    for (const [response, { request }] of [...this.#waiting]) {
      this.#drop(response);
      handler(request, response);
    }
  }

  #drop(response: HeldResponse): void {
    clearTimeout(this.#waiting.get(response)?.timer);
    this.#waiting.delete(response);
  }
}

function refuse(response: HeldResponse, body: object): void {
  const head = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': RETRY_AFTER_SECONDS };
  response.writeHead(503, { ...head, connection: 'close' }).end(JSON.stringify(body));
}
