import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { AppError, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { randomText } from '../platform/tokens.ts';
import type { Trx } from '../tables.ts';
import type { ArtifactStore } from './artifact-store.ts';
import { type ArtifactFileStorage, type IncomingFileDirectory, unavailableError, writeAll } from './file-storage.ts';
import { isDeviceFull, NoSpaceError, type StorageLimits, type StorageSpace } from './storage-space.ts';

interface UploadStorageDependencies {
  readonly store: ArtifactStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  readonly space: StorageSpace;
  readonly limitsOf: (userId: number) => Promise<StorageLimits>;
  readonly clock: Clock;
}

/** A received file that is not kept yet. */
export interface ReceivedFile {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /**
   * Keeps the file until `expiresAt` (Unix milliseconds).
   * @param alongside further writes of the transaction that makes the file visible
   */
  keep(
    file: { readonly fileId: string; readonly mimeType: string; readonly expiresAt: number },
    alongside: (trx: Trx) => Promise<void>,
  ): Promise<void>;
  /** Releases the reserved space and removes the bytes unless they were kept. Must always be called. */
  release(): Promise<void>;
}

/** Receives the bytes of uploaded files into the space that the copies of videos share. */
export class UploadStorage {
  readonly #dependencies: UploadStorageDependencies;
  constructor(dependencies: UploadStorageDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Writes a file as it arrives and makes it durable.
   * @param announcedBytes the most it can have; undefined: unknown
   * @param inspect called for each chunk before it is written; may throw to refuse the file
   * @throws AppError `storage_full`, and the errors of `inspect` and of the body; nothing of the file is left then
   */
  async receive(
    userId: number,
    { body, announcedBytes }: { readonly body: Readable; readonly announcedBytes: number | undefined },
    inspect: (chunk: Buffer) => void,
  ): Promise<ReceivedFile> {
    const { incoming, space, limitsOf } = this.#dependencies;
    const id = randomText(24);
    const { bytes: limitBytes } = await limitsOf(userId);
    const reservation = await space
      .reserve(userId, announcedBytes, limitBytes)
      .catch((error: unknown) => this.#throwStorageError(error));
    let isKept = false;
    const release = async (): Promise<void> => {
      reservation.release();
      if (!isKept) await incoming.removeAll(id);
    };
    try {
      const path = await incoming.begin({ id, tries: 0 });
      const hash = createHash('sha256');
      let bytes = 0;
      const file = await open(path, 'w');
      try {
        for await (const chunk of body as AsyncIterable<Buffer>) {
          inspect(chunk);
          hash.update(chunk);
          await reservation.growTo(bytes + chunk.length);
          await writeAll(file, chunk);
          bytes += chunk.length;
        }
        await file.datasync();
      } finally {
        await file.close();
      }
      const sha256 = hash.digest('hex');
      return {
        bytes,
        sha256,
        keep: async (kept, alongside) => {
          await this.#keep({ ...kept, id, path, userId, bytes, sha256 }, alongside);
          isKept = true;
        },
        release,
      };
    } catch (error) {
      await release();
      return this.#throwStorageError(error);
    }
  }

  /** Row, file, confirmation: whatever ends in between is removed by the row that remains pending. */
  async #keep(
    file: {
      readonly id: string;
      readonly path: string;
      readonly fileId: string;
      readonly userId: number;
      readonly bytes: number;
      readonly sha256: string;
      readonly mimeType: string;
      readonly expiresAt: number;
    },
    alongside: (trx: Trx) => Promise<void>,
  ): Promise<void> {
    const { store, files, clock } = this.#dependencies;
    const { id, path, fileId: taskId, userId, bytes, sha256, mimeType, expiresAt } = file;
    const storedAt = clock.now();
    await store.insertReceived('upload', { id, taskId, userId }, storedAt);
    await files
      .put(id, path, { bytes, sha256 })
      // The store, and not the request, is at fault.
      .catch((error) =>
        this.#throwStorageError(isAppError(error) || isDeviceFull(error) ? error : unavailableError(error)),
      );
    const copy = { bytes, sha256, mimeType, storedAt, expiresAt };
    if (!(await store.confirm({ id, tries: 0 }, copy, alongside)))
      throw new Error('the row of an uploaded file was removed before the file was complete');
  }

  /** @throws AppError `storage_full` where space is missing, otherwise the error itself */
  async #throwStorageError(error: unknown): Promise<never> {
    if (isDeviceFull(error)) await this.#dependencies.space.noteDeviceFull();
    throw error instanceof NoSpaceError || isDeviceFull(error) ? new AppError('storage_full', { cause: error }) : error;
  }
}
