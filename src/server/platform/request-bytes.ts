/*
 * Memory for data that lives as long as a request, such as its body. Each piece is allocated separately: in Node's pool
 * it would lie between short-lived chunks, and keep the 64 KB around it for the duration of a stream.
 */

/** Encodes a text as UTF-8. */
export function toRequestBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Concatenates the parts. */
export function concatRequestBytes(parts: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
