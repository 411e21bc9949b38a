import type { IncidentId } from '../../contract/admin-service-status.ts';
import type { Sample } from '../platform/metrics.ts';

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
export type WatchedMetric = (typeof WATCHED_METRICS)[number];

/** One reading of them. Samples of histograms have the label `part`: `bucket`, `sum` or `count`. */
export interface Reading {
  /** Unix milliseconds. */
  readonly at: number;
  readonly values: Readonly<Record<WatchedMetric, readonly Sample[]>>;
}

/** An incident as one process sees it. */
export interface OpenIncident {
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
 * The incidents of docs/runbook.md that one process can see, by the rules of deploy/alerts.yml over the time between its oldest
 * and its newest reading (ten minutes once it has run as long).
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

const keyOf = ({ labels = {} }: Sample): string =>
  JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => one.localeCompare(other)));

/** What counters have gained; one that was not there began at 0. */
function increase(before: readonly Sample[], now: readonly Sample[]): Sample[] {
  const known = new Map(before.map((sample) => [keyOf(sample), sample.value]));
  return now.map((sample) => ({ ...sample, value: sample.value - (known.get(keyOf(sample)) ?? 0) }));
}

const sumOf = (samples: readonly Sample[], fits: (labels: Labels) => boolean): number =>
  samples.reduce((sum, { labels = {}, value }) => (fits(labels) ? sum + value : sum), 0);

const valuesOf = (samples: readonly Sample[], label: string): string[] => [
  ...new Set(samples.flatMap(({ labels }) => labels?.[label] ?? [])),
];

const subjectsOf = (samples: readonly Sample[], label: string, fits: (labels: Labels) => boolean): string[] =>
  valuesOf(samples, label).filter((value) => sumOf(samples, (each) => each[label] === value && fits(each)) > 0);

/** More than half of what callers are not to blame for got no answer, or one of 5xx. */
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

/** Never a moment without an overdue delivery. */
const isBacklogged = (readings: readonly Reading[]): boolean =>
  readings.length > 1 && readings.every(({ values }) => (values.webhook_backlog[0]?.value ?? 0) > 0);
