import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchMetrics, parseMetrics } from './fetch-metrics.ts';

/** Values by series, as Prometheus stores one scrape of one target. */
export type Scrape = ReadonlyMap<string, number>;

export const ALERT_RULES = join(import.meta.dirname, '../../deploy/alerts.yml');
/** A real one waits ten seconds. */
const SCRAPE_TIMEOUT_MS = 2_000;

export const hasPromtool = (): boolean => spawnSync('promtool', ['--version']).error === undefined;

/** What Prometheus would store now: the samples of the product, and `up`. A scrape that fails has `up` 0 alone. */
export async function scrapeAsPrometheus(baseUrl: string): Promise<Scrape> {
  const target = { job: 'reelgate', instance: 'replica-1' };
  const page = await fetchMetrics(baseUrl, AbortSignal.timeout(SCRAPE_TIMEOUT_MS)).catch(() => undefined);
  const series = new Map([[toSeries('up', target), page === undefined ? 0 : 1]]);
  for (const { name, labels, value } of page === undefined ? [] : parseMetrics(page))
    if (name.startsWith('reelgate_')) series.set(toSeries(name, { ...labels, ...target }), value);
  return series;
}

const toSeries = (name: string, labels: Readonly<Record<string, string>>): string =>
  `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')}}`;

/** Two scrapes of a service, before an incident and during it, and the alerts that must fire, no others. */
export interface Incident {
  readonly name: string;
  readonly before: Scrape;
  readonly during: Scrape;
  /** How long it has lasted when the alerts are read, minutes. */
  readonly minutes: number;
  readonly alerts: readonly string[];
}

const SCRAPES_PER_MINUTE = 2;
const MINUTES_BEFORE = 5;
const MINUTES_DURING = 40;

/** Has promtool evaluate the alert rules over scraped series; each wrong alert fails the test. */
export function assertAlerts(incidents: readonly Incident[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'rg-alerts-'));
  try {
    const file = join(folder, 'incidents.json');
    // JSON is YAML too.
    writeFileSync(file, JSON.stringify({ rule_files: [ALERT_RULES], tests: incidents.map(toRuleTest) }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function toRuleTest({ name, before, during, minutes, alerts }: Incident): object {
  return {
    name,
    interval: `${60 / SCRAPES_PER_MINUTE}s`,
    input_series: [...new Set([...before.keys(), ...during.keys()])].map((series) => ({
      series,
      values: [
        repeat(before.get(series), MINUTES_BEFORE * SCRAPES_PER_MINUTE),
        repeat(during.get(series), MINUTES_DURING * SCRAPES_PER_MINUTE),
      ].join(' '),
    })),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${MINUTES_BEFORE + minutes}m`,
        exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
}

/** `_` is a scrape without the series. */
const repeat = (value: number | undefined, scrapes: number): string =>
  value === undefined ? `_x${scrapes}` : `${value}+0x${scrapes - 1}`;
