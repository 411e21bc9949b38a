import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, Sheet } from '../../src/contract/batches.ts';
import { AdminClient } from '../admin-client.ts';
import { type SoraUpstream, startSoraUpstream } from '../channels/sora-upstream.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

describe('sheets of videos', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let upstream: SoraUpstream;
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-sheets-'));
      upstream = await startSoraUpstream();
      upstream.finishes = true;
      service = await startSandboxService(await freshUrl(), {
        env: { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' },
        overrides: { clock: middayClock },
        sandbox: { simulators: [] },
      });
      await service.operator.addChannel({
        vendor: 'sora',
        base_url: upstream.url,
        credentials: { api_key: 'one' },
        models: ['sora-2'],
        options: { private: true },
      });
      await service.operator.grantQuota(1_000_000_000_000);
    });
    after(async () => {
      await assertLedgerConsistent(service.app.database);
      await service.stop();
      await upstream.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const check = (csv: string, more: object = {}) =>
      service.operator.requestData<Sheet>('POST', '/api/batches/csv', { csv, model: 'sora-2', ...more });
    const refusal = async (csv: string) =>
      (await service.operator.request('POST', '/api/batches/csv', { csv, model: 'sora-2' })).message ?? '';
    const ended = async (id: string): Promise<Batch> => {
      for (let tries = 0; tries < 600; tries++) {
        const batch = await service.operator.requestData<Batch>('GET', `/api/batches/${id}`);
        if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) return batch;
        await pause(50);
      }
      return assert.fail('the batch did not end within 30 seconds');
    };

    it('prices valid rows and names the cell of every error, before anything is sent', async () => {
      const csv =
        'custom_id,prompt,seconds,size\r\na,"A ""cat"", running",4,720x1280\r\nb,,4,\r\nc,A dog,many,\r\na,Twice,4,\r\n\r\n';
      const sheet = await check(csv);
      assert.deepEqual(sheet.columns, ['custom_id', 'prompt', 'seconds', 'size']);
      assert.deepEqual(
        sheet.rows.map(({ line, custom_id, errors }) => [line, custom_id, errors.map(({ column }) => column)]),
        [
          [2, 'a', []],
          [3, 'b', ['prompt']],
          [4, 'c', ['seconds']],
          [5, 'a', ['custom_id']],
        ],
      );
      assert.equal(sheet.rows[0]?.cells[1], 'A "cat", running');
      assert.deepEqual([sheet.valid, sheet.invalid, sheet.batch], [1, 3, null]);
      assert.ok(sheet.quota > 0 && sheet.quota === sheet.rows[0]?.quota);
      assert.equal((await check(csv, { start: true })).batch, null);
    });

    it('reads semicolons, tabs, a byte order mark and line ends within quotes', async () => {
      for (const separator of [';', '\t']) {
        const { rows } = await check(`\ufeffprompt${separator}seconds\n"two\nlines"${separator}4\nnext${separator}4`);
        assert.deepEqual(
          rows.map(({ line, cells }) => [line, cells[0]]),
          [
            [2, 'two\nlines'],
            [4, 'next'],
          ],
        );
      }
    });

    it('reads what Excel writes: carriage returns alone, and empty cells behind the last column', async () => {
      for (const csv of ['prompt,seconds\rone,4\rtwo,4\r', 'prompt,seconds,,\r\none,4,,\r\ntwo,4,, \r\n,,,\r\n']) {
        const { columns, rows } = await check(csv);
        assert.deepEqual(columns, ['prompt', 'seconds']);
        assert.deepEqual(
          rows.map(({ line, cells, errors }) => [line, cells, errors]),
          [
            [2, ['one', '4'], []],
            [3, ['two', '4'], []],
          ],
        );
      }
    });

    it('refuses what it would otherwise lose, by name', async () => {
      assert.match(await refusal('prompt,colour\na,red'), /unknown column "colour"/);
      assert.match(await refusal('prompt,prompt\na,b'), /column "prompt" twice/);
      assert.match(await refusal('prompt\n"open'), /not closed/);
      assert.match(await refusal('prompt'), /header and a row/);
      const gbk = Buffer.from('prompt\n\xd7\xf8\xd4\xda\xba\xec\xc9\xab', 'latin1');
      assert.match(await refusal(gbk.toString('utf8')), /not saved as UTF-8/);
      const { rows } = await check('prompt,seconds\na,4,more');
      assert.equal(rows[0]?.errors.length, 1);
      assert.match(await refusal('prompt,metadata.__proto__\na,b'), /unknown column "metadata.__proto__"/);
    });

    it('refuses hostile sheets at once', async () => {
      const wide = Array.from({ length: 100_000 }, (_, index) => `metadata.${index}`).join(',');
      assert.match(await refusal(`${wide}\na`), /more than 100 columns/);
      for (const header of ['x'.repeat(9_000_000), `"${'x'.repeat(9_000_000)}"`])
        assert.match(await refusal(`${header}\na`), /unknown column/);
      assert.match(await refusal(`prompt\n${'a\n'.repeat(1_000_000)}`), /more than 10000 rows/);
    });

    it('starts as a batch of an organization for the member who acts, and stops with the membership', async () => {
      const { operator, baseUrl } = service;
      const organization = await operator.requestData<{ id: number }>('POST', '/api/organizations', {
        slug: 'studio',
        name: 'Studio',
      });
      await operator.requestData('PUT', `/api/admin/organizations/${organization.id}`, { quota_delta: 1_000_000_000 });
      const login = { username: 'mia', password: 'correct horse battery' };
      await operator.requestData('POST', '/api/admin/users', { ...login, role: 'user' });
      const member = await new AdminClient(baseUrl).signIn(login);
      const { token } = await operator.requestData<{ token: string }>('POST', '/api/organizations/studio/invitations', {
        role: 'member',
      });
      await member.requestData('POST', '/api/organizations/accept', { token });
      const inStudio = async <T>(method: string, path: string, body?: object): Promise<T> => {
        const response = await fetch(`${baseUrl}${path}`, {
          method,
          headers: { ...member.headers, 'x-organization': 'studio', 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const answer = (await response.json()) as { success: boolean; data: T };
        assert.ok(answer.success, JSON.stringify(answer));
        return answer.data;
      };
      const endedThere = async (id: string): Promise<Batch> => {
        for (let tries = 0; tries < 600; tries++) {
          const batch = await inStudio<Batch>('GET', `/api/batches/${id}`);
          if (batch.status === 'completed') return batch;
          await pause(50);
        }
        return assert.fail('the batch did not end within 30 seconds');
      };
      const start = async (rows: number) =>
        inStudio<Sheet>('POST', '/api/batches/csv', {
          ...{ model: 'sora-2', start: true },
          csv: `prompt,seconds\n${Array.from({ length: rows }, (_, index) => `video ${index},4`).join('\n')}`,
        });
      const { batch, quota } = await start(3);
      assert.ok(batch);
      const limit = { spend_limit: { amount: Math.round((quota * 5) / 3), period: 'month' } };
      const members = `/api/organizations/studio/members/${member.id}`;
      await operator.requestData('PUT', members, limit);
      const done = await endedThere(batch.id);
      assert.deepEqual([done.request_counts, done.spent], [{ total: 3, completed: 3, failed: 0 }, quota]);
      const { kysely } = service.app.database;
      const tasks = await kysely
        .selectFrom('tasks')
        .select(['user_id', 'actor_id', 'token_id'])
        .where('user_id', '=', organization.id)
        .execute();
      assert.deepEqual(tasks, Array(3).fill({ user_id: organization.id, actor_id: member.id, token_id: 0 }));
      assert.match(JSON.stringify(await member.requestData('GET', '/api/notifications')), /Batch completed/);
      // A limit set earlier counts every line.
      await operator.requestData('PUT', members, { spend_limit: { amount: quota, period: 'week' } });
      const limited = await start(5);
      const over = await endedThere(limited.batch?.id ?? '');
      assert.deepEqual(over.request_counts, { total: 5, completed: 3, failed: 2 });
      const [one, two] = await Promise.all(
        [0, 1].map(() => inStudio<Batch>('POST', `/api/batches/${over.id}/retry`, {})),
      );
      assert.equal(one?.id, two?.id, 'two calls make one batch');
      assert.equal((await inStudio<Batch>('POST', `/api/batches/${over.id}/retry`, {})).id, one?.id);
      assert.deepEqual((await endedThere(one?.id ?? '')).request_counts, { total: 2, completed: 0, failed: 2 });
      const retries = await kysely.selectFrom('batches').select('id').where('retry_of', '=', over.id).execute();
      assert.equal(retries.length, 1);
      await operator.requestData('PUT', members, { spend_limit: null });
      const last = await start(2);
      await inStudio('POST', `/api/batches/${last.batch?.id}/pause`, {});
      await operator.requestData('DELETE', members);
      await kysely
        .updateTable('batches')
        .set({ paused_at: null })
        .where('id', '=', last.batch?.id ?? '')
        .execute();
      for (let tries = 0; tries < 600; tries++) {
        const row = await kysely
          .selectFrom('batches')
          .select(['status', 'completed', 'failed'])
          .where('id', '=', last.batch?.id ?? '')
          .executeTakeFirstOrThrow();
        if (row.status === 'completed') break;
        await pause(50);
      }
      const lines = await kysely
        .selectFrom('batch_lines')
        .select(['state', 'result'])
        .where('batch_id', '=', last.batch?.id ?? '')
        .execute();
      const refused = lines.filter(({ state }) => state === 'failed');
      const sent = await kysely
        .selectFrom('tasks')
        .select('id')
        .where('user_id', '=', organization.id)
        .where('created_at', '>', 0)
        .execute();
      assert.ok(
        refused.every(({ result }) => /No such organization/.test(result ?? '')),
        JSON.stringify(refused),
      );
      assert.equal(sent.length - 6, lines.length - refused.length, 'only lines sent before the removal became videos');
    });

    it('T87: starts as a batch, and its results are CSV without live formulas', async () => {
      const dangerous = ['=1+1', '+1', '-1', '@a', 'plain'];
      const { batch, quota } = await check(
        `custom_id,prompt,seconds\n${dangerous.map((id, index) => `${id},video ${index},4`).join('\n')}`,
        { start: true },
      );
      const done = await ended(batch?.id ?? '');
      assert.deepEqual([done.status, done.spent], ['completed', quota]);
      const response = await fetch(`${service.baseUrl}/api/batches/${done.id}/results.csv`, {
        headers: service.operator.headers,
      });
      assert.match(response.headers.get('content-type') ?? '', /^text\/csv/);
      const rows = (await response.text()).trimEnd().split('\r\n');
      assert.deepEqual(
        rows.slice(1).map((row) => row.split(',').slice(1, 3)),
        ["'=1+1", "'+1", "'-1", "'@a", 'plain'].map((id) => [id, 'completed']),
      );
      const { lines } = await service.operator.requestData<{ lines: { custom_id: string; quota: number }[] }>(
        'GET',
        `/api/batches/${done.id}/lines?state=completed`,
      );
      assert.deepEqual(lines.map(({ custom_id }) => custom_id).sort(), dangerous.toSorted());
    });
  });
});
