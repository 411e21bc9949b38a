import type { Socket } from 'node:net';
import {
  BadCommand,
  fetchItems,
  inSet,
  listOf,
  parseSearch,
  quote,
  type Token,
  textOf,
  tokenize,
} from './imap-fetch.ts';
import {
  type Authenticate,
  type Folders,
  MailFolder,
  type MailStore,
  parsePlainCredentials,
  SocketReader,
  type StoredMessage,
} from './mail-store.ts';

const CAPABILITIES =
  'IMAP4rev1 LITERAL+ SASL-IR AUTH=PLAIN IDLE NAMESPACE ID UIDPLUS MOVE UNSELECT SPECIAL-USE CHILDREN';
const MAX_LITERAL_BYTES = 25 * 1024 * 1024;
const FLAGS = '\\Answered \\Flagged \\Deleted \\Seen \\Draft';

/** Text of a command's tagged response. */
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

  /** Serves until the client disconnects. */
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

  /** Reads a command with its literals. */
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
    // LIST may start with selection options and end with RETURN (RFC 5258); neither restricts the result here.
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

/** A folder opened by one IMAP session. Commands return the text of their tagged response. */
class SelectedFolder {
  readonly #folder: MailFolder;
  readonly #readOnly: boolean;
  readonly #send: (text: string) => void;
  /** UIDs as last reported to the client; the index is the sequence number minus 1. */
  readonly #known: number[];

  constructor(folder: MailFolder, readOnly: boolean, send: (text: string) => void) {
    this.#folder = folder;
    this.#readOnly = readOnly;
    this.#send = send;
    this.#known = folder.messages.map((message) => message.uid);
  }

  /** Calls the listener on every change of the folder until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#folder.on('change', listener);
    return () => this.#folder.off('change', listener);
  }

  /** Sends untagged responses for messages removed or added since the last notification (RFC 3501 section 5.2). */
  sendChanges(): void {
    const present = new Set(this.#folder.messages.map((message) => message.uid));
    for (let place = this.#known.length - 1; place >= 0; place--) {
      if (present.has(this.#known[place] ?? 0)) continue;
      this.#known.splice(place, 1);
      this.#send(`* ${place + 1} EXPUNGE`);
    }
    const fresh = this.#folder.messages.filter((message) => !this.#known.includes(message.uid));
    this.#known.push(...fresh.map((message) => message.uid));
    if (fresh.length > 0) this.#send(`* ${this.#known.length} EXISTS`);
  }

  /** Messages of a sequence or UID set, with their sequence numbers. */
  #pick(token: Token | undefined, uid: boolean): [number, StoredMessage][] {
    const messages = new Map(this.#folder.messages.map((message) => [message.uid, message]));
    const matches = inSet(textOf(token), uid ? (this.#known.at(-1) ?? 0) : this.#known.length);
    return this.#known.flatMap((known, place): [number, StoredMessage][] => {
      const message = messages.get(known);
      return message !== undefined && matches(uid ? known : place + 1) ? [[place + 1, message]] : [];
    });
  }

  fetch(args: Token[], uid: boolean): string {
    const items = (args.slice(1).flat() as Token[]).map(textOf);
    if (uid && !items.some((item) => item.toUpperCase() === 'UID')) items.unshift('UID');
    for (const [sequence, message] of this.#pick(args[0], uid)) {
      const { text, seen } = fetchItems(message, items);
      if (seen && !this.#readOnly) message.flags.add('\\Seen');
      this.#send(`* ${sequence} FETCH (${text})`);
    }
    return 'OK Fetched';
  }

  setFlags(args: Token[], uid: boolean): string {
    if (this.#readOnly) return 'NO [READ-ONLY] Opened for reading';
    const item = textOf(args[1]).toUpperCase();
    const flags = (Array.isArray(args[2]) ? args[2] : args.slice(2)).map(textOf);
    for (const [sequence, message] of this.#pick(args[0], uid)) {
      if (item.startsWith('FLAGS')) message.flags.clear();
      for (const flag of flags) {
        if (item.startsWith('-')) message.flags.delete(flag);
        else message.flags.add(flag);
      }
      if (!item.endsWith('.SILENT')) {
        const prefix = uid ? `UID ${message.uid} ` : '';
        this.#send(`* ${sequence} FETCH (${prefix}FLAGS (${[...message.flags].join(' ')}))`);
      }
    }
    return 'OK Stored';
  }

  transfer(args: Token[], uid: boolean, target: MailFolder | undefined, move: boolean): string {
    if (target === undefined) return 'NO [TRYCREATE] No such folder';
    const picked = this.#pick(args[0], uid).map(([, message]) => message);
    const copies = picked.map((message) => target.append(message.raw, message.flags, message.receivedAt));
    const uids = (messages: readonly StoredMessage[]) => messages.map((message) => message.uid).join(',');
    const code = `[COPYUID ${target.uidValidity} ${uids(picked)} ${uids(copies)}]`;
    if (!move) return copies.length === 0 ? 'OK Nothing to copy' : `OK ${code} Copied`;
    if (copies.length > 0) this.#send(`* OK ${code} Moved`);
    for (const message of picked) this.#folder.remove(message.uid);
    return 'OK Moved';
  }

  expunge(only?: Token): string {
    if (this.#readOnly) return 'NO [READ-ONLY] Opened for reading';
    const named = only === undefined ? undefined : new Set(this.#pick(only, true).map(([, message]) => message.uid));
    const gone = this.#folder.messages.filter((message) => message.flags.has('\\Deleted'));
    for (const { uid } of gone) if (named?.has(uid) ?? true) this.#folder.remove(uid);
    return 'OK Expunged';
  }

  search(args: Token[], uid: boolean): string {
    const charset = typeof args[0] === 'string' && args[0].toUpperCase() === 'CHARSET';
    const keys = charset ? args.slice(2) : args;
    const test = parseSearch(keys, { sequence: this.#known.length, uid: this.#known.at(-1) ?? 0 });
    const found = this.#pick('1:*', false).filter(([sequence, message]) => test(message, sequence));
    this.#send(`* SEARCH${found.map(([sequence, message]) => ` ${uid ? message.uid : sequence}`).join('')}`);
    return 'OK Searched';
  }
}
