import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path of a SQLite file in its own folder, which is removed when the process ends. */
export function temporarySqlitePath(name = 'reelgate.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'rg-sqlite-'));
  folders.push(folder);
  return join(folder, name);
}

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
