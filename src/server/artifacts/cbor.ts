/** A decoded CBOR value (RFC 8949); tags are removed. */
export type Cbor = number | bigint | string | boolean | null | undefined | Buffer | readonly Cbor[] | CborMap;
/** Keys are text or integers, the latter in decimal. */
export type CborMap = ReadonlyMap<string, Cbor>;

const MAX_DEPTH = 32;
const INDEFINITE = 31;
const BREAK = Symbol('break');

/** @throws RangeError if the bytes are not exactly one value */
export function decodeCbor(bytes: Buffer): Cbor {
  const reader = new CborReader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new RangeError('bytes behind the value');
  return value;
}

/** Encodes what a COSE signature covers: an array of texts and bytes. */
export const encodeCborArray = (items: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([
    head(4, items.length),
    ...items.flatMap((item) => {
      const content = Buffer.from(item);
      return [head(typeof item === 'string' ? 3 : 2, content.length), content];
    }),
  ]);

function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size]);
  const bytes = Buffer.alloc(5);
  bytes[0] = (major << 5) | 26;
  bytes.writeUInt32BE(size, 1);
  if (size >= 65_536) return bytes;
  // The shortest form, as deterministic encoding requires.
  return size < 256
    ? Buffer.from([(major << 5) | 24, size])
    : Buffer.concat([Buffer.from([(major << 5) | 25]), bytes.subarray(3)]);
}

class CborReader {
  at = 0;
  readonly #bytes: Buffer;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  value(depth: number): Cbor {
    const value = this.#next(depth);
    if (value === BREAK) throw new RangeError('a break outside of a list');
    return value;
  }

  #take(size: number): Buffer {
    if (size > this.#bytes.length - this.at) throw new RangeError('the bytes end within a value');
    this.at += size;
    return this.#bytes.subarray(this.at - size, this.at);
  }

  #next(depth: number): Cbor | typeof BREAK {
    if (depth > MAX_DEPTH) throw new RangeError('nested too deeply');
    const first = this.#take(1).readUInt8();
    const [major, short] = [first >> 5, first & 31];
    if (major === 7) return this.#simple(short);
    if (short === INDEFINITE) return this.#indefinite(major, depth);
    const argument = this.#argument(short);
    if (major === 0) return argument;
    if (major === 1) return typeof argument === 'bigint' ? -1n - argument : -1 - argument;
    if (major === 6) return this.value(depth + 1);
    const size = Number(argument);
    if (major === 2) return this.#take(size);
    if (major === 3) return this.#take(size).toString();
    return major === 4 ? this.#list(size, depth) : this.#map(size, depth);
  }

  // Both grow item by item, so that a false count reserves no memory.
  #list(size: number, depth: number): readonly Cbor[] {
    const items: Cbor[] = [];
    while (items.length < size) items.push(this.value(depth + 1));
    return items;
  }

  #map(size: number, depth: number): CborMap {
    const entries = new Map<string, Cbor>();
    for (let index = 0; index < size; index += 1) {
      const key = this.value(depth + 1);
      entries.set(toKey(key), this.value(depth + 1));
    }
    return entries;
  }

  #argument(short: number): number | bigint {
    if (short < 24) return short;
    if (short === 24) return this.#take(1).readUInt8();
    if (short === 25) return this.#take(2).readUInt16BE();
    if (short === 26) return this.#take(4).readUInt32BE();
    if (short !== 27) throw new RangeError('a reserved length');
    const long = this.#take(8).readBigUInt64BE();
    return long <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(long) : long;
  }

  #indefinite(major: number, depth: number): Cbor {
    const items: Cbor[] = [];
    for (;;) {
      const item = this.#next(depth + 1);
      if (item === BREAK) break;
      items.push(item);
      if (major === 5) items.push(this.value(depth + 1));
    }
    if (major === 4) return items;
    if (major === 5)
      return new Map(
        Array.from({ length: items.length / 2 }, (_, index) => [toKey(items[2 * index]), items[2 * index + 1]]),
      );
    if (major === 2 && items.every((item) => Buffer.isBuffer(item))) return Buffer.concat(items);
    if (major === 3 && items.every((item) => typeof item === 'string')) return items.join('');
    throw new RangeError('a type without an end');
  }

  #simple(short: number): Cbor | typeof BREAK {
    if (short === INDEFINITE) return BREAK;
    if (short === 20 || short === 21) return short === 21;
    if (short === 22) return null;
    if (short === 25) return void this.#take(2);
    if (short === 26) return this.#take(4).readFloatBE();
    if (short === 27) return this.#take(8).readDoubleBE();
    if (short === 24) this.#take(1);
    return undefined;
  }
}

function toKey(key: Cbor): string {
  if (typeof key === 'string' || typeof key === 'number') return String(key);
  throw new RangeError('a key is neither text nor a number');
}
