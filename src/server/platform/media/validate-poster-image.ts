/** Media types of posters. */
export type PosterType = 'image/jpeg' | 'image/webp';

/** Chunks of a still WebP picture (RFC 9649 section 2.7): no animation, no metadata. */
const WEBP_CHUNKS = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ICCP']);
const JPEG_START_OF_SCAN = 0xda;

/** The type of a whole, still picture, checked by its structure up to its last byte; undefined for anything else. */
export function validatePosterImage(bytes: Buffer): PosterType | undefined {
  if (isWholeWebp(bytes)) return 'image/webp';
  return isWholeJpeg(bytes) ? 'image/jpeg' : undefined;
}

function isWholeWebp(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return false;
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return false;
  let position = 12;
  while (position + 8 <= bytes.length) {
    if (!WEBP_CHUNKS.has(bytes.toString('latin1', position, position + 4))) return false;
    const size = bytes.readUInt32LE(position + 4);
    // Chunks are padded to even sizes.
    position += 8 + size + (size % 2);
  }
  return position === bytes.length;
}

/** ITU-T T.81 annex B: segments up to the first scan, and the end marker last. */
function isWholeJpeg(bytes: Buffer): boolean {
  const { length } = bytes;
  if (length < 20 || bytes.readUInt16BE(0) !== 0xffd8 || bytes.readUInt16BE(length - 2) !== 0xffd9) return false;
  let position = 2;
  while (position + 4 <= length && bytes[position] === 0xff) {
    if (bytes[position + 1] === JPEG_START_OF_SCAN) return true;
    position += 2 + Math.max(2, bytes.readUInt16BE(position + 2));
  }
  return false;
}
