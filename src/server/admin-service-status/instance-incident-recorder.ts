import type { IncidentId } from '../../contract/admin-service-status.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import {
  findIncidents,
  type OpenIncident,
  type Reading,
  WATCHED_METRICS,
  type WatchedMetric,
} from './incident-rules.ts';
import type { InstanceStore } from './instance-store.ts';

export interface InstanceIncidentRecorderDependencies {
  readonly store: Pick<InstanceStore, 'save' | 'remove' | 'removeUnseenSince'>;
  readonly metrics: Pick<Metrics, 'values'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Of this process. */
  readonly instance: { readonly name: string; readonly version: string };
}

/** An incident with the time since when this process has seen it, Unix milliseconds. */
export type SeenIncident = OpenIncident & { readonly since: number };

const PERIOD_MS = 30_000;
const WINDOW_MS = 600_000;
/** A process that is gone this long is forgotten. */
const FORGOTTEN_MS = DAY_MS;

/** Watches the metrics of this process and writes what it finds to its row, which every process can read. */
export class InstanceIncidentRecorder {
  readonly #dependencies: InstanceIncidentRecorderDependencies;
  readonly #startedAt: number;
  readonly #since = new Map<IncidentId, number>();
  #readings: readonly Reading[] = [];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(dependencies: InstanceIncidentRecorderDependencies) {
    this.#dependencies = dependencies;
    this.#startedAt = dependencies.clock.now();
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), PERIOD_MS).unref();
    void this.check();
  }

  /** Waits for a check that is running, and takes this process off the list. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    const { store, instance, log } = this.#dependencies;
    await store.remove(instance.name).catch((error: unknown) => log.debug({ err: error }, 'the process stays listed'));
  }

  /** Reads and writes once, now; checks never overlap. Never rejects. */
  check(): Promise<void> {
    const { log } = this.#dependencies;
    this.#running ??= this.#check()
      // While the database is gone, everything else reports it.
      .catch((error: unknown) => log.debug({ err: error }, 'incidents could not be written'))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #check(): Promise<void> {
    const { store, clock, instance } = this.#dependencies;
    const at = clock.now();
    const reading: Reading = { at, values: await this.#read() };
    this.#readings = [...this.#readings.filter((each) => each.at > at - WINDOW_MS), reading];
    const open = findIncidents(this.#readings);
    for (const id of this.#since.keys()) if (!open.some((each) => each.id === id)) this.#since.delete(id);
    for (const { id } of open) if (!this.#since.has(id)) this.#since.set(id, at);
    const seen: SeenIncident[] = open.map((each) => ({ ...each, since: this.#since.get(each.id) ?? at }));
    await store.save({ ...instance, started_at: this.#startedAt, seen_at: at, incidents: JSON.stringify(seen) });
    await store.removeUnseenSince(at - FORGOTTEN_MS);
  }

  async #read(): Promise<Reading['values']> {
    const { metrics } = this.#dependencies;
    const entries = await Promise.all(WATCHED_METRICS.map(async (name) => [name, await metrics.values(name)] as const));
    return Object.fromEntries(entries) as Record<WatchedMetric, (typeof entries)[number][1]>;
  }
}
