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
/** How long the journal is off after a failed write, such as one on a full disk. */
const RETRY_MS = 10_000;
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
  /** Undefined while the journal cannot be written. */
  segment: Segment | undefined;
  readonly slot: number;
  readonly call: JournaledCall;
  /** The whole text of a response that is not streamed. */
  text?: string;
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
  /** When writing may be tried again, by `performance.now()`; 0: nothing has failed. */
  #retryAt = 0;
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
    const { ref } = call.journalMeta();
    const slot = ++this.#slot;
    this.#entries.set(ref, { segment, slot, call });
    if (segment === undefined) return;
    segment.pending++;
    this.#write(openRecord(slot, call));
  }

  /** Records events; they are delivered afterwards, by `whenWritten`. */
  append(ref: string, events: Buffer): void {
    const entry = this.#entries.get(ref);
    if (entry !== undefined) this.#write({ kind: RECORD_KIND.events, slot: entry.slot, content: events });
  }

  /** Records a whole text whose tokens are still to be counted; it is delivered afterwards, by `whenWritten`. */
  appendText(ref: string, text: string): void {
    const entry = this.#entries.get(ref);
    if (entry === undefined) return;
    entry.text = text;
    this.#write({ kind: RECORD_KIND.text, slot: entry.slot, content: text });
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
    if (entry?.segment !== undefined) this.#release(entry.segment);
    this.#write({ kind: RECORD_KIND.close, slot: 0, content: JSON.stringify(end) });
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
    if (this.#segment === undefined || this.#segment.bytes > MAX_SEGMENT_BYTES) this.#begin();
    return this.#segment;
  }

  /** Starts a segment and copies the calls in flight to it, so that older segments can be deleted. */
  #begin(): void {
    this.#writeAll();
    if (this.#directory === undefined || performance.now() < this.#retryAt) return;
    const old = this.#segment;
    try {
      this.#segment = this.#openSegment(this.#directory);
      this.#copyCalls(this.#segment);
    } catch (error) {
      this.#fail(error);
      return;
    } finally {
      if (old?.pending === 0) this.#remove(old);
    }
    if (this.#retryAt !== 0) this.#log.warn('the journal of settlements is written again');
    this.#retryAt = 0;
  }

  #openSegment(directory: string): Segment {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, `${this.#owner}~${++this.#count}.journal`);
    const fd = openSync(path, 'wx', 0o600);
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-ctr', this.#key, iv);
    const segment = { path, fd, cipher, bytes: 0, pending: 0 };
    this.#segments.add(segment);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    try {
      writeWhole(fd, Buffer.concat([SEGMENT_MAGIC, iv, cipher.update(KEY_CHECK)]));
    } catch (error) {
      this.#remove(segment);
      throw error;
    }
    return segment;
  }

  /** Calls stay in their segments until all of them are in the new one. */
  #copyCalls(segment: Segment): void {
    const entries = [...this.#entries.values()];
    for (const { slot, call, text } of entries)
      this.#encrypt(segment, [
        openRecord(slot, call),
        { kind: RECORD_KIND.text, slot, content: text ?? call.journalText() },
      ]);
    for (const entry of entries) {
      const old = entry.segment;
      entry.segment = segment;
      segment.pending++;
      if (old !== undefined) this.#release(old);
    }
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

  /** A file that cannot be deleted is recovered after a restart, which changes nothing: its calls are settled. */
  #remove(segment: Segment): void {
    if (!this.#segments.delete(segment)) return;
    try {
      closeSync(segment.fd);
      unlinkSync(segment.path);
    } catch (error) {
      this.#log.warn({ err: error }, 'a segment of the journal of settlements could not be deleted');
    }
  }

  /** Writes a record at the end of this turn, or immediately if many are pending. */
  #write(record: JournalRecord<Buffer | string>): void {
    this.#unwrittenBytes += record.content.length;
    if (this.#unwritten.push(record) === 1) setImmediate(() => this.#flush());
    if (this.#unwrittenBytes > MAX_UNWRITTEN_BYTES) this.#flush();
  }

  #writeAll(): void {
    const records = this.#unwritten;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
    const segment = this.#segment;
    if (segment === undefined || records.length === 0) return;
    try {
      this.#encrypt(segment, records);
    } catch (error) {
      this.#fail(error);
    }
  }

  #encrypt(segment: Segment, records: readonly JournalRecord<Buffer | string>[]): void {
    const bytes = segment.cipher.update(encodeRecords(records));
    writeWhole(segment.fd, bytes);
    segment.bytes += bytes.length;
  }

  /** Shows other processes that this one is alive, and flushes written data to disk. */
  #beat(): void {
    const now = new Date();
    for (const { fd } of this.#segments)
      try {
        futimesSync(fd, now, now);
        fdatasync(fd, () => {});
      } catch {
        // On a file system that has become read-only; the next write fails as well and is logged.
      }
  }

  /**
   * Calls continue without the journal, as they would on a full disk, until writing succeeds again. What follows a
   * failed write in its segment could not be read, so a new segment is started then.
   */
  #fail(error: unknown): void {
    const failed = this.#segment;
    this.#segment = undefined;
    if (failed?.pending === 0) this.#remove(failed);
    const isNew = this.#retryAt === 0;
    this.#retryAt = performance.now() + RETRY_MS;
    if (isNew)
      this.#log.error({ err: error }, 'the journal of settlements cannot be written; a crash now would lose some');
  }
}

/** @throws Error if not every byte was written: a nearly full disk takes only some of them */
function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    const written = writeSync(fd, bytes, at);
    if (written === 0) throw new Error('no byte was written');
    at += written;
  }
}

/** The record that starts a call. */
function openRecord(slot: number, call: JournaledCall): JournalRecord {
  const meta = Buffer.from(JSON.stringify(call.journalMeta()));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(meta.length);
  return { kind: RECORD_KIND.open, slot, content: Buffer.concat([length, meta, call.journalBody()]) };
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
