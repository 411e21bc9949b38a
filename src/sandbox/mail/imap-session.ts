import type { Socket } from 'node:net';
import { type Authenticate, parsePlainCredentials } from './auth-types-and-plain-credentials.ts';
import { BadCommand, listOf, quote, type Token, textOf, tokenize } from './imap-argument-syntax.ts';
import { SelectedFolder } from './imap-selected-folder.ts';
import { type Folders, MailFolder, type MailStore } from './mail-store.ts';
import { SocketReader } from './socket-reader.ts';

const CAPABILITIES =
  'IMAP4rev1 LITERAL+ SASL-IR AUTH=PLAIN IDLE NAMESPACE ID UIDPLUS MOVE UNSELECT SPECIAL-USE CHILDREN';
const MAX_LITERAL_BYTES = 25 * 1024 * 1024;
const FLAGS = '\\Answered \\Flagged \\Deleted \\Seen \\Draft';

/** The result of a command: the text of its tagged response. */
type Outcome = string;

/** One IMAP4rev1 connection (RFC 3501, with RFC 2177, 2342, 2971, 3691, 4315, 4959, 6154, 6851, 7888). */
export class ImapSession {
  readonly #socket: Socket;
  readonly #source: SocketReader;
  readonly #store: MailStore;
  readonly #authenticate: Authenticate;
  readonly #onLogin: (address: string) => void;
  #folders: Folders | undefined;
  #open: SelectedFolder | undefined;

  constructor(socket: Socket, store: MailStore, authenticate: Authenticate, onLogin: (address: string) => void) {
    this.#socket = socket;
    this.#source = new SocketReader(socket, MAX_LITERAL_BYTES);
    this.#store = store;
    this.#authenticate = authenticate;
    this.#onLogin = onLogin;
  }

  /** Serves until the client leaves. */
  async run(): Promise<void> {
    this.#send(`* OK [CAPABILITY ${CAPABILITIES}] Reelgate sandbox ready`);
    while (!this.#socket.destroyed) {
      const pieces = await this.#command();
      if (pieces === undefined) return;
      const [, tag, name = '', rest = ''] = /^(\S+) +(\S+) ?(.*)$/s.exec(String(pieces[0])) ?? [];
      if (tag === undefined) {
        this.#send('* BAD unreadable command');
        continue;
      }
      const outcome = await this.#perform(tag, name.toUpperCase(), [rest, ...pieces.slice(1)]);
      if (name.toUpperCase() !== 'IDLE') this.#open?.sendChanges();
      this.#send(`${tag} ${outcome}`);
      if (name.toUpperCase() === 'LOGOUT') return void this.#socket.end();
    }
  }

  /** A command with its literals. */
  async #command(): Promise<(string | Buffer)[] | undefined> {
    const pieces: (string | Buffer)[] = [];
    while (true) {
      const line = await this.#source.readLine();
      if (line === undefined) return undefined;
      const [ending, count, plus] = /\{(\d+)(\+?)\}$/.exec(line) ?? [];
      if (ending === undefined) return [...pieces, line];
      if (plus === '') this.#send('+ go on');
      const bytes = await this.#source.readBytes(Number(count));
      if (bytes === undefined) return undefined;
      pieces.push(line.slice(0, -ending.length), bytes);
    }
  }

  async #perform(tag: string, name: string, pieces: (string | Buffer)[]): Promise<Outcome> {
    try {
      const args = tokenize(pieces);
      const uid = name === 'UID';
      const verb = uid ? textOf(args.shift()).toUpperCase() : name;
      const anyone = ANY_STATE[verb];
      if (anyone !== undefined) return await anyone(this, args, tag);
      if (this.#folders === undefined) return 'NO Log in first';
      const user = AUTHENTICATED[verb];
      if (user !== undefined) return await user(this, args, tag);
      const selected = SELECTED[verb];
      if (selected === undefined) return 'BAD Unknown command';
      return this.#open === undefined ? 'BAD Select a folder first' : selected(this.#open, args, uid, this);
    } catch (error) {
      if (error instanceof BadCommand) return `BAD ${error.message}`;
      throw error;
    }
  }

  #send(text: string): void {
    if (this.#socket.writable) this.#socket.write(`${text}\r\n`, 'latin1');
  }

  async #login(user: string, password: string): Promise<Outcome> {
    const address = user.toLowerCase();
    const admitted = await this.#authenticate(address, password, 'imap');
    if (admitted === undefined) return 'NO [UNAVAILABLE] Try again later';
    if (!admitted) return 'NO [AUTHENTICATIONFAILED] Authentication failed.';
    this.#folders = this.#store.folders(address);
    this.#onLogin(address);
    return `OK [CAPABILITY ${CAPABILITIES}] Logged in`;
  }

  named(token: Token | undefined): MailFolder | undefined {
    const name = textOf(token);
    return this.#folders?.get(name.toUpperCase() === 'INBOX' ? 'INBOX' : name);
  }

  #select(args: Token[], readOnly: boolean): Outcome {
    const folder = this.named(args[0]);
    this.#open = undefined;
    if (folder === undefined) return 'NO [NONEXISTENT] No such folder';
    this.#open = new SelectedFolder(folder, readOnly, (text) => this.#send(text));
    this.#send(`* FLAGS (${FLAGS})`);
    this.#send(`* OK [PERMANENTFLAGS (${FLAGS} \\*)] Flags permitted`);
    this.#send(`* ${folder.messages.length} EXISTS`);
    this.#send('* 0 RECENT');
    this.#send(`* OK [UIDVALIDITY ${folder.uidValidity}] UIDs valid`);
    this.#send(`* OK [UIDNEXT ${folder.nextUid}] Next`);
    return `OK [${readOnly ? 'READ-ONLY' : 'READ-WRITE'}] Opened`;
  }

  leave(): Outcome {
    this.#open = undefined;
    return 'OK Closed';
  }

  #tell(text: string): Outcome {
    this.#send(text);
    return 'OK Done';
  }

  #list(args: Token[], reply: 'LIST' | 'LSUB'): Outcome {
    // LIST may begin with selection options and end with RETURN (RFC 5258); neither narrows what we have.
    const [, pattern] = args.filter((token) => !Array.isArray(token)).map(textOf);
    const like = new RegExp(`^${(pattern ?? '*').replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/[*%]/g, '.*')}$`, 'i');
    if (pattern === '') this.#send(`* ${reply} (\\Noselect) "/" ""`);
    for (const [name, folder] of this.#folders ?? []) {
      if (!like.test(name)) continue;
      const use = folder.specialUse === undefined ? '' : ` ${folder.specialUse}`;
      this.#send(`* ${reply} (\\HasNoChildren${use}) "/" ${quote(name)}`);
    }
    return 'OK Listed';
  }

  #status(args: Token[]): Outcome {
    const folder = this.named(args[0]);
    if (folder === undefined) return 'NO [NONEXISTENT] No such folder';
    const values: Readonly<Record<string, number>> = {
      MESSAGES: folder.messages.length,
      RECENT: 0,
      UIDNEXT: folder.nextUid,
      UIDVALIDITY: folder.uidValidity,
      UNSEEN: folder.messages.filter((message) => !message.flags.has('\\Seen')).length,
    };
    const items = listOf(args[1]).map((item) => textOf(item).toUpperCase());
    const shown = items.filter((item) => item in values).map((item) => `${item} ${values[item]}`);
    this.#send(`* STATUS ${quote(textOf(args[0]))} (${shown.join(' ')})`);
    return 'OK Status';
  }

  #append(args: Token[]): Outcome {
    const folder = this.named(args[0]);
    const raw = args.at(-1);
    if (folder === undefined) return 'NO [TRYCREATE] No such folder';
    if (!Buffer.isBuffer(raw)) return 'BAD A literal was expected';
    const flags = Array.isArray(args[1]) ? args[1].map(textOf) : [];
    const { uid } = folder.append(raw, flags);
    return `OK [APPENDUID ${folder.uidValidity} ${uid}] Appended`;
  }

  async #idle(): Promise<Outcome> {
    const unwatch = this.#open?.watch(() => this.#open?.sendChanges());
    this.#send('+ idling');
    const line = await this.#source.readLine();
    unwatch?.();
    this.#open?.sendChanges();
    return line?.toUpperCase() === 'DONE' ? 'OK Idle ended' : 'BAD DONE was expected';
  }

  static readonly anyState = {
    CAPABILITY: (session: ImapSession) => session.#tell(`* CAPABILITY ${CAPABILITIES}`),
    NOOP: () => 'OK Done',
    ID: (session: ImapSession) => session.#tell('* ID ("name" "Reelgate sandbox")'),
    LOGOUT: (session: ImapSession) => session.#tell('* BYE Logging out'),
    LOGIN: (session: ImapSession, [user, password]: Token[]) => session.#login(textOf(user), textOf(password)),
    AUTHENTICATE: async (session: ImapSession, [mechanism, initial]: Token[]) => {
      if (textOf(mechanism).toUpperCase() !== 'PLAIN') return 'NO [CANNOT] Only PLAIN';
      if (initial === undefined) session.#send('+ ');
      const response = initial === undefined ? await session.#source.readLine() : textOf(initial);
      const login = parsePlainCredentials(response ?? '');
      return login === undefined ? 'BAD Unreadable response' : session.#login(login.user, login.password);
    },
  };

  static readonly authenticated = {
    NAMESPACE: (session: ImapSession) => session.#tell('* NAMESPACE (("" "/")) NIL NIL'),
    LIST: (session: ImapSession, args: Token[]) => session.#list(args, 'LIST'),
    LSUB: (session: ImapSession, args: Token[]) => session.#list(args, 'LSUB'),
    STATUS: (session: ImapSession, args: Token[]) => session.#status(args),
    SELECT: (session: ImapSession, args: Token[]) => session.#select(args, false),
    EXAMINE: (session: ImapSession, args: Token[]) => session.#select(args, true),
    APPEND: (session: ImapSession, args: Token[]) => session.#append(args),
    IDLE: (session: ImapSession) => session.#idle(),
    SUBSCRIBE: () => 'OK Done',
    UNSUBSCRIBE: () => 'OK Done',
    CREATE: (session: ImapSession, [name]: Token[]) => {
      if (session.named(name) !== undefined) return 'NO [ALREADYEXISTS] Exists';
      session.#folders?.set(textOf(name), new MailFolder());
      return 'OK Created';
    },
    DELETE: (session: ImapSession, [name]: Token[]) =>
      textOf(name).toUpperCase() !== 'INBOX' && session.#folders?.delete(textOf(name)) ? 'OK Deleted' : 'NO [CANNOT]',
  };
}

type Command = (session: ImapSession, args: Token[], tag: string) => Outcome | Promise<Outcome>;
const ANY_STATE: Readonly<Record<string, Command>> = ImapSession.anyState;
const AUTHENTICATED: Readonly<Record<string, Command>> = ImapSession.authenticated;

type FolderCommand = (open: SelectedFolder, args: Token[], uid: boolean, session: ImapSession) => Outcome;
const SELECTED: Readonly<Record<string, FolderCommand>> = {
  CHECK: () => 'OK Done',
  UNSELECT: (_, __, ___, session) => session.leave(),
  CLOSE: (open, _, __, session) => {
    open.expunge();
    return session.leave();
  },
  FETCH: (open, args, uid) => open.fetch(args, uid),
  STORE: (open, args, uid) => open.setFlags(args, uid),
  COPY: (open, args, uid, session) => open.transfer(args, uid, session.named(args[1]), false),
  MOVE: (open, args, uid, session) => open.transfer(args, uid, session.named(args[1]), true),
  EXPUNGE: (open, args, uid) => open.expunge(uid ? args[0] : undefined),
  SEARCH: (open, args, uid) => open.search(args, uid),
};
