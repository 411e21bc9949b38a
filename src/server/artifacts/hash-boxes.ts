import type { Hash } from 'node:crypto';

/** A file of `bytes` bytes. */
export interface VideoFile {
  /** Reads the bytes `start` to `end`, both inclusive; fewer at the end of the file. */
  readonly read: (start: number, end: number) => Promise<Buffer>;
  readonly bytes: number;
}

/** A top-level box. */
export interface FileBox {
  readonly type: string;
  readonly start: number;
  readonly size: number;
}

/** Boxes that the hash omits: those of a type, as far as length and data match. */
export interface HashExclusion {
  readonly type: string;
  /** One of the boxes of the type, from 1; undefined: each. */
  readonly index: number | undefined;
  readonly length: number | undefined;
  readonly data: readonly { readonly offset: number; readonly value: Buffer }[];
  /** The omitted parts of the box; undefined: the whole box. */
  readonly subset: readonly { readonly offset: number; readonly length: number }[] | undefined;
}

const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Adds a file to the hash of `c2pa.hash.bmff.v2` and `.v3`: each box that is not omitted as a whole, behind its own
 * offset, so that boxes cannot be moved.
 *
 * @param boxes all top-level boxes
 */
export async function hashBoxes(
  hash: Hash,
  file: VideoFile,
  boxes: readonly FileBox[],
  exclusions: readonly HashExclusion[],
): Promise<void> {
  const seen = new Map<string, number>();
  for (const box of boxes) {
    const index = (seen.get(box.type) ?? 0) + 1;
    seen.set(box.type, index);
    const omitted = await omittedParts(file, box, index, exclusions);
    if (omitted === undefined) continue;
    const offset = Buffer.alloc(8);
    offset.writeBigUInt64BE(BigInt(box.start));
    hash.update(offset);
    let at = box.start;
    for (const [start, end] of omitted) {
      await addBytes(hash, file, at, start);
      at = Math.max(at, end);
    }
    await addBytes(hash, file, at, box.start + box.size);
  }
}

/** The omitted ranges of a box in ascending order; undefined: the whole box. */
async function omittedParts(
  file: VideoFile,
  box: FileBox,
  index: number,
  exclusions: readonly HashExclusion[],
): Promise<readonly (readonly [start: number, end: number])[] | undefined> {
  const parts: (readonly [number, number])[] = [];
  const end = box.start + box.size;
  for (const exclusion of exclusions) {
    if (exclusion.type !== box.type || (exclusion.index ?? index) !== index) continue;
    if (exclusion.length !== undefined && exclusion.length !== box.size) continue;
    if (!(await hasData(file, box, exclusion))) continue;
    if (exclusion.subset === undefined) return undefined;
    for (const { offset, length } of exclusion.subset) {
      const start = box.start + offset;
      if (start < end) parts.push([start, length === 0 ? end : Math.min(end, start + length)]);
    }
  }
  return parts.sort(([one], [other]) => one - other);
}

async function hasData(file: VideoFile, box: FileBox, { data }: HashExclusion): Promise<boolean> {
  for (const { offset, value } of data) {
    if (offset + value.length > box.size) return false;
    const start = box.start + offset;
    if (value.length > 0 && !(await file.read(start, start + value.length - 1)).equals(value)) return false;
  }
  return true;
}

/** Adds the bytes from `start` to `end`, `end` excluded. */
async function addBytes(hash: Hash, { read }: VideoFile, start: number, end: number): Promise<void> {
  for (let at = start; at < end; at += CHUNK_BYTES) {
    const wanted = Math.min(CHUNK_BYTES, end - at);
    const bytes = await read(at, at + wanted - 1);
    if (bytes.length !== wanted) throw new RangeError('the file has become shorter');
    hash.update(bytes);
  }
}
