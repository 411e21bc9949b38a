import { constants, createHash, type Hash, timingSafeEqual, verify, X509Certificate } from 'node:crypto';

/** A decoded CBOR value (RFC 8949); tags are removed. */
type Cbor = number | bigint | string | boolean | null | undefined | Buffer | readonly Cbor[] | CborMap;
/** Keys are text or integers, the latter in decimal. */
type CborMap = ReadonlyMap<string, Cbor>;

const MAX_CBOR_DEPTH = 32;
const INDEFINITE = 31;
const BREAK = Symbol('break');

/** @throws RangeError if the bytes are not exactly one value */
function decodeCbor(bytes: Buffer): Cbor {
  const reader = new CborReader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw new RangeError('bytes behind the value');
  return value;
}

/** Encodes what a COSE signature covers: an array of texts and bytes. */
const encodeCborArray = (items: readonly (string | Buffer)[]): Buffer =>
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
    if (depth > MAX_CBOR_DEPTH) throw new RangeError('nested too deeply');
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

/**
 * Checks the C2PA manifest of an MP4 file (C2PA specification 2.2): the signature of its claim, the hashes of its
 * assertions and the hash of the file. Whether the signer is to be trusted is not checked: that needs a list of
 * trusted certificates, which changes.
 */

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
interface HashExclusion {
  readonly type: string;
  /** One of the boxes of the type, from 1; undefined: each. */
  readonly index: number | undefined;
  readonly length: number | undefined;
  readonly data: readonly { readonly offset: number; readonly value: Buffer }[];
  /** The omitted parts of the box; undefined: the whole box. */
  readonly subset: readonly { readonly offset: number; readonly length: number }[] | undefined;
}

/** What a manifest says about its file. */
export interface ManifestCheck {
  /** `present`: this service cannot check this kind of manifest. */
  readonly state: 'present' | 'valid' | 'invalid';
  /** Organization or name in the certificate of the signature; empty unless the manifest is valid. */
  readonly signer: string;
}

/** A manifest of a kind that this service reports as `present` without checking it. */
class UnsupportedManifestError extends Error {
  override readonly name = 'UnsupportedManifestError';
}

const CHUNK_BYTES = 4 * 1024 * 1024;
const STANDARD_MANIFEST = '63326d6100110010800000aa00389b71';
const BINDING = /^c2pa\.hash\.bmff\.v[23](__\d+)?$/;
const DIGESTS: Readonly<Record<string, string>> = { sha256: 'sha256', sha384: 'sha384', sha512: 'sha512' };
interface Algorithm {
  readonly digest: string | null;
  readonly type: string;
  /** Of a signature in COSE's form; some programs write DER instead. */
  readonly bytes?: number;
}
/** COSE algorithms (RFC 9053 and 8230) by their numbers. */
const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  '-7': { digest: 'sha256', type: 'ec', bytes: 64 },
  '-35': { digest: 'sha384', type: 'ec', bytes: 96 },
  '-36': { digest: 'sha512', type: 'ec', bytes: 132 },
  '-37': { digest: 'sha256', type: 'rsa' },
  '-38': { digest: 'sha384', type: 'rsa' },
  '-39': { digest: 'sha512', type: 'rsa' },
  '-8': { digest: null, type: 'ed25519' },
};

/** @param store the manifest store: the content of the file's C2PA box */
export async function checkManifest(store: Buffer, file: VideoFile, boxes: readonly FileBox[]): Promise<ManifestCheck> {
  try {
    const [root] = readSuperBoxes(store);
    const active = root?.children.at(-1);
    if (active === undefined) return INVALID;
    if (active.type !== STANDARD_MANIFEST) throw new UnsupportedManifestError();
    const claim = active.children.find(({ label }) => /^c2pa\.claim(\.v\d+)?$/.test(label))?.content('cbor');
    const signature = active.children.find(({ label }) => label === 'c2pa.signature')?.content('cbor');
    if (claim === undefined || signature === undefined) return INVALID;
    const certificate = signerOf(signature, claim);
    const binding = certificate && findBinding(active, toMap(decodeCbor(claim)));
    if (certificate === undefined || binding === undefined) return INVALID;
    const isWhole = await matchesFile(binding, file, boxes);
    return isWhole ? { state: 'valid', signer: nameOf(certificate) } : INVALID;
  } catch (error) {
    if (error instanceof UnsupportedManifestError) return { state: 'present', signer: '' };
    // Whatever a file contains, it is read as a manifest that says nothing.
    if (error instanceof RangeError || error instanceof TypeError || hasCode(error)) return INVALID;
    throw error;
  }
}

const INVALID: ManifestCheck = { state: 'invalid', signer: '' };
/** Errors of OpenSSL, for certificates and keys that are none. */
const hasCode = (error: unknown): boolean =>
  /^ERR_(OSSL|CRYPTO|INVALID_ARG)/.test((error as { code?: string }).code ?? '');

/** A superbox of JUMBF (ISO 19566-5). */
interface SuperBox {
  /** Hexadecimal UUID. */
  readonly type: string;
  readonly label: string;
  /** Everything behind the header, which hashes cover. */
  readonly body: Buffer;
  readonly children: readonly SuperBox[];
  /** Content of the first box of a type. */
  content(type: string): Buffer | undefined;
}

const MAX_DEPTH = 8;
const MAX_BOXES = 10_000;

function readSuperBoxes(bytes: Buffer): readonly SuperBox[] {
  let left = MAX_BOXES;
  const read = (content: Buffer, depth: number): readonly SuperBox[] => {
    if (depth > MAX_DEPTH) throw new RangeError('boxes are nested too deeply');
    return boxesOf(content).flatMap(([type, body]) => {
      if (type !== 'jumb') return [];
      left -= 1;
      if (left < 0) throw new RangeError('too many boxes');
      const [[first, description] = ['', Buffer.alloc(0)], ...others] = boxesOf(body);
      if (first !== 'jumd' || description.length < 17) throw new RangeError('a superbox without description');
      // Behind the UUID, a bit of the flags announces the label.
      const hasLabel = (description.readUInt8(16) & 2) !== 0;
      const end = description.indexOf(0, 17);
      return {
        type: description.toString('hex', 0, 16),
        label: hasLabel && end >= 0 ? description.toString('utf8', 17, end) : '',
        body,
        children: read(body, depth + 1),
        content: (wanted: string) => others.find(([each]) => each === wanted)?.[1],
      };
    });
  };
  return read(bytes, 0);
}

function boxesOf(bytes: Buffer): readonly (readonly [type: string, body: Buffer])[] {
  const boxes: (readonly [string, Buffer])[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const short = bytes.readUInt32BE(at);
    const header = short === 1 ? 16 : 8;
    const size = short === 0 ? bytes.length - at : short === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : short;
    // Padding behind the store is permitted.
    if (size < header) break;
    if (size > bytes.length - at) throw new RangeError('a box ends behind its parent');
    boxes.push([bytes.toString('latin1', at + 4, at + 8), bytes.subarray(at + header, at + size)]);
    at += size;
  }
  return boxes;
}

/** The certificate whose key signed the claim; undefined if the signature does not match. */
function signerOf(signature: Buffer, claim: Buffer): X509Certificate | undefined {
  const [protectedBytes, unprotectedHeader, , value] = toList(decodeCbor(signature));
  const encoded = toBytes(protectedBytes);
  const headers = toMap(decodeCbor(encoded));
  const unprotected = toMap(unprotectedHeader);
  const algorithm = ALGORITHMS[String(toSigned(headers.get('1')))];
  if (algorithm === undefined) throw new UnsupportedManifestError();
  const chain = [headers, unprotected]
    .map((map) => map.get('33') ?? map.get('x5chain'))
    .find((each) => each !== undefined);
  const certificates = (Buffer.isBuffer(chain) ? [chain] : toList(chain)).map(
    (each) => new X509Certificate(toBytes(each)),
  );
  const [certificate] = certificates;
  if (certificate === undefined) return undefined;
  const isChain = certificates.every((each, index) => {
    const issuer = certificates[index + 1];
    return issuer === undefined || each.verify(issuer.publicKey);
  });
  const { publicKey } = certificate;
  if (!isChain || !(publicKey.asymmetricKeyType ?? '').startsWith(algorithm.type)) return undefined;
  const signed = encodeCborArray(['Signature1', encoded, Buffer.alloc(0), claim]);
  const bytes = toBytes(value);
  const dsaEncoding = bytes.length === algorithm.bytes ? 'ieee-p1363' : 'der';
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const key = { key: publicKey, dsaEncoding, ...(algorithm.type === 'rsa' ? pss : {}) } as const;
  return verify(algorithm.digest, signed, key, bytes) ? certificate : undefined;
}

/** The assertion with the hash of the file; undefined if any assertion of the claim is missing or was changed. */
function findBinding(manifest: SuperBox, claim: CborMap): CborMap | undefined {
  const assertions = manifest.children.find(({ label }) => label === 'c2pa.assertions')?.children ?? [];
  const named = ['assertions', 'created_assertions', 'gathered_assertions'].flatMap((key) =>
    toList(claim.get(key) ?? []),
  );
  const bindings: SuperBox[] = [];
  for (const reference of named.map(toMap)) {
    const path = /^self#jumbf=(?:\/c2pa\/([^/]+)\/)?c2pa\.assertions\/([^/]+)$/.exec(toText(reference.get('url')));
    const isOwn = path !== null && (path[1] === undefined || path[1] === manifest.label);
    const assertion = isOwn ? assertions.find(({ label }) => label === path[2]) : undefined;
    if (assertion === undefined) return undefined;
    const digest = digestOf(reference.get('alg') ?? claim.get('alg'));
    if (!areEqual(createHash(digest).update(assertion.body).digest(), toBytes(reference.get('hash')))) return undefined;
    if (BINDING.test(assertion.label)) bindings.push(assertion);
  }
  // Another kind of binding than that of MP4 files.
  if (bindings.length === 0 && assertions.some(({ label }) => label.startsWith('c2pa.hash.')))
    throw new UnsupportedManifestError();
  const content = bindings[0]?.content('cbor');
  if (bindings.length !== 1 || content === undefined) return undefined;
  const binding = toMap(decodeCbor(content));
  return binding.has('alg') ? binding : new Map([...binding, ['alg', claim.get('alg')]]);
}

async function matchesFile(binding: CborMap, file: VideoFile, boxes: readonly FileBox[]): Promise<boolean> {
  // Hashes of single fragments, for streams.
  if (binding.get('merkle') !== undefined) throw new UnsupportedManifestError();
  const exclusions = toList(binding.get('exclusions') ?? [])
    .map(toMap)
    .map(toExclusion);
  const hash = createHash(digestOf(binding.get('alg')));
  await hashBoxes(hash, file, boxes, exclusions);
  return areEqual(hash.digest(), toBytes(binding.get('hash')));
}

/**
 * Adds a file to the hash of `c2pa.hash.bmff.v2` and `.v3`: each box that is not omitted as a whole, behind its own
 * offset, so that boxes cannot be moved.
 *
 * @param boxes all top-level boxes
 */
async function hashBoxes(
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

function toExclusion(map: CborMap): HashExclusion {
  // One of the top-level boxes of a type, or all of them.
  const path = /^\/(.{4})(?:\[(\d+)\])?$/.exec(toText(map.get('xpath')));
  const isSimple = ['version', 'flags', 'exact'].every((key) => map.get(key) == null);
  if (path === null || !isSimple) throw new UnsupportedManifestError();
  const length = map.get('length');
  return {
    type: path[1] ?? '',
    index: path[2] === undefined ? undefined : Number(path[2]),
    length: length == null ? undefined : toNumber(length),
    data: toList(map.get('data') ?? [])
      .map(toMap)
      .map((each) => ({
        offset: toNumber(each.get('offset')),
        value: toBytes(each.get('value')),
      })),
    subset:
      map.get('subset') == null
        ? undefined
        : toList(map.get('subset'))
            .map(toMap)
            .map((each) => ({
              offset: toNumber(each.get('offset')),
              length: toNumber(each.get('length')),
            })),
  };
}

function digestOf(name: Cbor): string {
  const digest = name == null ? 'sha256' : DIGESTS[toText(name)];
  if (digest === undefined) throw new UnsupportedManifestError();
  return digest;
}

function nameOf({ subject }: X509Certificate): string {
  const find = (key: string): string | undefined =>
    subject
      .split('\n')
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1);
  return (find('O') ?? find('CN') ?? '').slice(0, 100);
}

const areEqual = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

const wrong = (what: string): never => {
  throw new RangeError(`${what} expected`);
};
const toMap = (value: Cbor): CborMap => (value instanceof Map ? value : wrong('a map'));
const toList = (value: Cbor): readonly Cbor[] => (Array.isArray(value) ? value : wrong('a list'));
const toBytes = (value: Cbor): Buffer => (Buffer.isBuffer(value) ? value : wrong('bytes'));
const toText = (value: Cbor): string => (typeof value === 'string' ? value : wrong('a text'));
const toSigned = (value: Cbor): number => (typeof value === 'number' ? value : wrong('a number'));
const toNumber = (value: Cbor): number => (typeof value === 'number' && value >= 0 ? value : wrong('a number'));
