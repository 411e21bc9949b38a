import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type App, makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { ApiCaller, idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

/** Long enough for all submits to reach their vendors on a busy machine: later ones are given up. */
const ENV = { SYNC_PERIOD_SECONDS: '1', AMBIGUOUS_SUBMIT_TTL_SECONDS: '10' };
const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'veo', model: 'veo-3.1-generate-preview' },
  { name: 'sora', model: 'sora-2' },
] as const;
/**
 * Outcomes with the number of tasks of each vendor. Excludes those that Veo has to report for a minute before the
 * service accepts them. Three dropped submits could open the vendor's circuit breaker in a process that has seen few
 * others, so that later submits are refused.
 */
const OUTCOMES = { '': 4, '[fail]': 3, '[filtered]': 3, '[empty]': 3, '[drop]': 2 };
/** Time for all tasks to end on a busy machine while twelve callers poll them without pause. */
const END_SECONDS = 120;

/**
 * Runs everything that can notice the end of a task at once: queries, lists, files, deletes, the pollers of all
 * processes.
 */
describe('concurrent operations on the same tasks', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: VideoService;
    let second: App | undefined;
    let viewers: ApiCaller[];
    before(async () => {
      const url = await freshUrl();
      service = await startVideoService(url, { env: ENV }, VENDORS);
      viewers = [service.caller];
      // SQLite serves a single process.
      if (name === 'postgres') {
        second = await makeApp(parseConfig(testEnvironment(url, ENV)), { log: openLog('silent') });
        const { port } = await second.listen();
        viewers.push(new ApiCaller(`http://127.0.0.1:${port}`, service.caller.key));
      }
    });
    after(async () => {
      await second?.close(1_000);
      await service.stop();
    });

    const either = (): ApiCaller => viewers[Math.floor(Math.random() * viewers.length)] as ApiCaller;
    const ended = async (ids: readonly string[]) => {
      const { kysely } = service.app.database;
      const rows = await kysely
        .selectFrom('tasks')
        .select(['id', 'status', 'deleted'])
        .where('public_id', 'in', ids)
        .execute();
      return rows.filter(({ status }) => status === 'SUCCESS' || status === 'FAILURE');
    };

    it('each task ends, is settled or refunded, and is deleted exactly once', async () => {
      const wanted = VENDORS.flatMap(({ model }) =>
        Object.entries(OUTCOMES).flatMap(([outcome, length]) =>
          Array.from({ length }, (_, n) => ({ model, prompt: `race ${model} ${n} ${outcome}` })),
        ),
      );
      const submitted = await Promise.all(wanted.map((body) => either().request('POST', '/v1/videos', body)));
      const ids = submitted.map(({ status, body }) => {
        assert.equal(status, 200, JSON.stringify(body));
        return idOf(body);
      });
      assert.equal(new Set(ids).size, ids.length);

      let over = false;
      const deleted = new Map<string, number>();
      const anyId = () => ids[Math.floor(Math.random() * ids.length)] as string;
      const hammer = async (): Promise<void> => {
        while (!over) {
          const id = anyId();
          const viewer = either();
          const [video, , , gone] = await Promise.all([
            viewer.request('GET', `/v1/videos/${id}`),
            viewer.request('GET', `/v1/video/generations/${id}`),
            viewer
              .fetchRaw(`/v1/videos/${id}/content`, { headers: { range: 'bytes=0-9' } })
              .then((file) => file.body?.cancel()),
            // Every third task is deleted as soon as possible.
            ids.indexOf(id) % 3 === 0 ? either().request('DELETE', `/v1/videos/${id}`) : undefined,
          ]);
          assert.ok(video.status === 200 || video.status === 400, `${video.status} ${JSON.stringify(video.body)}`);
          if (gone?.status === 200) deleted.set(id, (deleted.get(id) ?? 0) + 1);
          await pause(5);
        }
      };
      const hammers = Promise.all(Array.from({ length: 12 }, hammer));
      for (let tries = 0; tries < 10 * END_SECONDS && (await ended(ids)).length < ids.length; tries += 1)
        await pause(100);
      await pause(500);
      over = true;
      await hammers;

      const rows = await ended(ids);
      const { kysely } = service.app.database;
      const open = await kysely
        .selectFrom('tasks')
        .select(['prompt', 'status'])
        .where('next_poll_at', 'is not', null)
        .execute();
      assert.deepEqual(open, [], 'all have ended');
      await assertLedgerConsistent(service.app.database);
      assert.ok(deleted.size > 0);
      for (const [id, times] of deleted) {
        assert.equal(times, 1, `${id} was deleted once`);
        assert.equal((await either().request('GET', `/v1/videos/${id}`)).status, 400, 'and stays away');
      }
      assert.equal(rows.filter((row) => row.deleted === 1).length, deleted.size);
      for (const { name: vendor } of VENDORS) {
        const prompts = service.sandbox.control.jobs(vendor).map(({ prompt }) => prompt);
        assert.equal(new Set(prompts).size, prompts.length, `${vendor}: no job was begun twice`);
      }
    });

    it('quota for a fixed number of videos, requested concurrently by all callers', async () => {
      const { quota } = await service.operator.quota();
      const price = 4 * 50_000;
      const affordable = 7;
      await service.operator.grantQuota(affordable * price - quota);
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, n) => either().request('POST', '/v1/videos', { prompt: `poor ${n} [stuck]` })),
      );
      assert.equal(answers.filter(({ status }) => status === 200).length, affordable);
      for (const { status, body } of answers)
        if (status !== 200) assert.deepEqual([status, body.code], [403, 'quota_not_enough']);
      assert.equal((await service.operator.quota()).quota, 0);
      await assertLedgerConsistent(service.app.database);
    });
  });
});
