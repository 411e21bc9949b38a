import { setTimeout as delay } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from '@prometheus-io/client';
import { getOrMakeEntry } from './cache.ts';

/** One finished call to an upstream. All but `channelId` are of closed sets. */
export interface UpstreamCallRecord {
  readonly vendor: string;
  readonly channelId: number;
  /** What was called for: `submit`, `poll`, `chat`, `image`, `probe`. */
  readonly kind: string;
  /** `ok`, or why it failed. */
  readonly outcome: string;
  /** From the request to its outcome; undefined where nothing was measured. */
  readonly seconds: number | undefined;
}

/**
 * Prometheus metrics (docs/metrics.md lists them). Label values are of closed sets or ids of rows that administrators make:
 * what callers send never becomes one, since every value is a series that Prometheus keeps.
 */
export interface Metrics {
  /** @param route the pattern of the route, `none` for an unknown path */
  recordRequest(route: string, method: string, status: number, seconds: number): void;
  recordUpstreamCall(call: UpstreamCallRecord): void;
  /** Reservations closed by a committed transaction. */
  recordSettlements(kind: 'settle' | 'refund', count: number): void;
  recordQuery(seconds: number): void;
  /** One operation at the mail server that keeps the mailboxes. */
  recordMailServerCall(outcome: string): void;
  /** Values read when the metrics are requested. */
  register(metric: OnDemandGauge): void;
  /** All values of one metric now, without the prefix; a histogram's have the label `part`: `bucket`, `sum` or `count`. */
  values(name: string): Promise<readonly Sample[]>;
  /** The whole page, in Prometheus' text form. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** `ok`, then the kinds of failures of a mail server. */
const MAIL_SERVER_OUTCOMES = ['ok', 'unavailable', 'uncertain', 'taken', 'rejected'] as const;
const PREFIX = 'reelgate_';
const REQUEST_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];
/** Vendors answer within seconds, models within minutes. */
const UPSTREAM_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const QUERY_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/**
 * @param version of this package, for `build_info`
 * @param outcomes every outcome a call to an upstream can have
 */
export function createMetrics(version: string, outcomes: readonly string[] = []): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    new SeriesHistogram({ name: PREFIX + name, help, buckets }, registry);
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name: PREFIX + name, help, labelNames: [...labelNames], registers });

  new Gauge({ name: `${PREFIX}build_info`, help: 'Always 1.', labelNames: ['version'], registers })
    .labels(version)
    .set(1);
  const requests = histogram(
    'http_request_duration_seconds',
    'Time from the first byte of a request to the last of its response.',
    REQUEST_BUCKETS,
  );
  const recordUpstreamCall = countUpstreamCalls(registry, outcomes);
  const settlements = counter('settlements_total', 'Reservations closed: charged (settle) or returned (refund).', [
    'kind',
  ]);
  for (const kind of ['settle', 'refund']) settlements.labels(kind).inc(0);
  const queries = histogram(
    'db_query_seconds',
    'Duration of single statements, the wait for a connection apart.',
    QUERY_BUCKETS,
  ).series({});
  const mailServerCalls = counter('mail_server_calls_total', 'Operations at the mail server of the mailboxes.', [
    'outcome',
  ]);
  for (const outcome of MAIL_SERVER_OUTCOMES) mailServerCalls.labels(outcome).inc(0);
  const byRoute = new Map<string, Map<number, Map<string, HistogramSeries>>>();
  return {
    recordRequest(route, method, status, seconds) {
      const byStatus = getOrMakeEntry(byRoute, route, () => new Map());
      const byMethod = getOrMakeEntry(byStatus, status, () => new Map());
      getOrMakeEntry(byMethod, method, () => requests.series({ route, method, status: String(status) })).observe(
        seconds,
      );
    },
    recordUpstreamCall,
    recordSettlements: (kind, count) => settlements.labels(kind).inc(count),
    recordQuery: (seconds) => queries.observe(seconds),
    recordMailServerCall: (outcome) => mailServerCalls.labels(outcome).inc(),
    register: (metric) => addGauge(registry, PREFIX, metric),
    values: async (name) => {
      const metric = await registry.getSingleMetric(PREFIX + name)?.get();
      return (metric?.values ?? []).map((sample) => toSample(sample, PREFIX + name));
    },
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

/** Calls of one kind to one channel. */
interface CountedCalls {
  readonly labels: { readonly vendor: string; readonly channel: string; readonly kind: string };
  readonly byOutcome: Map<string, number>;
  /** Undefined as long as no duration was measured. */
  seconds: HistogramSeries | undefined;
}

/** A counter that begins at 1 shows no increase: all outcomes of a channel begin at 0 with its first call. */
function countUpstreamCalls(registry: Registry, outcomes: readonly string[]): Metrics['recordUpstreamCall'] {
  const byChannel = new Map<number, Map<string, CountedCalls>>();
  const all: CountedCalls[] = [];
  new Counter({
    name: `${PREFIX}upstream_calls_total`,
    help: 'Finished calls to vendors and chat upstreams.',
    labelNames: ['vendor', 'channel', 'kind', 'outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, byOutcome } of all)
        for (const [outcome, count] of byOutcome) this.inc({ ...labels, outcome }, count);
    },
  });
  const durations = new SeriesHistogram(
    {
      name: `${PREFIX}upstream_call_seconds`,
      help: 'Duration of calls to vendors and chat upstreams, failed ones included.',
      buckets: UPSTREAM_BUCKETS,
    },
    registry,
  );
  const begin = (vendor: string, channelId: number, kind: string): CountedCalls => {
    const labels = { vendor, channel: String(channelId), kind };
    const calls = { labels, byOutcome: new Map(outcomes.map((outcome) => [outcome, 0])), seconds: undefined };
    all.push(calls);
    return calls;
  };
  return ({ vendor, channelId, kind, outcome, seconds }) => {
    const byKind = getOrMakeEntry(byChannel, channelId, () => new Map<string, CountedCalls>());
    const calls = getOrMakeEntry(byKind, kind, () => begin(vendor, channelId, kind));
    calls.byOutcome.set(outcome, (calls.byOutcome.get(outcome) ?? 0) + 1);
    if (seconds === undefined) return;
    calls.seconds ??= durations.series(calls.labels);
    calls.seconds.observe(seconds);
  };
}

interface MetricSample {
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
  /** Of a histogram: the name with the part behind it. */
  readonly metricName?: string;
}

function toSample({ labels, value, metricName = '' }: MetricSample, name: string): Sample {
  const part = metricName.slice(name.length + 1);
  const texts = Object.entries(labels).map(([label, text]) => [label, String(text)] as const);
  return { labels: Object.fromEntries(part === '' ? texts : [...texts, ['part', part]]), value };
}

/** What is counted of one set of labels. */
class HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] ?? 0)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** As they are shown: each bucket has all that is not above its bound. */
  samples(name: string): HistogramSample[] {
    const { labels } = this;
    let count = 0;
    const buckets = this.#counts.map((inBucket, index) => {
      count += inBucket;
      return { labels: { le: this.#bounds[index] ?? '+Inf', ...labels }, value: count, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  }
}

interface HistogramSample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName: string;
}

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, included, upwards. */
  readonly buckets: readonly number[];
}

/**
 * A histogram whose series are found by those who count, once: the library's own writes the labels of every value into a text to
 * find its series, which costs a model call as much as looking up its key.
 */
class SeriesHistogram {
  readonly #options: HistogramOptions;
  readonly #series: HistogramSeries[] = [];

  constructor(options: HistogramOptions, registry: Registry) {
    this.#options = options;
    const { name, help } = options;
    const get = async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.#series.flatMap((each) => each.samples(name)),
    });
    // What the registry calls of a metric; its type names classes of the library alone.
    registry.registerMetric({ name, help, type: 'histogram', get } as unknown as Metric<string>);
  }

  /** A new series. Each set of labels may have one only. */
  series(labels: Readonly<Record<string, string>>): HistogramSeries {
    const series = new HistogramSeries(labels, this.#options.buckets);
    this.#series.push(series);
    return series;
  }
}

/** One value of a metric with its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A gauge that is read when the metrics are requested. */
interface OnDemandGauge {
  /** Without the prefix. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** All values of now. */
  read(): readonly Sample[] | Promise<readonly Sample[]>;
  /** Shown where the read fails or takes longer than two seconds; default no value at all, never an old one. */
  readonly otherwise?: readonly Sample[];
}

/** A page of metrics must come although the database hangs: it is most needed then. */
const READ_TIMEOUT_MS = 2_000;

/** Adds the metric to a registry. */
function addGauge(
  registry: Registry,
  prefix: string,
  { name, help, labelNames = [], read, otherwise = [] }: OnDemandGauge,
): void {
  new Gauge({
    name: prefix + name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const samples = await readInTime(read, otherwise);
      this.reset();
      // An unlabelled gauge shows 0 once reset; it has no value where nothing could be read.
      if (labelNames.length === 0 && samples.length === 0) this.remove();
      for (const { labels = {}, value } of samples) this.set(labels, value);
    },
  });
}

async function readInTime(read: OnDemandGauge['read'], otherwise: readonly Sample[]): Promise<readonly Sample[]> {
  const late = new AbortController();
  const timeout = delay(READ_TIMEOUT_MS, otherwise, { signal: late.signal, ref: false }).catch(() => otherwise);
  try {
    return await Promise.race([read(), timeout]);
  } catch {
    return otherwise;
  } finally {
    late.abort();
  }
}

/** The value of a figure that may not be known. */
export const toSamples = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }]);
