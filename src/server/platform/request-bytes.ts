const SLAB_BYTES = 16 * 1024;
/** To share memory costs a tenth of memory of one's own, which larger pieces have so that it can be given back by itself. */
const MAX_SHARED_BYTES = 2_048;

let slab = Buffer.alloc(0);
let used = 0;

/**
 * Memory for what lives as long as a request, such as its body. Small pieces share slabs with others of their kind alone: in Node's pool they
 * would lie among chunks that are needed for a moment, and each would keep the 64 KB around it for as long as a stream lasts.
 *
 * @param bytes how many; they are not cleared
 */
export function allocateRequestBytes(bytes: number): Buffer {
  if (bytes > MAX_SHARED_BYTES) return Buffer.allocUnsafeSlow(bytes);
  if (used + bytes > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    used = 0;
  }
  const start = used;
  used += bytes;
  return slab.subarray(start, used);
}

/** A text as UTF-8 in such a piece. */
export function toRequestBytes(text: string): Buffer {
  const bytes = allocateRequestBytes(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The parts in one such piece. */
export function concatRequestBytes(parts: readonly Buffer[]): Buffer {
  const whole = allocateRequestBytes(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
