import { crc32 } from 'node:zlib';

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
export function encodeRecords(records: readonly JournalRecord<Buffer | string>[]): Buffer {
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
