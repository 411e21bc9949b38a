import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy between a client and the service that simulates network failures on request. */
export class FlakyProxy {
  readonly #server: Server;
  readonly #awaited = new Map<RegExp, () => void>();
  /** While true, no request gets a response. */
  isDown = false;
  /** Number of bytes after which each of the next video responses is cut off, once the client has received them. */
  readonly truncations: { readonly after: number; arrived(): Promise<void> }[] = [];
  /** Positions from which the next responses with a part of a video are sent instead, as by a faulty cache. */
  readonly wrongStarts: number[] = [];
  /** `Range` header of each request for a video, in order; empty for the whole file. */
  readonly ranges: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: string): Promise<FlakyProxy> {
    const server = createServer();
    const proxy = new FlakyProxy(server);
    server.on('request', (incoming, answer) => proxy.#forward(new URL(incoming.url ?? '/', target), incoming, answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until a request whose path matches is forwarded. */
  untilForwarded(pattern: RegExp): Promise<void> {
    return new Promise((resolve) => this.#awaited.set(pattern, resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(url: URL, incoming: IncomingMessage, answer: ServerResponse): void {
    if (this.isDown) return void incoming.destroy();
    for (const [pattern, resolve] of this.#awaited) if (pattern.test(url.pathname)) resolve();
    const isVideo = url.pathname.endsWith('/content');
    if (isVideo) this.ranges.push(incoming.headers.range ?? '');
    const { method } = incoming;
    const wrongStart = isVideo && incoming.headers.range !== undefined ? this.wrongStarts.shift() : undefined;
    const headers =
      wrongStart === undefined ? incoming.headers : { ...incoming.headers, range: `bytes=${wrongStart}-` };
    const onward = request(url, { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      const cut = isVideo ? this.truncations.shift() : undefined;
      if (cut === undefined) return void reply.pipe(answer);
      let passed = 0;
      reply.on('data', (chunk: Buffer) => {
        if (passed >= cut.after) return;
        answer.write(chunk.subarray(0, cut.after - passed));
        passed += chunk.length;
        if (passed >= cut.after) void cut.arrived().finally(() => answer.destroy());
      });
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  }
}
