import { createHash } from 'node:crypto';
import type { MediaFile } from '../../src/sandbox/load-and-serve-media-files.ts';

const HEADER_BYTES = 8;
const MAX_PADDING_BYTES = 8 * 1024;

/**
 * A clip that no other job has: a `free` box (ISO/IEC 14496-12 section 8.1.2) after its `ftyp` repeats the job's id, and its
 * length follows from that as well. What is no clip stays as it is.
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
