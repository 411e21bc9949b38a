import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

export const METRICS_TOKEN = 'a-token-of-metrics';

/** A sample of a metrics page. */
export interface ScrapedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Fetches the metrics of a running service, started with {@link METRICS_TOKEN}. */
export async function fetchMetrics(baseUrl: string, signal?: AbortSignal): Promise<string> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const response = await fetch(`${baseUrl}/metrics`, { headers, ...(signal === undefined ? {} : { signal }) });
  assert.equal(response.status, 200);
  return response.text();
}

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i;

/** Parses the samples of a page in Prometheus' text format. */
export function parseMetrics(page: string): ScrapedSample[] {
  return page
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(`no sample: ${line}`);
      const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((pair) => [pair[1], pair[2]]);
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });
}

/** Sum of the samples of a metric with these label values; undefined if there are none. */
export function sumOf(
  samples: readonly ScrapedSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === `reelgate_${name}` &&
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Scrapes until the samples satisfy the condition, at most fifteen seconds. */
export async function waitForMetrics(
  baseUrl: string,
  what: string,
  holds: (read: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined) => boolean,
): Promise<void> {
  let page = '';
  for (let tries = 0; tries < 75; tries += 1) {
    page = await fetchMetrics(baseUrl);
    const samples = parseMetrics(page);
    if (holds((name, labels) => sumOf(samples, name, labels))) return;
    await pause(200);
  }
  assert.fail(
    `${what}:\n${page
      .split('\n')
      .filter((line) => /^reelgate_/.test(line) && !/_bucket/.test(line))
      .join('\n')}`,
  );
}
