import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy that can be slow, or away: new connections are refused and open ones broken. */
export class DelayingOrRefusingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Added to everything the other side sends, milliseconds. */
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

  /** From now on there is nobody. */
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

/** A connection to the PostgreSQL of a url, over its unix socket where it names a folder (`?host=/folder`). */
export function dialPostgres(url: string): Socket {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder === null ? connect(Number(port || 5432), hostname) : connect(`${folder}/.s.PGSQL.${port || 5432}`);
}

/** The url of the same database through the proxy. */
export function throughProxy(url: string, { port }: DelayingOrRefusingProxy): string {
  const through = new URL(url);
  through.searchParams.delete('host');
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return through.href;
}
