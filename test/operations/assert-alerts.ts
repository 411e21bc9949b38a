import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchMetrics, parseMetrics } from './fetch-metrics.ts';

/** Values by series, as Prometheus stores a single scrape of a single target. */
export type Scrape = ReadonlyMap<string, number>;

export const ALERT_RULES = join(import.meta.dirname, '../../deploy/alerts.yml');
/** Prometheus itself waits ten seconds. */
const SCRAPE_TIMEOUT_MS = 2_000;

/** Whether promtool is installed. */
export const hasPromtool = (): boolean => spawnSync('promtool', ['--version']).error === undefined;

/** The samples that Prometheus would store now: the service's metrics and `up`. A failed scrape has only `up` 0. */
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

/** Two scrapes of a service, before and during an incident, and exactly the alerts that must fire. */
export interface Incident {
  readonly name: string;
  readonly before: Scrape;
  readonly during: Scrape;
  /** Minutes since the start of the incident when the alerts are evaluated. */
  readonly minutes: number;
  readonly alerts: readonly string[];
}

const SCRAPES_PER_MINUTE = 2;
const MINUTES_BEFORE = 5;
const MINUTES_DURING = 40;

/** Lets promtool evaluate the alert rules on scraped series; a missing or unexpected alert fails the test. */
export function assertAlerts(incidents: readonly Incident[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'rg-alerts-'));
  try {
    const file = join(folder, 'incidents.json');
    // JSON is valid YAML.
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

/** `_` denotes a scrape without the series. */
const repeat = (value: number | undefined, scrapes: number): string =>
  value === undefined ? `_x${scrapes}` : `${value}+0x${scrapes - 1}`;
