import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import { StorageUsageStore } from '../../src/server/artifacts/artifact-store.ts';
import { MARKER } from '../../src/server/artifacts/file-storage.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { ProcessesInTurn } from '../faults/processes-in-turn.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService } from '../test-service.ts';
import type { CopyingOrder } from './copying-process.fixture.ts';

const PROGRAM = fixtureProgram('test/artifacts/copying-process.fixture.ts');
const MEDIA = join(import.meta.dirname, '../../src/sandbox/media');
const KILLS = Number(process.env.ARTIFACT_KILLS ?? 4);
/** Longer than a claim lasts. */
const CLOCK_STEP_MS = 91_000;

forEachDatabase((_name, _open, freshUrl) => {
  it(`the stored files match the rows byte for byte after ${KILLS} kills`, async (t) => {
    const databaseUrl = await freshUrl();
    const directory = await mkdtemp(join(tmpdir(), 'rg-kills-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const processes = new ProcessesInTurn<CopyingOrder>(PROGRAM);
    t.after(() => processes.stop());
    // Creates the schema.
    await (await startTestService(databaseUrl)).stop();
    const order = (round: number, drains: boolean): CopyingOrder => ({
      databaseUrl,
      directory,
      media: MEDIA,
      clockOffsetMs: round * CLOCK_STEP_MS,
      drains,
    });
    const random = new SeededRandom(KILLS);
    for (let round = 1; round <= KILLS; round++) {
      const started = await processes.begin(order(round, false));
      await delay(50 + random.next(`round ${round}`) * 300);
      await processes.kill(started);
    }
    // Leftovers of removed copies and of posters have no row, and are removed after a week.
    await processes.drain(order(KILLS + 60, true));

    const database = openDatabase<Tables>(databaseUrl);
    t.after(() => database.close());
    const rows = await database.kysely.selectFrom('artifacts').selectAll().execute();
    assert.ok(rows.length > 0);
    const onDisk = new Map<string, Buffer>();
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && entry.name !== MARKER)
        onDisk.set(entry.name, await readFile(join(entry.parentPath, entry.name)));
    for (const { id, state, bytes, sha256 } of rows) {
      const file = onDisk.get(id);
      assert.equal(state, 'stored');
      assert.equal(file?.length, bytes);
      assert.equal(
        createHash('sha256')
          .update(file ?? '')
          .digest('hex'),
        sha256,
      );
    }
    assert.deepEqual([...onDisk.keys()].sort(), rows.map(({ id }) => id).sort());
    const bytes = [...onDisk.values()].reduce((sum, file) => sum + file.length, 0);
    const files = rows.filter(({ variant }) => variant === 'video').length;
    const usage = new StorageUsageStore(database);
    assert.deepEqual(await usage.of(1), { bytes, files });
    assert.deepEqual(await usage.ofAll(), { bytes, files });
    assert.equal(await usage.countWrong(), 0);
  });
});
