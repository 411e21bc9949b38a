import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { backUpSqlite, restoreSqlite } from '../../src/server/platform/transfer/sqlite-backup.ts';
import { startVideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startSandboxService } from '../service-with-sandbox.ts';
import { findPostgres } from '../start-postgres.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';
import { assertTasksExist, submitAll, untilAllEnded } from './submit-steps.ts';

const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'sora', model: 'sora-2' },
] as const;

/** Copies a database in use, as `reelgate admin backup` and `restore` do. */
async function backUp(from: string, to: string): Promise<void> {
  if (from.startsWith('sqlite:')) {
    const path = to.slice('sqlite:'.length);
    const info = { version: '0', madeAt: '', key: null };
    await backUpSqlite(from.slice('sqlite:'.length), `${path}.backup`, info, { replace: false });
    await restoreSqlite(`${path}.backup`, path, () => {});
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

forEachDatabase((name, _open, _freshUrl, emptyUrl) => {
  it('R19: a backup taken under load opens elsewhere with the same key, complete and consistent', async () => {
    const url = await emptyUrl();
    const copy = await emptyUrl();
    const service = await startVideoService(url, { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } }, VENDORS);
    let isOver = false;
    const kept: (string | undefined)[] = [];
    const work = async (caller: number) => {
      for (let n = 0; !isOver; n += 1)
        kept.push(...(await submitAll(service.baseUrl, service.caller.key, `${caller} ${n}`)));
    };
    const working = Promise.all([work(0), work(1)]);
    while (kept.length < 24) await new Promise((resolve) => setTimeout(resolve, 20));
    const answered = [...kept];
    await backUp(url, copy);
    isOver = true;
    await working;
    const restored = await startSandboxService(copy, { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } });
    try {
      await assertLedgerConsistent(restored.app.database);
      await assertTasksExist(restored.app.database, answered);
      // Channel credentials decrypt and tokens are accepted.
      await submitAll(restored.baseUrl, service.caller.key, `restored ${name}`);
      await untilAllEnded(restored.app.database, 25);
      await assertLedgerConsistent(restored.app.database);
    } finally {
      await restored.stop();
      await service.stop();
    }
  });
});
