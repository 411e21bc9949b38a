/** Marks of generated content that a video file carries about itself. They are found, not verified. */
export interface Provenance {
  /** A C2PA manifest, the signed history of the file. */
  readonly c2pa: boolean;
  /** The metadata `AIGC` of GB 45438. */
  readonly aigc: boolean;
}

/** Reads the bytes `start` to `end`, both inclusive; fewer at the end of the file. */
export type ReadBytes = (start: number, end: number) => Promise<Buffer>;

/** `uuid` of the box with a manifest (C2PA specification, "Embedding manifests into BMFF-based assets"). */
const C2PA_UUID = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
/** Size, type, large size and `uuid` of a box. */
const HEADER_BYTES = 32;
/** A manifest and the metadata are in front of the media, or in the last boxes of a short file. */
const MAX_BOXES = 64;
/** Metadata is at the end of `moov`, whose tables grow with the length of the video. */
const MAX_MOVIE_BYTES = 4 * 1024 * 1024;
const AIGC_KEY = Buffer.from('AIGC');

/** Finds the marks in the boxes of an MP4 file of `bytes` bytes. */
export async function findProvenance(read: ReadBytes, bytes: number): Promise<Provenance> {
  let [c2pa, aigc] = [false, false];
  for (let [at, boxes] = [0, 0]; at + 8 <= bytes && boxes < MAX_BOXES; boxes += 1) {
    const header = await read(at, Math.min(at + HEADER_BYTES, bytes) - 1);
    const size = sizeOf(header, bytes - at);
    if (size === undefined) break;
    const type = header.toString('latin1', 4, 8);
    if (type === 'uuid' && header.indexOf(C2PA_UUID) === headerLengthOf(header)) c2pa = true;
    if (type === 'moov') {
      const end = at + size;
      aigc ||= (await read(Math.max(at, end - MAX_MOVIE_BYTES), end - 1)).includes(AIGC_KEY);
    }
    at += size;
  }
  return { c2pa, aigc };
}

const headerLengthOf = (header: Buffer): number => (header.readUInt32BE(0) === 1 ? 16 : 8);

/** Size of a box; undefined for one that does not fit into the `left` bytes. */
function sizeOf(header: Buffer, left: number): number | undefined {
  if (header.length < 8) return undefined;
  const short = header.readUInt32BE(0);
  if (short === 1 && header.length < 16) return undefined;
  const size = short === 0 ? left : short === 1 ? Number(header.readBigUInt64BE(8)) : short;
  return size >= headerLengthOf(header) && size <= left ? size : undefined;
}
