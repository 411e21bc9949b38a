import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type AspectRatio = '16:9' | '9:16' | '1:1';

/** A file of `src/sandbox/media/`, made by `scripts/make-sandbox-media.ts`. */
export interface MediaFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly mimeType: string;
  /** Quoted, strong. */
  readonly etag: string;
}

const TYPES = {
  'wide.mp4': 'video/mp4',
  'tall.mp4': 'video/mp4',
  'square.mp4': 'video/mp4',
  'wide-audio.mp4': 'video/mp4',
  'thumbnail.webp': 'image/webp',
  'spritesheet.jpg': 'image/jpeg',
  'picture.png': 'image/png',
} as const;
type MediaName = keyof typeof TYPES;

// Two folders below the root, as the bundle of the server is, which holds this code too.
const FOLDER = new URL('../../src/sandbox/media/', import.meta.url);

const loaded = new Map<string, MediaFile>();

export const isMediaName = (name: string): name is MediaName => Object.hasOwn(TYPES, name);

export function loadMedia(name: MediaName): MediaFile {
  let file = loaded.get(name);
  if (file === undefined) {
    const mimeType = TYPES[name];
    const bytes = readFileSync(new URL(name, FOLDER));
    const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
    file = { name, bytes, mimeType, etag };
    loaded.set(name, file);
  }
  return file;
}

/** A playable clip (H.264, moov first). Only the wide one has sound, so `audio` takes precedence over the shape. */
export function clip(shape: AspectRatio, audio: boolean): MediaFile {
  if (audio) return loadMedia('wide-audio.mp4');
  return loadMedia(({ '16:9': 'wide.mp4', '9:16': 'tall.mp4', '1:1': 'square.mp4' } as const)[shape]);
}

/** First and last byte of a satisfiable single range; `bad` when it lies outside; undefined when it is to be ignored. */
function readRange(header: string, size: number): { first: number; last: number } | 'bad' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  if (match[1] === '') {
    const suffix = Number(match[2]);
    return suffix === 0 ? 'bad' : { first: Math.max(0, size - suffix), last: size - 1 };
  }
  const first = Number(match[1]);
  const last = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (first >= size) return 'bad';
  return last < first ? undefined : { first, last };
}

/** The status, headers and bytes of a static host's response (RFC 9110, sections 13 and 14). */
export function serveFile(
  request: { readonly method: string; readonly headers: Readonly<Record<string, string>> },
  media: MediaFile,
): { status: number; headers: Record<string, string>; body: Buffer } {
  const headers: Record<string, string> = {
    'content-type': media.mimeType,
    etag: media.etag,
    'accept-ranges': 'bytes',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
  };
  if (request.headers['if-none-match'] === media.etag) return { status: 304, headers, body: Buffer.alloc(0) };
  const size = media.bytes.length;
  const ifRange = request.headers['if-range'];
  const asked = request.headers.range;
  const range =
    asked !== undefined && (ifRange === undefined || ifRange === media.etag) ? readRange(asked, size) : undefined;
  if (range === 'bad') {
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` }, body: Buffer.alloc(0) };
  }
  if (range !== undefined) {
    const body = media.bytes.subarray(range.first, range.last + 1);
    const contentRange = `bytes ${range.first}-${range.last}/${size}`;
    return { status: 206, headers: { ...headers, 'content-range': contentRange }, body };
  }
  return { status: 200, headers, body: media.bytes };
}
