import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { ImapSession } from './imap-session.ts';
import { MailStore } from './mail-store.ts';
import { Pop3Session } from './pop3-session.ts';
import { type Certificate, makeCertificate } from './self-signed-certificate.ts';
import { makeSmtpServer, type SmtpOptions } from './smtp-server.ts';

export interface SandboxMailOptions extends SmtpOptions {
  /** Used where they are free and this process may listen on them; otherwise, and by default, any free ones. */
  readonly preferredPorts?: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  readonly certificate?: Certificate;
}

/** A mail server for development: IMAP, POP3 and SMTP over TLS on 127.0.0.1, mail in memory, none sent to other servers. */
export interface SandboxMail {
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  /** The CA certificate for clients. */
  readonly ca: string;
  /** Ends the sessions of a mailbox. */
  disconnect(address: string): void;
  /** Deletes the mail of a mailbox. */
  deleteMail(address: string): void;
  close(): Promise<void>;
}

export async function startSandboxMail(options: SandboxMailOptions): Promise<SandboxMail> {
  const { authenticate, preferredPorts: ports } = options;
  const certificate = options.certificate ?? (await makeCertificate(options.domain));
  const tls = { cert: certificate.cert, key: certificate.key, minVersion: 'TLSv1.2' as const };
  const store = new MailStore();
  const sockets = new Set<Socket>();
  const sessions = new Map<string, Set<Socket>>();
  const enter = (socket: Socket) => (address: string) => {
    const open = sessions.get(address) ?? new Set();
    sessions.set(address, open.add(socket));
    socket.once('close', () => open.delete(socket));
  };
  const serve = (Session: typeof ImapSession | typeof Pop3Session) =>
    createServer(tls, (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      new Session(socket, store, authenticate, enter(socket)).run().then(
        () => socket.destroySoon(),
        () => socket.destroy(),
      );
    }).on('tlsClientError', () => undefined);

  const imap = serve(ImapSession);
  const pop3 = serve(Pop3Session);
  const smtp = makeSmtpServer(options, tls, store);
  const listen = async (server: Server, port: number) => {
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    } catch {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    return (server.address() as AddressInfo).port;
  };
  const opened = {
    imap: await listen(imap, ports?.imap ?? 0),
    pop3: await listen(pop3, ports?.pop3 ?? 0),
    smtp: await listen(smtp.server, ports?.smtp ?? 0),
  };
  return {
    ports: opened,
    ca: certificate.cert,
    disconnect(address) {
      for (const socket of sessions.get(address) ?? []) socket.destroy();
      for (const connection of smtp.connections) if (connection.session.user === address) connection.close();
    },
    deleteMail: (address) => store.drop(address),
    async close() {
      for (const socket of sockets) socket.destroy();
      const closed = [imap, pop3].map((server) => new Promise((resolve) => server.close(resolve)));
      await Promise.all([...closed, new Promise<void>((resolve) => smtp.close(resolve))]);
    },
  };
}
