import { EventEmitter } from 'node:events';

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

/** The folders of one mailbox, by name; INBOX in capitals. */
export type Folders = Map<string, MailFolder>;

/** Mail in memory: it is gone when the process ends. */
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
