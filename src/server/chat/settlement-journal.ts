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
  /** Path of the call's dialect. */
  readonly path: string;
  /** By tokens, or a fixed cost. */
  readonly price: ChatPrice | number;
  readonly surcharge: number;
  /** Price multiplier of the account's plan; absent in calls of an older release: 1. */
  readonly planFactor?: number;
  readonly choiceCount: number;
  /** Prompt tokens of a body that is too long to be stored; 0: they are counted from the body. */
  readonly promptTokens: number;
  /** For the request log, as if the call had ended when its response started. */
  readonly detail?: CallDetail;
}

/** A call whose response is being delivered. */
export interface JournaledCall {
  journalMeta(): CallMeta;
  /** Empty if it is too long to be stored. */
  journalBody(): Buffer;
  /** The text delivered so far. */
  journalText(): string;
}

/** First bytes of a segment, followed by its initialization vector. */
export const SEGMENT_MAGIC = Buffer.from('RGSJ0001');
/** Length of the initialization vector of a segment. */
export const IV_BYTES = 16;
/** The first encrypted bytes; a reader compares them to check that it has the right key. */
export const KEY_CHECK = Buffer.from('settlement journal');
/** Derives the journal's encryption key from the master key. */
export const journalKey = (masterKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', 'settlement journal', 32));

/** `<host>~<pid>~<start of the process>~<number>`, which identifies the owner of a segment to other processes. */
export const SEGMENT_NAME = /^(.+)~(\d+)~(\d+)~(\d+)\.journal$/;

/** Name of this host in segment names. */
export const journalHost = (): string => hostname().replace(/[^\w.-]/g, '_');

/** Journals that are open in this process; tests run several services in one process. */
export const LIVE_OWNERS: Set<string> = new Set();
let journalCount = 0;

const MAX_SEGMENT_BYTES = 64 * 1024 * 1024;
/** A larger segment without open calls is replaced. */
const MAX_IDLE_SEGMENT_BYTES = 1024 * 1024;
const HEARTBEAT_MS = 10_000;
/** A larger amount is written before the end of a turn, in which an upstream may send megabytes to a slow caller. */
const MAX_UNWRITTEN_BYTES = 256 * 1024;

interface Segment {
  readonly path: string;
  readonly fd: number;
  readonly cipher: Cipheriv;
  bytes: number;
  /** Calls that can be recovered from this segment and are not settled in the database yet. */
  pending: number;
}

/** A call in flight. */
interface Entry {
  segment: Segment;
  readonly slot: number;
  readonly call: JournaledCall;
}

/** The segment that holds the end of a call until the database has it. */
export type JournaledEnd = Segment;

/**
 * Records deliveries and their cost in a local file before callers receive them. If the process dies or the database is
 * unavailable before a settlement is stored, the settlement is read from the file and repeated. Records are encrypted
 * because they contain users' text, and are deleted once their settlement is in the database.
 *
 * All records of one turn of the event loop are written together at its end, because a write takes longer than creating
 * a record; deliveries to callers wait for it (`whenWritten`). Writes go to the operating system, which keeps them if
 * the process is killed, and are flushed to disk every ten seconds.
 */
export class SettlementJournal {
  readonly #directory: string | undefined;
  readonly #key: Buffer;
  readonly #log: Log;
  /** Calls in flight by their reference. */
  readonly #entries = new Map<string, Entry>();
  /** Segments with a file: the current one, and those with settlements that are not in the database yet. */
  readonly #segments = new Set<Segment>();
  readonly #owner = `${journalHost()}~${process.pid}~${Math.round(performance.timeOrigin)}${journalCount++}`;
  #segment: Segment | undefined;
  #count = 0;
  #slot = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #failed = false;
  /** Records of this turn of the event loop in order, and the callbacks to run once they are written. */
  #unwritten: JournalRecord<Buffer | string>[] = [];
  #unwrittenBytes = 0;
  #callbacks: (() => void)[] = [];

  /** @param directory of the segments; undefined: no journal is kept, as for a database in memory */
  constructor(directory: string | undefined, masterKey: Buffer, log: Log) {
    this.#directory = directory;
    this.#key = journalKey(masterKey);
    this.#log = log;
    LIVE_OWNERS.add(this.#owner);
  }

  /** Records a call; the first bytes of its response are delivered afterwards, by `whenWritten`. */
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

  /** Records events; they are delivered afterwards, by `whenWritten`. */
  append(ref: string, events: Buffer): void {
    const entry = this.#entries.get(ref);
    if (entry !== undefined) this.#write(RECORD_KIND.events, entry.slot, events);
  }

  /** Records a whole text whose tokens are still to be counted; it is delivered afterwards, by `whenWritten`. */
  appendText(ref: string, text: string): void {
    const entry = this.#entries.get(ref);
    if (entry !== undefined) this.#write(RECORD_KIND.text, entry.slot, text);
  }

  /**
   * Records the end of a call before the end of its response is delivered by `whenWritten`, or, for a refund (no cost),
   * when the refund is decided.
   *
   * @returns the value to pass to `settled` once the settlement is in the database; undefined where no journal is kept
   */
  close(end: Settlement): JournaledEnd | undefined {
    if (this.#directory === undefined) return undefined;
    const segment = this.#current();
    // Most calls end without having been opened; the caller finds them by the returned segment.
    const entry = this.#entries.size === 0 ? undefined : this.#entries.get(end.ref);
    if (entry !== undefined) this.#entries.delete(end.ref);
    // Since a failed write, the segment that the call was opened in is kept until the settlement is in the database.
    if (segment === undefined) return entry?.segment;
    segment.pending++;
    if (entry !== undefined) this.#release(entry.segment);
    this.#write(RECORD_KIND.close, 0, JSON.stringify(end));
    return segment;
  }

  /**
   * Calls back once all given records are written: immediately if none is pending, otherwise at the end of this turn of
   * the event loop, in order.
   */
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

  /** Called when the settlement is in the database. */
  settled(segment: JournaledEnd | undefined): void {
    if (segment === undefined) return;
    this.#release(segment);
    if (segment.pending === 0 && segment === this.#segment && segment.bytes > MAX_IDLE_SEGMENT_BYTES)
      this.#endSegment();
  }

  /** Leaves segments with unstored settlements to the next process. */
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

  /** Copies calls in flight to the new segment so that the old one can be deleted. */
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

  /** Writes a record at the end of this turn, or immediately if many are pending. */
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

  /** Shows other processes that this one is alive, and flushes written data to disk. */
  #beat(): void {
    const now = new Date();
    for (const { fd } of this.#segments) {
      futimesSync(fd, now, now);
      fdatasync(fd, () => {});
    }
  }

  /** Calls continue without the journal, as they would on a full disk. */
  #fail(error: unknown): void {
    this.#failed = true;
    this.#segment = undefined;
    this.#log.error({ err: error }, 'the journal of settlements cannot be written; a crash now would lose some');
  }
}

/** Kinds of records. */
export const RECORD_KIND = { open: 1, events: 2, text: 3, close: 4 } as const;

/** One record of a journal segment. */
export interface JournalRecord<C = Buffer> {
  /** One of `RECORD_KIND`. */
  readonly kind: number;
  /** Number of the call in its segment; 0: none. */
  readonly slot: number;
  readonly content: C;
}

/** Length and checksum before each record. */
const HEADER_BYTES = 8;
/** Kind and slot, before the content of a record. */
const PREFIX_BYTES = 5;

/** Encodes records, unencrypted: for each its length and checksum, then its kind, slot and content, text as UTF-8. */
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

/** Decodes the records up to the first incomplete one, where its process was killed. */
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
 * Directory of this process's settlement journal: under `configured`, otherwise next to the SQLite database or, with
 * PostgreSQL, under the directory for temporary files. Each database has its own directory there.
 *
 * @returns undefined for a database in memory, which does not outlive the process
 */
export function journalDirectory(databaseUrl: string, configured: string | undefined): string | undefined {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  if (path === ':memory:') return undefined;
  const beside = path === undefined ? tmpdir() : dirname(resolve(path));
  const name = createHash('sha256').update(databaseUrl).digest('hex').slice(0, 16);
  return join(configured ?? join(beside, 'reelgate-journal'), name);
}
