const SLAB_BYTES = 16 * 1024;
/**
 * A share of a slab costs a tenth of a separate allocation; larger pieces are allocated separately, so that each can be
 * released by itself.
 */
const MAX_SHARED_BYTES = 2_048;

let slab = Buffer.alloc(0);
let used = 0;

/**
 * Allocates memory for data that lives as long as a request, such as its body. Small pieces share slabs only with each
 * other: in Node's pool they would lie between short-lived chunks, and each would keep the 64 KB around it for the
 * duration of a stream.
 * @param bytes size of the piece, which is not cleared
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

/** Encodes a text as UTF-8 in such a piece. */
export function toRequestBytes(text: string): Buffer {
  const bytes = allocateRequestBytes(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Concatenates the parts in one such piece. */
export function concatRequestBytes(parts: readonly Buffer[]): Buffer {
  const whole = allocateRequestBytes(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
