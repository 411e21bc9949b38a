import { type AppError, invalidRequest } from '../platform/app-error.ts';
import type { SiteSettings } from '../platform/config.ts';
import { BadVideoError, VideoCheck } from '../platform/media.ts';

/** What a file is, by its content. */
export type FileKind = 'image' | 'audio' | 'video' | 'jsonl';

/** Largest file of each kind, bytes. */
export type FileLimits = Readonly<Record<FileKind, number>>;

const MB = 1024 ** 2;

/** The limits of the site's settings. */
export const toFileLimits = (
  site: Pick<SiteSettings, 'filesImageMb' | 'filesAudioMb' | 'filesVideoMb' | 'filesJsonlMb'>,
): FileLimits => ({
  image: site.filesImageMb * MB,
  audio: site.filesAudioMb * MB,
  video: site.filesVideoMb * MB,
  jsonl: site.filesJsonlMb * MB,
});

interface FileType {
  readonly kind: FileKind;
  readonly mimeType: string;
}

/** Bytes that identify every type below. */
const HEAD_BYTES = 64;

const type = (kind: FileKind, mimeType: string): FileType => ({ kind, mimeType });

/**
 * Types by the first bytes in hexadecimal. Neither SVG and HTML, which can contain scripts, nor archives and documents,
 * which no model here takes.
 */
const SIGNATURES: readonly (readonly [RegExp, FileType])[] = [
  [/^89504e470d0a1a0a/, type('image', 'image/png')],
  [/^ffd8ff/, type('image', 'image/jpeg')],
  [/^474946383[79]61/, type('image', 'image/gif')],
  // RIFF, its size, WEBP.
  [/^52494646.{8}57454250/, type('image', 'image/webp')],
  [/^424d.{8}00000000/, type('image', 'image/bmp')],
  [/^(?:49492a00|4d4d002a)/, type('image', 'image/tiff')],
  // A size, ftyp, and the brand: M4A and M4B, then QuickTime.
  [/^.{8}667479704d34(?:41|42)20/, type('audio', 'audio/mp4')],
  [/^.{8}6674797071742020/, type('video', 'video/quicktime')],
  // The brands avif, avis, heic, heix, mif1 and msf1 are images, which no vendor here takes.
  [/^.{8}66747970(?!61766966|61766973|68656963|68656978|6d696631|6d736631)/, type('video', 'video/mp4')],
  // QuickTime without a brand: moov, mdat, wide, free, skip or pnot.
  [/^.{8}(?:6d6f6f76|6d646174|77696465|66726565|736b6970|706e6f74)/, type('video', 'video/quicktime')],
  // EBML with the document type webm (RFC 8794 section 11.2.7).
  [/^1a45dfa3.*4282847765626d/, type('video', 'video/webm')],
  [/^4944330[2-4]/, type('audio', 'audio/mpeg')],
  // MPEG-1 and 2, layer III, with a valid bit rate (ISO/IEC 11172-3 section 2.4.1.3).
  [/^fff[23ab][1-9a-e]/, type('audio', 'audio/mpeg')],
  [/^52494646.{8}57415645/, type('audio', 'audio/wav')],
  [/^4f67675300/, type('audio', 'audio/ogg')],
  [/^(?:efbbbf)?(?:20|09|0d|0a)*7b/, type('jsonl', 'application/jsonl')],
];

/** The type of a file by its first bytes; undefined: none that is taken here. */
const typeOf = (head: Buffer): FileType | undefined => {
  const hex = head.toString('hex', 0, HEAD_BYTES);
  return SIGNATURES.find(([form]) => form.test(hex))?.[1];
};

const CONTAINERS = new Set(['video/mp4', 'video/quicktime', 'video/webm', 'audio/mp4']);

const refusal = (detail: string): AppError => invalidRequest(detail, 'file');

/** Checks an uploaded file while its bytes pass through: type, size, and the completeness of videos and texts. */
export class FileCheck {
  readonly #limits: FileLimits;
  #head = Buffer.alloc(0);
  #type: FileType | undefined;
  #video: VideoCheck | undefined;
  #text: TextDecoder | undefined;
  #bytes = 0;

  constructor(limits: FileLimits) {
    this.#limits = limits;
  }

  /** @throws AppError `invalid_request` as soon as the defect is certain */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#type === undefined) {
      this.#head = Buffer.concat([this.#head, chunk]);
      if (this.#head.length >= HEAD_BYTES) this.#begin();
    } else this.#inspect(chunk, this.#type);
  }

  /** Must be called after the last byte. */
  end(): FileType {
    if (this.#bytes === 0) throw refusal('file is empty.');
    const found = this.#type ?? this.#begin();
    this.#within(() => {
      this.#video?.end();
      this.#text?.decode();
    });
    return found;
  }

  #begin(): FileType {
    const found = typeOf(this.#head);
    if (found === undefined)
      throw refusal(
        'file must be an image (PNG, JPEG, WebP, GIF, BMP, TIFF), a video (MP4, MOV, WebM), a sound (MP3, WAV, M4A, OGG) or JSONL.',
      );
    this.#type = found;
    if (CONTAINERS.has(found.mimeType)) this.#video = new VideoCheck();
    if (found.kind === 'jsonl') this.#text = new TextDecoder('utf-8', { fatal: true });
    this.#inspect(this.#head, found);
    return found;
  }

  #inspect(bytes: Buffer, { kind }: FileType): void {
    const most = this.#limits[kind];
    if (this.#bytes > most) throw refusal(`file is larger than ${most / MB} MB, the most for ${KIND_NAMES[kind]}.`);
    this.#within(() => {
      this.#video?.push(bytes);
      this.#text?.decode(bytes, { stream: true });
    });
  }

  #within(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (error instanceof BadVideoError) throw refusal(`file is not complete or damaged: ${error.message}.`);
      // What a decoder throws for bytes that are no UTF-8 (WHATWG Encoding, section 7.2).
      if (error instanceof TypeError) throw refusal('file is JSONL but not UTF-8.');
      throw error;
    }
  }
}

const KIND_NAMES: Readonly<Record<FileKind, string>> = {
  image: 'an image',
  audio: 'a sound',
  video: 'a video',
  jsonl: 'JSONL',
};
