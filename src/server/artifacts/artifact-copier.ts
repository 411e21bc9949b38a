import { DAY_MS } from '../../contract/time-units.ts';
import { isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { StorageLimits } from './account-storage-limits.ts';
import type { ArtifactFileStorage } from './artifact-file-storage-type.ts';
import type { ArtifactStore, Claim } from './artifact-store.ts';
import type { CopiesUnderWay } from './copies-under-way.ts';
import type { DescribeVideo } from './expiry-notices.ts';
import { type CopiedFile, type CopySource, IncomingCopy } from './incoming-copy.ts';
import type { IncomingFileDirectory } from './incoming-file-directory.ts';
import type { OpenCover, Posters } from './poster-creation-and-upload.ts';
import { NoSpaceError, type StorageSpace } from './storage-space-reservation-and-eviction.ts';

/** Opens the file of a task where its vendor keeps it; undefined: the task has none to copy any more. */
export type OpenSource = (taskId: string, signal: AbortSignal) => Promise<CopySource | undefined>;

/** Where the files of videos come from. */
export interface VideoSources {
  readonly openVideo: OpenSource;
  readonly openCover?: OpenCover;
  /** What events tell of a video. */
  readonly describe?: DescribeVideo;
}

export interface ArtifactCopierDependencies {
  readonly store: ArtifactStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  readonly space: StorageSpace;
  readonly copies: CopiesUnderWay;
  readonly posters: Posters;
  readonly limitsOf: (userId: number) => Promise<StorageLimits>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Copies of one process at a time: most of them wait for vendors, each has less than 200 KiB in memory. */
export const MAX_COPIES = 200;
const LEASE_MS = 90_000;
const RENEW_MS = 30_000;
const POLL_MS = 2_000;
/** Waits after the first, second, … failed try; the last one repeats. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000] as const;
/** The vendor said so many times that it has no such file. */
const TRIES_OF_GONE = 4;
/** No vendor keeps files much longer. */
const GIVE_UP_MS = 7 * DAY_MS;
const MAX_ERROR_LENGTH = 300;
const DEVICE_FULL = new Set(['ENOSPC', 'EDQUOT']);

/** The task has been deleted, or its vendor has no file of it. */
class SourceGoneError extends Error {}

/** Copies finished videos in the background: each is claimed by one process, tried again until its vendor has it no more. */
export class ArtifactCopier {
  readonly #dependencies: ArtifactCopierDependencies;
  readonly #sources: VideoSources;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #isAwaited = false;

  constructor(dependencies: ArtifactCopierDependencies, sources: VideoSources) {
    this.#dependencies = dependencies;
    this.#sources = sources;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), POLL_MS);
    this.wake();
  }

  /** Ends copies under way; they begin again with the next process. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stopping.abort();
    await this.#filling;
    await Promise.all(this.#running);
  }

  /** Begins what is due soon; never throws. */
  wake(): void {
    if (this.#timer === undefined) return;
    this.#isAwaited = true;
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#dependencies.log.error({ err: error }, 'copies could not be begun'))
      .finally(() => {
        this.#filling = undefined;
      });
  }

  async #fill(): Promise<void> {
    const { store, clock } = this.#dependencies;
    while (this.#isAwaited && !this.#stopping.signal.aborted && this.#running.size < MAX_COPIES) {
      this.#isAwaited = false;
      const free = MAX_COPIES - this.#running.size;
      const claims = await store.claimDue(clock.now(), LEASE_MS, free);
      for (const claim of claims) this.#begin(claim);
    }
  }

  #begin(claim: Claim): void {
    const run = this.#copy(claim)
      .catch((error: unknown) =>
        this.#dependencies.log.error({ err: error, artifactId: claim.id }, 'a copy failed unexpectedly'),
      )
      .finally(() => {
        this.#running.delete(run);
        this.wake();
      });
    this.#running.add(run);
  }

  async #copy(claim: Claim): Promise<void> {
    const { store, clock } = this.#dependencies;
    const ending = new AbortController();
    const renewal = setInterval(() => {
      store.renew(claim, clock.now() + LEASE_MS).then(
        (isOurs) => isOurs || ending.abort(),
        () => {},
      );
    }, RENEW_MS);
    try {
      const signal = AbortSignal.any([this.#stopping.signal, ending.signal]);
      if (!(await this.#recover(claim))) await this.#copyFromVendor(claim, signal);
    } catch (error) {
      await this.#handleFailure(claim, error);
    } finally {
      clearInterval(renewal);
    }
  }

  /** A process died between taking the file over and confirming it. @returns whether it is confirmed now */
  async #recover(claim: Claim): Promise<boolean> {
    if (claim.tries === 1) return false;
    const { files, incoming, log } = this.#dependencies;
    const bytes = await files.size(claim.id);
    const body = bytes === undefined ? undefined : await files.open(claim.id, 0, bytes - 1);
    if (body === undefined) return false;
    const path = await incoming.begin(claim);
    try {
      await this.#confirm(claim, await new IncomingCopy(path, bytes).receive(body, async () => {}));
      return true;
    } catch (error) {
      log.warn({ err: error, artifactId: claim.id }, 'an unconfirmed file is copied again');
      return false;
    } finally {
      await incoming.removeAll(claim.id);
    }
  }

  async #copyFromVendor(claim: Claim, signal: AbortSignal): Promise<void> {
    const { files, incoming, space, copies, posters, limitsOf, store, clock } = this.#dependencies;
    const source = await this.#openSource(claim.task_id, signal);
    const limits = await limitsOf(claim.user_id);
    const reservation = await space.reserve(claim.user_id, source.bytes, limits.bytes).catch((error: unknown) => {
      source.body.destroy();
      throw error;
    });
    const copy = new IncomingCopy(await incoming.begin(claim), source.bytes);
    copies.add(claim.task_id, copy);
    try {
      const copied = await copy.receive(source.body, (bytes) => reservation.growTo(bytes));
      await posters.make({ taskId: claim.task_id, userId: claim.user_id }, copy.path, this.#sources.openCover, signal);
      // Who has lost the claim must not touch what its new holder has put there.
      if (!(await store.renew(claim, clock.now() + LEASE_MS))) throw new SourceGoneError('the copy is not wanted');
      await files.put(claim.id, copy.path, copied);
      await this.#confirm(claim, copied);
    } finally {
      copies.remove(claim.task_id, copy);
      reservation.release();
    }
  }

  async #openSource(taskId: string, signal: AbortSignal): Promise<CopySource> {
    try {
      const source = await this.#sources.openVideo(taskId, signal);
      if (source !== undefined) return source;
    } catch (error) {
      if (!isAppError(error, 'content_not_found')) throw error;
    }
    throw new SourceGoneError('the vendor has no such file');
  }

  async #confirm(claim: Claim, { bytes, sha256, mimeType }: CopiedFile): Promise<void> {
    const { store, files, limitsOf, clock } = this.#dependencies;
    const { days } = await limitsOf(claim.user_id);
    const storedAt = clock.now();
    const expiresAt = days === 0 ? null : storedAt + days * DAY_MS;
    if (await store.confirm(claim, { bytes, sha256, mimeType, storedAt, expiresAt })) return;
    // The video was deleted meanwhile, and its row may be gone already.
    const row = await store.findByTask(claim.task_id);
    if (row === undefined || row.state === 'removing') await files.remove(claim.id);
  }

  async #handleFailure(claim: Claim, error: unknown): Promise<void> {
    const { store, incoming, space, clock, log } = this.#dependencies;
    await incoming.removeAll(claim.id);
    if (DEVICE_FULL.has((error as NodeJS.ErrnoException).code ?? '')) await space.noteDeviceFull();
    const now = clock.now();
    // The next process goes on with it at once.
    if (this.#stopping.signal.aborted) return store.defer(claim, now, 'the process stopped');
    const message = error instanceof Error ? error.message : String(error);
    const isFinal =
      (error instanceof SourceGoneError && claim.tries >= TRIES_OF_GONE) ||
      (error instanceof NoSpaceError && error.isPermanent) ||
      now - claim.created_at > GIVE_UP_MS;
    const waitMs = RETRY_MS[Math.min(claim.tries, RETRY_MS.length) - 1] ?? 0;
    log.info({ err: error, taskId: claim.task_id, tries: claim.tries, isFinal }, 'a video could not be copied');
    await store.defer(claim, isFinal ? null : now + waitMs, message.slice(0, MAX_ERROR_LENGTH));
  }
}
