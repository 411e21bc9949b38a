import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import type { MailServerEndpoint } from '../mail-clients.ts';

/** The same mail server as seen by a client with another IP address of this machine, such as 127.0.0.2. */
export interface SourceIpProxy extends MailServerEndpoint {
  stop(): Promise<void>;
}

/** Starts a proxy that connects to the mail server from this address. */
export async function startSourceIpProxy(server: MailServerEndpoint, address: string): Promise<SourceIpProxy> {
  const servers: Server[] = [];
  const forward = async (port: number): Promise<number> => {
    const server = createServer((inner) => {
      const outer = connect({ host: '127.0.0.1', port, localAddress: address });
      inner.pipe(outer).pipe(inner);
      for (const [one, other] of [
        [inner, outer],
        [outer, inner],
      ] as const)
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  const { imap, pop3, smtp } = server.ports;
  return {
    ports: { imap: await forward(imap), pop3: await forward(pop3), smtp: await forward(smtp) },
    ca: server.ca,
    async stop() {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
