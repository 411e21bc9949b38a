import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figure } from '../bench/support/report-figure.ts';
import { BENCHES } from './bench/bench-names.ts';
import { replaceFiguresTable, updateFiguresTable } from './bench/figures-table.ts';

/**
 * Runs the benches sequentially, or those whose names contain one of the given words, and writes the table of
 * bench/README.md: `npm run bench [-- word …]`. With words, only the rows of those benches are replaced, and a line in
 * the table says so.
 */
const LONGEST_MS = 25 * 60_000;
const words = process.argv.slice(2);
const isMeant = (name: string, word: string): boolean =>
  BENCHES.some((each) => each === word) ? name === word : name.includes(word);
const chosen = BENCHES.filter((name) => words.length === 0 || words.some((word) => isMeant(name, word)));
const folder = mkdtempSync(join(tmpdir(), 'reelgate-figures-'));
const file = join(folder, 'figures.jsonl');
const failed: string[] = [];
try {
  for (const name of chosen) {
    console.log(`\n${name}`);
    const { status } = spawnSync(process.execPath, [`bench/${name}.ts`], {
      stdio: 'inherit',
      timeout: LONGEST_MS,
      env: { ...process.env, BENCH_FIGURES: file },
    });
    if (status !== 0) failed.push(name);
  }
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const figures = lines.map((line) => JSON.parse(line) as Figure);
  const madeOn = `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end.`;
  const document = readFileSync('bench/README.md', 'utf8');
  const text =
    words.length === 0
      ? replaceFiguresTable(document, figures, madeOn)
      : updateFiguresTable(document, figures, chosen, madeOn);
  if (failed.length === 0) {
    writeFileSync('bench/README.md', text);
    spawnSync('node_modules/.bin/biome', ['format', '--write', 'bench/README.md'], { stdio: 'inherit' });
  } else console.log(text.slice(text.indexOf('| subject')));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failed.length > 0) {
  console.error(`Failed, so that the table stays as it was: ${failed.join(', ')}`);
  process.exitCode = 1;
}
