import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { forEachDatabase } from '../databases.ts';
import { startVideoService } from '../flows/video-service.ts';
import { findPostgres } from '../postgres.ts';
import { startRunning } from '../running.ts';
import { assertBooks } from './books.ts';
import { assertKnown, submitAll, untilAllEnded } from './money-path.ts';

const DOORS = [
  { name: 'kling', letter: 'A', model: 'kling-v1-6' },
  { name: 'sora', letter: 'H', model: 'sora-2' },
] as const;

/** Copies a database that is in use, as docs/operations.md says. */
function backUp(from: string, to: string): void {
  if (from.startsWith('sqlite:')) {
    const database = new DatabaseSync(from.slice('sqlite:'.length));
    database.prepare('vacuum into ?').run(to.slice('sqlite:'.length));
    database.close();
    return;
  }
  const folder = findPostgres() ?? '';
  const program = (name: string) => (existsSync(join(folder, name)) ? join(folder, name) : name);
  const dump = execFileSync(program('pg_dump'), [from], { maxBuffer: 2 ** 30 });
  execFileSync(program('psql'), ['--quiet', '--set=ON_ERROR_STOP=1', to], {
    input: dump,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

forEachDatabase((name, _open, freshUrl) => {
  it('R19: a backup made under work opens elsewhere with the same key, whole and in order', async () => {
    const url = await freshUrl();
    const copy = await freshUrl();
    const service = await startVideoService(url, { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } }, DOORS);
    let isOver = false;
    const kept: (string | undefined)[] = [];
    const work = async (caller: number) => {
      for (let n = 0; !isOver; n += 1)
        kept.push(...(await submitAll(service.baseUrl, service.viewer.key, `${caller} ${n}`)));
    };
    const working = Promise.all([work(0), work(1)]);
    while (kept.length < 24) await new Promise((resolve) => setTimeout(resolve, 20));
    const answered = [...kept];
    backUp(url, copy);
    isOver = true;
    await working;
    const restored = await startRunning(copy, { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } });
    try {
      await assertBooks(restored.app.database);
      await assertKnown(restored.app.database, answered);
      // Channels' credentials open, and tokens are good.
      await submitAll(restored.baseUrl, service.viewer.key, `restored ${name}`);
      await untilAllEnded(restored.app.database, 25);
      await assertBooks(restored.app.database);
    } finally {
      await restored.stop();
      await service.stop();
    }
  });
});
