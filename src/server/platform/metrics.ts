import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';

/** Figures for Prometheus. Labels are route patterns, vendors and outcomes: never ids, names or addresses. */
export interface Metrics {
  answered(route: string, method: string, status: number, seconds: number): void;
  /** One submit or look at a vendor, by how it ended. */
  upstream(vendor: string, operation: string, outcome: string): void;
  /** A figure read when asked for. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
  /** The whole page, in Prometheus' text form. */
  page(): Promise<{ readonly contentType: string; readonly body: string }>;
}

export function makeMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  });
  const upstreams = new Counter({
    name: 'upstream_calls_total',
    help: 'Calls to upstreams by vendor, operation and outcome.',
    labelNames: ['vendor', 'operation', 'outcome'],
    registers: [registry],
  });
  return {
    answered: (route, method, status, seconds) => requests.labels(route, method, String(status)).observe(seconds),
    upstream: (vendor, operation, outcome) => upstreams.labels(vendor, operation, outcome).inc(),
    gauge: (name, help, read) => {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          this.set(await read());
        },
      });
    },
    page: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}
