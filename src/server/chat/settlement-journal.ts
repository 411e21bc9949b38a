import { type Cipheriv, createCipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, fdatasync, futimesSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ChatPrice } from '../../contract/pricing.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, Settlement } from '../quota/ledger.ts';

/** The data needed to charge a call whose process died while its response was being delivered. */
export interface CallMeta {
  readonly ref: string;
  /** Path of its dialect. */
  readonly path: string;
  /** By tokens, or a fixed cost. */
  readonly price: ChatPrice | number;
  readonly surcharge: number;
  /** What the plan of the account multiplies prices by; absent in calls of an older release: 1. */
  readonly planFactor?: number;
  readonly choiceCount: number;
  /** Prompt tokens of a body that is too long to be kept; 0: they are counted from the body. */
  readonly promptTokens: number;
  /** For the request log, as if the call had ended when its response began. */
  readonly detail?: CallDetail;
}

/** A call whose response is being delivered. */
export interface JournaledCall {
  journalMeta(): CallMeta;
  /** Empty where it is too long to be kept. */
  journalBody(): Buffer;
  /** The text that was delivered so far. */
  journalText(): string;
}

/** First bytes of a segment, before those of its initialization vector. */
export const SEGMENT_MAGIC = Buffer.from('RGSJ0001');
export const IV_BYTES = 16;
/** The first encrypted bytes; a reader compares them to check that it has the right key. */
export const KEY_CHECK = Buffer.from('settlement journal');
export const journalKey = (masterKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', 'settlement journal', 32));

/** `<host>~<pid>~<start of the process>~<number>`, from which others see whose it is. */
export const SEGMENT_NAME = /^(.+)~(\d+)~(\d+)~(\d+)\.journal$/;

/** This host in the name of a segment. */
export const journalHost = (): string => hostname().replace(/[^\w.-]/g, '_');

/** Journals that are open in this process: tests run several services in one. */
export const LIVE_OWNERS: Set<string> = new Set();
let journalCount = 0;

const MAX_SEGMENT_BYTES = 64 * 1024 * 1024;
/** A segment without open calls is replaced when it is larger. */
const MAX_IDLE_SEGMENT_BYTES = 1024 * 1024;
const HEARTBEAT_MS = 10_000;
/** More is not held back until the end of a turn, in which an upstream may send megabytes to a caller who reads slowly. */
const MAX_UNWRITTEN_BYTES = 256 * 1024;

interface Segment {
  readonly path: string;
  readonly fd: number;
  readonly cipher: Cipheriv;
  bytes: number;
  /** Calls that can be recovered from this segment and are not settled in the database yet. */
  pending: number;
}

/** A call under way. */
interface Entry {
  segment: Segment;
  readonly slot: number;
  readonly call: JournaledCall;
}

/** Where the end of a call stands until it is in the database. */
export type JournaledEnd = Segment;

/**
 * What was delivered and what it cost, in a file beside the process, written before the caller gets it: a settlement that
 * the database has not stored when the process dies, or while the database is unavailable, is read from there and repeated.
 * Records are encrypted, since they hold users' text, and are kept only until their settlement is in the database.
 *
 * What belongs to one turn of the event loop is one write at its end, as a write takes longer than to make the record; what callers get
 * waits for it (`whenWritten`). It goes to the operating system, which keeps it when the process is killed, and to the disk every ten seconds.
 */
export class SettlementJournal {
  readonly #directory: string | undefined;
  readonly #key: Buffer;
  readonly #log: Log;
  /** Calls under way, by their references. */
  readonly #entries = new Map<string, Entry>();
  /** Those with a file: the current one, and those that hold what is not in the database yet. */
  readonly #segments = new Set<Segment>();
  readonly #owner = `${journalHost()}~${process.pid}~${Math.round(performance.timeOrigin)}${journalCount++}`;
  #segment: Segment | undefined;
  #count = 0;
  #slot = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #failed = false;
  /** Of this turn of the event loop, in their order; and what is called when they are written. */
  #unwritten: JournalRecord<Buffer | string>[] = [];
  #unwrittenBytes = 0;
  #callbacks: (() => void)[] = [];

  /** @param directory of the segments; undefined: nothing is kept, as for a database in memory */
  constructor(directory: string | undefined, masterKey: Buffer, log: Log) {
    this.#directory = directory;
    this.#key = journalKey(masterKey);
    this.#log = log;
    LIVE_OWNERS.add(this.#owner);
  }

  /** Before the first bytes of a response are delivered, by `whenWritten`. */
  open(call: JournaledCall): void {
    if (this.#directory === undefined) return;
    const segment = this.#current();
    if (segment === undefined) return;
    const { ref } = call.journalMeta();
    const slot = ++this.#slot;
    this.#entries.set(ref, { segment, slot, call });
    segment.pending++;
    this.#writeOpen(slot, call);
  }

  /** Before these events are delivered, by `whenWritten`. */
  append(ref: string, events: Buffer): void {
    const entry = this.#entries.get(ref);
    if (entry !== undefined) this.#write(RECORD_KIND.events, entry.slot, events);
  }

  /** Before a whole text is delivered, by `whenWritten`, whose tokens are still to be counted. */
  appendText(ref: string, text: string): void {
    const entry = this.#entries.get(ref);
    if (entry !== undefined) this.#write(RECORD_KIND.text, entry.slot, text);
  }

  /**
   * Before the end of a response is delivered, by `whenWritten`, or for a refund (no cost) when it is decided.
   *
   * @returns what `settled` must be told once the settlement is in the database; undefined where nothing is kept
   */
  close(end: Settlement): JournaledEnd | undefined {
    if (this.#directory === undefined) return undefined;
    const segment = this.#current();
    if (segment === undefined) return undefined;
    segment.pending++;
    // Most calls end without having been opened, and are found by what is returned here.
    const entry = this.#entries.size === 0 ? undefined : this.#entries.get(end.ref);
    if (entry !== undefined) {
      this.#entries.delete(end.ref);
      this.#release(entry.segment);
    }
    this.#write(RECORD_KIND.close, 0, JSON.stringify(end));
    return segment;
  }

  /** Calls back when what was given is written: now where nothing waits, else at the end of this turn of the event loop, in their order. */
  whenWritten(callback: () => void): void {
    if (this.#unwritten.length === 0 && this.#callbacks.length === 0) callback();
    else this.#callbacks.push(callback);
  }

  #flush(): void {
    this.#writeAll();
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks)
      try {
        callback();
      } catch (error) {
        this.#log.error({ err: error }, 'a response could not be sent');
      }
  }

  /** When the settlement is in the database. */
  settled(segment: JournaledEnd | undefined): void {
    if (segment === undefined) return;
    this.#release(segment);
    if (segment.pending === 0 && segment === this.#segment && segment.bytes > MAX_IDLE_SEGMENT_BYTES)
      this.#endSegment();
  }

  /** Leaves the segments whose settlements the database has not taken to the next process. */
  stop(): void {
    this.#flush();
    clearInterval(this.#heartbeat);
    this.#endSegment();
    LIVE_OWNERS.delete(this.#owner);
  }

  #current(): Segment | undefined {
    if (this.#segment === undefined) this.#begin();
    else if (this.#segment.bytes > MAX_SEGMENT_BYTES) this.#rotate();
    return this.#segment;
  }

  #begin(): void {
    const directory = this.#directory;
    if (directory === undefined || this.#failed) return;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const path = join(directory, `${this.#owner}~${++this.#count}.journal`);
      const fd = openSync(path, 'wx', 0o600);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-ctr', this.#key, iv);
      writeSync(fd, Buffer.concat([SEGMENT_MAGIC, iv, cipher.update(KEY_CHECK)]));
      this.#segment = { path, fd, cipher, bytes: 0, pending: 0 };
      this.#segments.add(this.#segment);
      this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Calls under way are written to the new segment as they stand, so that the old one need not be kept for them. */
  #rotate(): void {
    this.#writeAll();
    const old = this.#segment;
    this.#segment = undefined;
    this.#begin();
    const segment = this.#segment as Segment | undefined;
    if (old === undefined || segment === undefined) return;
    for (const entry of this.#entries.values()) {
      if (entry.segment !== old) continue;
      this.#writeOpen(entry.slot, entry.call);
      this.#write(RECORD_KIND.text, entry.slot, entry.call.journalText());
      entry.segment = segment;
      segment.pending++;
      old.pending--;
    }
    this.#writeAll();
    if (old.pending === 0) this.#remove(old);
  }

  #endSegment(): void {
    const segment = this.#segment;
    this.#segment = undefined;
    if (segment?.pending === 0) this.#remove(segment);
  }

  #release(segment: Segment): void {
    segment.pending--;
    if (segment.pending === 0 && segment !== this.#segment) this.#remove(segment);
  }

  #remove(segment: Segment): void {
    this.#segments.delete(segment);
    closeSync(segment.fd);
    unlinkSync(segment.path);
  }

  #writeOpen(slot: number, call: JournaledCall): void {
    const meta = Buffer.from(JSON.stringify(call.journalMeta()));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(meta.length);
    this.#write(RECORD_KIND.open, slot, Buffer.concat([length, meta, call.journalBody()]));
  }

  /** Writes a record at the end of this turn, or now where many wait. */
  #write(kind: number, slot: number, content: Buffer | string): void {
    this.#unwrittenBytes += content.length;
    if (this.#unwritten.push({ kind, slot, content }) === 1) setImmediate(() => this.#flush());
    if (this.#unwrittenBytes > MAX_UNWRITTEN_BYTES) this.#flush();
  }

  #writeAll(): void {
    const records = this.#unwritten;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    const segment = this.#segment;
    if (segment === undefined || records.length === 0) return;
    try {
      segment.bytes += writeSync(segment.fd, segment.cipher.update(encodeRecords(records)));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Shows others that this process lives, and brings what was written to the disk. */
  #beat(): void {
    const now = new Date();
    for (const { fd } of this.#segments) {
      futimesSync(fd, now, now);
      fdatasync(fd, () => {});
    }
  }

  /** Calls go on without it, as they would on a full disk. */
  #fail(error: unknown): void {
    this.#failed = true;
    this.#segment = undefined;
    this.#log.error({ err: error }, 'the journal of settlements cannot be written; a crash now would lose some');
  }
}

/** Kinds of records. */
export const RECORD_KIND = { open: 1, events: 2, text: 3, close: 4 } as const;

/** What a segment of the journal consists of. */
export interface JournalRecord<C = Buffer> {
  /** One of `RECORD_KIND`. */
  readonly kind: number;
  /** Number of the call in its segment; 0: of none. */
  readonly slot: number;
  readonly content: C;
}

/** Length and checksum before each record. */
const HEADER_BYTES = 8;
/** Kind and slot, before what a record holds. */
const PREFIX_BYTES = 5;

/** The bytes of records, not encrypted: of each its length and checksum, then its kind, its slot and what it holds, text as UTF-8. */
function encodeRecords(records: readonly JournalRecord<Buffer | string>[]): Buffer {
  const lengths = records.map(({ content }) => PREFIX_BYTES + Buffer.byteLength(content));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + HEADER_BYTES + length, 0));
  let at = 0;
  for (const [index, { kind, slot, content }] of records.entries()) {
    const length = lengths[index] ?? 0;
    const from = at + HEADER_BYTES;
    bytes.writeUInt32LE(length, at);
    bytes[from] = kind;
    bytes.writeUInt32LE(slot, from + 1);
    if (typeof content === 'string') bytes.write(content, from + PREFIX_BYTES);
    else bytes.set(content, from + PREFIX_BYTES);
    bytes.writeUInt32LE(crc32(bytes.subarray(from, from + length)), at + 4);
    at = from + length;
  }
  return bytes;
}

/** The records up to the first one that is not whole, which is where its process was killed. */
export function* decodeRecords(bytes: Buffer): Generator<JournalRecord> {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const record = bytes.subarray(at + HEADER_BYTES, end);
    if (end > bytes.length || record.length < PREFIX_BYTES || crc32(record) !== bytes.readUInt32LE(at + 4)) return;
    yield { kind: record[0] ?? 0, slot: record.readUInt32LE(1), content: record.subarray(PREFIX_BYTES) };
    at = end;
  }
}

/**
 * Where this process keeps its journal of settlements: under `configured`, else beside the SQLite database, else, with
 * PostgreSQL, under the directory for temporary files. Each database has a directory of its own there.
 *
 * @returns undefined for a database in memory, which ends with the process
 */
export function journalDirectory(databaseUrl: string, configured: string | undefined): string | undefined {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  if (path === ':memory:') return undefined;
  const beside = path === undefined ? tmpdir() : dirname(resolve(path));
  const name = createHash('sha256').update(databaseUrl).digest('hex').slice(0, 16);
  return join(configured ?? join(beside, 'reelgate-journal'), name);
}
