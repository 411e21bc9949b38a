import { Client } from 'undici';

/** Load to generate. */
export interface LoadOptions {
  readonly origin: string;
  readonly connections: number;
  readonly seconds: number;
  /** Statuses that count as success; default 200 only. */
  readonly expect?: readonly number[];
  /** Called for each request. */
  request(index: number): {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
  };
}

/** Result of a load. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
  /** The first failed response, to show the cause. */
  readonly firstFailure?: string;
}

/** Keeps every connection busy with sequential requests; limited in count and time. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  let failures = 0;
  let firstFailure: string | undefined;
  let sent = 0;
  const endsAt = performance.now() + options.seconds * 1000;
  const worker = async (): Promise<void> => {
    const client = new Client(options.origin);
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      sent += 1;
      const { statusCode, body } = await client.request(options.request(sent));
      const text = await body.text();
      latencies.push(performance.now() - startedAt);
      if (!(options.expect ?? [200]).includes(statusCode)) {
        failures += 1;
        firstFailure ??= `${statusCode} ${text.slice(0, 200)}`;
      }
    }
    await client.close();
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: options.connections }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    requests: latencies.length,
    perSecond: latencies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    failures,
    ...(firstFailure === undefined ? {} : { firstFailure }),
  };
}
