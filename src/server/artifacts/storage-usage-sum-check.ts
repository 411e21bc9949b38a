import { HOUR_MS } from '../../contract/time-units.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { StorageUsageStore } from './storage-usage-store.ts';

const INTERVAL_MS = 6 * HOUR_MS;

/** Compares the sums of stored space with the copies they are of, and keeps the outcome for the metrics. */
export class StorageUsageSumCheck {
  readonly #usage: StorageUsageStore;
  readonly #log: Log;
  #wrong: number | undefined;

  constructor(usage: StorageUsageStore, log: Log) {
    this.#usage = usage;
    this.#log = log;
  }

  /** Sums that differed when this process last checked; undefined: it has not, another process does. */
  get wrongSums(): number | undefined {
    return this.#wrong;
  }

  get job(): ScheduledJob {
    return { name: 'artifact sums', intervalMs: INTERVAL_MS, run: () => this.#run() };
  }

  async #run(): Promise<void> {
    this.#wrong = await this.#usage.countWrong();
    if (this.#wrong > 0)
      this.#log.error({ sums: this.#wrong }, 'sums of stored space differ from the copies; `check` names them');
  }
}
