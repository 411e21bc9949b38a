import { HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { ArtifactStore, RemovalStore } from './artifact-store.ts';
import type { ArtifactFileStorage, IncomingFileDirectory } from './file-storage.ts';

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
/** A younger file may belong to a row that is being written. */
const ORPHAN_AGE_MS = HOUR_MS;

/** Removes copies: first the mark in the row, then the file, then the row, so that a file without a row never comes about. */
export class ArtifactRemover {
  readonly #dependencies: ArtifactRemoverDependencies;
  constructor(dependencies: ArtifactRemoverDependencies) {
    this.#dependencies = dependencies;
  }

  /** Of a copy that is marked. */
  async remove(id: string): Promise<void> {
    const { removals, files, incoming } = this.#dependencies;
    // In this order: a copy under way cannot be taken over any more once its file is gone from here.
    await incoming.removeAll(id);
    await files.remove(id);
    await removals.delete(id);
  }

  /** Removes what has passed its time, what belongs to removed accounts, and what is marked. */
  async removeEnded(): Promise<void> {
    const { removals, clock } = this.#dependencies;
    while ((await removals.markEnded(clock.now(), BATCH)) >= BATCH);
    for (;;) {
      const ids = await removals.listRemoving(BATCH);
      for (const id of ids) await this.remove(id);
      if (ids.length < BATCH) return;
    }
  }

  /** Removes files that no row names: those of a database that was restored from a backup, or of a foreign hand. */
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
