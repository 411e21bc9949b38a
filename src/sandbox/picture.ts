import { inflateSync } from 'node:zlib';
import jpeg from 'jpeg-js';

/** Planes of 4:2:0 samples, in rows of whole macroblocks. */
export interface YuvPicture {
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
export function readPicture(image: Buffer, width: number, height: number): YuvPicture | undefined {
  const bitmap = decode(image);
  return bitmap === undefined || bitmap.width === 0 || bitmap.height === 0 ? undefined : toYuv(bitmap, width, height);
}

function decode(image: Buffer): Bitmap | undefined {
  try {
    if (image.subarray(0, 8).equals(PNG_SIGNATURE)) return decodePng(image);
    if (image.readUInt16BE(0) !== 0xffd8) return undefined;
    return jpeg.decode(image, { useTArray: true, maxMemoryUsageInMB: MAX_MEMORY_MB, formatAsRGBA: true });
  } catch {
    return undefined;
  }
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Samples of a pixel by the colour type of a PNG (https://www.w3.org/TR/png-3/#table111). */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Decodes PNGs of 8 bits a sample that are not interlaced, which nearly all are. */
function decodePng(image: Buffer): Bitmap | undefined {
  const [width, height] = [image.readUInt32BE(16), image.readUInt32BE(20)];
  const [depth, colourType = 0, , , interlaced] = image.subarray(24, 29);
  const samples = SAMPLES[colourType];
  if (samples === undefined || depth !== 8 || interlaced !== 0 || width * height > MAX_PIXELS) return undefined;
  const parts: Buffer[] = [];
  let palette: Buffer | undefined;
  for (let at = 8; at + 8 <= image.length; ) {
    const length = image.readUInt32BE(at);
    const type = image.toString('latin1', at + 4, at + 8);
    const content = image.subarray(at + 8, at + 8 + length);
    if (type === 'IDAT') parts.push(content);
    if (type === 'PLTE') palette = content;
    at += length + 12;
  }
  const rows = unfilter(inflateSync(Buffer.concat(parts)), width * samples, height, samples);
  return { width, height, data: toRgba(rows, width * height, colourType, palette) };
}

/** Four bytes per pixel of any colour type. */
function toRgba(rows: Uint8Array, pixels: number, colourType: number, palette: Buffer | undefined): Uint8Array {
  if (colourType === 6) return rows;
  const samples = SAMPLES[colourType] ?? 1;
  // Three bytes in a row: of the palette, of the pixel, or three times the same grey.
  const [source, step] = colourType === 3 ? [palette ?? new Uint8Array(), 1] : [rows, colourType === 2 ? 1 : 0];
  const data = new Uint8Array(pixels * 4);
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    const at = colourType === 3 ? (rows[pixel] ?? 0) * 3 : pixel * samples;
    data[pixel * 4] = source[at] ?? 0;
    data[pixel * 4 + 1] = source[at + step] ?? 0;
    data[pixel * 4 + 2] = source[at + 2 * step] ?? 0;
    data[pixel * 4 + 3] = colourType === 4 ? (rows[at + 1] ?? 0) : 255;
  }
  return data;
}

/** Undoes the filters of the rows of a PNG (https://www.w3.org/TR/png-3/#9Filters). */
function unfilter(bytes: Buffer, stride: number, height: number, samples: number): Uint8Array {
  const rows = new Uint8Array(stride * height);
  for (let row = 0; row < height; row += 1) {
    const from = row * (stride + 1) + 1;
    const to = row * stride;
    const filter = bytes[from - 1] ?? 0;
    for (let at = 0; at < stride; at += 1) {
      const left = at < samples ? 0 : (rows[to + at - samples] ?? 0);
      const above = row === 0 ? 0 : (rows[to + at - stride] ?? 0);
      let predicted = 0;
      if (filter === 1) predicted = left;
      else if (filter === 2) predicted = above;
      else if (filter === 3) predicted = (left + above) >> 1;
      else if (filter === 4) {
        const corner = row === 0 || at < samples ? 0 : (rows[to + at - stride - samples] ?? 0);
        predicted = paeth(left, above, corner);
      }
      rows[to + at] = (bytes[from + at] ?? 0) + predicted;
    }
  }
  return rows;
}

function paeth(left: number, above: number, corner: number): number {
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

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
