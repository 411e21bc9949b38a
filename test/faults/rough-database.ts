import { connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of a message on its way to PostgreSQL: it is cut off before it, or once the answer to it has begun. */
export type Cut = 'before' | 'after' | undefined;
/** `commit`: somebody asks to keep a transaction; `other`: anything else. */
export type Choose = (message: 'commit' | 'other') => Cut;

const COMMIT = 'commit\0';

/**
 * A network between the service and PostgreSQL that breaks connections. One that is cut after a commit leaves the service
 * without knowing whether its work was kept.
 */
export class RoughDatabase {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Undefined for calm. */
  choose: Choose | undefined;
  readonly cuts = { before: 0, after: 0 };

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param url the database behind it, by a unix socket (`?host=/folder`) or an address */
  static async start(url: string): Promise<RoughDatabase> {
    const server = createServer();
    const rough = new RoughDatabase(server);
    server.on('connection', (client) => rough.#carry(client, new URL(url)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return rough;
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

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #carry(client: Socket, { hostname, port, searchParams }: URL): void {
    const folder = searchParams.get('host');
    const database =
      folder === null ? connect(Number(port || 5432), hostname) : connect(`${folder}/.s.PGSQL.${port || 5432}`);
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
        end();
      });
    }
    let isLost = false;
    client.on('data', (chunk) => {
      const cut = this.choose?.(chunk.includes(COMMIT) ? 'commit' : 'other');
      if (cut !== undefined) this.cuts[cut] += 1;
      if (cut === 'before') return end();
      isLost ||= cut === 'after';
      database.write(chunk);
    });
    // The first byte of the answer says that the work is done; nobody hears it.
    database.on('data', (chunk) => (isLost ? end() : client.write(chunk)));
  }
}
