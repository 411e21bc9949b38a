import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Static } from 'typebox';
import type { ReconciledAccount, Reconciliation } from '../../src/contract/admin-videos.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { inAnHour, setJobDue } from '../requests/set-job-due.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const TOKEN = 'metrics-token-0123456789';
const AS_PROMETHEUS = { headers: { authorization: `Bearer ${TOKEN}` } };

type Row = Static<typeof Reconciliation>;
type Account = Static<typeof ReconciledAccount>;
const HOUR_MS = 3_600_000;
const MICRO = 1_000_000;

forEachDatabase((_name, _open, freshUrl) => {
  let service: SandboxService;
  let database: Database<Tables>;
  let key: string;
  const channels: Record<string, number> = {};
  before(async () => {
    const url = await freshUrl();
    service = await startSandboxService(url, { env: { METRICS_TOKEN: TOKEN } });
    await setJobDue(service.app.database.kysely, 'reconciliation', inAnHour());
    database = openDatabase<Tables>(url);
    channels.kling = await service.addChannel('kling', ['kling-v2-6']);
    channels.vidu = await service.addChannel('vidu', ['viduq2']);
    channels.sora = await service.addChannel('sora', ['sora-2']);
    await service.operator.grantQuota(1_000_000_000);
    key = await service.operator.makeToken();
  });
  after(async () => {
    await database.close();
    await service.stop();
  });

  const reconcile = (vendor: string): Promise<Row | null> =>
    service.operator.requestData('POST', `/api/admin/channels/${channels[vendor]}/reconcile`);
  const finish = async (model: string, more: object = {}): Promise<number> => {
    const sent = { model, prompt: 'herons', seconds: '5', ...more };
    const { status, body } = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos', sent);
    assert.equal(status, 200, JSON.stringify(body));
    for (let tries = 0; tries < 1_200; tries++) {
      const path = `/api/receipts/${String(body.id ?? body.task_id)}`;
      const receipt = await service.operator.requestData<{ outcome: string; charged: number }>('GET', path);
      if (receipt.outcome !== 'open') return receipt.charged;
      await pause(25);
    }
    assert.fail('the video did not end');
  };

  it('compares settled charges with what the account lost since the previous reading', async () => {
    for (const [vendor, model, units, quotaPerUnit] of [
      ['kling', 'kling-v2-6', 1.5, 70_000],
      ['vidu', 'viduq2', 60, 2_500],
    ] as const) {
      const first = await reconcile(vendor);
      assert.deepEqual([first?.from, first?.billed_units, first?.difference], [null, null, null], vendor);
      const charged = (await finish(model)) + (await finish(model));
      assert.equal(charged, 2 * units * quotaPerUnit, vendor);
      const next = await reconcile(vendor);
      assert.deepEqual(
        [next?.videos, next?.settled_units, next?.billed_units, next?.difference, next?.settled_quota],
        [2, 2 * units, 2 * units, 0, charged],
        vendor,
      );
      assert.equal(next?.from, first?.to);
    }
  });

  it('compares no span twice, however many read the account at once', async () => {
    const rows = await Promise.all(Array.from({ length: 6 }, () => reconcile('kling')));
    const { data } = await service.operator.request<Row[]>(
      'GET',
      `/api/admin/reconciliations?channel_id=${channels.kling}&page_size=100`,
    );
    const spans = (data ?? []).toReversed();
    for (const [index, { from }] of spans.entries()) assert.equal(from, spans[index - 1]?.to ?? null);
    const known = new Set(spans.map(({ id }) => id));
    for (const row of rows) assert.ok(row !== null && known.has(row.id));
  });

  it('shows usage at the vendor without a video of ours', async () => {
    const before = await reconcile('vidu');
    assert.ok(before);
    // Simulates a program that shares the account with the service.
    await fetch(`${service.sandbox.url('vidu')}/ent/v2/text2video`, {
      method: 'POST',
      headers: {
        authorization: `Token ${String(service.sandbox.credentials('vidu').api_key)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'viduq1', prompt: 'herons', duration: 5, resolution: '1080p' }),
    });
    let row = await reconcile('vidu');
    for (let tries = 0; tries < 200 && row?.billed_units === 0; tries++) {
      await pause(50);
      row = await reconcile('vidu');
    }
    assert.deepEqual([row?.videos, row?.settled_units, row?.billed_units, row?.difference], [0, 0, 80, 80]);
  });

  it('runs hourly for all channels whose vendor supports it, with a list and metrics', async () => {
    const listed = (query = '') =>
      service.operator.request<readonly Row[]>('GET', `/api/admin/reconciliations${query}`);
    const { total = 0 } = await listed();
    await setJobDue(service.app.database.kysely, 'reconciliation', 0);
    await service.app.runDueJobs();
    await setJobDue(service.app.database.kysely, 'reconciliation', inAnHour());
    assert.equal((await listed()).total, total + 2);
    const ofKling = await listed(`?channel_id=${channels.kling}`);
    assert.ok(ofKling.data.length > 0 && ofKling.data.every(({ channel_id }) => channel_id === channels.kling));
    const page = await (await fetch(`${service.baseUrl}/metrics`, AS_PROMETHEUS)).text();
    assert.match(
      page,
      new RegExp(`reelgate_reconciliation_units\\{channel="${channels.kling}",vendor="kling",kind="billed"\\} 0`),
    );
  });

  it('counts the videos of all channels that share one account', async () => {
    const second = await service.operator.addChannel({
      vendor: 'vidu',
      base_url: service.sandbox.url('vidu'),
      credentials: service.sandbox.credentials('vidu'),
      models: ['viduq3-turbo'],
      options: { private: true },
    });
    await reconcile('vidu');
    await finish('viduq3-turbo');
    const row = await reconcile('vidu');
    assert.ok(row !== null && row.settled_units > 0);
    assert.deepEqual([row.videos, row.difference], [1, 0]);
    await service.operator.request('DELETE', `/api/admin/channels/${second}`);
  });

  const accountOf = async (id: number | undefined) => {
    const accounts = await service.operator.requestData<readonly Account[]>(
      'GET',
      '/api/admin/reconciliations/accounts',
    );
    return accounts.find(({ channel_id }) => channel_id === id);
  };

  it('records when an account was read, and why it was not', async () => {
    const { read_at: before } = (await accountOf(channels.kling)) ?? {};
    assert.ok(typeof before === 'number');
    service.sandbox.control.fault({ vendor: 'kling', operation: 'other', kind: '503', times: 1 });
    const refused = await service.operator.request('POST', `/api/admin/channels/${channels.kling}/reconcile`);
    assert.equal(refused.success, false);
    const failed = await accountOf(channels.kling);
    assert.match(failed?.error ?? '', /\S/);
    assert.deepEqual([failed?.read_at, typeof failed?.failed_at], [before, 'number']);
    await reconcile('kling');
    assert.deepEqual(
      [(await accountOf(channels.kling))?.error, (await accountOf(channels.kling))?.failed_at],
      ['', null],
    );
  });

  it('judges each day, notifies administrators once of a difference, and shows it as an incident', async () => {
    const channel = await service.operator.addChannel({
      vendor: 'vidu',
      base_url: service.sandbox.url('vidu'),
      credentials: { api_key: 'another account' },
      models: ['viduq1'],
    });
    const now = Date.now();
    const row = (age: number, settled: number, billed: number) => ({
      channel_id: channel,
      vendor: 'vidu' as const,
      unit: 'credits',
      from_time: now - (age + 1) * HOUR_MS,
      to_time: now - age * HOUR_MS,
      counter: 0,
      videos: 1,
      settled_units: settled * MICRO,
      settled_quota: 1,
      billed_units: billed * MICRO,
    });
    const values = Array.from({ length: 20 }, (_, index) => row(22 - index, 10, index === 9 ? 90 : 10));
    await database.kysely.insertInto('reconciliations').values(values).execute();
    // A reading, even a failed one, resets the cached states.
    await service.operator.request('POST', `/api/admin/channels/${channel}/reconcile`);
    const { judged } = (await accountOf(channel)) ?? {};
    assert.deepEqual([judged?.settled_units, judged?.billed_units, judged?.unexplained_units], [200, 280, 80]);
    const days = await service.operator.request<readonly Row[]>(
      'GET',
      `/api/admin/reconciliations?by=day&channel_id=${channel}`,
    );
    assert.equal(days.total, days.data.length);
    const summed = (pick: (day: Row) => number | null) => days.data.reduce((sum, day) => sum + (pick(day) ?? 0), 0);
    assert.deepEqual([summed(({ difference }) => difference), summed(({ videos }) => videos)], [80, 20]);

    const notices = async () => {
      const list = await service.operator.request<readonly { title: string }[]>('GET', '/api/notifications');
      return list.data.filter(({ title }) => title.includes('vendor billing')).length;
    };
    // The job is not due again within the hour.
    for (const times of [1, 2]) {
      await setJobDue(database.kysely, 'reconciliation', 0);
      await service.app.runDueJobs();
      assert.equal(await notices(), 1, `after ${times} runs`);
    }
    const { events } = await service.operator.requestData<{ readonly events: readonly { type: string }[] }>(
      'GET',
      '/api/events?limit=100',
    );
    assert.equal(events.filter(({ type }) => type === 'billing.difference').length, 1);
    const page = await (await fetch(`${service.baseUrl}/metrics`, AS_PROMETHEUS)).text();
    assert.match(
      page,
      new RegExp(`reelgate_reconciliation_unexplained_units\\{channel="${channel}",vendor="vidu"\\} 80`),
    );
  });

  it('is unavailable for a vendor without such an endpoint, and an error if the account cannot be read', async () => {
    assert.equal(await reconcile('sora'), null);
    const channel = await service.operator.addChannel({
      vendor: 'vidu',
      base_url: service.sandbox.url('vidu'),
      credentials: { api_key: 'wrong' },
      models: ['viduq1'],
    });
    for (const id of [channel, 999_999]) {
      const answer = await service.operator.request('POST', `/api/admin/channels/${id}/reconcile`);
      assert.equal(answer.success, false);
    }
  });
});
