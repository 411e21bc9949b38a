import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { BENCHES, BENCHES_RUN_ALONE } from '../../scripts/bench/bench-names.ts';
import { fillFigures, findUnmarkedFigures } from '../../scripts/bench/figure-marks.ts';
import { readFigures, updateFiguresTable } from '../../scripts/bench/figures-table.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const table = (...rows: string[]): string =>
  `# Figures\n\n<!-- written by npm run bench -->\n\n| subject | asked | measured | bench | when |\n|---|---|---|---|---|\n${rows.join('\n')}\n\n<!-- end -->\n`;

test('a run replaces the rows of its bench, removes those it no longer reports, and keeps all others', () => {
  const document = table(
    '| old | | 1 ms | chat | 2026-11-01 a |',
    '| call | | 1 ms | chat | 2026-11-01 a |',
    '| query | | 2 ms | video | 2026-11-01 a |',
  );
  const figures = [
    { subject: 'call', unit: '×', measured: 2.345, asked: 2, peer: 'bare proxy', spread: [2.1, 2.5] as const },
    { subject: 'submit', unit: '/s', measured: 6_543.2 },
  ];
  const run = { bench: 'chat', figures, when: '2026-11-28 b, load 1.0' };
  const once = updateFiguresTable(document, [run]);
  const rows = once
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2);
  assert.deepEqual(rows, [
    '| call | 2 ×, bare proxy | 2.35 × (2.1–2.5) | chat | 2026-11-28 b, load 1.0 |',
    '| query | | 2 ms | video | 2026-11-01 a |',
    '| submit |  | 6,543 /s | chat | 2026-11-28 b, load 1.0 |',
  ]);
  assert.deepEqual(
    [...readFigures(once)],
    [
      ['call', '2.35 ×'],
      ['query', '2 ms'],
      ['submit', '6,543 /s'],
    ],
  );
  assert.throws(() => updateFiguresTable('# Without a place', []));
});

test('marked figures take the values of the table, and a subject it lacks fails', () => {
  const figures = new Map([['call, CPU', '76 µs']]);
  assert.equal(fillFigures('costs 80 µs<!--= call, CPU--> each', figures), 'costs 76 µs<!--= call, CPU--> each');
  assert.throws(() => fillFigures('costs 80 µs<!--= stream, CPU-->', figures), /has no "stream, CPU"/);
});

test('figures without a mark are found, and sizes, code and covered lines are not', () => {
  const lines = [
    'A call costs 76 µs.',
    'It sends 13,100 calls a second, 4 × the rival, with 240 MB, in 1.2 s.',
    '每次调用耗时 76 毫秒。',
    'It answers 2,900 short model calls a second.',
    'It adds 23 % and holds 4.3 µs<!--= call, CPU--> but 5 ms more.',
    'It costs 76 µs<!--= call, CPU-->.',
    'Images of 640 × 480 within 20 s on 2 cores, 7 × 24 h.',
    'Wait 120 ms<!--limit-->, then 5 MB.',
    'It was 31 µs<!--once 2026-11-->.',
    '`sleep 5 ms`',
  ];
  assert.deepEqual(findUnmarkedFigures([...lines, '```sh', '5 ms', '```'].join('\n')), [
    lines[0],
    lines[1],
    lines[2],
    lines[3],
    'It adds 23 % and holds  but 5 ms more.',
  ]);
});

test('every bench is run by npm run bench or states why not', () => {
  // Shared code of the benches is in bench/support.
  const runnable = globSync('bench/*.ts', { cwd: root.pathname })
    .filter((path) => /`(?:TASKS=\d+ )?node bench\/|performance\.now\(\)|setTimeout as pause/.test(read(path)))
    .map((path) => basename(path, '.ts'));
  const known = [...BENCHES, ...Object.keys(BENCHES_RUN_ALONE)];
  assert.deepEqual(
    runnable.filter((name) => !known.includes(name)),
    [],
  );
  for (const name of known) assert.ok(read(`bench/${name}.ts`).length > 0);
});
