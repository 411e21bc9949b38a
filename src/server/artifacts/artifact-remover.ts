import { HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { ArtifactStore, RemovalStore } from './artifact-store.ts';
import type { ArtifactFileStorage, IncomingFileDirectory } from './file-storage.ts';

/** Dependencies of {@link ArtifactRemover}. */
export interface ArtifactRemoverDependencies {
  readonly store: ArtifactStore;
  readonly removals: RemovalStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  readonly clock: Clock;
  readonly log: Log;
}

const BATCH = 200;
const ORPHAN_INTERVAL_MS = 6 * HOUR_MS;
/** A younger file may belong to a row that is still being written. */
const ORPHAN_AGE_MS = HOUR_MS;

/** Removes copies in the order mark, file, row, so that no file ever exists without a row. */
export class ArtifactRemover {
  readonly #dependencies: ArtifactRemoverDependencies;
  constructor(dependencies: ArtifactRemoverDependencies) {
    this.#dependencies = dependencies;
  }

  /** Removes the file and the row of a copy that is marked. */
  async remove(id: string): Promise<void> {
    const { removals, files, incoming } = this.#dependencies;
    // This order matters: a copy in progress can no longer be stored once its incoming file is gone.
    await incoming.removeAll(id);
    await files.remove(id);
    await removals.delete(id);
  }

  /** Removes expired copies, copies of removed accounts, and marked copies. */
  async removeEnded(): Promise<void> {
    const { removals, clock } = this.#dependencies;
    while ((await removals.markEnded(clock.now(), BATCH)) >= BATCH);
    for (;;) {
      const ids = await removals.listRemoving(BATCH);
      for (const id of ids) await this.remove(id);
      if (ids.length < BATCH) return;
    }
  }

  /**
   * Removes files that no row names, such as those left by restoring a database backup or placed by another program.
   */
  get orphanJob(): ScheduledJob {
    return {
      name: 'artifact orphans',
      intervalMs: ORPHAN_INTERVAL_MS,
      run: (signal) => this.removeOrphans(signal),
    };
  }

  async removeOrphans(signal?: AbortSignal): Promise<void> {
    const { store, files, incoming, clock, log } = this.#dependencies;
    const before = clock.now() - ORPHAN_AGE_MS;
    await incoming.removeOlder(before);
    let removed = 0;
    for await (const batch of files.list()) {
      if (signal?.aborted === true) return;
      const old = batch.filter(({ changedAt }) => changedAt < before).map(({ id }) => id);
      const known = old.length === 0 ? new Set() : await store.findKnown(old);
      for (const id of old.filter((each) => !known.has(each))) {
        await files.remove(id);
        removed += 1;
      }
    }
    if (removed > 0) log.warn({ removed }, 'removed files of videos that no row names');
  }
}
