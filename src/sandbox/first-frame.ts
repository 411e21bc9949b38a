import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import type { SimulatorRequest } from './simulator.ts';

/**
 * Puts a caller's image in front of a clip, as a model that animates it would begin. No encoder is needed: H.264 may
 * carry macroblocks as plain samples (I_PCM), and a second picture parameter set allows them beside the clip's CABAC.
 */

/** Beginnings of images as Base64: PNG and JPEG. */
const BASE64_IMAGE = /^(?:iVBORw0KGgo|\/9j\/)/;
/** The service itself; a sandbox sends nothing to other hosts. */
const OWN_ADDRESS = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/;

/** The first image of a request for a video, in whatever form the vendor takes it; undefined without one. */
export async function findSentImage(request: Pick<SimulatorRequest, 'json' | 'form'>): Promise<Buffer | undefined> {
  const body = request.json();
  if (body !== undefined) {
    const text = findText(body);
    if (text === undefined) return undefined;
    return OWN_ADDRESS.test(text) ? download(text) : Buffer.from(text.replace(/^data:[^,]*,/, ''), 'base64');
  }
  const form = await request.form().catch(() => undefined);
  for (const value of form?.values() ?? [])
    if (typeof value !== 'string') return Buffer.from(await value.arrayBuffer());
  return undefined;
}

/** The first text in a JSON value that is an image, or the address of a file of the service. */
function findText(value: unknown): string | undefined {
  if (typeof value === 'string') {
    const data = value.startsWith('data:image/') ? value.slice(value.indexOf(',') + 1) : value;
    return BASE64_IMAGE.test(data) || OWN_ADDRESS.test(value) ? value : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const each of Object.values(value)) {
    const found = findText(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function download(url: string): Promise<Buffer | undefined> {
  try {
    const [response] = (await once(get(url), 'response')) as [IncomingMessage];
    return response.statusCode === 200 ? await buffer(response) : undefined;
  } catch {
    return undefined;
  }
}

/** Planes of 4:2:0 samples, in rows of whole macroblocks. */
interface YuvPicture {
  /** In macroblocks. */
  readonly columns: number;
  readonly rows: number;
  readonly y: Uint8Array;
  readonly u: Uint8Array;
  readonly v: Uint8Array;
}

/** Pixels in rows, four bytes each: red, green, blue, alpha. */
interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

const MAX_PIXELS = 40_000_000;
const MAX_MEMORY_MB = 400;

/**
 * A PNG or JPEG that fills a frame, its middle where its shape differs; undefined if it cannot be read.
 *
 * @param width of the frame in pixels
 */
function readPicture(image: Buffer, width: number, height: number): YuvPicture | undefined {
  const bitmap = decode(image);
  return bitmap === undefined || bitmap.width === 0 || bitmap.height === 0 ? undefined : toYuv(bitmap, width, height);
}

function decode(image: Buffer): Bitmap | undefined {
  try {
    if (image.subarray(0, 8).equals(PNG_SIGNATURE))
      return image.readUInt32BE(16) * image.readUInt32BE(20) > MAX_PIXELS ? undefined : PNG.sync.read(image);
    if (image.readUInt16BE(0) !== 0xffd8) return undefined;
    return jpeg.decode(image, { useTArray: true, maxMemoryUsageInMB: MAX_MEMORY_MB, formatAsRGBA: true });
  } catch {
    return undefined;
  }
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Scales the middle of a bitmap to a frame, and converts it (BT.601, limited range); transparency becomes black. */
function toYuv({ width, height, data }: Bitmap, frameWidth: number, frameHeight: number): YuvPicture {
  const [columns, rows] = [Math.ceil(frameWidth / 16), Math.ceil(frameHeight / 16)];
  const scale = Math.min(width / frameWidth, height / frameHeight);
  const [left, top] = [(width - frameWidth * scale) / 2, (height - frameHeight * scale) / 2];
  const y = new Uint8Array(columns * rows * 256);
  const u = new Uint8Array(columns * rows * 64);
  const v = new Uint8Array(columns * rows * 64);
  for (let row = 0; row < rows * 16; row += 1)
    for (let column = 0; column < columns * 16; column += 1) {
      const [red, green, blue] = meanColour({ width, height, data }, left + column * scale, top + row * scale, scale);
      y[row * columns * 16 + column] = 16 + 0.257 * red + 0.504 * green + 0.098 * blue;
      if (row % 2 === 1 || column % 2 === 1) continue;
      const at = (row / 2) * columns * 8 + column / 2;
      u[at] = 128 - 0.148 * red - 0.291 * green + 0.439 * blue;
      v[at] = 128 + 0.439 * red - 0.368 * green - 0.071 * blue;
    }
  return { columns, rows, y, u, v };
}

/** Mean of at most 4 × 4 pixels of the square that becomes one pixel of the frame. */
function meanColour({ width, height, data }: Bitmap, left: number, top: number, size: number) {
  const steps = Math.max(1, Math.min(4, Math.round(size)));
  let [red, green, blue] = [0, 0, 0];
  for (let row = 0; row < steps; row += 1)
    for (let column = 0; column < steps; column += 1) {
      const x = Math.min(width - 1, Math.max(0, Math.floor(left + ((column + 0.5) * size) / steps)));
      const line = Math.min(height - 1, Math.max(0, Math.floor(top + ((row + 0.5) * size) / steps)));
      const at = (line * width + x) * 4;
      const alpha = (data[at + 3] ?? 0) / 255;
      red += (data[at] ?? 0) * alpha;
      green += (data[at + 1] ?? 0) * alpha;
      blue += (data[at + 2] ?? 0) * alpha;
    }
  const count = steps * steps;
  return [red / count, green / count, blue / count] as const;
}

/** How long the image is shown, as a share of a second. */
const SHOWN_SECONDS = 0.6;

interface Box {
  readonly type: string;
  /** Bytes in front of the children, or all bytes of a box without any. */
  head: Buffer;
  readonly children?: Box[];
}

/** Length of what precedes the children of a container. */
const CONTAINERS: Readonly<Record<string, number>> = {
  moov: 0,
  trak: 0,
  edts: 0,
  mdia: 0,
  minf: 0,
  stbl: 0,
  stsd: 8,
  avc1: 78,
};

function parseBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + size);
    const head = CONTAINERS[type];
    boxes.push(
      head === undefined
        ? { type, head: content }
        : { type, head: content.subarray(0, head), children: parseBoxes(content.subarray(head)) },
    );
    at += size;
  }
  return boxes;
}

function writeBox({ type, head, children = [] }: Box): Buffer {
  const content = [head, ...children.map(writeBox)];
  const size = Buffer.alloc(8);
  size.writeUInt32BE(8 + content.reduce((sum, { length }) => sum + length, 0));
  size.write(type, 4, 'latin1');
  return Buffer.concat([size, ...content]);
}

function find(box: Box, ...path: readonly string[]): Box {
  const [type, ...rest] = path;
  if (type === undefined) return box;
  const child = box.children?.find((each) => each.type === type);
  if (child === undefined) throw new Error(`the clip has no ${type}`);
  return find(child, ...rest);
}

const uint32s = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};

/** Inserts entries at the start of a table whose count is at `countAt`. */
function prepend(box: Box, entry: Buffer, countAt = 4): void {
  const start = countAt + 4;
  box.head = Buffer.concat([
    box.head.subarray(0, countAt),
    uint32s(box.head.readUInt32BE(countAt) + 1),
    entry,
    box.head.subarray(start),
  ]);
}

/** Adds to every 32-bit field at `first`, `first + step`, … */
function addToAll(box: Box, first: number, step: number, amount: number): void {
  box.head = Buffer.from(box.head);
  for (let at = first; at + 4 <= box.head.length; at += step)
    box.head.writeUInt32BE(box.head.readUInt32BE(at) + amount, at);
}

/**
 * The clip with the image in front; the clip itself if the image is of a kind that cannot be read.
 *
 * @param clip an MP4 of `scripts/make-sandbox-media.ts`: one H.264 track, at most one sound track, `moov` first
 */
export function withFirstFrame(clip: Buffer, image: Buffer): Buffer {
  const boxes = parseBoxes(clip);
  const moov = boxes.find(({ type }) => type === 'moov');
  if (moov?.children === undefined) return clip;
  const tracks = moov.children.filter(({ type }) => type === 'trak');
  const video = tracks.find((track) => find(track, 'mdia', 'hdlr').head.toString('latin1', 8, 12) === 'vide');
  if (video === undefined) return clip;
  const stbl = find(video, 'mdia', 'minf', 'stbl');
  const avc1 = find(stbl, 'stsd', 'avc1');
  const picture = readPicture(image, avc1.head.readUInt16BE(24), avc1.head.readUInt16BE(26));
  if (picture === undefined) return clip;
  const avcC = find(avc1, 'avcC');
  const frame = encodeFrame(picture, avcC.head);
  avcC.head = withPictureParameters(avcC.head);

  const timescale = find(video, 'mdia', 'mdhd').head.readUInt32BE(12);
  const shown = Math.round(timescale * SHOWN_SECONDS);
  const shift = find(video, 'edts', 'elst').head.readUInt32BE(12);
  prepend(find(stbl, 'stts'), uint32s(1, shown));
  prepend(find(stbl, 'ctts'), uint32s(1, shift));
  addToAll(find(stbl, 'stss'), 8, 4, 1);
  prepend(find(stbl, 'stss'), uint32s(1));
  addToAll(find(stbl, 'stsc'), 8, 12, 1);
  prepend(find(stbl, 'stsc'), uint32s(1, 1, 1));
  prepend(find(stbl, 'stsz'), uint32s(frame.length), 8);
  prepend(find(stbl, 'stco'), uint32s(0));
  delay(moov, tracks, video, shown / timescale);

  const index = boxes.indexOf(moov);
  const before = boxes.slice(0, index).map(writeBox);
  const start = before.reduce((sum, { length }) => sum + length, 0) + writeBox(moov).length;
  const first = writeBox({ type: 'mdat', head: frame });
  const moved = start + first.length - clip.indexOf(writeBox(boxes[index + 1] as Box));
  for (const track of tracks) addToAll(find(track, 'mdia', 'minf', 'stbl', 'stco'), 8, 4, moved);
  const offsets = find(stbl, 'stco');
  offsets.head.writeUInt32BE(start + 8, 8);
  return Buffer.concat([...before, writeBox(moov), first, ...boxes.slice(index + 1).map(writeBox)]);
}

/** Makes room for the image: the film gets longer, and the sound begins later. */
function delay(moov: Box, tracks: readonly Box[], video: Box, seconds: number): void {
  const add = (box: Box, at: number, amount: number): void => {
    box.head = Buffer.from(box.head);
    box.head.writeUInt32BE(box.head.readUInt32BE(at) + amount, at);
  };
  const mvhd = find(moov, 'mvhd');
  const units = Math.round(mvhd.head.readUInt32BE(12) * seconds);
  add(mvhd, 16, units);
  const mdhd = find(video, 'mdia', 'mdhd');
  add(mdhd, 16, Math.round(mdhd.head.readUInt32BE(12) * seconds));
  for (const track of tracks) {
    add(find(track, 'tkhd'), 20, units);
    const elst = find(track, 'edts', 'elst');
    if (track === video) add(elst, 8, units);
    else prepend(elst, uint32s(units, 0xffffffff, 0x10000));
  }
}

/** Writes bits of an H.264 syntax structure. */
class BitWriter {
  readonly #bytes: number[] = [];
  #filled = 0;

  put(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      if (this.#filled === 0) this.#bytes.push(0);
      const last = this.#bytes.length - 1;
      this.#bytes[last] = (this.#bytes[last] ?? 0) | (((value >>> bit) & 1) << (7 - this.#filled));
      this.#filled = (this.#filled + 1) % 8;
    }
    return this;
  }

  /** An unsigned Exp-Golomb code. */
  ue(value: number): this {
    const length = 32 - Math.clz32(value + 1);
    return this.put(0, length - 1).put(value + 1, length);
  }

  align(): this {
    return this.#filled === 0 ? this : this.put(0, 8 - this.#filled);
  }

  /** The stop bit that ends a NAL unit. */
  end(): Buffer {
    this.put(1, 1).align();
    return Buffer.from(this.#bytes);
  }

  bytes(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

/** Reads bits of an H.264 syntax structure. */
class BitReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u(count: number): number {
    let value = 0;
    for (let left = count; left > 0; left -= 1, this.#at += 1)
      value = value * 2 + (((this.#bytes[this.#at >> 3] ?? 0) >> (7 - (this.#at & 7))) & 1);
    return value;
  }

  ue(): number {
    let zeros = 0;
    while (this.u(1) === 0 && zeros < 32) zeros += 1;
    return 2 ** zeros - 1 + this.u(zeros);
  }
}

/** Id of the picture parameter set of the image; the clip's own is 0. */
const OWN_PARAMETERS = 1;

/** The decoder configuration with a second picture parameter set, which codes without CABAC. */
function withPictureParameters(avcC: Buffer): Buffer {
  const spsLength = avcC.readUInt16BE(6);
  const countAt = 8 + spsLength;
  const firstLength = avcC.readUInt16BE(countAt + 1);
  const end = countAt + 3 + firstLength;
  const set = new BitWriter()
    .put(0x68, 8)
    .ue(OWN_PARAMETERS)
    .ue(0)
    .put(0, 2) // CAVLC, no bottom field order
    .ue(0) // one slice group
    .ue(0)
    .ue(0)
    .put(0, 3) // no weighted prediction
    .ue(0)
    .ue(0)
    .ue(0)
    .put(0b100, 3) // deblocking can be switched off
    .end();
  const length = Buffer.alloc(2);
  length.writeUInt16BE(set.length);
  return Buffer.concat([avcC.subarray(0, countAt), Buffer.from([2]), avcC.subarray(countAt + 1, end), length, set]);
}

/** Widths of the fields of a slice header that the sequence parameter set of a clip determines. */
function readSequence(sps: Buffer): { readonly frameNumBits: number; readonly orderBits: number } {
  const reader = new BitReader(sps.subarray(4));
  reader.ue();
  const frameNumBits = reader.ue() + 4;
  return { frameNumBits, orderBits: reader.ue() === 0 ? reader.ue() + 4 : 0 };
}

/** Code of the macroblock type I_PCM (25), filled up to a whole byte. */
const PCM_MACROBLOCK = [0x0d, 0x00];

/** An intra frame of plain samples, with its length in front. */
function encodeFrame({ columns, rows, y, u, v }: YuvPicture, avcC: Buffer): Buffer {
  const { frameNumBits, orderBits } = readSequence(avcC.subarray(8, 8 + avcC.readUInt16BE(6)));
  const header = new BitWriter()
    .put(0x65, 8)
    .ue(0)
    .ue(7)
    .ue(OWN_PARAMETERS)
    .put(0, frameNumBits)
    .ue(1) // not the id of the clip's own first frame
    .put(0, orderBits)
    .put(0, 2)
    .ue(0)
    .ue(1) // no deblocking
    .ue(25)
    .align()
    .bytes();
  const blocks: Buffer[] = [header];
  const block = (plane: Uint8Array, column: number, row: number, size: number): void => {
    for (let line = 0; line < size; line += 1) {
      const at = (row * size + line) * columns * size + column * size;
      blocks.push(Buffer.from(plane.subarray(at, at + size)));
    }
  };
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      if (row + column > 0) blocks.push(Buffer.from(PCM_MACROBLOCK));
      block(y, column, row, 16);
      block(u, column, row, 8);
      block(v, column, row, 8);
    }
  blocks.push(Buffer.from([0x80]));
  const unit = escapeUnit(Buffer.concat(blocks));
  return Buffer.concat([uint32s(unit.length), unit]);
}

/** Separates bytes that would look like the start of another unit. */
function escapeUnit(unit: Buffer): Buffer {
  const bytes: number[] = [];
  let zeros = 0;
  for (const byte of unit) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}
