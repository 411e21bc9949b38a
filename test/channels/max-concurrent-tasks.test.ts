import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService, testEnvironment } from '../service-with-sandbox.ts';
import { type SoraUpstream, startSoraUpstream } from './sora-upstream.ts';

const CALLERS = 12;

/** The limit on an account's unfinished videos at its vendor, across all processes that submit. */
describe('max_concurrent_tasks of a channel', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: SandboxService;
    let upstream: SoraUpstream;
    let second: App | undefined;
    let bases: readonly string[];
    let key: string;
    const made: number[] = [];
    before(async () => {
      const url = await freshUrl();
      service = await startSandboxService(url, { sandbox: { simulators: [] } });
      bases = [service.baseUrl];
      // SQLite serves a single process.
      if (name === 'postgres') {
        second = await makeApp(parseConfig(testEnvironment(url)), { log: openLog('silent') });
        bases = [service.baseUrl, `http://127.0.0.1:${(await second.listen()).port}`];
      }
      await service.operator.grantQuota(1_000_000_000);
      key = await service.operator.makeToken();
    });
    beforeEach(async () => {
      upstream = await startSoraUpstream();
      for (const id of made.splice(0))
        await service.operator.requestData('PUT', `/api/admin/channels/${id}`, { enabled: false });
    });
    afterEach(() => upstream.stop());
    after(async () => {
      await assertLedgerConsistent(service.app.database);
      await second?.close(1_000);
      await service.stop();
    });

    const add = async (account: string, priority: number, most?: number): Promise<number> => {
      const id = await service.operator.addChannel({
        vendor: 'sora',
        name: account,
        base_url: upstream.url,
        credentials: { api_key: account },
        models: ['sora-2'],
        priority,
        options: { private: true, max_concurrent_tasks: most },
      });
      made.push(id);
      return id;
    };
    const submit = (index = 0, prompt = 'a boat') =>
      callModelApi(bases[index % bases.length] as string, key, 'POST', '/v1/videos', {
        model: 'sora-2',
        prompt,
        queue: false,
      });
    const statusesOf = async (answers: readonly Promise<{ status: number }>[]) =>
      (await Promise.all(answers)).map(({ status }) => status).sort((a, b) => a - b);
    const channelOf = async (id: unknown) =>
      (
        await service.app.database.kysely
          .selectFrom('tasks')
          .select('channel_id')
          .where('public_id', '=', String(id))
          .executeTakeFirstOrThrow()
      ).channel_id;

    it('is never exceeded by concurrent submits, and submits beyond it cost nothing', async () => {
      await add('one', 0, 3);
      const answers = await Promise.all(Array.from({ length: CALLERS }, (_, index) => submit(index)));
      const refused = answers.filter(({ status }) => status !== 200);
      assert.equal(refused.length, CALLERS - 3);
      for (const { status, headers, body } of refused) {
        const { code, message } = body.error as unknown as { code: string; message: string };
        assert.deepEqual([status, code, headers.get('retry-after')], [503, 'upstream_unavailable', '10']);
        assert.match(message, /in progress/);
      }
      assert.equal(upstream.begun('one'), 3);
      const { reserved } = await service.app.database.kysely
        .selectFrom('reservations')
        .select(({ fn }) => fn.countAll<number>().as('reserved'))
        .executeTakeFirstOrThrow();
      assert.equal(Number(reserved), 3);
    });

    it('a video that ends frees a slot for another', async () => {
      await add('two', 0, 2);
      upstream.finishes = true;
      const submitUntilTaken = async (_: unknown, index: number): Promise<void> => {
        for (let tries = 0; tries < 3_000; tries++) {
          const { status } = await submit(index);
          if (status === 200) return;
          assert.equal(status, 503);
          await pause(20);
        }
        assert.fail('no place became free');
      };
      await Promise.all(Array.from({ length: 8 }, submitUntilTaken));
      assert.deepEqual([upstream.begun('two'), upstream.mostUnfinished('two')], [8, 2]);
    });

    it('submits beyond it go to the next channel', async () => {
      await add('first', 10, 1);
      const next = await add('next', 5);
      assert.deepEqual(await statusesOf([submit(0), submit(1), submit(2)]), [200, 200, 200]);
      assert.deepEqual([upstream.begun('first'), upstream.begun('next')], [1, 2]);
      assert.equal(await channelOf((await submit()).body.id), next);
    });

    it('applies to the next attempt of a submit, which skips a channel that has filled up', async () => {
      await add('refusing', 10, 1);
      await add('small', 5, 1);
      const last = await add('last', 1);
      const [refusedOne, filled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      upstream.beforeSubmit = async (body) => {
        if (!body.includes('refuse me')) return undefined;
        upstream.beforeSubmit = async () => undefined;
        refusedOne.resolve();
        await filled.promise;
        return 500;
      };
      const first = submit(0, 'refuse me');
      await refusedOne.promise;
      // The first channel holds the video whose response is pending, so this one takes the only slot of the second.
      assert.equal((await submit(1)).status, 200);
      assert.equal(upstream.begun('small'), 1);
      filled.resolve();
      const { status, body } = await first;
      assert.equal(status, 200);
      assert.equal(await channelOf(body.id), last);
      assert.deepEqual([upstream.begun('small'), upstream.begun('last')], [1, 1]);
    });

    it('is a whole number from 1, can be removed, and counts for each credential', async () => {
      const id = await add('changed', 0, 1);
      const change = (body: object) => service.operator.request('PUT', `/api/admin/channels/${id}`, body);
      for (const most of [0, -1, 1.5, '2', null, 1_000_001]) {
        const { success, message } = await change({ options: { private: true, max_concurrent_tasks: most } });
        assert.equal(success, false, String(most));
        assert.match(message ?? '', /max_concurrent_tasks/);
      }
      const list = [{ id: 1 }, { credentials: { api_key: 'other' } }];
      assert.equal((await change({ credential_list: list })).success, true);
      assert.deepEqual(await statusesOf([submit(0), submit(1), submit(0)]), [200, 200, 503]);
      assert.deepEqual([upstream.begun('changed'), upstream.begun('other')], [1, 1]);
      assert.equal((await change({ options: { private: true } })).success, true);
      assert.deepEqual(await statusesOf([submit(0), submit(1)]), [200, 200]);
    });
  });
});
