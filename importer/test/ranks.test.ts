import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../../test/for-each-database.ts';
import type { Generation } from '../source.ts';
import { makeTestImporter, newSqliteUrl, requestFor } from './imported-rows.ts';
import { openWriter, writeSource } from './write-source.ts';

const GENERATION: Generation = 'new-api with several keys';

forEachDatabase((_name, open) => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const keepRoles of [false, true])
    it(`unknown role numbers become users ${keepRoles ? 'with --keep-roles too, which keeps the ranks' : 'like everybody'}`, async () => {
      const database = await open();
      const from = newSqliteUrl(folder);
      await writeSource(from, GENERATION);
      const writer = await openWriter(from);
      for (const [id, role] of [
        [2, 1_000_000_000],
        [3, -1],
        [4, 99],
        [5, 0],
        [8, 11],
        [7, 100],
      ])
        await writer.run('update users set role = ? where id = ?', [role ?? null, id ?? null]);
      await writer.close();
      const request = { ...requestFor(from, GENERATION), keepRoles };
      const dry = await makeTestImporter(database).dryRun(request);
      const applied = await makeTestImporter(database).apply(request);
      assert.deepEqual(applied.proof, { discrepancies: [], changes: [] });
      assert.deepEqual(
        [dry.findings, dry.warnings, dry.counts, dry.sums],
        [applied.findings, applied.warnings, applied.counts, applied.sums],
      );
      const accounts = await database.kysely.selectFrom('accounts').select(['username', 'role']).execute();
      const ranked = accounts.filter(({ role }) => role !== 'user').map(({ username, role }) => `${username} ${role}`);
      assert.deepEqual(ranked.sort(), keepRoles ? ['boss admin', 'root root'] : []);
      const listed = applied.findings.filter(({ text }) => / there and \w+ here/.test(text)).map(({ text }) => text);
      assert.deepEqual(
        listed,
        keepRoles
          ? ['root is root there and root here', 'boss is admin there and admin here']
          : ['root', 'admin'].map(
              (rank) =>
                `${rank === 'root' ? 'root' : 'boss'} is ${rank} there and user here; only --keep-roles keeps ranks`,
            ),
      );
      assert.ok(applied.findings.some(({ text }) => text === 'gone is root there and does not come over'));
      const unknown = applied.findings.filter(({ text }) => text.includes('is no rank of the source'));
      assert.deepEqual(
        unknown.map(({ source }) => source),
        ['2', '3', '4', '8'],
      );
      const undone = await makeTestImporter(database).undoAll(request);
      assert.deepEqual(undone.kept, []);
    });
});
