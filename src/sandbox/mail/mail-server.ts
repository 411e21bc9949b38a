import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { generate } from 'selfsigned';
import { SMTPServer } from 'smtp-server';
import { ImapSession } from './imap-session.ts';
import {
  type Authenticate,
  type MailFolder,
  MailStore,
  parsePlainCredentials,
  SocketReader,
  type StoredMessage,
} from './mail-store.ts';

const CAPABILITIES = ['TOP', 'UIDL', 'USER', 'SASL PLAIN', 'RESP-CODES', 'AUTH-RESP-CODE'];

/** One POP3 connection (RFC 1939, RFC 2449, RFC 3206, RFC 5034). */
export class Pop3Session {
  readonly #socket: Socket;
  readonly #source: SocketReader;
  readonly #store: MailStore;
  readonly #authenticate: Authenticate;
  readonly #onLogin: (address: string) => void;
  #user = '';
  #inbox: MailFolder | undefined;
  /** Maildrop at login; a deleted message keeps its number. */
  #messages: readonly StoredMessage[] = [];
  readonly #deleted = new Set<StoredMessage>();

  constructor(socket: Socket, store: MailStore, authenticate: Authenticate, onLogin: (address: string) => void) {
    this.#socket = socket;
    this.#source = new SocketReader(socket, 0);
    this.#store = store;
    this.#authenticate = authenticate;
    this.#onLogin = onLogin;
  }

  /** Serves until the client disconnects. */
  async run(): Promise<void> {
    this.#send('+OK Reelgate sandbox ready');
    for (let line = await this.#source.readLine(); line !== undefined; line = await this.#source.readLine()) {
      const [, verb = '', rest = ''] = /^(\S*) ?(.*)$/s.exec(line) ?? [];
      this.#send(await this.#answer(verb.toUpperCase(), rest));
      if (verb.toUpperCase() === 'QUIT') return void this.#socket.end();
    }
  }

  #send(text: string): void {
    if (this.#socket.writable) this.#socket.write(`${text}\r\n`, 'latin1');
  }

  async #answer(verb: string, rest: string): Promise<string> {
    switch (verb) {
      case 'CAPA':
        return lines('+OK', CAPABILITIES);
      case 'QUIT':
        for (const message of this.#deleted) this.#inbox?.remove(message.uid);
        return '+OK Bye';
      case 'NOOP':
        return '+OK';
      case 'USER':
        this.#user = rest;
        return '+OK';
      case 'PASS':
        return this.#login(this.#user, rest);
      case 'AUTH':
        return this.#auth(rest);
      default:
        return this.#inbox === undefined ? '-ERR Log in first' : this.#transact(verb, rest);
    }
  }

  async #auth(rest: string): Promise<string> {
    const [mechanism = '', initial] = rest.split(' ');
    if (mechanism === '') return lines('+OK', ['PLAIN']);
    if (mechanism.toUpperCase() !== 'PLAIN') return '-ERR Only PLAIN';
    if (initial === undefined) this.#send('+ ');
    const login = parsePlainCredentials(initial ?? (await this.#source.readLine()) ?? '');
    return login === undefined ? '-ERR Unreadable response' : this.#login(login.user, login.password);
  }

  async #login(user: string, password: string): Promise<string> {
    const address = user.toLowerCase();
    const admitted = await this.#authenticate(address, password, 'pop3');
    if (admitted === undefined) return '-ERR [SYS/TEMP] Try again later';
    if (!admitted) return '-ERR [AUTH] Authentication failed.';
    this.#inbox = this.#store.folders(address).get('INBOX');
    this.#messages = [...(this.#inbox?.messages ?? [])];
    this.#onLogin(address);
    return '+OK Logged in.';
  }

  #transact(verb: string, rest: string): string {
    const [number, count] = rest.split(' ');
    const message = this.#messages[Number(number) - 1];
    const present = message !== undefined && !this.#deleted.has(message) ? message : undefined;
    const all = this.#messages.flatMap((each, place): [number, StoredMessage][] =>
      this.#deleted.has(each) ? [] : [[place + 1, each]],
    );
    switch (verb) {
      case 'STAT':
        return `+OK ${all.length} ${all.reduce((sum, [, each]) => sum + each.raw.length, 0)}`;
      case 'RSET':
        this.#deleted.clear();
        return '+OK';
      case 'LIST':
      case 'UIDL': {
        const show = (each: StoredMessage) => (verb === 'LIST' ? each.raw.length : `uid${each.uid}`);
        if (rest === '')
          return lines(
            '+OK',
            all.map(([place, each]) => `${place} ${show(each)}`),
          );
        return present === undefined ? '-ERR No such message' : `+OK ${number} ${show(present)}`;
      }
      case 'RETR':
      case 'TOP':
        if (present === undefined) return '-ERR No such message';
        return lines('+OK', cut(present.raw.toString('latin1'), verb === 'TOP' ? Number(count) : undefined));
      case 'DELE':
        if (present === undefined) return '-ERR No such message';
        this.#deleted.add(present);
        return '+OK Deleted';
      default:
        return '-ERR Unknown command';
    }
  }
}

/** A multi-line response with dot stuffing (RFC 1939 section 3). */
function lines(first: string, rest: readonly string[]): string {
  return [first, ...rest.map((line) => (line.startsWith('.') ? `.${line}` : line)), '.'].join('\r\n');
}

function cut(raw: string, bodyLines: number | undefined): string[] {
  const all = raw.replace(/\r\n$/, '').split('\r\n');
  if (bodyLines === undefined) return all;
  const blank = all.indexOf('');
  return all.slice(0, (blank < 0 ? all.length : blank + 1) + bodyLines);
}

interface SandboxMailOptions extends SmtpOptions {
  /** Used if these ports are free and this process may listen on them; otherwise, and by default, any free ports. */
  readonly preferredPorts?: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  readonly certificate?: Certificate;
}

/**
 * A mail server for development: IMAP, POP3 and SMTP over TLS on 127.0.0.1. Mail is kept in memory and never sent to
 * other servers.
 */
export interface SandboxMail {
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  /** CA certificate for clients. */
  readonly ca: string;
  /** Closes the sessions of a mailbox. */
  disconnect(address: string): void;
  /** Deletes all messages of a mailbox. */
  deleteMail(address: string): void;
  close(): Promise<void>;
}

/** Starts the mail server. */
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

interface SmtpOptions {
  readonly domain: string;
  readonly authenticate: Authenticate;
  /** Whether mail for the address is accepted. */
  mailboxExists(address: string): Promise<boolean>;
}

const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

/** Creates an SMTP server over TLS for authenticated users of one domain; mail is never sent to other servers. */
function makeSmtpServer(options: SmtpOptions, tls: Certificate, store: MailStore): SMTPServer {
  const fail = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });
  const server = new SMTPServer({
    ...tls,
    secure: true,
    size: MAX_MESSAGE_BYTES,
    authMethods: ['PLAIN', 'LOGIN'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username, password }, _session, done) {
      const address = (username ?? '').toLowerCase();
      options.authenticate(address, password ?? '', 'smtp').then(
        (admitted) =>
          admitted
            ? done(null, { user: address })
            : done(admitted === undefined ? fail(454, '4.7.0 Try again later') : fail(535, '5.7.8 Wrong password')),
        () => done(fail(454, '4.7.0 Try again later')),
      );
    },
    onMailFrom({ address }, session, done) {
      // A login may only send from its own e-mail address.
      done(address.toLowerCase() === session.user ? null : fail(553, '5.7.1 Sender is not yours'));
    },
    onRcptTo({ address }, _session, done) {
      const to = (address ?? '').toLowerCase();
      if (!to.endsWith(`@${options.domain}`)) return done(fail(550, '5.7.1 Mail does not leave this server'));
      options.mailboxExists(to).then(
        (known) => done(known ? null : fail(550, '5.1.1 No such mailbox')),
        () => done(fail(451, '4.3.0 Try again later')),
      );
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (stream.sizeExceeded) return done(fail(552, '5.3.4 Too large'));
        const raw = Buffer.concat(chunks);
        for (const { address } of session.envelope.rcptTo) store.deliver(address.toLowerCase(), raw);
        done(null, 'Delivered');
      });
    },
  });
  // Client disconnects are not logged.
  server.on('error', () => undefined);
  return server;
}

/** A self-signed certificate for loopback and one host name, as PEM texts. */
interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Creates a certificate valid for one year. Give clients `cert` as their CA instead of disabling verification. */
export async function makeCertificate(hostname: string): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: hostname },
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}
