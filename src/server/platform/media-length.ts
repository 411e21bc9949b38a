/** Length and kind of media files, from their bytes. Headers are not believed where the samples tell the length. */

/** Kind and media type of a file by its first bytes. */
export interface SniffedMedia {
  readonly type: 'image' | 'video' | 'audio';
  readonly mediaType: string;
}

const IMAGES: readonly (readonly [prefix: string, mediaType: string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['474946383', 'image/gif'],
  ['424d', 'image/bmp'],
  ['49492a00', 'image/tiff'],
  ['4d4d002a', 'image/tiff'],
];
const AUDIO_BRANDS = /^M4[AB] $/;
/** AVIF and HEIF images, which no vendor takes. */
const IMAGE_BRANDS = /^(?:avi[fs]|hei[cx]|m[is]f1)$/;
/** Boxes with which QuickTime files without a brand begin. */
const QUICKTIME_BOXES = new Set(['moov', 'mdat', 'wide', 'free', 'skip', 'pnot']);

/** The kind of a file; undefined for anything but images, MP4, QuickTime, WebM, MP3, WAV, M4A and OGG. */
export function sniffMedia(bytes: Buffer): SniffedMedia | undefined {
  const hex = bytes.toString('hex', 0, 12);
  const found = IMAGES.find(([prefix]) => hex.startsWith(prefix));
  if (found !== undefined) return { type: 'image', mediaType: found[1] };
  const [head, brand] = [bytes.toString('latin1', 0, 4), bytes.toString('latin1', 8, 12)];
  if (head === 'RIFF' && brand === 'WEBP') return { type: 'image', mediaType: 'image/webp' };
  if (head === 'RIFF' && brand === 'WAVE') return { type: 'audio', mediaType: 'audio/wav' };
  if (head === 'OggS') return { type: 'audio', mediaType: 'audio/ogg' };
  if (head.startsWith('ID3') || isMp3Frame(bytes, 0)) return { type: 'audio', mediaType: 'audio/mpeg' };
  if (hex.startsWith('1a45dfa3')) return { type: 'video', mediaType: 'video/webm' };
  const box = bytes.toString('latin1', 4, 8);
  if (box === 'ftyp' && AUDIO_BRANDS.test(brand)) return { type: 'audio', mediaType: 'audio/mp4' };
  if (box === 'ftyp' && IMAGE_BRANDS.test(brand)) return undefined;
  if (box === 'ftyp') return { type: 'video', mediaType: brand === 'qt  ' ? 'video/quicktime' : 'video/mp4' };
  return QUICKTIME_BOXES.has(box) ? { type: 'video', mediaType: 'video/quicktime' } : undefined;
}

/**
 * Seconds of a video or an audio file: the sum of its samples' durations, or of its frames. Undefined where the bytes do
 * not tell.
 */
export function measureSeconds(bytes: Buffer): number | undefined {
  const media = sniffMedia(bytes);
  const seconds = media === undefined ? undefined : measureAs(media.mediaType, bytes);
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}

function measureAs(mediaType: string, bytes: Buffer): number | undefined {
  switch (mediaType) {
    case 'video/mp4':
    case 'video/quicktime':
    case 'audio/mp4':
      return mp4Seconds(bytes);
    case 'video/webm':
      return webmSeconds(bytes);
    case 'audio/wav':
      return wavSeconds(bytes);
    case 'audio/mpeg':
      return mp3Seconds(bytes);
    case 'audio/ogg':
      return oggSeconds(bytes);
    default:
      return undefined;
  }
}

interface Box {
  readonly type: string;
  readonly body: Buffer;
}

const MAX_BOXES = 20_000;

/** Boxes of a container (ISO/IEC 14496-12 section 4.2); a damaged one ends the list. */
function* boxesIn(bytes: Buffer): Generator<Box> {
  let at = 0;
  for (let count = 0; count < MAX_BOXES && at + 8 <= bytes.length; count += 1) {
    let size = bytes.readUInt32BE(at);
    let header = 8;
    if (size === 1 && at + 16 <= bytes.length) {
      size = Number(bytes.readBigUInt64BE(at + 8));
      header = 16;
    }
    if (size === 0) size = bytes.length - at;
    if (size < header) return;
    yield { type: bytes.toString('latin1', at + 4, at + 8), body: bytes.subarray(at + header, at + size) };
    at += size;
  }
}

const findBox = (bytes: Buffer, type: string): Buffer | undefined => {
  for (const box of boxesIn(bytes)) if (box.type === type) return box.body;
  return undefined;
};
const findPath = (bytes: Buffer, path: readonly string[]): Buffer | undefined =>
  path.reduce<Buffer | undefined>((inner, type) => inner && findBox(inner, type), bytes);

/** The longest track: its sample table, or its fragments. */
function mp4Seconds(bytes: Buffer): number | undefined {
  const moov = findBox(bytes, 'moov');
  if (moov === undefined) return undefined;
  const scales = new Map<number, number>();
  let longest = 0;
  for (const { type, body: track } of boxesIn(moov)) {
    if (type !== 'trak') continue;
    const scale = timescaleOf(findPath(track, ['mdia', 'mdhd']));
    const header = findBox(track, 'tkhd');
    if (scale === undefined) continue;
    if (header !== undefined && header.length >= 24) scales.set(header.readUInt32BE(header[0] === 1 ? 20 : 12), scale);
    longest = Math.max(longest, sampleTicks(findPath(track, ['mdia', 'minf', 'stbl', 'stts'])) / scale);
  }
  return longest > 0 ? longest : fragmentSeconds(bytes, moov, scales);
}

function timescaleOf(mdhd: Buffer | undefined): number | undefined {
  if (mdhd === undefined) return undefined;
  const at = mdhd[0] === 1 ? 20 : 12;
  return mdhd.length >= at + 4 ? mdhd.readUInt32BE(at) || undefined : undefined;
}

/** `stts`: pairs of a sample count and a duration. */
function sampleTicks(stts: Buffer | undefined): number {
  if (stts === undefined || stts.length < 8) return 0;
  const count = Math.min(stts.readUInt32BE(4), Math.floor((stts.length - 8) / 8));
  let ticks = 0;
  for (let index = 0; index < count; index += 1)
    ticks += stts.readUInt32BE(8 + index * 8) * stts.readUInt32BE(12 + index * 8);
  return ticks;
}

/** Fragmented files: the samples of each `trun`, with the default durations of `tfhd` and `trex`. */
function fragmentSeconds(bytes: Buffer, moov: Buffer, scales: ReadonlyMap<number, number>): number | undefined {
  const defaults = new Map<number, number>();
  for (const { type, body } of boxesIn(findBox(moov, 'mvex') ?? Buffer.alloc(0)))
    if (type === 'trex' && body.length >= 16) defaults.set(body.readUInt32BE(4), body.readUInt32BE(12));
  const ticks = new Map<number, number>();
  for (const { type, body } of boxesIn(bytes)) {
    if (type !== 'moof') continue;
    for (const fragment of boxesIn(body)) {
      if (fragment.type !== 'traf') continue;
      const { track, standard } = fragmentHeader(findBox(fragment.body, 'tfhd'), defaults);
      for (const run of boxesIn(fragment.body))
        if (run.type === 'trun') ticks.set(track, (ticks.get(track) ?? 0) + runTicks(run.body, standard));
    }
  }
  const seconds = [...ticks].map(([track, total]) => total / (scales.get(track) ?? Number.NaN));
  return seconds.length === 0 ? undefined : Math.max(...seconds.filter(Number.isFinite));
}

function fragmentHeader(tfhd: Buffer | undefined, defaults: ReadonlyMap<number, number>) {
  if (tfhd === undefined || tfhd.length < 8) return { track: 0, standard: 0 };
  const track = tfhd.readUInt32BE(4);
  const flags = tfhd.readUIntBE(1, 3);
  const at = 8 + (flags & 0x01 ? 8 : 0) + (flags & 0x02 ? 4 : 0);
  const standard = flags & 0x08 && tfhd.length >= at + 4 ? tfhd.readUInt32BE(at) : (defaults.get(track) ?? 0);
  return { track, standard };
}

function runTicks(trun: Buffer, standard: number): number {
  if (trun.length < 8) return 0;
  const flags = trun.readUIntBE(1, 3);
  const count = trun.readUInt32BE(4);
  if (!(flags & 0x100)) return count * standard;
  const start = 8 + (flags & 0x01 ? 4 : 0) + (flags & 0x04 ? 4 : 0);
  const size = 4 * [0x100, 0x200, 0x400, 0x800].filter((bit) => flags & bit).length;
  let ticks = 0;
  for (let index = 0; index < count && start + index * size + 4 <= trun.length; index += 1)
    ticks += trun.readUInt32BE(start + index * size);
  return ticks;
}

const WEBM_SCALE = 0x2ad7b1;
const WEBM_CLUSTER = 0x1f43b675;
const WEBM_TIMECODE = 0xe7;
const WEBM_SIMPLE_BLOCK = 0xa3;
const WEBM_BLOCK_GROUP = 0xa0;
const WEBM_BLOCK = 0xa1;
const WEBM_NESTED: ReadonlySet<number> = new Set([0x18538067, 0x1549a966, WEBM_CLUSTER, WEBM_BLOCK_GROUP]);
const NANOSECONDS = 1_000_000_000;
const MAX_ELEMENTS = 2_000_000;

/** The time of the last block, plus the distance to the one before (RFC 9559). */
function webmSeconds(bytes: Buffer): number | undefined {
  let [at, scale, cluster, last, before] = [0, 1_000_000, 0, -1, -1];
  for (let count = 0; count < MAX_ELEMENTS && at < bytes.length; count += 1) {
    const id = elementId(bytes, at);
    const size = id && elementSize(bytes, at + id.bytes);
    if (!id || !size) break;
    const start = at + id.bytes + size.bytes;
    at = WEBM_NESTED.has(id.value) ? start : start + size.value;
    if (id.value === WEBM_SCALE) scale = unsigned(bytes, start, size.value);
    if (id.value === WEBM_TIMECODE) cluster = unsigned(bytes, start, size.value);
    if (id.value !== WEBM_SIMPLE_BLOCK && id.value !== WEBM_BLOCK) continue;
    const track = elementSize(bytes, start);
    const time = start + (track?.bytes ?? 1);
    if (time + 2 > bytes.length) break;
    const now = cluster + bytes.readInt16BE(time);
    if (now > last) [before, last] = [last, now];
  }
  if (last < 0) return undefined;
  return ((last + (before < 0 ? 0 : last - before)) * scale) / NANOSECONDS;
}

function elementId(bytes: Buffer, at: number) {
  const size = Math.clz32(bytes[at] ?? 0) - 23;
  return size > 4 || at + size > bytes.length ? undefined : { value: bytes.readUIntBE(at, size), bytes: size };
}

/** An unknown size is that of a nested element, whose children follow. */
function elementSize(bytes: Buffer, at: number) {
  const size = Math.clz32(bytes[at] ?? 0) - 23;
  if (size > 8 || at + size > bytes.length) return undefined;
  let value = (bytes[at] ?? 0) & (0xff >> size);
  for (let index = 1; index < size; index += 1) value = value * 256 + (bytes[at + index] ?? 0);
  return { value, bytes: size };
}

const unsigned = (bytes: Buffer, at: number, size: number): number =>
  size >= 1 && size <= 6 && at + size <= bytes.length ? bytes.readUIntBE(at, size) : 0;

function wavSeconds(bytes: Buffer): number | undefined {
  let rate = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const [id, size] = [bytes.toString('latin1', at, at + 4), bytes.readUInt32LE(at + 4)];
    if (id === 'fmt ' && at + 20 <= bytes.length) rate = bytes.readUInt32LE(at + 16);
    // A stream that was never closed declares no length, or too much.
    if (id === 'data') return rate > 0 ? Math.min(size, bytes.length - at - 8) / rate : undefined;
    at += 8 + size + (size % 2);
  }
  return undefined;
}

const MP3_BITRATES = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320] as const;
const MP3_LOW_BITRATES = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160] as const;
const MP3_RATES = [44_100, 48_000, 32_000] as const;

/** Layer III of MPEG 1, 2 and 2.5. */
function mp3Frame(bytes: Buffer, at: number): { readonly size: number; readonly seconds: number } | undefined {
  const header = at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0;
  const version = (header >>> 19) & 3;
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1 || version === 1) return undefined;
  const isFirst = version === 3;
  const bitrate = (isFirst ? MP3_BITRATES : MP3_LOW_BITRATES)[(header >>> 12) & 15] ?? 0;
  const rate = (MP3_RATES[(header >>> 10) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4);
  if (bitrate === 0 || rate === 0) return undefined;
  const samples = isFirst ? 1_152 : 576;
  return { size: Math.floor((samples * 125 * bitrate) / rate) + ((header >>> 9) & 1), seconds: samples / rate };
}

const isMp3Frame = (bytes: Buffer, at: number): boolean => mp3Frame(bytes, at) !== undefined;

function mp3Seconds(bytes: Buffer): number | undefined {
  let at = 0;
  if (bytes.toString('latin1', 0, 3) === 'ID3' && bytes.length > 10)
    at = 10 + bytes.subarray(6, 10).reduce((size, byte) => size * 128 + (byte & 127), 0);
  let seconds = 0;
  while (at + 4 <= bytes.length) {
    const frame = mp3Frame(bytes, at);
    if (frame === undefined) break;
    seconds += frame.seconds;
    at += frame.size;
  }
  return seconds || undefined;
}

/** The last page's position, in samples: of Vorbis at the rate of its header, of Opus at 48 kHz. */
function oggSeconds(bytes: Buffer): number | undefined {
  const last = bytes.lastIndexOf('OggS', bytes.length, 'latin1');
  if (last < 0 || last + 14 > bytes.length) return undefined;
  const vorbis = bytes.indexOf('\u0001vorbis', 0, 'latin1');
  const rate = vorbis >= 0 && vorbis + 16 <= bytes.length ? bytes.readUInt32LE(vorbis + 12) : 48_000;
  return Number(bytes.readBigInt64LE(last + 6)) / rate;
}
