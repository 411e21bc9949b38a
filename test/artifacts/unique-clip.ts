import { createHash } from 'node:crypto';
import type { MediaFile } from '../../src/sandbox/media.ts';

const HEADER_BYTES = 8;

function box(type: string, content = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(HEADER_BYTES + content.length);
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, content]);
}

/** The shortest file with all required parts of a video, with this text as its media. */
export const smallVideo = (media: string): Buffer =>
  Buffer.concat([box('ftyp'), box('moov'), box('mdat', Buffer.from(media))]);

/** The start of a video whose media continue until the end of the file. */
export const ENDLESS_VIDEO_START: Buffer = Buffer.concat([
  box('ftyp'),
  box('moov'),
  Buffer.from([0, 0, 0, 0]),
  Buffer.from('mdat'),
]);
const MAX_PADDING_BYTES = 8 * 1024;

/**
 * A clip unique to the job: a `free` box (ISO/IEC 14496-12 section 8.1.2) after its `ftyp` repeats the job's id, which
 * also determines its length. A file that is not a clip stays unchanged.
 */
export function uniqueClip(file: MediaFile, jobId: string): MediaFile {
  const { bytes } = file;
  if (bytes.toString('latin1', 4, 8) !== 'ftyp') return file;
  const digest = createHash('sha256').update(jobId).digest();
  const box = Buffer.alloc(HEADER_BYTES + (digest.readUInt16BE() % MAX_PADDING_BYTES) + jobId.length, jobId);
  box.writeUInt32BE(box.length);
  box.write('free', 4, 'latin1');
  const first = bytes.readUInt32BE();
  return {
    ...file,
    bytes: Buffer.concat([bytes.subarray(0, first), box, bytes.subarray(first)]),
    etag: `"${digest.toString('hex', 0, 16)}"`,
  };
}
