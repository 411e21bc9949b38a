import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { MetaTables } from './migrate.ts';

/** Larger than the free space usually left inside a database's existing pages. */
const PROBE_BYTES = 64 * 1024;

/** Remembers that a write failed because the database's disk was full, and detects when there is space again. */
export class DiskFullState {
  #isFull = false;

  noteFull(): void {
    this.#isFull = true;
  }

  /**
   * Writes nothing as long as no write has failed. After a failure, a larger value is stored and deleted again, because
   * a load balancer sends no requests to a process that is not ready, so no request would reveal the free space.
   * @throws DiskFullError while the disk is full
   */
  async assertFree<T>(database: Kysely<T>): Promise<void> {
    if (!this.#isFull) return;
    const kysely = database as unknown as Kysely<MetaTables>;
    const name = `space_check_${randomBytes(8).toString('hex')}`;
    // Random, because PostgreSQL compresses long values.
    const value = randomBytes(PROBE_BYTES / 2).toString('hex');
    await kysely.insertInto('meta').values({ name, value }).execute();
    await kysely.deleteFrom('meta').where('name', '=', name).execute();
    this.#isFull = false;
  }
}
