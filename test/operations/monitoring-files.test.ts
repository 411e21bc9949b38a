import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { ALERT_RULES, hasPromtool } from './assert-alerts.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const skip = hasPromtool() || process.env.CI ? false : 'promtool is not installed';

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const panels = (JSON.parse(read('deploy/dashboard.json')) as { panels: readonly Panel[] }).panels;
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const namesIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/\breelgate_[a-z_]+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')));

it('every alert links to a runbook section with its meaning, checks and actions', () => {
  const alerts = [...read('deploy/alerts.yml').matchAll(/- alert: (\S+)[\s\S]*?runbook_url: docs\/runbook\.md#(\S+)/g)];
  assert.equal(alerts.length, read('deploy/alerts.yml').split('- alert:').length - 1);
  const sections = new Map(
    read('docs/runbook.md')
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split('\n', 1)[0]?.toLowerCase().replaceAll(' ', '-'), section]),
  );
  for (const [, alert, anchor] of alerts) {
    const section = sections.get(anchor) ?? assert.fail(`${alert}: no section ${anchor}`);
    for (const part of ['Meaning', 'Check', 'Do']) assert.ok(section.includes(`**${part}**`), `${anchor}: ${part}`);
  }
  assert.equal(sections.size, new Set(alerts.map(([, , anchor]) => anchor)).size, 'no section without an alert');
});

it('alerts and the dashboard use only documented metrics', () => {
  const documented = namesIn(read('docs/metrics.md'));
  for (const name of [...namesIn(read('deploy/alerts.yml')), ...namesIn(expressions.join(' '))])
    assert.ok(documented.has(name), name);
});

it('Prometheus accepts the alerts, its configuration and every expression of the dashboard', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-watch-'));
  try {
    const rules = join(folder, 'panels.json');
    const recorded = expressions.map((expr, index) => ({
      record: `panel_${index}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }));
    writeFileSync(rules, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }));
    const config = join(folder, 'prometheus.yml');
    writeFileSync(config, read('deploy/prometheus.yml').replace('/etc/prometheus/alerts.yml', ALERT_RULES));
    for (const args of [
      ['check', 'rules', ALERT_RULES, rules],
      ['check', 'config', config],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
      assert.equal(status, 0, `${stdout}${stderr}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
