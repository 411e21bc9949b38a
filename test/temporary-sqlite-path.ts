import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** The path of a SQLite file in its own folder, which is removed after the suite. */
export function temporarySqlitePath(name = 'reelgate.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'rg-sqlite-'));
  folders.push(folder);
  return join(folder, name);
}

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
