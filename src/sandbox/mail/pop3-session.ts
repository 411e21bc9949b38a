import type { Socket } from 'node:net';
import {
  type Authenticate,
  type MailFolder,
  type MailStore,
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
