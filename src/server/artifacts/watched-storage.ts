import type { Readable } from 'node:stream';
import { DAY_MS } from '../../contract/time-units.ts';
import type { AdminNotice, Bilingual } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { FreshReadSingleFlight } from '../platform/concurrency.ts';
import { DatabaseUnavailableError } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { ArtifactStore } from './artifact-store.ts';
import type { ArtifactFileStorage, MarkedStorage } from './file-storage.ts';

interface WatchedStorageDependencies {
  readonly files: MarkedStorage;
  readonly store: Pick<ArtifactStore, 'listStored'>;
  /**
   * Notifies the administrators. Never throws.
   * @param reason why the place cannot be read; empty if its marker is missing
   */
  readonly onGone: (reason: string) => Promise<void>;
  /** How long a found marker counts for writes, milliseconds; a missing file always leads to a fresh check. */
  readonly recheckMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Stored copies that are looked for where there is no marker. */
const SAMPLE = 20;
/** Sent to callers; mounting a disk takes an operator minutes. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Distinguishes a missing file from a missing disk, or another bucket, by a marker beside the files. While the marker
 * is missing, nothing is written or removed, and reads fail with `unavailable` instead of finding nothing, since copies
 * taken for lost would end for good once their vendor has deleted the video.
 */
export class WatchedStorage implements ArtifactFileStorage {
  readonly #dependencies: WatchedStorageDependencies;
  /** A check that began before a file was found missing does not answer for it. */
  readonly #checks = new FreshReadSingleFlight(() => this.#check());
  /** By the monotonic clock. */
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: WatchedStorageDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws DatabaseUnavailableError */
  async isAvailable(maxAgeMs = this.#dependencies.recheckMs): Promise<boolean> {
    if (performance.now() - this.#seenAt < maxAgeMs) return true;
    return this.#checks.read();
  }

  async put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void> {
    await this.#assertAvailable();
    await this.#dependencies.files.put(id, path, copy);
  }

  open(id: string, start: number, end: number): Promise<Readable | undefined> {
    return this.#find(() => this.#dependencies.files.open(id, start, end));
  }

  async locate(id: string): Promise<string | undefined> {
    const { files } = this.#dependencies;
    return files.locate && this.#find(async () => files.locate?.(id));
  }

  size(id: string): Promise<number | undefined> {
    return this.#find(() => this.#dependencies.files.size(id));
  }

  async remove(id: string): Promise<void> {
    await this.#assertAvailable();
    await this.#dependencies.files.remove(id);
  }

  async *list(): AsyncGenerator<readonly { readonly id: string; readonly changedAt: number }[]> {
    await this.#assertAvailable();
    yield* this.#dependencies.files.list();
  }

  async freeBytes(): Promise<number | undefined> {
    await this.#assertAvailable();
    return this.#dependencies.files.freeBytes();
  }

  /** Returns undefined only if the file is missing from a store that is there. */
  async #find<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await read().catch((error: unknown) => {
      this.#dependencies.log.error({ err: error }, 'a stored file could not be read');
      throw unavailableError(error);
    });
    if (found === undefined) await this.#assertAvailable(0);
    return found;
  }

  async #assertAvailable(maxAgeMs?: number): Promise<void> {
    if (!(await this.isAvailable(maxAgeMs))) throw unavailableError();
  }

  async #check(): Promise<boolean> {
    const { files, log, onGone } = this.#dependencies;
    let reason = '';
    try {
      if ((await files.isMarked()) || (await this.#adopt())) {
        this.#seenAt = performance.now();
        return true;
      }
      log.error('the stored files are gone: their disk is not mounted, or it is another bucket');
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) throw error;
      log.error({ err: error }, 'the place of the stored files cannot be read');
      reason = error instanceof Error ? error.message : String(error);
    }
    await onGone(reason);
    return false;
  }

  /** Marks the place of the files at the first start, or if files of this service are there. */
  async #adopt(): Promise<boolean> {
    const { files, store } = this.#dependencies;
    const sample = await store.listStored('', SAMPLE);
    let isOurs = sample.length === 0;
    for (const { id } of sample) isOurs ||= (await files.size(id)) !== undefined;
    if (!isOurs) return false;
    await files.mark();
    // While files are being moved, the other place may be the one that is missing.
    return files.isMarked();
  }
}

const unavailableError = (cause?: unknown): AppError =>
  new AppError('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause, log: { why: 'stored files' } });

/**
 * Notified once a day while the files are gone.
 * @param place directory or bucket, and the name of the marker in it
 * @param reason why the place cannot be read; empty if the marker is missing
 */
export const storeGoneNotice = (place: string, reason: string, now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  title: { en: 'The stored videos cannot be reached', 'zh-CN': '无法访问已存储的视频' },
  content: reason === '' ? toMissingTexts(place) : toUnreadableTexts(place, reason),
  targetUrl: '',
  deduplicationKey: `storage.gone:${Math.floor(now / DAY_MS)}`,
});

const toMissingTexts = (place: string): Bilingual => ({
  en: `The files of stored videos are not where this service wrote them: ${place} is missing. Mount the disk of ARTIFACTS_DIR, or correct the settings of the bucket; until then videos come from their vendors, or are refused for the moment, and none is taken for lost. If the files are lost for good, create an empty ${place}. See docs/artifacts.md.`,
  'zh-CN': `已存储视频的文件不在本服务写入的位置：缺少 ${place}。请挂载 ARTIFACTS_DIR 所在磁盘，或更正存储桶设置；在此之前，视频由供应商提供或暂时无法访问，不会被视为丢失。如果文件确已永久丢失，请创建一个空的 ${place}。处理方法见 docs/artifacts.md。`,
});

const toUnreadableTexts = (place: string, reason: string): Bilingual => ({
  en: `${place} cannot be read or written: “${reason}”. Check the disk of ARTIFACTS_DIR, or the ARTIFACTS_S3_ settings and the bucket; until then videos come from their vendors, or are refused for the moment, and none is taken for lost. See docs/artifacts.md.`,
  'zh-CN': `无法读写 ${place}：“${reason}”。请检查 ARTIFACTS_DIR 所在磁盘，或 ARTIFACTS_S3_ 设置和存储桶；在此之前，视频由供应商提供或暂时无法访问，不会被视为丢失。处理方法见 docs/artifacts.md。`,
});
