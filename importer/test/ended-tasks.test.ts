import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { findBrokenRows } from '../../src/server/commands/check-database.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { callModelApi } from '../../test/call-model-api.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../test/chat/scripted-upstream.ts';
import { forEachDatabase } from '../../test/for-each-database.ts';
import { type SandboxService, startSandboxService } from '../../test/service-with-sandbox.ts';
import { makeTestImporter, newSqliteUrl, requestFor } from './imported-rows.ts';
import { NOW_SECONDS, OLD_PASSWORD, oldKey } from './source-rows.ts';
import { writeSource } from './write-source.ts';

const GENERATION = 'new-api with task ids';
const CLIP = loadMedia('sea-1.mp4').bytes;

interface Row {
  readonly task_id: string;
  readonly quota: number;
  readonly imported: boolean;
}
interface Page {
  readonly data: readonly Row[];
  readonly next: string | null;
}

forEachDatabase((_name, _open, freshUrl) => {
  let folder: string;
  let host: ScriptedUpstream;
  let from: string;
  let service: SandboxService;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
    host = await startScriptedUpstream();
    host.respondWith((response) => response.setHeader('content-type', 'video/mp4').end(CLIP));
    from = newSqliteUrl(folder);
    await writeSource(from, GENERATION);
    const source = new DatabaseSync(from.slice('sqlite:'.length));
    source.prepare('update channels set base_url = ? where id = 11').run(host.url);
    source.exec("delete from tasks where status not in ('SUCCESS', 'FAILURE')");
    const secrets = { upstream_task_id: 'vendor-1', token_id: 12, result_url: `${host.url}/file.mp4` };
    source.prepare('update tasks set user_id = 5, private_data = ? where id = 1').run(JSON.stringify(secrets));
    source.close();
    const url = await freshUrl();
    // Started once, so that its own first administrator exists.
    const first = await startSandboxService(url);
    await makeTestImporter(first.app.database).apply(requestFor(from, GENERATION));
    await first.stop();
    service = await startSandboxService(url);
  });
  after(async () => {
    await service.stop();
    await host.stop();
    rmSync(folder, { recursive: true });
  });

  it("its key finds it by the old id in every format, and fetches the file from the source's URL", async () => {
    const key = `sk-${oldKey(12)}`;
    const video = await callModelApi(service.baseUrl, key, 'GET', '/v1/videos/task_done');
    assert.equal(video.status, 200);
    assert.deepEqual(
      [video.body.id, video.body.status, video.body.created_at, video.body.metadata],
      ['task_done', 'completed', NOW_SECONDS + 1, { url: `${host.url}/file.mp4` }],
    );
    const unified = await callModelApi(service.baseUrl, key, 'GET', '/v1/video/generations/task_done');
    const data = unified.body.data as unknown as Record<string, unknown>;
    assert.deepEqual(
      [data.status, data.fail_reason, data.submit_time, data.finish_time],
      ['SUCCESS', `${host.url}/file.mp4`, NOW_SECONDS + 1, NOW_SECONDS + 61],
    );
    const file = await fetch(`${service.baseUrl}/v1/videos/task_done/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(file.status, 200);
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(CLIP));
    const other = await callModelApi(service.baseUrl, `sk-${oldKey(1)}`, 'GET', '/v1/videos/task_done');
    assert.ok(other.status >= 400 && other.status < 500);
  });

  it('its owner sees it with its cost, without being charged', async () => {
    const login = await fetch(`${service.baseUrl}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: '小明', password: OLD_PASSWORD }),
    });
    const { id } = ((await login.json()) as { data: { id: number } }).data;
    const headers = {
      cookie: (login.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '',
      'service-api-user': String(id),
    };
    const read = async <T>(path: string) => (await (await fetch(service.baseUrl + path, { headers })).json()) as T;
    const list = await read<Page>('/api/videos');
    assert.deepEqual(
      list.data.map(({ task_id, quota, imported }) => [task_id, quota, imported]),
      [['task_done', 70, true]],
    );
    assert.equal((await read<Page>('/api/videos?q=dog')).data.length, 1);
    const { data } = await read<{ data: { refunded: boolean; play_url: string; imported: boolean } }>(
      '/api/videos/task_done',
    );
    assert.deepEqual([data.refunded, data.imported], [false, true]);
    assert.ok(Buffer.from(await (await fetch(service.baseUrl + data.play_url)).arrayBuffer()).equals(CLIP));
    const wallet = await service.app.database.kysely
      .selectFrom('wallets')
      .select(['balance', 'used', 'requests'])
      .where('user_id', '=', id)
      .executeTakeFirstOrThrow();
    assert.deepEqual(wallet, { balance: 5_040, used: 0, requests: 0 });
    assert.deepEqual(await auditLedger(service.app.database), []);
    assert.deepEqual(await findBrokenRows(service.app.database), []);
  });

  it('administrators page through own and imported videos, and filter them by period', async () => {
    const { operator } = service;
    await operator.grantQuota(10_000_000);
    await service.addChannel('vidu', ['viduq1']);
    const key = await operator.makeToken();
    const made = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos', { model: 'viduq1', prompt: 'now' });
    assert.equal(made.status, 200);
    const pages = async (query: string) => {
      const ids: string[] = [];
      for (let after: string | null | undefined; after !== null; ) {
        const page = (await operator.request(
          'GET',
          `/api/admin/tasks?page_size=2${query}${after === undefined ? '' : `&after=${after}`}`,
        )) as unknown as Page;
        ids.push(...page.data.map(({ task_id }) => task_id.replace(/^task_i\d+r/, 'own ')));
        after = page.next;
      }
      return ids;
    };
    const own = String(made.body.id);
    const history = ['own 24', 'of_a_removed_channel', 'task_failed', 'task_done'];
    assert.deepEqual(await pages(''), [own, ...history]);
    assert.deepEqual(await pages('&sort=time'), [...history.toReversed(), own]);
    assert.deepEqual(await pages(`&from=${NOW_SECONDS + 20}&to=${NOW_SECONDS + 24}`), [
      'of_a_removed_channel',
      'task_failed',
    ]);
    assert.deepEqual(await pages(`&to=${NOW_SECONDS + 20}`), ['task_done']);
    assert.deepEqual(await pages(`&from=${Math.floor(Date.now() / 1000) - 3_600}`), [own]);
    const detail = await operator.requestData<{ money: unknown[]; imported: boolean }>(
      'GET',
      '/api/admin/tasks/task_done',
    );
    assert.deepEqual([detail.money, detail.imported], [[], true]);
  });

  it('an undo removes untouched videos, and keeps the rest with their account', async () => {
    const report = await makeTestImporter(service.app.database).verify(requestFor(from, GENERATION));
    assert.deepEqual(report.proof?.discrepancies, []);
    const undone = await makeTestImporter(service.app.database).undoAll(requestFor(from, GENERATION));
    // 小明 has logged in; the others have not used the service.
    assert.equal(undone.removed['ended-task'], 3);
    const left = await service.app.database.kysely
      .selectFrom('tasks')
      .select('public_id')
      .where('seq', '<', 0)
      .execute();
    assert.deepEqual(left, [{ public_id: 'task_done' }]);
    assert.deepEqual(await findBrokenRows(service.app.database), []);
    assert.deepEqual(await auditLedger(service.app.database), []);
  });
});
