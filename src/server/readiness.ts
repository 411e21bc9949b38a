import { setTimeout as delay } from 'node:timers/promises';
import type { NotReadyReason } from '../contract/health-and-status.ts';
import { SingleFlight } from './platform/concurrency.ts';
import { type Database, DiskFullError } from './platform/db/database.ts';

/** A health check is answered within two seconds, whatever the database does. */
const DEADLINE_MS = 1_500;

/** Whether this process should be sent requests, for load balancers. */
export class Readiness {
  readonly #database: Pick<Database<unknown>, 'ping'>;
  /** Checks that come while one waits share it: they must not pile up in front of a database that is silent. */
  readonly #pings = new SingleFlight<NotReadyReason | undefined>();
  #draining = false;

  constructor(database: Pick<Database<unknown>, 'ping'>) {
    this.#database = database;
  }

  /** From now on requests should go to other processes. */
  drain(): void {
    this.#draining = true;
  }

  /** Why this process is not ready; undefined when it is. Resolves within two seconds. */
  async notReadyReason(): Promise<NotReadyReason | undefined> {
    if (this.#draining) return 'draining';
    const answered = new AbortController();
    const late = delay(DEADLINE_MS, 'database' as const, { signal: answered.signal }).catch(() => undefined);
    const notReadyReason = await Promise.race([this.#pings.run('', () => this.#ping()), late]);
    answered.abort();
    return notReadyReason;
  }

  #ping(): Promise<NotReadyReason | undefined> {
    return this.#database.ping().then(
      () => undefined,
      (error: unknown) => (error instanceof DiskFullError ? 'disk_full' : 'database'),
    );
  }
}
