import type { Insertable, Selectable } from 'kysely';
import { INCIDENTS, type IncidentId, PRODUCT_AREAS } from '../../contract/service.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics, Sample } from '../platform/metrics.ts';
import type { Tables } from '../tables.ts';
import {
  type AffectedAreas,
  allAreas,
  areasOfFailedCalls,
  DayFiguresStore,
  mergeAreas,
  OutageStore,
} from './outages.ts';

/** Dependencies of {@link IncidentRecorder}. */
interface IncidentRecorderDependencies {
  readonly store: Pick<InstanceStore, 'save' | 'remove' | 'removeUnseenSince' | 'list'>;
  readonly outages: Pick<OutageStore, 'update' | 'add' | 'removeForgotten'>;
  readonly metrics: Pick<Metrics, 'values'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Name and version of this process. */
  readonly instance: { readonly name: string; readonly version: string };
}

/** An incident and when this process first saw it, Unix milliseconds. */
type SeenIncident = OpenIncident & { readonly since: number };

const PERIOD_MS = 30_000;
const WINDOW_MS = 600_000;
/** A process not seen for this long is removed from the list. */
const FORGOTTEN_MS = DAY_MS;

/** Watches this process's metrics and stores its incidents in its row, which every process can read. */
export class IncidentRecorder {
  readonly #dependencies: IncidentRecorderDependencies;
  readonly #startedAt: number;
  readonly #since = new Map<IncidentId, number>();
  #readings: readonly Reading[] = [];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(dependencies: IncidentRecorderDependencies) {
    this.#dependencies = dependencies;
    this.#startedAt = dependencies.clock.now();
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), PERIOD_MS).unref();
    void this.check();
  }

  /** Waits for a running check and removes this process from the list. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    const { store, instance, log } = this.#dependencies;
    await store.remove(instance.name).catch((error: unknown) => log.debug({ err: error }, 'the process stays listed'));
  }

  /** Checks once, now; checks never overlap. Never rejects. */
  check(): Promise<void> {
    const { log } = this.#dependencies;
    this.#running ??= this.#check()
      // An unavailable database is already reported everywhere else.
      .catch((error: unknown) => log.debug({ err: error }, 'incidents could not be written'))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #check(): Promise<void> {
    const { store, outages, clock, instance } = this.#dependencies;
    const at = clock.now();
    const reading: Reading = { at, values: await this.#read() };
    this.#readings = [...this.#readings.filter((each) => each.at > at - WINDOW_MS), reading];
    const open = findIncidents(this.#readings);
    for (const id of this.#since.keys()) if (!open.some((each) => each.id === id)) this.#since.delete(id);
    for (const { id } of open) if (!this.#since.has(id)) this.#since.set(id, at);
    const seen: SeenIncident[] = open.map((each) => ({ ...each, since: this.#since.get(each.id) ?? at }));
    const lastSeen = Math.max(...(await store.list()).map((row) => row.seen_at));
    // No process reported: none was running, or the database was unreachable.
    if (Number.isFinite(lastSeen) && at - lastSeen > UNRESPONSIVE_AFTER_MS)
      await outages.add(
        PRODUCT_AREAS.map((area) => ({ area, level: 'down', started_at: lastSeen, ended_at: at }) as const),
      );
    await store.save({
      ...instance,
      started_at: this.#startedAt,
      seen_at: at,
      incidents: JSON.stringify(seen),
      areas: JSON.stringify(findAffectedAreas(this.#readings)),
    });
    await outages.update(mergeInstanceAreas(await store.list(), at), at);
    await store.removeUnseenSince(at - FORGOTTEN_MS);
    await outages.removeForgotten(at);
  }

  async #read(): Promise<Reading['values']> {
    const { metrics } = this.#dependencies;
    const entries = await Promise.all(WATCHED_METRICS.map(async (name) => [name, await metrics.values(name)] as const));
    return Object.fromEntries(entries) as Record<WatchedMetric, (typeof entries)[number][1]>;
  }
}

/** The metrics the rules read, without their prefix. */
export const WATCHED_METRICS = [
  'upstream_calls_total',
  'upstream_call_seconds',
  'db_query_seconds',
  'db_pool_connections',
  'database_up',
  'disk_free_bytes',
  'disk_size_bytes',
  'mail_server_calls_total',
  'task_oldest_due_seconds',
  'ledger_audit_ok',
  'reconciliation_unexplained_units',
  'webhook_backlog',
] as const;
/** A metric the rules read. */
export type WatchedMetric = (typeof WATCHED_METRICS)[number];

/** One reading of the watched metrics. Samples of histograms have the label `part`: `bucket`, `sum` or `count`. */
export interface Reading {
  /** Unix milliseconds. */
  readonly at: number;
  readonly values: Readonly<Record<WatchedMetric, readonly Sample[]>>;
}

/** An incident as seen by one process. */
interface OpenIncident {
  readonly id: IncidentId;
  /** Vendors, channel ids or volumes. */
  readonly subjects: readonly string[];
}

const LEAST_CALLS = 3;
const SLOW_CALL_SECONDS = 5;
const SLOW_QUERY_SECONDS = 0.1;
const LEAST_FREE = 0.1;
const LATE_SECONDS = 120;
const NO_FAULT = new Set(['user', 'policy']);
const BROKEN = new Set(['unreachable', 'capacity']);

type Labels = Readonly<Record<string, string>>;

/**
 * The incidents of docs/runbook.md that one process can detect, by the rules of deploy/alerts.yml applied to the time
 * between its oldest and its newest reading (ten minutes once it has run that long).
 *
 * @param readings oldest first, at least one
 */
export function findIncidents(readings: readonly Reading[]): OpenIncident[] {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) return [];
  const now = last.values;
  const grown = (metric: WatchedMetric): Sample[] => increase(first.values[metric], now[metric]);
  const calls = grown('upstream_calls_total');
  const found: readonly (readonly [IncidentId, readonly string[]])[] = [
    ['vendor_down', vendorsDown(calls)],
    ['vendor_slow', vendorsSlow(grown('upstream_call_seconds'))],
    ['key_revoked', subjectsOf(calls, 'channel', ({ outcome }) => outcome === 'auth')],
    ['no_balance', subjectsOf(calls, 'channel', ({ outcome }) => outcome === 'billing')],
    ['database_slow', isDatabaseSlow(grown('db_query_seconds'), readings) ? ['database'] : []],
    ['database_gone', now.database_up[0]?.value === 0 ? ['database'] : []],
    ['disk_nearly_full', fullVolumes(now)],
    ['mail_server_gone', isMailGone(grown('mail_server_calls_total')) ? ['mail'] : []],
    ['backlog_grows', (now.task_oldest_due_seconds[0]?.value ?? 0) > LATE_SECONDS ? ['videos'] : []],
    ['ledger_mismatch', now.ledger_audit_ok[0]?.value === 0 ? ['ledger'] : []],
    ['billing_difference', unexplainedChannels(now)],
    ['webhook_target_dead', isBacklogged(readings) ? ['webhooks'] : []],
  ];
  return found.filter(([, subjects]) => subjects.length > 0).map(([id, subjects]) => ({ id, subjects }));
}

/** The product areas that do not work for their users, by the same readings as {@link findIncidents}. */
export function findAffectedAreas(readings: readonly Reading[]): AffectedAreas {
  const [first, last] = [readings[0], readings.at(-1)];
  if (first === undefined || last === undefined) return {};
  const open = new Set(findIncidents(readings).map(({ id }) => id));
  return mergeAreas([
    areasOfFailedCalls(increase(first.values.upstream_calls_total, last.values.upstream_calls_total)),
    open.has('database_gone') ? allAreas('down') : {},
    open.has('database_slow') ? allAreas('limited') : {},
    open.has('backlog_grows') ? { video: 'limited' } : {},
  ]);
}

const keyOf = ({ labels = {} }: Sample): string =>
  JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => one.localeCompare(other)));

/** The increase of each counter; a counter missing before started at 0. */
function increase(before: readonly Sample[], now: readonly Sample[]): Sample[] {
  const known = new Map(before.map((sample) => [keyOf(sample), sample.value]));
  return now.map((sample) => ({ ...sample, value: sample.value - (known.get(keyOf(sample)) ?? 0) }));
}

const sumOf = (samples: readonly Sample[], fits: (labels: Labels) => boolean): number =>
  samples.reduce((sum, { labels = {}, value }) => (fits(labels) ? sum + value : sum), 0);

const valuesOf = (samples: readonly Sample[], label: string): string[] => [
  ...new Set(samples.flatMap(({ labels }) => labels?.[label] ?? [])),
];

/** The values of a label whose fitting samples add up to more than 0. One pass: there may be thousands of channels. */
function subjectsOf(samples: readonly Sample[], label: string, fits: (labels: Labels) => boolean): string[] {
  const sums = new Map<string, number>();
  for (const { labels = {}, value } of samples) {
    const subject = labels[label];
    if (subject !== undefined) sums.set(subject, (sums.get(subject) ?? 0) + (fits(labels) ? value : 0));
  }
  return [...sums].filter(([, sum]) => sum > 0).map(([subject]) => subject);
}

/** More than half of the calls that callers are not to blame for got no response, or a 5xx. */
const vendorsDown = (calls: readonly Sample[]): string[] =>
  valuesOf(calls, 'vendor').filter((vendor) => {
    const own = calls.filter(({ labels }) => labels?.vendor === vendor);
    const broken = sumOf(own, ({ outcome = '' }) => BROKEN.has(outcome));
    return broken >= LEAST_CALLS && broken > 0.5 * sumOf(own, ({ outcome = '' }) => !NO_FAULT.has(outcome));
  });

/** A tenth of the submits and polls took longer than five seconds. */
const vendorsSlow = (seconds: readonly Sample[]): string[] =>
  valuesOf(seconds, 'vendor').filter((vendor) => {
    const own = (labels: Labels): boolean =>
      labels.vendor === vendor && (labels.kind === 'submit' || labels.kind === 'poll');
    const all = sumOf(seconds, (labels) => own(labels) && labels.part === 'count');
    const fast = sumOf(
      seconds,
      (labels) => own(labels) && labels.part === 'bucket' && Number(labels.le) === SLOW_CALL_SECONDS,
    );
    return all >= LEAST_CALLS && fast < 0.9 * all;
  });

function isDatabaseSlow(queries: readonly Sample[], readings: readonly Reading[]): boolean {
  const count = sumOf(queries, ({ part }) => part === 'count');
  const seconds = sumOf(queries, ({ part }) => part === 'sum');
  const isWaiting = ({ values }: Reading): boolean =>
    sumOf(values.db_pool_connections, ({ state }) => state === 'waiting') > 0;
  return (count > 0 && seconds / count > SLOW_QUERY_SECONDS) || (readings.length > 1 && readings.every(isWaiting));
}

const fullVolumes = (now: Reading['values']): string[] =>
  now.disk_free_bytes.flatMap(({ labels, value }) => {
    const size = now.disk_size_bytes.find((sample) => sample.labels?.volume === labels?.volume)?.value ?? 0;
    return size > 0 && value / size < LEAST_FREE ? [labels?.volume ?? ''] : [];
  });

const unexplainedChannels = (now: Reading['values']): string[] =>
  now.reconciliation_unexplained_units.flatMap(({ labels, value }) => (value === 0 ? [] : (labels?.channel ?? [])));

const isMailGone = (calls: readonly Sample[]): boolean =>
  sumOf(calls, ({ outcome }) => outcome === 'unavailable' || outcome === 'uncertain') > 0 &&
  sumOf(calls, ({ outcome }) => outcome === 'ok') === 0;

/** Every reading has an overdue delivery. */
const isBacklogged = (readings: readonly Reading[]): boolean =>
  readings.length > 1 && readings.every(({ values }) => (values.webhook_backlog[0]?.value ?? 0) > 0);

type InstanceRow = Selectable<Tables['instances']>;

/** SQL of `instances`: the running processes and when each was last seen. */
export class InstanceStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async save(row: Insertable<Tables['instances']>): Promise<void> {
    await this.#database.kysely
      .insertInto('instances')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
  }

  async remove(name: string): Promise<void> {
    await this.#database.kysely.deleteFrom('instances').where('name', '=', name).execute();
  }

  async removeUnseenSince(before: number): Promise<void> {
    await this.#database.kysely.deleteFrom('instances').where('seen_at', '<', before).execute();
  }

  list(): Promise<InstanceRow[]> {
    return this.#database.kysely.selectFrom('instances').selectAll().orderBy('name').execute();
  }
}

/** Three periods: a check may be late under load. */
const UNRESPONSIVE_AFTER_MS = 90_000;

/** Whether a process has been seen recently enough to count as running. */
export const isResponsive = ({ seen_at: seenAt }: Pick<InstanceRow, 'seen_at'>, now: number): boolean =>
  now - seenAt <= UNRESPONSIVE_AFTER_MS;

/** Every incident, merged from those that responsive processes see. An unresponsive process is an incident itself. */
export function mergeInstanceIncidents(instances: readonly InstanceRow[], now: number) {
  const unresponsive = instances.filter((row) => !isResponsive(row, now));
  const seen: SeenIncident[] = instances
    .filter((row) => isResponsive(row, now))
    .flatMap(({ incidents }) => JSON.parse(incidents) as SeenIncident[]);
  for (const { name, seen_at: since } of unresponsive) seen.push({ id: 'replica_frozen', subjects: [name], since });
  return (Object.keys(INCIDENTS) as IncidentId[]).map((id) => {
    const own = seen.filter((each) => each.id === id);
    return {
      id,
      severity: INCIDENTS[id],
      is_open: own.length > 0,
      since: own.length === 0 ? 0 : Math.min(...own.map(({ since }) => since)),
      subjects: [...new Set(own.flatMap(({ subjects }) => subjects))].sort(),
    };
  });
}

/** The product areas that responsive processes see affected. */
export const mergeInstanceAreas = (instances: readonly InstanceRow[], now: number): AffectedAreas =>
  mergeAreas(instances.filter((row) => isResponsive(row, now)).map(({ areas }) => JSON.parse(areas) as AffectedAreas));

interface ServiceStatusDependencies extends Omit<IncidentRecorderDependencies, 'store' | 'outages'> {
  readonly database: Database<Tables>;
}

/** The service status, as used by other capabilities. */
export interface ServiceStatus {
  readonly instances: InstanceStore;
  readonly outages: OutageStore;
  readonly overview: DayFiguresStore;
  readonly monitor: IncidentRecorder;
}

/** Assembles the monitoring of incidents and processes. */
export function makeServiceStatus({ database, ...dependencies }: ServiceStatusDependencies): ServiceStatus {
  const instances = new InstanceStore(database);
  const outages = new OutageStore(database);
  const monitor = new IncidentRecorder({ ...dependencies, store: instances, outages });
  return { instances, outages, overview: new DayFiguresStore(database), monitor };
}
