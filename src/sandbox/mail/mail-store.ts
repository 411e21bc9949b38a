import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';

/** A message with its flags. */
export interface StoredMessage {
  readonly uid: number;
  readonly raw: Buffer;
  readonly receivedAt: Date;
  readonly flags: Set<string>;
}

/** A folder of one mailbox. UIDs are never reused (RFC 9051 section 2.3.1.1). */
export class MailFolder extends EventEmitter<{ change: [] }> {
  readonly uidValidity = 1;
  readonly messages: StoredMessage[] = [];
  readonly specialUse: string | undefined;
  #nextUid = 1;

  constructor(specialUse?: string) {
    super();
    this.setMaxListeners(0);
    this.specialUse = specialUse;
  }

  get nextUid(): number {
    return this.#nextUid;
  }

  append(raw: Buffer, flags: Iterable<string> = [], receivedAt = new Date()): StoredMessage {
    const message = { uid: this.#nextUid++, raw, receivedAt, flags: new Set(flags) };
    this.messages.push(message);
    this.emit('change');
    return message;
  }

  remove(uid: number): void {
    const index = this.messages.findIndex((message) => message.uid === uid);
    if (index >= 0) this.messages.splice(index, 1);
    this.emit('change');
  }
}

/** Folders of one mailbox by name; INBOX in capitals. */
export type Folders = Map<string, MailFolder>;

/** Mail kept in memory until the process ends. */
export class MailStore {
  readonly #addresses = new Map<string, Folders>();

  folders(address: string): Folders {
    let folders = this.#addresses.get(address);
    if (folders === undefined) {
      folders = new Map([
        ['INBOX', new MailFolder()],
        ['Drafts', new MailFolder('\\Drafts')],
        ['Sent', new MailFolder('\\Sent')],
        ['Trash', new MailFolder('\\Trash')],
        ['Junk', new MailFolder('\\Junk')],
      ]);
      this.#addresses.set(address, folders);
    }
    return folders;
  }

  deliver(address: string, raw: Buffer): void {
    this.folders(address).get('INBOX')?.append(raw);
  }

  drop(address: string): void {
    this.#addresses.delete(address);
  }
}

/** Protocols to which a credential can be restricted. */
export type Protocol = 'imap' | 'pop3' | 'smtp';

/** Whether the login is accepted; undefined if that cannot be determined now. */
export type Authenticate = (address: string, password: string, protocol: Protocol) => Promise<boolean | undefined>;

/** Parses the response of AUTH=PLAIN: authorization id, user and password separated by NULs (RFC 4616). */
export function parsePlainCredentials(base64: string): { user: string; password: string } | undefined {
  const [, user, password] = Buffer.from(base64, 'base64').toString('utf8').split('\0');
  return user === undefined || password === undefined ? undefined : { user, password };
}

/** Reads a socket by lines or by byte counts, as the protocol requires. */
export class SocketReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #mostBytes: number;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: Readable, mostBytes: number) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#mostBytes = mostBytes;
  }

  /** The next line without its line break; undefined if the client has disconnected or the line is too long. */
  async readLine(): Promise<string | undefined> {
    let end = this.#held.indexOf('\n');
    while (end < 0) {
      if (this.#held.length > 65_536 || !(await this.#more())) return undefined;
      end = this.#held.indexOf('\n');
    }
    const line = this.#held.subarray(0, end).toString('utf8').replace(/\r$/, '');
    this.#held = this.#held.subarray(end + 1);
    return line;
  }

  async readBytes(count: number): Promise<Buffer | undefined> {
    if (count > this.#mostBytes) return undefined;
    while (this.#held.length < count) if (!(await this.#more())) return undefined;
    const bytes = Buffer.from(this.#held.subarray(0, count));
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  async #more(): Promise<boolean> {
    try {
      const { value, done } = await this.#chunks.next();
      if (done) return false;
      this.#held = Buffer.concat([this.#held, value]);
      return true;
    } catch {
      // A broken connection ends the session like a closed one.
      return false;
    }
  }
}
