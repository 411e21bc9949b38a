import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { fixtureProgram } from '../../test/fixture-programs.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { makeTestImporter, newSqliteUrl, requestFor, stateOf } from './imported-rows.ts';
import { writeManyAccounts } from './write-many-accounts.ts';

/** `npm run hammer` sets the number of kills for releases. */
const KILLS = Number(process.env.IMPORT_KILLS ?? '6');
const GENERATION = 'new-api with task ids';
const PROGRAM = fixtureProgram('importer/test/kill-during-import.fixture.ts');

forEachDatabase((_name, _open, freshUrl) => {
  let folder: string;
  let from: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
    from = newSqliteUrl(folder);
    await writeManyAccounts(from, 3_500, 5_000, 2_000);
  });
  after(() => rmSync(folder, { recursive: true }));

  const openFresh = async (url: string) => {
    const database = openDatabase<Tables>(url);
    await migrate(database, migrations);
    return database;
  };

  it(`ends in the same state after being killed ${KILLS} times`, async () => {
    const whole = await openFresh(await freshUrl());
    await makeTestImporter(whole).apply(requestFor(from, GENERATION));
    const expected = await stateOf(whole);
    await whole.close();
    for (let killed = 0; killed < KILLS; ) {
      const url = await freshUrl();
      await (await openFresh(url)).close();
      const kills: string[] = [];
      // Repeats until the import completes or was killed often enough.
      for (let signal: string | null = 'SIGKILL'; signal === 'SIGKILL' && killed < KILLS; ) {
        const page = String(1 + Math.floor(Math.random() * 3));
        // Kills at the end of a page, or some milliseconds later, during its commit or the next page.
        const moment = Math.random() < 0.4 ? 'before' : String(Math.floor(Math.random() * 30));
        kills.push(`page ${page} ${moment}`);
        const child = spawn(process.execPath, [PROGRAM, url, from, GENERATION, page, moment], {
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        [, signal] = (await once(child, 'exit')) as [number | null, string | null];
        if (signal === 'SIGKILL') killed++;
      }
      const database = await openFresh(url);
      const report = await makeTestImporter(database).apply(requestFor(from, GENERATION));
      assert.deepEqual(report.proof, { discrepancies: [], changes: [] });
      assert.equal(await stateOf(database), expected, `killed at ${kills.join(', ')}`);
      await database.close();
    }
  });
});
