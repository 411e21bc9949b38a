import { inSet, type Token, textOf } from './imap-argument-syntax.ts';
import { fetchItems } from './imap-fetch.ts';
import { parseSearch } from './imap-search.ts';
import type { MailFolder, StoredMessage } from './mail-store.ts';

/** A folder as one IMAP session has opened it. Commands return the text of their tagged response. */
export class SelectedFolder {
  readonly #folder: MailFolder;
  readonly #readOnly: boolean;
  readonly #send: (text: string) => void;
  /** UIDs as last reported to the client: index = sequence number - 1. */
  readonly #known: number[];

  constructor(folder: MailFolder, readOnly: boolean, send: (text: string) => void) {
    this.#folder = folder;
    this.#readOnly = readOnly;
    this.#send = send;
    this.#known = folder.messages.map((message) => message.uid);
  }

  /** Calls back at every change of the folder, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#folder.on('change', listener);
    return () => this.#folder.off('change', listener);
  }

  /** Untagged responses: messages removed or added since the client was last notified (RFC 3501 section 5.2). */
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

  /** The messages a sequence or UID set names, with their sequence numbers. */
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
