import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import type { statusFile } from '../../contract/service.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import type { Sample } from '../platform/metrics.ts';
import { IncidentRecorder, InstanceStore, type WatchedMetric } from './incidents.ts';
import { type AffectedAreas, areasOfFailedCalls, mergeOutages, type Outage, OutageStore } from './outages.ts';

const call = (kind: string, vendor: string, outcome: string, value: number): Sample => ({
  labels: { kind, vendor, channel: '1', outcome },
  value,
});

describe('areas affected by failed calls', () => {
  const CASES: readonly (readonly [string, readonly Sample[], AffectedAreas])[] = [
    ['calls that went well', [call('submit', 'kling', 'ok', 9), call('submit', 'kling', 'capacity', 3)], {}],
    ['the only vendor of an area fails', [call('chat', 'openai', 'auth', 3)], { chat: 'down' }],
    [
      'one of two vendors fails',
      [call('submit', 'kling', 'unreachable', 4), call('poll', 'vidu', 'ok', 1)],
      { video: 'limited' },
    ],
    ['too few calls to tell', [call('chat', 'openai', 'unreachable', 2)], {}],
    ['mistakes of callers', [call('submit', 'kling', 'user', 90), call('submit', 'kling', 'policy', 9)], {}],
    ['probes of channels', [call('probe', 'kling', 'auth', 9)], {}],
    [
      'images belong to videos',
      [call('image', 'sora', 'billing', 5), call('chat', 'openai', 'ok', 5)],
      { video: 'down' },
    ],
  ];
  for (const [name, calls, expected] of CASES)
    it(name, () => assert.deepEqual({ ...areasOfFailedCalls(calls) }, expected));
});

describe('outages of several processes', () => {
  const outage = (from: number, to: number | null, level: Outage['level'] = 'limited', area: Outage['area'] = 'chat') =>
    ({ area, level, started_at: from, ended_at: to }) as const;

  it('merge where they overlap or touch, with the worst level, newest first', () => {
    assert.deepEqual(
      mergeOutages([outage(50, 60), outage(0, 20), outage(10, 30, 'down'), outage(15, 25, 'limited', 'video')]),
      [outage(50, 60), outage(15, 25, 'limited', 'video'), outage(0, 30, 'down')],
    );
  });

  it('stay open while one of them is', () => {
    assert.deepEqual(mergeOutages([outage(0, null), outage(10, 30)]), [outage(0, null)]);
  });
});

forEachDatabase((_name, open, freshUrl) => {
  describe('the record of outages', () => {
    const START = Date.UTC(2026, 10, 1);
    /** A process that reads `values`, with the stores it writes to. */
    async function startRecorder() {
      const database = await open();
      const clock = manualClock(START);
      let calls: readonly Sample[] = [];
      const [store, outages] = [new InstanceStore(database), new OutageStore(database)];
      const recorder = new IncidentRecorder({
        store,
        outages,
        clock,
        metrics: { values: async (name: string) => ((name as WatchedMetric) === 'upstream_calls_total' ? calls : []) },
        log: openLog('silent'),
        instance: { name: 'one', version: '1.0.0' },
      });
      const check = async (ms: number, next: readonly Sample[] = calls): Promise<readonly Outage[]> => {
        clock.advance(ms);
        calls = next;
        await recorder.check();
        return outages.list(clock.now());
      };
      return { check, recorder, store };
    }

    it('opens an outage, worsens it and ends it', async () => {
      const { check } = await startRecorder();
      assert.deepEqual(await check(0), []);
      const failed = [call('chat', 'a', 'unreachable', 5), call('chat', 'b', 'ok', 5)];
      const outage = { area: 'chat', level: 'limited', started_at: START + 30_000, ended_at: null };
      assert.deepEqual(await check(30_000, failed), [outage]);
      assert.deepEqual(await check(30_000), [outage]);
      const worse = [...failed, call('chat', 'b', 'auth', 9)];
      assert.deepEqual(await check(30_000, worse), [{ ...outage, level: 'down' }]);
      // Ten minutes later, the failures are older than the window.
      for (let minute = 0; minute < 11; minute += 1) await check(60_000);
      const [ended, ...others] = await check(0);
      assert.deepEqual([ended?.level, others], ['down', []]);
      assert.ok((ended?.ended_at ?? 0) > START + 600_000);
    });

    it('states since when an incident has been seen, from its last beginning', async () => {
      const { check, store } = await startRecorder();
      const since = async () => {
        const [row] = await store.list();
        return (JSON.parse(row?.incidents ?? '[]') as { id: string; since: number }[]).map(
          (each) => each.since - START,
        );
      };
      await check(0);
      assert.deepEqual(await since(), []);
      await check(60_000, [call('chat', 'a', 'auth', 1)]);
      assert.deepEqual(await since(), [60_000]);
      await check(60_000);
      assert.deepEqual(await since(), [60_000]);
      // The window no longer has a growing count.
      for (let minute = 0; minute < 11; minute += 1) await check(60_000);
      assert.deepEqual(await since(), []);
      await check(60_000, [call('chat', 'a', 'auth', 2)]);
      assert.deepEqual(await since(), [840_000]);
    });

    it('lists a process until it stops, or was not seen for a day', async () => {
      const { check, recorder, store } = await startRecorder();
      const names = async () => (await store.list()).map(({ name }) => name);
      const other = { version: '1.0.0', started_at: START, incidents: '[]', areas: '{}' };
      await store.save({ ...other, name: 'two', seen_at: START });
      await store.save({ ...other, name: 'three', seen_at: START + 1 });
      await check(DAY_MS);
      assert.deepEqual(await names(), ['one', 'three', 'two']);
      await check(1);
      assert.deepEqual(await names(), ['one', 'three']);
      await recorder.stop();
      assert.deepEqual(await names(), ['three']);
    });

    it('records the time without any running process, and forgets after 30 days', async () => {
      const { check } = await startRecorder();
      await check(0);
      const found = await check(600_000);
      assert.deepEqual(
        found
          .toSorted((a, b) => a.area.localeCompare(b.area))
          .map(({ area, level, started_at, ended_at }) => [area, level, started_at, ended_at]),
        ['chat', 'sign_in', 'video'].map((area) => [area, 'down', START, START + 600_000]),
      );
      const later = await check(31 * DAY_MS);
      assert.ok(later.every(({ started_at }) => started_at === START + 600_000));
    });

    it('does not count a restart: a process that stops removes its row', async () => {
      const { check, recorder } = await startRecorder();
      await check(0);
      await recorder.stop();
      assert.deepEqual(await check(600_000), []);
    });
  });

  describe('the status page', () => {
    let service: TestService;
    before(async () => {
      service = await startTestService(await freshUrl(), { INSTANCE_NAME: 'secret-host' });
    });
    after(() => service.stop());
    const read = (path: string): Promise<Response> => fetch(`${service.url}${path}`);
    const readFile = async () =>
      (await (await read('/status.json')).json()) as EndpointPart<typeof statusFile, 'response'>;

    it('does not exist unless enabled', async () => {
      for (const path of ['/status', '/status.json']) assert.equal((await read(path)).status, 404, path);
      const status = async () =>
        ((await (await read('/api/status')).json()) as { data: { status_page: boolean } }).data.status_page;
      assert.equal(await status(), false);
      await service.setSiteSetting('STATUS_PAGE', '1');
      assert.equal(await status(), true);
    });

    it('shows areas and outages in two languages and as JSON, without anything internal', async () => {
      const works = [
        { area: 'sign_in', state: 'works' },
        { area: 'video', state: 'works' },
        { area: 'chat', state: 'works' },
      ];
      assert.deepEqual(await readFile(), { areas: works, incidents: [] });
      const from = Date.now() - 3_600_000;
      const [started_at, ended_at] = [Math.floor(from / 1000), Math.floor(from / 1000) + 60];
      await service.app.database.kysely
        .insertInto('outages')
        .values({ area: 'video', level: 'limited', started_at: started_at * 1000, ended_at: ended_at * 1000 })
        .execute();
      assert.deepEqual((await readFile()).incidents, [{ area: 'video', state: 'limited', started_at, ended_at }]);
      const [en, zh] = await Promise.all(
        ['en', 'zh-CN'].map(async (lang) => (await read(`/status?lang=${lang}`)).text()),
      );
      assert.match(en ?? '', /Everything works[\s\S]*Video and images<\/strong>: Limited/);
      assert.match(zh ?? '', /<html lang="zh-CN">[\s\S]*一切正常[\s\S]*视频与图片/);
      assert.doesNotMatch(
        `${en}${zh}${JSON.stringify(await readFile())}`,
        /secret-host|kling|channel|渠道|127\.0\.0\.1/,
      );
    });

    it('shows what a process sees now', async () => {
      await service.app.database.kysely
        .insertInto('instances')
        .values({
          name: 'other',
          version: '1',
          started_at: Date.now(),
          seen_at: Date.now(),
          incidents: '[]',
          areas: '{"chat":"down"}',
        })
        .execute();
      assert.deepEqual((await readFile()).areas.at(-1), { area: 'chat', state: 'down' });
      const page = await read('/status?lang=en');
      assert.match(await page.text(), /Some functions are affected[\s\S]*Unavailable/);
      assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    });
  });
});
