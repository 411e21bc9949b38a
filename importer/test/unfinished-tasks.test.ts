import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { callModelApi } from '../../test/call-model-api.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../test/chat/scripted-upstream.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { startSandboxService } from '../../test/service-with-sandbox.ts';
import { makeTestImporter, newSqliteUrl, requestFor } from './imported-rows.ts';
import { oldKey } from './source-rows.ts';
import { writeSource } from './write-source.ts';

const GENERATION = 'new-api with task ids';
const OWN_ID = 'task_'.padEnd(37, '3');

forEachDatabase((_name, _open, freshUrl) => {
  let folder: string;
  let vendor: ScriptedUpstream;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
    vendor = await startScriptedUpstream();
    vendor.respondWith((response, { path }) => {
      response.setHeader('content-type', 'application/json');
      const creations = [{ id: '1', url: 'https://files.example.com/video.mp4' }];
      response.end(
        JSON.stringify(
          path.includes('vendor-3')
            ? { state: 'success', creations }
            : { state: 'failed', err_code: 'InternalServiceFailure' },
        ),
      );
    });
  });
  after(async () => {
    await vendor.stop();
    rmSync(folder, { recursive: true });
  });

  it('unfinished videos end here: paid once or refunded, and visible to their owner by the old id and key', async (test) => {
    const from = newSqliteUrl(folder);
    await writeSource(from, GENERATION);
    const source = new DatabaseSync(from.slice('sqlite:'.length));
    source
      .prepare(
        "update channels set type = 52, models = 'viduq2', \"key\" = 'key-of-before', base_url = ? where id = 11",
      )
      .run(vendor.url);
    source.exec(`update tasks set properties = '{"origin_model_name":"viduq2"}'`);
    source.close();
    const url = await freshUrl();
    // Started once, so that its own first administrator exists.
    const first = await startSandboxService(url);
    await makeTestImporter(first.app.database).apply(requestFor(from, GENERATION));
    await first.stop();

    const service = await startSandboxService(url);
    test.after(() => service.stop());
    const { kysely } = service.app.database;
    for (let tries = 0; ; tries++) {
      const open = await kysely.selectFrom('reservations').select('ref').execute();
      if (open.length === 0) break;
      assert.ok(tries < 600, JSON.stringify(open));
      await pause(50);
    }
    const wallet = await kysely
      .selectFrom('wallets')
      .innerJoin('accounts', 'accounts.id', 'wallets.user_id')
      .select(['balance', 'used'])
      .where('username', '=', 'alice')
      .executeTakeFirstOrThrow();
    assert.deepEqual(
      wallet,
      { balance: 2_000 + 71, used: 5 },
      'what failed is back in the wallet, what ended well is spent',
    );
    assert.deepEqual(await auditLedger(service.app.database), []);
    const seen = await callModelApi(service.baseUrl, `sk-${oldKey(1)}`, 'GET', `/v1/videos/${OWN_ID}`);
    assert.deepEqual([seen.status, seen.body.id, seen.body.status], [200, OWN_ID, 'completed']);
    assert.deepEqual(
      [...new Set(vendor.requests.map(({ path, headers }) => `${path} ${headers.authorization}`))].sort(),
      ['/ent/v2/tasks/task_open/creations Token key-of-before', '/ent/v2/tasks/vendor-3/creations Token key-of-before'],
    );
    const report = await makeTestImporter(service.app.database).verify(requestFor(from, GENERATION));
    assert.deepEqual(report.proof?.discrepancies, []);
    const undone = await makeTestImporter(service.app.database).undoAll(requestFor(from, GENERATION));
    const kept = undone.kept.map(({ kind, source: id }) => `${kind} ${id}`);
    assert.ok(kept.includes('task 2') && kept.includes('task 3') && kept.includes('user 2'), kept.join());
    assert.deepEqual(await auditLedger(service.app.database), []);
  });
});
