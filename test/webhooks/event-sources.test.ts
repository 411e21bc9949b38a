import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { DAY_MS, HOUR_MS } from '../../src/contract/time-units.ts';
import { signWebhook } from '../../src/contract/webhooks.ts';
import { TestUser } from '../accounts/test-user-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { WebhookReceiver } from './receiver.ts';

type EventItem = { readonly type: string; readonly data: Readonly<Record<string, unknown>> };

forEachDatabase((_name, _open, freshUrl) => {
  let service: SandboxService;
  let receiver: WebhookReceiver;
  let ada: TestUser;
  let root: TestUser;
  let key: string;
  let clockOffsetMs = 0;
  before(async () => {
    receiver = await new WebhookReceiver().listen();
    service = await startSandboxService(await freshUrl(), {
      env: { WEBHOOK_PRIVATE_HOSTS: receiver.host },
      overrides: { clock: { now: () => Date.now() + clockOffsetMs } },
    });
    await service.addChannel('sora', ['sora-2']);
    await service.addChannel('kling', ['kling-v1-6']);
    await service.addChannel('jimeng', ['jimeng_t2v_v30']);
    const visitor = () => new TestUser(service.app.http.fastify, '127.0.0.1');
    [ada, root] = [visitor(), visitor()];
    await ada.register('ada');
    await ada.logIn('ada');
    await root.logIn('root', 'root-password-1');
    await root.ok('PUT', '/api/admin/settings/LOW_QUOTA', { value: '1000000' });
    await service.operator.grantQuota(1_000_000_000, ada.id);
    ({ key } = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: 'ada' }));
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  const events = async (who: TestUser, type: string): Promise<EventItem[]> =>
    (await who.ok<{ events: EventItem[] }>('GET', '/api/events?limit=100')).events.filter(
      (event) => event.type === type,
    );
  const submit = (path: string, body: object) => callModelApi(service.baseUrl, key, 'POST', path, body);

  it('calls back in all formats, signed with the secret of the account', async () => {
    const { secret } = await ada.ok<{ secret: string }>('GET', '/api/webhooks/secret');
    const metadata = { note: 'mine' };
    const kling = { model_name: 'kling-v1-6', prompt: 'a' };
    const jimeng = { req_key: 'jimeng_t2v_v30', prompt: 'a' };
    const action = '?Action=CVSync2AsyncSubmitTask&Version=2022-08-31';
    const requests: [string, string, object][] = [
      ['/unified', '/v1/video/generations', { model: 'sora-2', prompt: 'a', metadata }],
      ['/openai', '/v1/videos', { model: 'sora-2', prompt: 'a' }],
      ['/kling', '/kling/v1/videos/text2video', kling],
      ['/kling-native', '/kling/native/v1/videos/text2video', kling],
      ['/jimeng', `/jimeng/${action}`, jimeng],
      ['/jimeng-native', `/jimeng/native/${action}`, jimeng],
    ];
    const start = async (hook: string, path: string, body: object): Promise<string> => {
      const { status, body: answer } = await submit(path, { ...body, callback_url: receiver.url(hook) });
      assert.equal(status, 200, JSON.stringify(answer));
      return String(answer.id);
    };
    for (const [hook, path, body] of requests) await start(hook, path, body);
    const original = await start('/original', '/v1/videos', { model: 'sora-2', prompt: 'b' });
    await receiver.waitFor('/original', 1);
    requests.push(['/remix', `/v1/videos/${original}/remix`, { prompt: 'c' }]);
    await start(...(requests.at(-1) as (typeof requests)[number]));
    for (const [hook] of requests) {
      const [webhook] = await receiver.waitFor(hook, 1);
      assert.ok(webhook);
      const { headers, body } = webhook;
      const timestamp = Number(headers['webhook-timestamp']);
      const signed = await signWebhook([secret], { id: headers['webhook-id'] ?? '', timestamp, body });
      assert.equal(headers['webhook-signature'], signed['webhook-signature']);
      const payload = JSON.parse(body);
      assert.deepEqual(
        [payload.type, payload.data.object, payload.data.status],
        ['video.completed', 'video', 'completed'],
      );
      assert.deepEqual(payload.data.metadata, hook === '/unified' ? metadata : null);
      assert.equal(payload.data.error, null);
    }
    const { deliveries } = await ada.ok<{ deliveries: object[] }>('GET', '/api/webhooks/callbacks');
    assert.equal(deliveries.length, requests.length + 1);
    const fresh = await ada.ok<{ secret: string }>('POST', '/api/webhooks/secret/rotate');
    assert.notEqual(fresh.secret, secret);
  });

  it('refuses a callback_url that nothing would be delivered to', async () => {
    for (const callback_url of ['http://example.com/', 'https://127.0.0.1/', 'nonsense', 7]) {
      const { status } = await submit('/v1/videos', { model: 'sora-2', prompt: 'a', callback_url });
      assert.equal(status, 400, String(callback_url));
    }
  });

  it('reports each end of a video once, a failure with its reason', async () => {
    const before = (await events(ada, 'video.completed')).length;
    assert.ok(before >= 3);
    service.sandbox.control.fault({ kind: 'job-fail', vendor: 'kling', operation: 'submit' });
    const { body: answer } = await submit('/v1/videos', {
      model: 'kling-v1-6',
      prompt: 'b',
      callback_url: receiver.url('/failed'),
    });
    const [webhook] = await receiver.waitFor('/failed', 1);
    const { type, data } = JSON.parse(webhook?.body ?? '{}');
    assert.deepEqual([type, data.id, data.status], ['video.failed', answer.id, 'failed']);
    assert.equal(typeof data.error.message, 'string');
    assert.equal((await events(ada, 'video.failed')).length, 1);
    assert.equal((await events(ada, 'video.completed')).length, before);
  });

  it('reports a low wallet and a reply to a ticket only to their owner', async () => {
    const bob = new TestUser(service.app.http.fastify, '127.0.0.1');
    await bob.register('bob');
    await bob.logIn('bob');
    await service.operator.grantQuota(1_000_001, bob.id);
    const made = await bob.ok<{ key: string }>('POST', '/api/tokens', { name: 'bob' });
    await callModelApi(service.baseUrl, made.key, 'POST', '/v1/videos', { model: 'sora-2', prompt: 'a' });
    assert.equal((await events(bob, 'wallet.low')).length, 1);
    const ticket = await bob.ok<{ id: number }>('POST', '/api/tickets', { title: 'Stuck', content: 'It hangs.' });
    await root.ok('POST', `/api/admin/tickets/${ticket.id}/replies`, { content: 'Mended.' });
    const [reply] = await events(bob, 'ticket.replied');
    assert.deepEqual(reply?.data, { id: ticket.id, title: 'Stuck', content: 'Mended.' });
    assert.equal((await events(ada, 'ticket.replied')).length, 0);
  });

  it('reports a new device to its owner', async () => {
    const { id: client_id, secret: client_secret } = CLI_OAUTH_CLIENT;
    const asked = await ada.ok<{ device_code: string; user_code: string }>('POST', '/api/auth/device/code', {
      client_id,
      client_name: 'laptop',
    });
    await ada.ok('POST', '/api/auth/device/approve', { user_code: asked.user_code });
    await ada.ok('POST', '/api/auth/device/token', { device_code: asked.device_code, client_id, client_secret });
    const [event, ...more] = await events(ada, 'device.signed_in');
    assert.match(String(event?.data.name), /laptop/);
    assert.deepEqual([typeof event?.data.id, more], ['number', []]);
    assert.deepEqual(await events(root, 'device.signed_in'), []);
  });

  it('reports a plan that ends soon to its owner, once', async () => {
    const card = { package_code: 'gold', name: 'Gold', level: 3, duration_days: 30 };
    await service.operator.requestData('POST', '/api/admin/package-cards', card);
    const batch = { package_code: 'gold', count: 1 };
    const { codes } = await service.operator.requestData<{ codes: string[] }>(
      'POST',
      '/api/admin/redemption-codes',
      batch,
    );
    await ada.ok('POST', '/api/user/redeem', { code: codes[0] });
    await service.app.runMaintenance();
    assert.deepEqual(await events(ada, 'plan.expiring'), []);
    const { kysely } = service.app.database;
    const now = Date.now();
    await kysely
      .updateTable('subscriptions')
      .set({ starts_at: now - 29 * DAY_MS, expires_at: now + DAY_MS })
      .where('user_id', '=', ada.id)
      .where('state', '=', 'active')
      .execute();
    for (let round = 0; round < 2; round++) await service.app.runMaintenance();
    const [event, ...more] = await events(ada, 'plan.expiring');
    assert.deepEqual([event?.data.package_code, event?.data.next, more], ['gold', null, []]);
    assert.deepEqual(await events(root, 'plan.expiring'), []);
  });

  it('reports only to administrators that a channel fails, and that it works again', async () => {
    /** Calls the model until an event of the channel was reported. */
    const untilReported = async (type: string) => {
      for (let calls = 0; calls < 50; calls++) {
        await submit('/v1/videos', { model: 'sora-2', prompt: `call ${calls}` });
        await pause(100);
        const found = (await events(root, type)).filter(({ data }) => data.name === 'broken');
        if (found.length > 0) return found;
      }
      return assert.fail(`no ${type}`);
    };
    await service.operator.addChannel({
      vendor: 'sora',
      name: 'broken',
      base_url: service.sandbox.url('sora'),
      credentials: service.sandbox.credentials('sora'),
      models: ['sora-2'],
      priority: 100,
    });
    const all = { vendor: 'sora', operation: 'submit', times: Number.POSITIVE_INFINITY } as const;
    service.sandbox.control.fault({ kind: '401', ...all });
    const [failing] = await untilReported('channel.failing');
    service.sandbox.control.clearFaults();
    // Longer than the circuit breaker stays open.
    clockOffsetMs = 2 * HOUR_MS;
    const [recovered, ...more] = await untilReported('channel.recovered');
    assert.deepEqual([recovered?.data.id, more], [failing?.data.id, []]);
    const id = failing?.data.id;
    await root.ok('PUT', `/api/admin/channels/${id}`, { credentials: { api_key: 'sk-revoked-by-its-vendor' } });
    const count = async (type: string) =>
      (await events(root, type)).filter(({ data }) => data.name === 'broken').length;
    const untilCounted = async (type: string, most: number) => {
      for (let calls = 0; calls < 50 && (await count(type)) < most; calls++) {
        await submit('/v1/videos', { model: 'sora-2', prompt: `call ${calls}` });
        await pause(100);
      }
      assert.equal(await count(type), most);
    };
    await untilCounted('channel.failing', 2);
    await root.ok('PUT', `/api/admin/channels/${id}`, { credentials: service.sandbox.credentials('sora') });
    await untilCounted('channel.recovered', 2);
    assert.deepEqual([...(await events(ada, 'channel.failing')), ...(await events(ada, 'channel.recovered'))], []);
  });

  it('reports a ledger mismatch to administrators, once a day', async () => {
    await service.app.database.kysely
      .updateTable('wallets')
      .set({ balance: 1 })
      .where('user_id', '=', ada.id)
      .execute();
    for (let round = 0; round < 2; round++) await root.ok('GET', '/api/admin/ledger/check');
    assert.equal((await events(root, 'ledger.mismatch')).length, 1);
    assert.equal((await events(ada, 'ledger.mismatch')).length, 0);
  });
});
