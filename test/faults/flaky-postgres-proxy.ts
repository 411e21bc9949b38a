import { connect, createServer, type Server, type Socket } from 'node:net';

/** When a message to PostgreSQL breaks the connection: before the message is forwarded, or once the response to it has begun. */
export type ConnectionCut = 'before' | 'after' | undefined;
/** `commit`: the message contains a COMMIT, or the money of model calls; `other`: any other message. */
export type CutChooser = (message: 'commit' | 'other') => ConnectionCut;

const COMMIT = 'commit\0';
/** Begins what the statement is given that does the money of model calls; it commits itself. */
const CHARGE = '[{"n":';

/**
 * A network between the service and PostgreSQL that breaks connections. One that is cut after a commit leaves the service
 * without knowing whether its work was kept.
 */
export class FlakyPostgresProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Undefined for calm. */
  chooseCut: CutChooser | undefined;
  readonly cuts = { before: 0, after: 0 };
  /** Counts the calls of `silence`; connections made before the last one forward nothing any more. */
  #generation = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param url the database behind it, by a unix socket (`?host=/folder`) or an address */
  static async start(url: string): Promise<FlakyPostgresProxy> {
    const server = createServer();
    const proxy = new FlakyPostgresProxy(server);
    server.on('connection', (client) => proxy.#forward(client, new URL(url)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The url of the same database through this network. */
  urlOf(url: string): string {
    const address = this.#server.address();
    const through = new URL(url);
    through.searchParams.delete('host');
    through.hostname = '127.0.0.1';
    through.port = String(typeof address === 'object' ? address?.port : '');
    return through.href;
  }

  /** As a firewall that forgets its connections: those there are now go silent, new ones work. */
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
        // Whoever is behind a silent network does not hear of the end either.
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
    // The first byte of the response shows that PostgreSQL has done the work; the service never receives it.
    database.on('data', (chunk) => {
      if (isLost) end();
      else if (!isSilent()) client.write(chunk);
    });
  }
}
