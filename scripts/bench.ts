import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from '../bench/support/report-figure.ts';
import { BENCHES, BENCHES_RUN_ALONE } from './bench/bench-names.ts';
import { fillFigures } from './bench/figure-marks.ts';
import { type BenchRun, readFigures, updateFiguresTable } from './bench/figures-table.ts';

/**
 * Runs the benches sequentially, or those whose names contain one of the given words, and writes their figures into the
 * table of bench/README.md and from there into every document: `npm run bench [-- word …]`. A bench that needs more
 * than the others runs only when its whole name is given.
 */
const LONGEST_MS = 90 * 60_000;
const TABLE = 'bench/README.md';
const words = process.argv.slice(2);
const isMeant = (name: string, word: string): boolean =>
  BENCHES.some((each) => each === word) ? name === word : name.includes(word);
const chosen = [
  ...BENCHES.filter((name) => words.length === 0 || words.some((word) => isMeant(name, word))),
  ...Object.keys(BENCHES_RUN_ALONE).filter((name) => words.includes(name)),
];
const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'reelgate-figures-'));

/** Runs one bench; undefined if it failed. */
function run(bench: string): BenchRun | undefined {
  console.log(`\n${bench}`);
  const file = join(folder, `${bench}.jsonl`);
  const { status } = spawnSync(process.execPath, [`bench/${bench}.ts`], {
    stdio: 'inherit',
    timeout: LONGEST_MS,
    env: { ...process.env, BENCH_FIGURES: file },
  });
  if (status !== 0) return undefined;
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const when = `${new Date().toISOString().slice(0, 10)} ${commit}, load ${loadavg()[0]?.toFixed(1)}`;
  return { bench, figures: lines.map((line) => JSON.parse(line) as Figure), when };
}

try {
  for (const bench of chosen) {
    const measured = run(bench);
    if (measured === undefined) {
      console.error(`${bench} failed; its rows stay as they were.`);
      process.exitCode = 1;
      continue;
    }
    writeFileSync(TABLE, updateFiguresTable(readFileSync(TABLE, 'utf8'), [measured]));
  }
  spawnSync('node_modules/.bin/biome', ['format', '--write', TABLE], { stdio: 'inherit' });
  const figures = readFigures(readFileSync(TABLE, 'utf8'));
  for (const path of globSync(['*.md', '{bench,deploy,docs}/**/*.md'], { exclude: ['**/node_modules/**'] })) {
    const text = readFileSync(path, 'utf8');
    const filled = fillFigures(text, figures);
    if (filled !== text) writeFileSync(path, filled);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
