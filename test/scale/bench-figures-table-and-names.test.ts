import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { BENCHES, BENCHES_RUN_ALONE } from '../../scripts/bench/bench-names.ts';
import { replaceFiguresTable, updateFiguresTable } from '../../scripts/bench/figures-table.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

test('the table of figures replaces the previous one', () => {
  const figures = [
    { subject: 'call', unit: '×', measured: 2.345, asked: 2, peer: 'bare proxy', spread: [2.1, 2.5] as const },
    { subject: 'submit', unit: '/s', measured: 6_543.2 },
  ];
  const document = read('bench/README.md');
  const once = replaceFiguresTable(document, figures, 'Made today.');
  assert.match(once, /\| call \| 2 ×, bare proxy \| 2\.35 × \(2\.1–2\.5\) \|\n\| submit \| {2}\| 6,543 \/s \|/);
  assert.equal(replaceFiguresTable(once, figures, 'Made today.'), once);
  assert.equal(replaceFiguresTable(once, [], 'Later.').includes('6,543'), false);
  assert.throws(() => replaceFiguresTable('# Without a place', figures, ''));
});

test('figures of some benches replace only their rows, and a line states when', () => {
  const row = (subject: string, measured: number) => ({ subject, unit: '/s', measured });
  const whole = replaceFiguresTable(
    read('bench/README.md'),
    [row('call', 1), row('submit', 2), row('query', 3)],
    'All.',
  );
  const some = [row('submit', 20), row('stream', 4)];
  const once = updateFiguresTable(whole, some, ['video', 'chat'], 'Later.');
  const table = once.slice(once.indexOf('All.'), once.indexOf('<!-- end -->'));
  assert.match(table, /^All\.\nAgain: video, chat: Later\.\n/);
  assert.deepEqual(
    [...table.matchAll(/\| (\w+) \| {2}\| (\d+) \/s/g)].map(([, subject, value]) => `${subject} ${value}`),
    ['call 1', 'submit 20', 'query 3', 'stream 4'],
  );
  const linesAfter = (repeated: readonly string[]): string[] =>
    [...updateFiguresTable(once, some, repeated, 'Later still.').matchAll(/^(?:All|Again).*/gm)].map(([line]) => line);
  assert.deepEqual(linesAfter(['chat']), ['All.', 'Again: video: Later.', 'Again: chat: Later still.']);
  assert.deepEqual(linesAfter(['chat', 'video']), ['All.', 'Again: chat, video: Later still.']);
  assert.throws(() => updateFiguresTable('# Without a place', some, [], ''));
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
