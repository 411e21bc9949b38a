import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { isAppError } from './app-error.ts';
import { getOrCreateEntry } from './cache.ts';
import { withinTime } from './concurrency.ts';

/** A finished call to an upstream. All fields but `channelId` have closed sets of values. */
export interface UpstreamCallRecord {
  readonly vendor: string;
  readonly channelId: number;
  /** `submit`, `poll`, `chat`, `image` or `probe`. */
  readonly kind: string;
  /** `ok` or the reason of the failure. */
  readonly outcome: string;
  /** Time from the request to its outcome; undefined if it was not measured. */
  readonly seconds: number | undefined;
}

/** Calls that a channel may make. */
export interface ExpectedCalls extends Pick<UpstreamCallRecord, 'vendor' | 'channelId'> {
  readonly kinds: readonly string[];
}

/**
 * Prometheus metrics (listed in docs/metrics.md). Label values come from closed sets or are ids of rows that
 * administrators create, never caller input, because Prometheus stores a series for every value.
 */
export interface Metrics {
  /** @param route the pattern of the route, `none` for an unknown path */
  recordRequest(route: string, method: string, status: number, seconds: number): void;
  recordUpstreamCall(call: UpstreamCallRecord): void;
  /** Sets how to find the calls that may be made: their counters are rendered as 0 before the first of them. */
  expectUpstreamCalls(find: () => Promise<readonly ExpectedCalls[]>): void;
  /** Records reservations closed by a committed transaction. */
  recordSettlements(kind: 'settle' | 'refund', count: number): void;
  recordQuery(seconds: number): void;
  /** Records a call of a tool over MCP. `outcome`: `ok`, `refused` or `failed`. */
  recordToolCall(tool: string, outcome: string): void;
  /** Records an operation at the mail server that hosts the mailboxes. */
  recordMailServerCall(outcome: string): void;
  /** Records a request for tokens. `grant`: OAuth grant type; `outcome`: `ok`, an error code, or `REUSED`. */
  recordTokenRequest(grant: TokenGrant, outcome: string): void;
  /** Records a use of a passkey: `ok` or an error code. */
  recordPasskeyUse(outcome: string): void;
  /** Records a step of a sign-in at an identity provider: `started`, `ok`, `linked`, `signed_out` or an error code. */
  recordIdentitySignIn(provider: string, outcome: string): void;
  /** Registers a metric that is read when the metrics are requested. */
  register(metric: OnDemandGauge): void;
  /**
   * Current values of a metric, named without the prefix. Those of a histogram have the label `part`: `bucket`, `sum`
   * or `count`.
   */
  values(name: string): Promise<readonly Sample[]>;
  /** The complete page in Prometheus' text format. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Grants of the token endpoints. */
export type TokenGrant = 'authorization_code' | 'device_code' | 'refresh_token';

/** Counted besides the error code of a request whose code or refresh_token had been used before, which ended a sign-in. */
export const REUSED = 'reused';

/** Runs `work` and records `ok`, or the code of its error. */
export async function recordingOutcome<R>(record: (outcome: string) => void, work: () => Promise<R>): Promise<R> {
  try {
    const result = await work();
    record('ok');
    return result;
  } catch (error) {
    record(isAppError(error) ? error.code : 'internal_error');
    throw error;
  }
}

/** `ok`, then the kinds of mail server failures. */
const MAIL_SERVER_OUTCOMES = ['ok', 'unavailable', 'uncertain', 'taken', 'rejected'] as const;
/** Failures that the alert on identity providers watches; each starts at 0 with the first sign-in. */
const IDENTITY_FAILURES = ['identity_rejected', 'identity_provider_unavailable'] as const;
const PREFIX = 'reelgate_';
/** In seconds. Streams of models take minutes: a quantile above the last bucket is shown as that bucket. */
const REQUEST_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 120, 300, 600];
/** In seconds: vendors respond within seconds, models within minutes. */
const UPSTREAM_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const QUERY_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

let processMetrics: Registry | undefined;

/** CPU, memory, event loop and garbage collection: once per process, because the library never stops measuring them. */
function collectProcessMetrics(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  return processMetrics;
}

/**
 * @param version of this package, for `build_info`
 * @param outcomes every possible outcome of an upstream call
 */
export function createMetrics(version: string, outcomes: readonly string[] = []): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const ofProcess = collectProcessMetrics();
  const histogram = (name: string, help: string, buckets: readonly number[], labelNames: readonly string[] = []) =>
    new Histogram({ name: PREFIX + name, help, buckets: [...buckets], labelNames: [...labelNames], registers });
  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name: PREFIX + name, help, labelNames: [...labelNames], registers });

  new Gauge({ name: `${PREFIX}build_info`, help: 'Always 1.', labelNames: ['version'], registers })
    .labels(version)
    .set(1);
  const requests = histogram(
    'http_request_duration_seconds',
    'Time from the first byte of a request to the last of its response.',
    REQUEST_BUCKETS,
    ['route', 'method', 'status'],
  );
  const callLabels = ['vendor', 'channel', 'kind'];
  const finished = 'Finished calls to vendors and chat upstreams.';
  const upstreamCalls = counter('upstream_calls_total', finished, [...callLabels, 'outcome']);
  const upstreamSeconds = histogram(
    'upstream_call_seconds',
    'Duration of calls to vendors and chat upstreams, failed ones included.',
    UPSTREAM_BUCKETS,
    callLabels,
  );
  const countedKinds = new Map<string, Set<string>>();
  // A counter that starts at 1 shows no increase, so all outcomes of a channel are scraped as 0 before its first call.
  const startAtZero = (labels: Readonly<Record<'vendor' | 'channel' | 'kind', string>>): void => {
    const kinds = getOrCreateEntry(countedKinds, labels.channel, () => new Set<string>());
    if (kinds.has(labels.kind)) return;
    kinds.add(labels.kind);
    for (const outcome of outcomes) upstreamCalls.inc({ ...labels, outcome }, 0);
  };
  let findExpected: () => Promise<readonly ExpectedCalls[]> = async () => [];
  const settlements = counter('settlements_total', 'Reservations closed: charged (settle) or returned (refund).', [
    'kind',
  ]);
  for (const kind of ['settle', 'refund']) settlements.labels(kind).inc(0);
  const queries = histogram(
    'db_query_seconds',
    'Duration of single statements, the wait for a connection apart.',
    QUERY_BUCKETS,
  );
  const toolCalls = counter('mcp_tool_calls_total', 'Calls of tools over MCP.', ['tool', 'outcome']);
  const mailServerCalls = counter('mail_server_calls_total', 'Operations at the mailbox server.', ['outcome']);
  for (const outcome of MAIL_SERVER_OUTCOMES) mailServerCalls.labels(outcome).inc(0);
  return {
    recordRequest: (route, method, status, seconds) =>
      requests.observe({ route, method, status: String(status) }, seconds),
    recordUpstreamCall({ vendor, channelId, kind, outcome, seconds }) {
      const labels = { vendor, channel: String(channelId), kind };
      startAtZero(labels);
      upstreamCalls.inc({ ...labels, outcome });
      if (seconds !== undefined) upstreamSeconds.observe(labels, seconds);
    },
    expectUpstreamCalls(find) {
      findExpected = find;
    },
    recordSettlements: (kind, count) => settlements.labels(kind).inc(count),
    recordQuery: (seconds) => queries.observe(seconds),
    recordToolCall: (tool, outcome) => toolCalls.labels(tool, outcome).inc(),
    recordMailServerCall: (outcome) => mailServerCalls.labels(outcome).inc(),
    ...addSignInCounters(counter),
    register: (metric) => addGauge(registry, PREFIX, metric),
    values: async (name) => {
      const metric = await registry.getSingleMetric(PREFIX + name)?.get();
      return (metric?.values ?? []).map((sample) => toSample(sample, PREFIX + name));
    },
    async render() {
      for (const { vendor, channelId, kinds } of await readInTime(findExpected, []))
        for (const kind of kinds) startAtZero({ vendor, channel: String(channelId), kind });
      return { contentType: registry.contentType, body: await Registry.merge([ofProcess, registry]).metrics() };
    },
  };
}

/** The counters of sign-ins and of what applications obtain by them. */
function addSignInCounters(
  counter: (name: string, help: string, labelNames: readonly string[]) => Counter,
): Pick<Metrics, 'recordTokenRequest' | 'recordPasskeyUse' | 'recordIdentitySignIn'> {
  const identitySignIns = counter(
    'identity_sign_ins_total',
    'Sign-ins at identity providers: started, then ok, linked or the code of the error; signed_out by the provider.',
    ['provider', 'outcome'],
  );
  const tokenRequests = counter(
    'token_requests_total',
    'Requests for tokens of devices and applications: ok or the code of the error; reused besides it, if a used one ended a sign-in.',
    ['grant', 'outcome'],
  );
  // From 0, so that an alert sees the first one as an increase.
  for (const grant of ['authorization_code', 'refresh_token']) tokenRequests.labels(grant, REUSED).inc(0);
  const passkeyUses = counter('passkey_uses_total', 'Uses of passkeys: ok or the code of the error.', ['outcome']);
  return {
    recordTokenRequest: (grant, outcome) => tokenRequests.labels(grant, outcome).inc(),
    recordPasskeyUse: (outcome) => passkeyUses.labels(outcome).inc(),
    recordIdentitySignIn(provider, outcome) {
      for (const each of IDENTITY_FAILURES) identitySignIns.labels(provider, each).inc(0);
      identitySignIns.labels(provider, outcome).inc();
    },
  };
}

interface MetricSample {
  readonly labels: Partial<Record<string, string | number>>;
  readonly value: number;
  /** Set for a histogram: its name with the suffix of the part. */
  readonly metricName?: string;
}

function toSample({ labels, value, metricName = '' }: MetricSample, name: string): Sample {
  const part = metricName.slice(name.length + 1);
  const texts = Object.entries(labels).map(([label, text]) => [label, String(text)] as const);
  return { labels: Object.fromEntries(part === '' ? texts : [...texts, ['part', part]]), value };
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
  /** All current values. */
  read(): readonly Sample[] | Promise<readonly Sample[]>;
  /** Values to report when the read fails or takes more than two seconds; by default none, rather than a stale one. */
  readonly otherwise?: readonly Sample[];
}

/** Metrics are most needed while the database is unresponsive, so they must be served then. */
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
      // `reset` sets an unlabelled gauge to 0, but without a reading it must have no value.
      if (labelNames.length === 0 && samples.length === 0) this.remove();
      for (const { labels = {}, value } of samples) this.set(labels, value);
    },
  });
}

async function readInTime<R>(read: () => R | Promise<R>, otherwise: R): Promise<R> {
  try {
    return await withinTime(Promise.resolve(read()), READ_TIMEOUT_MS, () => otherwise);
  } catch {
    return otherwise;
  }
}

/** One sample, or none when the value is unknown. */
export const toSamples = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }]);
