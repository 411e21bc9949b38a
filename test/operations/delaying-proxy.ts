import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy that can be slow or down: when it is down, it refuses new connections and resets open ones. */
export class DelayingOrRefusingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Milliseconds added to everything the other side sends. */
  delayMs = 0;
  #isAway = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param dial opens a connection to the other side */
  static async start(dial: () => Socket): Promise<DelayingOrRefusingProxy> {
    const server = createServer({ noDelay: true });
    const proxy = new DelayingOrRefusingProxy(server);
    server.on('connection', (client) => proxy.#forward(client, dial));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes the proxy down. */
  goAway(): void {
    this.#isAway = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.goAway();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(client: Socket, dial: () => Socket): void {
    if (this.#isAway) {
      client.destroy();
      return;
    }
    const server = dial();
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      const end = () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      };
      socket.on('error', end);
      socket.on('close', end);
    }
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      if (this.delayMs === 0) client.write(bytes);
      else setTimeout(() => client.write(bytes), this.delayMs);
    });
  }
}

/** Connects to the PostgreSQL server of a URL, over its unix socket if the URL names a folder (`?host=/folder`). */
export function dialPostgres(url: string): Socket {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder === null ? connect(Number(port || 5432), hostname) : connect(`${folder}/.s.PGSQL.${port || 5432}`);
}

/** The URL of the same database through the proxy. */
export function throughProxy(url: string, { port }: DelayingOrRefusingProxy): string {
  const through = new URL(url);
  through.searchParams.delete('host');
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return through.href;
}
