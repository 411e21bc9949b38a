import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { AppError } from '../platform/app-error.ts';
import { BadVideoError, type CheckedVideo, VideoCheck } from '../platform/media.ts';
import { freeChunk } from '../platform/outbound/client.ts';

/** A vendor's file that is being received. */
export interface CopySource {
  readonly body: Readable;
  /** Of the vendor's Content-Length, bytes; undefined where it sent none. */
  readonly bytes: number | undefined;
}

export interface CopiedFile {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly mimeType: CheckedVideo['mimeType'];
}

const READ_BYTES = 128 * 1024;

/**
 * One file on its way from a vendor to this machine. It can be read meanwhile: readers get what has been written, and the last
 * byte only when the whole file has been checked, so that no reader takes a bad copy for a complete one.
 */
export class IncomingCopy {
  readonly path: string;
  /** Bytes of the whole file as the vendor announced them; undefined: it cannot be read before its end. */
  readonly announcedBytes: number | undefined;
  /** Known from the first bytes on. */
  mimeType: CheckedVideo['mimeType'] | undefined;
  #written = 0;
  #state: 'running' | 'complete' | 'failed' = 'running';
  #progress = Promise.withResolvers<void>();

  constructor(path: string, announcedBytes: number | undefined) {
    this.path = path;
    this.announcedBytes = announcedBytes;
  }

  get writtenBytes(): number {
    return this.#written;
  }

  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  /**
   * Writes, hashes and checks the file, and makes it durable under `path`.
   * @param onGrowth called before each write with the bytes of the file after it; may throw to end the copy
   * @throws BadVideoError, OutboundError, or what `onGrowth` throws
   */
  async receive(body: Readable, onGrowth: (bytes: number) => Promise<void>): Promise<CopiedFile> {
    // It may fail before it is read, and must not end the process then; reading it fails too.
    body.on('error', () => {});
    try {
      const copied = await this.#receive(body, onGrowth);
      this.#state = 'complete';
      return copied;
    } catch (error) {
      this.#state = 'failed';
      throw error;
    } finally {
      body.destroy();
      this.#progress.resolve();
    }
  }

  async #receive(body: Readable, onGrowth: (bytes: number) => Promise<void>): Promise<CopiedFile> {
    const hash = createHash('sha256');
    const check = new VideoCheck();
    const file = await open(this.path, 'w');
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        check.push(chunk);
        hash.update(chunk);
        await onGrowth(this.#written + chunk.length);
        await writeAll(file, chunk);
        this.mimeType = check.mimeType;
        this.#written += chunk.length;
        this.#notify();
        freeChunk(body, chunk);
      }
      const { mimeType, isLengthProven } = check.end();
      const { announcedBytes } = this;
      if (announcedBytes !== undefined && announcedBytes !== this.#written)
        throw new BadVideoError(`it has ${this.#written} bytes, ${announcedBytes} were announced`);
      if (announcedBytes === undefined && !isLengthProven) throw new BadVideoError('nothing shows that it is whole');
      await file.datasync();
      return { bytes: this.#written, sha256: hash.digest('hex'), mimeType };
    } finally {
      await file.close();
    }
  }

  /**
   * Bytes `start` to `end`, both included, as they arrive. Fails with `content_unavailable` when the copy does.
   * @returns undefined when the copy has ended and its file is elsewhere
   */
  async read(start: number, end: number): Promise<Readable | undefined> {
    const file = await open(this.path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (file === undefined) return undefined;
    return Readable.from(this.#read(file, start, end), { objectMode: false, highWaterMark: READ_BYTES });
  }

  async *#read(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
    try {
      for (let position = start; position <= end; ) {
        const { promise } = this.#progress;
        if (this.#state === 'failed') throw new AppError('content_unavailable');
        const readable = this.#state === 'complete' ? this.#written : this.#written - 1;
        const length = Math.min(readable - position, end + 1 - position, READ_BYTES);
        if (length <= 0) {
          await promise;
          continue;
        }
        const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(length), position });
        if (bytesRead === 0) throw new Error('the file ended early');
        position += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  #notify(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}

async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten;
}
