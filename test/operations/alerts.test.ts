import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { startDeviceService } from '../device-auth/device-auth-fixture.ts';
import { startCrashingServer } from '../faults/start-crashing-server.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { FakeProvider } from '../identity-providers/fake-provider.ts';
import { SignInBrowser } from '../identity-providers/sign-in-browser.ts';
import { startTestService } from '../test-service.ts';
import { startWebhookService, walletEvent } from '../webhooks/webhook-fixture.ts';
import { assertAlerts, hasPromtool, type Scrape, scrapeAsPrometheus } from './assert-alerts.ts';
import { DelayingOrRefusingProxy, dialPostgres, throughProxy } from './delaying-proxy.ts';
import { METRICS_TOKEN, waitForMetrics } from './fetch-metrics.ts';

const skip = hasPromtool() || process.env.CI ? false : 'promtool is not installed';
const VIDEO = { kling: 'kling-v1-6', hailuo: 'MiniMax-Hailuo-02', sora: 'sora-2', vidu: 'viduq1' } as const;
type Vendor = keyof typeof VIDEO;
const DOORS = Object.entries(VIDEO).map(([name, model]) => ({ name, model }));
/** Ensures that only the test calls a vendor. */
const NO_POLLS = { SYNC_PERIOD_SECONDS: '3600' };

/**
 * Each incident is caused in the real service, which is scraped before and during it; promtool evaluates which alerts
 * fire.
 */
describe('vendor alerts', { skip }, () => {
  let service: VideoService;
  let normal: Scrape;
  const submit = (vendor: Vendor) =>
    service.caller.request('POST', '/v1/videos', { model: VIDEO[vendor], prompt: 'a cat' });
  before(async () => {
    service = await startVideoService('sqlite::memory:', { env: { METRICS_TOKEN, ...NO_POLLS } }, DOORS);
    for (const vendor of Object.keys(VIDEO)) assert.equal((await submit(vendor as Vendor)).status, 200);
    normal = await scrapeAsPrometheus(service.baseUrl);
  });
  after(() => service.stop());

  it('fire for nothing in normal operation', () => {
    assertAlerts([{ name: 'normal', before: normal, during: normal, minutes: 20, alerts: [] }]);
  });

  it('fire for a vendor that is down', async () => {
    service.sandbox.control.fault({ kind: '503', vendor: 'kling', operation: 'submit', times: 5 });
    for (let calls = 0; calls < 5; calls += 1) assert.equal((await submit('kling')).status, 503);
    const during = await scrapeAsPrometheus(service.baseUrl);
    assertAlerts([{ name: 'vendor down', before: normal, during, minutes: 4, alerts: ['ReelgateVendorDown'] }]);
  });

  it('fire for a revoked key', async () => {
    const start = await scrapeAsPrometheus(service.baseUrl);
    service.sandbox.control.fault({ kind: 'unauthorized', vendor: 'hailuo', operation: 'submit' });
    assert.equal((await submit('hailuo')).status, 502);
    const during = await scrapeAsPrometheus(service.baseUrl);
    assertAlerts([{ name: 'key revoked', before: start, during, minutes: 1, alerts: ['ReelgateKeyRefused'] }]);
    const minutes = 20;
    assertAlerts([{ name: 'not used for long', before: start, during, minutes, alerts: ['ReelgateChannelOpen'] }]);
  });

  it('fire for a key that is refused at the first call of its channel', async () => {
    const base_url = service.sandbox.url('vidu');
    const models = [VIDEO.vidu];
    const channel = { vendor: 'vidu', base_url, credentials: service.sandbox.credentials('vidu'), models, priority: 9 };
    const id = await service.operator.addChannel(channel);
    const start = await scrapeAsPrometheus(service.baseUrl);
    service.sandbox.control.fault({ kind: 'unauthorized', vendor: 'vidu', operation: 'submit' });
    assert.equal((await submit('vidu')).status, 200, 'by the other channel');
    const during = await scrapeAsPrometheus(service.baseUrl);
    await service.operator.requestData('DELETE', `/api/admin/channels/${id}`);
    assertAlerts([{ name: 'first call', before: start, during, minutes: 1, alerts: ['ReelgateKeyRefused'] }]);
  });

  it('fire for an account without balance', async () => {
    const start = await scrapeAsPrometheus(service.baseUrl);
    service.sandbox.control.fault({ kind: 'billing', vendor: 'vidu', operation: 'submit' });
    assert.equal((await submit('vidu')).status, 502);
    const during = await scrapeAsPrometheus(service.baseUrl);
    assertAlerts([{ name: 'no balance', before: start, during, minutes: 1, alerts: ['ReelgateNoBalance'] }]);
  });

  it('fire for a slow vendor', async () => {
    const start = await scrapeAsPrometheus(service.baseUrl);
    const { hostname, port } = new URL(service.sandbox.url('sora'));
    const proxy = await DelayingOrRefusingProxy.start(() => connect(Number(port), hostname));
    proxy.delayMs = 5_500;
    const base_url = `http://127.0.0.1:${proxy.port}`;
    const models = ['sora-2'];
    const credentials = service.sandbox.credentials('sora');
    await service.operator.addChannel({ vendor: 'sora', base_url, credentials, models, priority: 99 });
    assert.deepEqual(
      (await Promise.all([submit('sora'), submit('sora')])).map(({ status }) => status),
      [200, 200],
    );
    const during = await scrapeAsPrometheus(service.baseUrl);
    await proxy.stop();
    // For a series that starts during the incident, Prometheus treats the second scrape as the first increase.
    const later = new Map([...during].map(([series, value]) => [series, start.has(series) ? value : 0]));
    assertAlerts([{ name: 'vendor slow', before: later, during, minutes: 7, alerts: ['ReelgateVendorSlow'] }]);
  });
});

describe('service alerts', { skip, concurrency: 2 }, () => {
  it('fire for a full disk', async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'rg-disk-'));
    const disk = join(folder, 'small');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).status === 0;
    if (!mounted) return test.skip('no file system can be mounted here');
    const service = await startTestService(`sqlite:${join(folder, 'a.db')}`, { METRICS_TOKEN, JOURNAL_DIR: disk });
    test.after(async () => {
      await service.stop();
      execFileSync('umount', [disk]);
      rmSync(folder, { recursive: true });
    });
    const start = await scrapeAsPrometheus(service.url);
    writeFileSync(join(disk, 'others'), Buffer.alloc(3_900_000));
    const during = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateDiskNearlyFull'];
    assertAlerts([{ name: 'disk nearly full', before: start, during, minutes: 4, alerts }]);
  });

  for (const [name, metric, value, minutes, alert] of [
    ['files that cannot be deleted', 'reelgate_artifact_unremovable_files', 2, 35, 'ReelgateFilesNotDeleted'],
    ['a disk of stored files that is not mounted', 'reelgate_artifact_store_up', 0, 3, 'ReelgateFileStoreGone'],
  ] as const)
    it(`fire for ${name}`, async (test) => {
      const folder = mkdtempSync(join(tmpdir(), 'rg-files-'));
      const service = await startTestService('sqlite::memory:', {
        METRICS_TOKEN,
        ARTIFACTS: 'disk',
        ARTIFACTS_DIR: folder,
      });
      test.after(async () => {
        await service.stop();
        rmSync(folder, { recursive: true });
      });
      const start = await scrapeAsPrometheus(service.url);
      assert.ok([...start.keys()].some((series) => series.startsWith(metric)));
      const during = new Map(
        [...start].map(([series, before]) => [series, series.startsWith(metric) ? value : before]),
      );
      assertAlerts([{ name, before: start, during, minutes, alerts: [alert] }]);
    });

  it('fire for an identity provider whose responses are refused', async (test) => {
    const provider = await FakeProvider.start();
    const OIDC_PROVIDERS = JSON.stringify([provider.settings('company', { auto_create: true })]);
    const service = await startTestService('sqlite::memory:', { METRICS_TOKEN, OIDC_PROVIDERS });
    test.after(() => Promise.all([service.stop(), provider.stop()]));
    const visit = (claims: Record<string, unknown>) =>
      new SignInBrowser(service).signIn(provider, 'company', { sub: 'ada' }, { claims });
    assert.equal((await visit({})).status, 303);
    const start = await scrapeAsPrometheus(service.url);
    for (let attempts = 0; attempts < 4; attempts += 1) assert.equal((await visit({ aud: 'another' })).status, 400);
    const during = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateSignInFailing'];
    assertAlerts([{ name: 'sign-in failing', before: start, during, minutes: 3, alerts }]);
  });

  it('fire for a refresh token that is used again later', async (test) => {
    const service = await startDeviceService('sqlite::memory:', { env: { METRICS_TOKEN } });
    test.after(() => service.app.close());
    const { refresh_token: used } = await service.signIn(await service.newUser('ada'));
    assert.equal((await service.refresh(used)).success, true);
    const start = await scrapeAsPrometheus(service.url);
    service.clock.advance(120_000);
    assert.equal((await service.refresh(used)).success, false);
    const during = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateTokenReused'];
    assertAlerts([{ name: 'token reused', before: start, during, minutes: 1, alerts }]);
  });

  it('fire for an unreachable mail server', async (test) => {
    const gone = await DelayingOrRefusingProxy.start(() => connect(1, '127.0.0.1'));
    gone.goAway();
    const service = await startTestService('sqlite::memory:', {
      METRICS_TOKEN,
      MAIL_BACKEND: 'mailcow',
      MAIL_API_URL: `http://:a-key-of-mailcow@127.0.0.1:${gone.port}`,
    });
    test.after(() => Promise.all([service.stop(), gone.stop()]));
    const ada = await service.signUp('ada');
    await service.app.database.kysely
      .insertInto('bindings')
      .values({ user_id: ada.id, kind: 'phone', value: '+15550001', created_at: 0 })
      .execute();
    const start = await scrapeAsPrometheus(service.url);
    await ada.fails(200, 'POST', '/api/user/mailbox/apply', { local_part: 'ada' });
    const during = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateMailServerDown'];
    assertAlerts([{ name: 'mail server gone', before: start, during, minutes: 3, alerts }]);
  });

  it('fire for a frozen replica', async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'rg-frozen-'));
    const service = await startCrashingServer(`sqlite:${join(folder, 'a.db')}`, { METRICS_TOKEN });
    test.after(async () => {
      await service.stop();
      rmSync(folder, { recursive: true });
    });
    const start = await scrapeAsPrometheus(service.baseUrl);
    process.kill(service.pid, 'SIGSTOP');
    const during = await scrapeAsPrometheus(service.baseUrl);
    process.kill(service.pid, 'SIGCONT');
    const alerts = ['ReelgateReplicaDown'];
    assertAlerts([{ name: 'replica frozen', before: start, during, minutes: 3, alerts }]);
  });

  it('fire for videos that are not polled', async (test) => {
    const env = { METRICS_TOKEN, SYNC_PERIOD_SECONDS: '600' };
    const service = await startVideoService('sqlite::memory:', { env }, DOORS.slice(0, 1));
    test.after(() => service.stop());
    const start = await scrapeAsPrometheus(service.baseUrl);
    service.sandbox.control.fault({
      kind: 'hang',
      vendor: 'kling',
      operation: 'query',
      times: Number.POSITIVE_INFINITY,
    });
    const { id } = await service.caller.submit({ model: VIDEO.kling, prompt: 'one of very many' });
    // More tasks than one process claims at a time, all due for ten minutes, at a vendor that answers no poll.
    const { kysely } = service.app.database;
    const { seq: _, ...task } = await kysely
      .selectFrom('tasks')
      .selectAll()
      .where('public_id', '=', String(id))
      .executeTakeFirstOrThrow();
    // A newly started process spreads the overdue tasks it finds over time, so it has to be polling before.
    await kysely.updateTable('tasks').set({ next_poll_at: 1 }).execute();
    const isClaimed = async () =>
      (await kysely.selectFrom('tasks').select('next_poll_at').executeTakeFirstOrThrow()).next_poll_at !== 1;
    while (!(await isClaimed())) await pause(50);
    const due = { ...task, next_poll_at: Date.now() - 600_000 };
    for (let batch = 0; batch < 6; batch += 1)
      await kysely
        .insertInto('tasks')
        .values(
          Array.from({ length: 500 }, (_unused, index) => {
            const copy = `${task.id}-${batch}-${index}`;
            return { ...due, id: copy, public_id: copy };
          }),
        )
        .execute();
    await waitForMetrics(service.baseUrl, 'overdue', (value) => (value('task_oldest_due_seconds') ?? 0) > 500);
    const during = await scrapeAsPrometheus(service.baseUrl);
    const alerts = ['ReelgateBacklogGrows'];
    assertAlerts([{ name: 'backlog grows', before: start, during, minutes: 7, alerts }]);
  });

  it('fire for an inconsistent ledger until it is consistent again', async (test) => {
    const service = await startTestService('sqlite::memory:', { METRICS_TOKEN });
    test.after(() => service.stop());
    const checked = () => service.root.ok<{ ok: boolean; errors: unknown[] }>('GET', '/api/admin/ledger/check');
    assert.equal((await checked()).ok, true);
    const start = await scrapeAsPrometheus(service.url);
    const changeBalance = (by: number) =>
      service.app.database.kysely
        .updateTable('wallets')
        .set({ balance: sql<number>`balance + ${by}` })
        .where('user_id', '=', service.root.id)
        .execute();
    await changeBalance(5);
    assert.equal((await checked()).ok, false);
    const during = await scrapeAsPrometheus(service.url);
    await changeBalance(-5);
    assert.equal((await checked()).ok, true);
    const corrected = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateLedgerMismatch'];
    assertAlerts([
      { name: 'ledger mismatch', before: start, during, minutes: 1, alerts },
      { name: 'corrected', before: during, during: corrected, minutes: 1, alerts: [] },
    ]);
  });

  it('fire for a webhook whose receiver is dead, and not for one that responds', async (test) => {
    const service = await startWebhookService('sqlite::memory:', { env: { METRICS_TOKEN } });
    test.after(() => service.stop());
    const ada = await service.signUp('ada');
    const { id } = await service.addEndpoint(ada, '/hook');
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, ([first]) => first?.status === 'delivered');
    const start = await scrapeAsPrometheus(service.url);
    await service.receiver.close();
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, ([newest]) => newest?.status === 'pending' && newest.tries === 1);
    const failedOnce = await scrapeAsPrometheus(service.url);
    service.clock.advance(120_000);
    await service.waitForDeliveries(ada, id, ([newest]) => newest?.status === 'pending' && newest.tries === 2);
    const during = await scrapeAsPrometheus(service.url);
    const alerts = ['ReelgateWebhooksUndelivered'];
    assertAlerts([
      { name: 'a first try that failed', before: start, during: failedOnce, minutes: 35, alerts: [] },
      { name: 'webhook target dead', before: start, during, minutes: 35, alerts },
    ]);
  });
});

forEachDatabase((name, _open, freshUrl) => {
  if (name === 'sqlite') return;
  describe('database alerts', { skip }, () => {
    it('fire when the database is slow or down', async (test) => {
      const url = await freshUrl();
      const proxy = await DelayingOrRefusingProxy.start(() => dialPostgres(url));
      const service = await startTestService(throughProxy(url, proxy), { METRICS_TOKEN });
      test.after(async () => {
        await service.stop();
        await proxy.stop();
      });
      const start = await scrapeAsPrometheus(service.url);
      proxy.delayMs = 400;
      const { kysely } = service.app.database;
      await Promise.all(Array.from({ length: 30 }, () => sql`select 1`.execute(kysely)));
      const slow = await scrapeAsPrometheus(service.url);
      proxy.goAway();
      await waitForMetrics(service.url, 'no signals', (value) => value('listen_connected') === 0);
      const gone = await scrapeAsPrometheus(service.url);
      assertAlerts([
        { name: 'database slow', before: start, during: slow, minutes: 4, alerts: ['ReelgateDatabaseSlow'] },
        { name: 'database gone', before: slow, during: gone, minutes: 3, alerts: ['ReelgateDatabaseDown'] },
        {
          name: 'database gone for longer',
          before: slow,
          during: gone,
          minutes: 8,
          alerts: ['ReelgateDatabaseDown', 'ReelgateSignalsLost'],
        },
      ]);
    });
  });
});
