import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, Sheet } from '../../src/contract/batches.ts';
import { type SoraUpstream, startSoraUpstream } from '../channels/sora-upstream.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
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

    it('refuses what it would otherwise lose, by name', async () => {
      assert.match(await refusal('prompt,colour\na,red'), /unknown column "colour"/);
      assert.match(await refusal('prompt,prompt\na,b'), /column "prompt" twice/);
      assert.match(await refusal('prompt\n"open'), /not closed/);
      assert.match(await refusal('prompt'), /header and a row/);
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
