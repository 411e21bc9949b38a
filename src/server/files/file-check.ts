import { type AppError, invalidRequest } from '../platform/app-error.ts';
import type { SiteSettings } from '../platform/config.ts';
import { BadVideoError, VideoCheck } from '../platform/media.ts';
import { sniffMedia } from '../platform/media-length.ts';

/** Kind of a file, detected from its content. */
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

/** Bytes that identify every type. */
const HEAD_BYTES = 64;

/** A line of JSONL, perhaps behind a byte order mark and blanks. */
const JSONL = /^(?:\u00ef\u00bb\u00bf)?\s*\{/;

/** The type of a file by its first bytes; undefined: none that is taken here. */
function typeOf(head: Buffer): FileType | undefined {
  const media = sniffMedia(head);
  // The document type of EBML (RFC 8794 section 11.2.7): no vendor takes Matroska's others.
  if (media?.mediaType === 'video/webm' && !head.includes('webm')) return undefined;
  if (media !== undefined) return { kind: media.type, mimeType: media.mediaType };
  return JSONL.test(head.toString('latin1')) ? { kind: 'jsonl', mimeType: 'application/jsonl' } : undefined;
}

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
