import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * When a message to PostgreSQL breaks the connection: before the message is forwarded, or once the response to it has
 * begun.
 */
export type ConnectionCut = 'before' | 'after' | undefined;
/** `commit`: the message contains a COMMIT or charges model calls; `other`: any other message. */
export type CutChooser = (message: 'commit' | 'other') => ConnectionCut;

const COMMIT = 'commit\0';
/** Start of the parameter of the statement that charges model calls; that statement commits by itself. */
const CHARGE = '[{"n":';

/**
 * A network between the service and PostgreSQL that breaks connections. A cut after a commit leaves the service without
 * knowing whether its transaction was committed.
 */
export class FlakyPostgresProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Undefined: no connection is cut. */
  chooseCut: CutChooser | undefined;
  readonly cuts = { before: 0, after: 0 };
  /** Number of calls to `silence`; connections opened before the last one no longer forward anything. */
  #generation = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param url URL of the database behind the proxy, with a unix socket (`?host=/folder`) or an address */
  static async start(url: string): Promise<FlakyPostgresProxy> {
    const server = createServer();
    const proxy = new FlakyPostgresProxy(server);
    server.on('connection', (client) => proxy.#forward(client, new URL(url)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The URL of the same database through this proxy. */
  urlOf(url: string): string {
    const address = this.#server.address();
    const through = new URL(url);
    through.searchParams.delete('host');
    through.hostname = '127.0.0.1';
    through.port = String(typeof address === 'object' ? address?.port : '');
    return through.href;
  }

  /** Behaves like a firewall that drops its connection table: existing connections go silent, new ones work. */
  silence(): void {
    this.#generation += 1;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(client: Socket, { hostname, port, searchParams }: URL): void {
    const folder = searchParams.get('host');
    const database =
      folder === null ? connect(Number(port || 5432), hostname) : connect(`${folder}/.s.PGSQL.${port || 5432}`);
    const generation = this.#generation;
    const isSilent = () => generation !== this.#generation;
    const end = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        // A client behind a silent network does not learn of the close either.
        if (!isSilent()) end();
      });
    }
    let isLost = false;
    client.on('data', (chunk) => {
      if (isSilent()) return;
      const cut = this.chooseCut?.(chunk.includes(COMMIT) || chunk.includes(CHARGE) ? 'commit' : 'other');
      if (cut !== undefined) this.cuts[cut] += 1;
      if (cut === 'before') return end();
      isLost ||= cut === 'after';
      database.write(chunk);
    });
    // The first byte of the response shows that PostgreSQL has executed the statement; the service never receives it.
    database.on('data', (chunk) => {
      if (isLost) end();
      else if (!isSilent()) client.write(chunk);
    });
  }
}
