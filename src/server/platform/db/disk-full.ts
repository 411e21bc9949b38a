import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { MetaTables } from './migrate.ts';

/** More than what is usually free inside the pages a database has already. */
const PROBE_BYTES = 64 * 1024;

/** Remembers that a write found no space on the database's disk, and finds out when there is some again. */
export class DiskFullState {
  #isFull = false;

  noteFull(): void {
    this.#isFull = true;
  }

  /**
   * Nothing is written as long as no write has failed. After that one larger value is stored and deleted again: no request
   * may come that would show it, since a load balancer sends none to a process that is not ready.
   *
   * @throws DiskFullError as long as there is no space
   */
  async assertFree<T>(database: Kysely<T>): Promise<void> {
    if (!this.#isFull) return;
    const kysely = database as unknown as Kysely<MetaTables>;
    const name = `space_check_${randomBytes(8).toString('hex')}`;
    // Random, since PostgreSQL compresses long values.
    const value = randomBytes(PROBE_BYTES / 2).toString('hex');
    await kysely.insertInto('meta').values({ name, value }).execute();
    await kysely.deleteFrom('meta').where('name', '=', name).execute();
    this.#isFull = false;
  }
}
