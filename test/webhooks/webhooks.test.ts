import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import OpenAI from 'openai';
import { Webhook } from 'standardwebhooks';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { signWebhook } from '../../src/contract/webhooks.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import type { ReceivedWebhook } from './receiver.ts';
import { startWebhookService, type WebhookFixture, walletEvent } from './webhook-fixture.ts';

const SECOND_MS = 1_000;
/** Waits after the first to the ninth failed attempt. */
const WAITS_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * SECOND_MS);

forEachDatabase((_name, _open, freshUrl) => {
  let service: WebhookFixture;
  let people = 0;
  before(async () => {
    service = await startWebhookService(await freshUrl());
  });
  after(() => service.stop());

  const join = (): Promise<TestUser> => service.signUp(`hooked-${people++}`);
  const isDelivered = ({ status }: { readonly status: string }): boolean => status === 'delivered';
  /** Whether the signatures of a delivery include one by this secret. */
  const isSignedBy = async ({ headers, body }: ReceivedWebhook, secret: string): Promise<boolean> => {
    const timestamp = Number(headers['webhook-timestamp']);
    const signed = await signWebhook([secret], { id: headers['webhook-id'] ?? '', timestamp, body });
    return (headers['webhook-signature'] ?? '').split(' ').includes(signed['webhook-signature']);
  };

  it('sends deliveries that the Standard Webhooks and OpenAI client libraries verify', async () => {
    const ada = await join();
    const { id, secret } = await service.addEndpoint(ada, '/standard');
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const data = {
      id: 'task_1',
      object: 'video',
      status: 'completed',
      model: 'sora-2',
      created_at: 1,
      completed_at: 2,
      metadata: { note: 'ünïcode 视频 😀' },
    };
    await service.report({ type: 'video.completed', userId: ada.id, subject: 'video:1', data });
    const [webhook] = await service.receiver.waitFor('/standard', 1);
    assert.ok(webhook);
    const { headers, body } = webhook;
    assert.match(headers['webhook-id'] ?? '', /^evt_\w{24}$/);
    assert.deepEqual([headers['content-type'], headers.accept], ['application/json', '*/*']);
    assert.match(headers['user-agent'] ?? '', /^reelgate\//);
    const payload = new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
    assert.deepEqual(Object.keys(payload), ['type', 'timestamp', 'data']);
    assert.deepEqual(payload.data, data);
    const client = new OpenAI({ apiKey: 'unused', webhookSecret: secret });
    const event = await client.webhooks.unwrap(body, headers as Record<string, string>);
    assert.equal(event.type, 'video.completed' as string);
    assert.equal((event.data as { id: string }).id, 'task_1');
    assert.throws(() =>
      new Webhook(secret).verify(body.replace('task_1', 'task_2'), headers as Record<string, string>),
    );
    const [delivery] = await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    assert.deepEqual([delivery?.event_id, delivery?.tries], [headers['webhook-id'], 1]);
    assert.deepEqual([delivery?.last_try?.request_body, delivery?.last_try?.response_status], [body, 204]);
  });

  it('sends no half character, which strict JSON parsers refuse', async () => {
    const ada = await join();
    await service.addEndpoint(ada, '/half');
    const { id } = await ada.ok<{ id: number }>('POST', '/api/tickets', { title: 'Emoji', content: 'Why?' });
    const content = `${'a'.repeat(1_999)}😀😀`;
    await service.root.ok('POST', `/api/admin/tickets/${id}/replies`, { content });
    await service.report(walletEvent(ada.id, { data: { message: 'cut \ud83d, \u0000' } }));
    const data = (await service.receiver.waitFor('/half', 2)).map(({ body }) => JSON.parse(body).data);
    assert.ok(data.some((each) => each.content === content.slice(0, -2)));
    assert.ok(data.some((each) => each.message === 'cut \ufffd, '));
  });

  it('delivers the types an endpoint selects to the account they concern', async () => {
    const [ada, bob] = [await join(), await join()];
    await service.addEndpoint(ada, '/wants-tickets', { events: ['ticket.replied'] });
    await service.addEndpoint(bob, '/of-bob');
    await service.report(walletEvent(ada.id));
    await service.report(walletEvent(ada.id, { type: 'ticket.replied', subject: 'ticket:1' }));
    await service.report(walletEvent(bob.id));
    await service.receiver.waitFor('/wants-tickets', 1);
    await service.receiver.waitFor('/of-bob', 1);
    const types = (path: string) => service.receiver.at(path).map(({ body }) => JSON.parse(body).type);
    assert.deepEqual([types('/wants-tickets'), types('/of-bob')], [['ticket.replied'], ['wallet.low']]);
  });

  it('shows and changes endpoints of their own account only', async () => {
    const [ada, eve] = [await join(), await join()];
    const { id } = await service.addEndpoint(ada, '/hers');
    const own = await service.addEndpoint(eve, '/own');
    const idsOf = async (person: TestUser) => {
      const { body } = await person.send('GET', '/api/webhooks');
      return [(body.data as { id: number }[]).map((each) => each.id), body.total];
    };
    assert.deepEqual(await idsOf(eve), [[own.id], 1]);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/rotate-secret', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
      ['POST', '/replay', { since: 0 }],
    ] as const)
      assert.equal(
        await eve.fails(200, method, `/api/webhooks/${id}${path}`, body),
        await eve.fails(200, method, `/api/webhooks/999999${path}`, body),
        `${method} ${path}`,
      );
    assert.deepEqual(await idsOf(ada), [[id], 1]);
    assert.equal((await ada.ok<{ enabled: boolean }>('GET', `/api/webhooks/${id}`)).enabled, true);
    await ada.ok('PUT', `/api/webhooks/${id}`, { description: 'of Ada' });
    assert.equal((await eve.ok<{ description: string }>('GET', `/api/webhooks/${own.id}`)).description, '');
  });

  it('delivers nothing to disabled endpoints and accounts', async () => {
    const [ada, eve] = [await join(), await join()];
    const off = await service.addEndpoint(ada, '/off');
    const on = await service.addEndpoint(ada, '/on');
    await service.addEndpoint(eve, '/banned');
    await ada.ok('PUT', `/api/webhooks/${off.id}`, { enabled: false });
    assert.equal((await ada.ok<{ enabled: boolean }>('GET', `/api/webhooks/${on.id}`)).enabled, true);
    await service.root.ok('PUT', `/api/admin/users/${eve.id}`, { status: 2 });
    for (const { id } of [eve, ada]) await service.report(walletEvent(id));
    await service.receiver.waitFor('/on', 1);
    assert.deepEqual(await service.deliveries(ada, off.id), []);
    const { kysely } = service.app.database;
    const banned = kysely.selectFrom('webhook_deliveries').select('id').where('user_id', '=', eve.id);
    assert.deepEqual(await banned.execute(), []);
  });

  it("delivers administrators' events to administrators", async () => {
    const ada = await join();
    await ada.fails(400, 'POST', '/api/webhooks', { url: service.receiver.url('/x'), events: ['channel.failing'] });
    await service.addEndpoint(ada, '/not-an-administrator');
    const { id } = await service.addEndpoint(service.root, '/administrator', { events: ['channel.failing'] });
    await service.report({ type: 'channel.failing', subject: 'channel:1', data: { id: 1 } });
    await service.report(walletEvent(ada.id));
    await service.receiver.waitFor('/administrator', 1);
    await service.receiver.waitFor('/not-an-administrator', 1);
    assert.equal(service.receiver.at('/not-an-administrator').length, 1);
    await service.root.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('tries ten times over 75 hours, with one id and a new timestamp each', async () => {
    const ada = await join();
    const { id, secret } = await service.addEndpoint(ada, '/broken');
    service.receiver.answer = ({ path }) => ({ status: path === '/broken' ? 500 : 204, body: 'no' });
    await service.report(walletEvent(ada.id));
    for (let tries = 1; tries <= 10; tries++) {
      const [row] = await service.waitForDeliveries(ada, id, ([first]) => first?.tries === tries);
      assert.ok(row);
      if (tries === 10) break;
      const waitMs = (row.next_try_at ?? 0) * 1000 - service.clock.now();
      const planned = WAITS_MS[tries - 1] ?? 0;
      assert.ok(waitMs > planned * 0.9 - 2_000 && waitMs < planned * 1.1 + 2_000, `${tries}: ${waitMs}`);
      service.clock.advance(waitMs + SECOND_MS);
    }
    const received = service.receiver.at('/broken');
    assert.equal(received.length, 10);
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size, 10);
    for (const webhook of received) assert.ok(await isSignedBy(webhook, secret));
    const [row] = await service.deliveries(ada, id);
    // Any account may name a listed host of the operator's network, but not read its responses.
    assert.deepEqual([row?.status, row?.next_try_at, row?.last_try?.response_body], ['failed', null, '']);
    service.receiver.answer = () => ({ status: 204 });
    await ada.ok('POST', `/api/webhooks/${id}/deliveries/${row?.id}/retry`);
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
  });

  it('waits as long as Retry-After says, and follows no redirect', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/slow-down');
    service.receiver.answer = () => ({ status: 429, headers: { 'retry-after': '7200' } });
    await service.report(walletEvent(ada.id));
    const [row] = await service.waitForDeliveries(ada, id, ([first]) => first?.tries === 1);
    assert.ok(Math.abs((row?.next_try_at ?? 0) * 1000 - service.clock.now() - 2 * HOUR_MS) < 5_000);
    service.receiver.answer = ({ path }) =>
      path === '/slow-down'
        ? { status: 307, headers: { location: service.receiver.url('/elsewhere') } }
        : { status: 204 };
    service.clock.advance(2 * HOUR_MS + SECOND_MS);
    const [again] = await service.waitForDeliveries(ada, id, ([first]) => first?.tries === 2);
    assert.deepEqual([again?.status, again?.last_try?.error], ['pending', 'status 307']);
    assert.equal(service.receiver.at('/elsewhere').length, 0);
    service.receiver.answer = () => ({ status: 204 });
    await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('pauses for a day at most, and not for what its owner asks for', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/pausing');
    service.receiver.answer = () => ({ status: 503, headers: { 'retry-after': '99999999' } });
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 1);
    service.receiver.answer = () => ({ status: 204 });
    const { delivery } = await ada.ok<{ delivery: number }>('POST', `/api/webhooks/${id}/test`);
    await service.waitForDeliveries(ada, id, (rows) => rows.some((row) => row.id === delivery && isDelivered(row)));
    service.receiver.answer = () => ({ status: 429, headers: { 'retry-after': '99999999' } });
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 1);
    service.receiver.answer = () => ({ status: 204 });
    service.clock.advance(24 * HOUR_MS + SECOND_MS);
    await service.waitForDeliveries(ada, id, (rows) => rows.length === 3 && rows.every(isDelivered));
  });

  it('does not hold a late 410 of an old URL against the new one', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/moved-from');
    const { promise: moved, resolve } = Promise.withResolvers<void>();
    service.receiver.answer = ({ path }) =>
      path === '/moved-from' ? moved.then(() => ({ status: 410 })) : { status: 204 };
    await service.report(walletEvent(ada.id));
    await service.receiver.waitFor('/moved-from', 1);
    await ada.ok('PUT', `/api/webhooks/${id}`, { url: service.receiver.url('/moved-to') });
    resolve();
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 1);
    assert.equal((await ada.ok<{ enabled: boolean }>('GET', `/api/webhooks/${id}`)).enabled, true);
    service.clock.advance(6 * SECOND_MS);
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    assert.equal(service.receiver.at('/moved-to').length, 1);
  });

  it('disables an endpoint that is gone, or dead for five days, and notifies its owner', async () => {
    const ada = await join();
    const gone = await service.addEndpoint(ada, '/gone');
    const dead = await service.addEndpoint(ada, '/dead');
    service.receiver.answer = ({ path }) => ({ status: path === '/gone' ? 410 : 503 });
    const state = (id: number) => ada.ok<{ enabled: boolean; disabled_reason: string }>('GET', `/api/webhooks/${id}`);
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, gone.id, (rows) => rows.every(({ status }) => status === 'failed'));
    assert.deepEqual([(await state(gone.id)).enabled, (await state(gone.id)).disabled_reason], [false, 'gone']);
    await ada.fails(200, 'POST', `/api/webhooks/${gone.id}/test`);
    await service.waitForDeliveries(ada, dead.id, ([row]) => row?.tries === 1);
    for (const tries of [2, 3, 4]) {
      service.clock.advance(42 * HOUR_MS);
      await service.waitForDeliveries(ada, dead.id, ([row]) => row?.tries === tries);
    }
    await service.waitForDeliveries(ada, dead.id, ([row]) => row?.status === 'failed');
    assert.equal((await state(dead.id)).disabled_reason, 'failing');
    const { body } = await ada.send('GET', '/api/notifications');
    const titles = (body.data as { title: string }[]).map(({ title }) => title);
    assert.equal(titles.filter((title) => /was disabled/.test(title)).length, 2);
    service.receiver.answer = () => ({ status: 204 });
    // After it is enabled again, a replay delivers the missed events.
    await ada.ok('PUT', `/api/webhooks/${dead.id}`, { enabled: true });
    const { queued } = await ada.ok<{ queued: number }>('POST', `/api/webhooks/${dead.id}/replay`, { since: 0 });
    assert.ok(queued >= 1);
    // Its last 503 requested a pause.
    service.clock.advance(6 * SECOND_MS);
    await service.waitForDeliveries(ada, dead.id, (rows) => rows.every(isDelivered));
    for (const { id } of [gone, dead]) await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('disables no endpoint at its first failure after days without attempts', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/rarely-tried');
    service.receiver.answer = () => ({ status: 500 });
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 1);
    service.clock.advance(30 * HOUR_MS);
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 2);
    // The service was down for days; the receiver was not.
    service.clock.advance(4.5 * 24 * HOUR_MS);
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 3);
    const { enabled, failing_since: since } = await ada.ok<{ enabled: boolean; failing_since: number }>(
      'GET',
      `/api/webhooks/${id}`,
    );
    assert.deepEqual([enabled, since], [true, Math.floor(service.clock.now() / 1000)]);
    service.receiver.answer = () => ({ status: 204 });
    await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('sends no second time what is retried or replayed while it is in flight', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/in-flight');
    const since = Math.floor(service.clock.now() / 1000);
    let answered = Promise.withResolvers<{ status: number }>();
    service.receiver.answer = ({ path }) => (path === '/in-flight' ? answered.promise : { status: 204 });
    await service.report(walletEvent(ada.id));
    await service.receiver.waitFor('/in-flight', 1);
    const [first] = await service.deliveries(ada, id);
    await ada.ok('POST', `/api/webhooks/${id}/deliveries/${first?.id}/retry`);
    assert.deepEqual(await ada.ok('POST', `/api/webhooks/${id}/replay`, { since }), { queued: 1 });
    answered.resolve({ status: 204 });
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    assert.equal(service.receiver.at('/in-flight').length, 1);

    // A retry that is requested during the third attempt is that attempt, and has nine more.
    answered = Promise.withResolvers();
    answered.resolve({ status: 500 });
    await service.report(walletEvent(ada.id));
    const retried = (row: { readonly id: number }): boolean => row.id !== first?.id;
    await service.waitForDeliveries(ada, id, (rows) => rows.some((row) => retried(row) && row.tries === 1));
    service.clock.advance(6 * SECOND_MS);
    await service.waitForDeliveries(ada, id, (rows) => rows.some((row) => retried(row) && row.tries === 2));
    answered = Promise.withResolvers();
    service.clock.advance(HOUR_MS);
    await service.receiver.waitFor('/in-flight', 4);
    const second = (await service.deliveries(ada, id)).find(retried);
    await ada.ok('POST', `/api/webhooks/${id}/deliveries/${second?.id}/retry`);
    answered.resolve({ status: 500 });
    const [again] = await service.waitForDeliveries(ada, id, ([row]) => row?.last_try !== null && row?.tries === 1);
    assert.equal(again?.status, 'pending');
    assert.equal(service.receiver.at('/in-flight').length, 4);
    service.receiver.answer = () => ({ status: 204 });
    await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('signs with the old and the new secret for 24 hours', async () => {
    const ada = await join();
    const { id, secret: old } = await service.addEndpoint(ada, '/rotated');
    const { secret } = await ada.ok<{ secret: string }>('POST', `/api/webhooks/${id}/rotate-secret`);
    await service.report(walletEvent(ada.id));
    const [during] = await service.receiver.waitFor('/rotated', 1);
    assert.ok(during !== undefined && (await isSignedBy(during, old)) && (await isSignedBy(during, secret)));
    service.clock.advance(24 * HOUR_MS + SECOND_MS);
    await service.report(walletEvent(ada.id));
    const [, afterwards] = await service.receiver.waitFor('/rotated', 2);
    assert.ok(
      afterwards !== undefined && !(await isSignedBy(afterwards, old)) && (await isSignedBy(afterwards, secret)),
    );
  });

  it('tests an endpoint, and replays a period with the same ids', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/replayed');
    const { delivery } = await ada.ok<{ delivery: number }>('POST', `/api/webhooks/${id}/test`);
    const [tested] = await service.receiver.waitFor('/replayed', 1);
    assert.equal(JSON.parse(tested?.body ?? '{}').type, 'webhook.test');
    service.clock.advance(10 * SECOND_MS);
    const since = Math.floor(service.clock.now() / 1000);
    for (let index = 0; index < 3; index++) await service.report(walletEvent(ada.id));
    await service.receiver.waitFor('/replayed', 4);
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    assert.deepEqual(await ada.ok('POST', `/api/webhooks/${id}/replay`, { since }), { queued: 3 });
    const ids = (await service.receiver.waitFor('/replayed', 7)).map(({ headers }) => String(headers['webhook-id']));
    assert.deepEqual(ids.slice(1, 4).sort(), ids.slice(4).sort());
    const rows = await service.waitForDeliveries(ada, id, (all) => all.every(isDelivered));
    assert.equal(rows.at(-1)?.id, delivery);
    const first = await ada.ok<{ deliveries: { id: number }[]; next: string }>(
      'GET',
      `/api/webhooks/${id}/deliveries?limit=3&status=delivered`,
    );
    const second = await ada.ok<{ deliveries: { id: number }[]; next: null }>(
      'GET',
      `/api/webhooks/${id}/deliveries?limit=3&after=${first.next}`,
    );
    assert.deepEqual(
      [...first.deliveries, ...second.deliveries].map((row) => row.id),
      rows.map((row) => row.id),
    );
    assert.equal(second.next, null);
  });

  it('keeps the order of events of one subject, and lets others overtake', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/ordered');
    let fails = true;
    service.receiver.answer = ({ path, body }) => ({
      status: fails && path === '/ordered' && body.includes('first') ? 500 : 204,
    });
    const about = (subject: string, step: string) => service.report(walletEvent(ada.id, { subject, data: { step } }));
    await about('video:ordered', 'first');
    await service.waitForDeliveries(ada, id, ([row]) => row?.tries === 1);
    await about('video:ordered', 'second');
    await about('video:other', 'third');
    await service.waitForDeliveries(ada, id, (rows) => rows.some(isDelivered));
    fails = false;
    service.clock.advance(6 * SECOND_MS);
    await service.waitForDeliveries(ada, id, (rows) => rows.length === 3 && rows.every(isDelivered));
    const steps = service.receiver.at('/ordered').map(({ body }) => JSON.parse(body).data.step);
    assert.deepEqual(steps, ['first', 'third', 'first', 'second']);
    service.receiver.answer = () => ({ status: 204 });
  });

  it('T29: stores no secret in clear text, and shows none twice', async () => {
    const ada = await join();
    const { id, secret } = await service.addEndpoint(ada, '/secret');
    const { secret: callback } = await ada.ok<{ secret: string }>('GET', '/api/webhooks/secret');
    const { kysely } = service.app.database;
    const stored = JSON.stringify([
      await kysely.selectFrom('webhook_endpoints').selectAll().execute(),
      await kysely.selectFrom('webhook_account_secrets').selectAll().execute(),
    ]);
    for (const each of [secret, callback]) assert.ok(!stored.includes(each.slice('whsec_'.length)));
    const shown = JSON.stringify([
      await ada.ok('GET', `/api/webhooks/${id}`),
      (await ada.send('GET', '/api/webhooks')).body,
    ]);
    assert.ok(!shown.includes('whsec_'));
  });

  it('T101: sends ten tests per minute and endpoint', async () => {
    const ada = await join();
    const [first, second] = [await service.addEndpoint(ada, '/tested'), await service.addEndpoint(ada, '/tested')];
    const statuses = (id: number, count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => (await ada.send('POST', `/api/webhooks/${id}/test`)).status),
      );
    assert.deepEqual(
      (await statuses(first.id, 12)).toSorted((a, b) => a - b),
      [...Array(10).fill(200), 429, 429],
    );
    assert.deepEqual(await statuses(second.id, 1), [200]);
    service.clock.advance(61 * SECOND_MS);
    assert.deepEqual(await statuses(first.id, 1), [200]);
  });

  it('T101: replays in batches, one at a time and five per hour and account', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/flooded');
    const { kysely } = service.app.database;
    await service.report(walletEvent(ada.id));
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    await ada.ok('PUT', `/api/webhooks/${id}`, { enabled: false });
    for (let index = 1; index < 250; index++) await service.report(walletEvent(ada.id));
    await ada.ok('PUT', `/api/webhooks/${id}`, { enabled: true });
    const replay = () => ada.send('POST', `/api/webhooks/${id}/replay`, { since: 0 });
    // The admitted replay waits for this row until the two others have been answered.
    const [locked, unlocked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lock = service.app.database.transaction(async (trx) => {
      await trx.updateTable('webhook_deliveries').set({ tries: 1 }).where('endpoint_id', '=', id).execute();
      locked.resolve();
      await unlocked.promise;
    });
    await locked.promise;
    let answers = 0;
    const together = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const answer = await replay();
        answers += 1;
        if (answers === 2) unlocked.resolve();
        return answer;
      }),
    );
    await lock;
    assert.deepEqual(
      together.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 429, 429],
    );
    const done = together.find(({ status }) => status === 200);
    assert.deepEqual(done?.body.data, { queued: 250 });
    const rows = await kysely.selectFrom('webhook_deliveries').select('id').where('endpoint_id', '=', id).execute();
    assert.equal(rows.length, 250);
    for (let times = 1; times < 5; times++) assert.equal((await replay()).status, 200);
    const late = await replay();
    assert.deepEqual([late.status, late.headers['retry-after']], [429, '3600']);
    await ada.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('limits an account to ten endpoints, also under concurrent requests', async () => {
    const ada = await join();
    const answers = await Promise.all(
      Array.from({ length: 13 }, () => ada.send('POST', '/api/webhooks', { url: service.receiver.url('/full') })),
    );
    assert.equal(answers.filter(({ body }) => body.success).length, 10);
  });

  it('T88: writes a message in the format of a chat service, and keeps its URL out of deliveries', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/chat', { preset: 'lark' });
    service.receiver.answer = () => ({ status: 200, body: '{"code":19001,"msg":"invalid"}' });
    await service.report(walletEvent(ada.id));
    const [row] = await service.waitForDeliveries(ada, id, ([first]) => first?.tries === 1);
    assert.equal(row?.last_try?.error, 'the answer reports an error');
    assert.equal(row?.last_try?.url, new URL(service.receiver.url()).origin);
    service.receiver.answer = () => ({ status: 200, body: '{"code":0}' });
    service.clock.advance(6 * SECOND_MS);
    await service.waitForDeliveries(ada, id, (rows) => rows.every(isDelivered));
    const [webhook] = service.receiver.at('/chat');
    assert.deepEqual(JSON.parse(webhook?.body ?? '{}'), {
      msg_type: 'text',
      content: { text: 'Reelgate: wallet.low\nquota: 5' },
    });
    assert.equal(webhook?.headers['webhook-signature'], undefined);
    service.receiver.answer = () => ({ status: 204 });
  });

  it('counts an attempt that cannot be signed, and tries again later', async () => {
    const ada = await join();
    const { id } = await service.addEndpoint(ada, '/unsigned');
    const { kysely } = service.app.database;
    await kysely.updateTable('webhook_endpoints').set({ secret: 's1.none.none' }).where('id', '=', id).execute();
    await service.report(walletEvent(ada.id));
    const [delivery] = await service.waitForDeliveries(ada, id, ([first]) => first?.tries === 1);
    assert.equal(delivery?.status, 'pending');
    assert.match(delivery?.last_try?.error ?? '', /^the signing secret cannot be decrypted/);
    assert.equal(service.receiver.at('/unsigned').length, 0);
  });

  it('ends with the account', async () => {
    const ada = await join();
    await service.addEndpoint(ada, '/of-nobody');
    // Its initial session has expired meanwhile.
    await service.root.logIn('root', 'root-password-1');
    await service.root.ok('DELETE', `/api/admin/users/${ada.id}`);
    await service.report(walletEvent(ada.id));
    const bob = await join();
    await service.addEndpoint(bob, '/of-somebody');
    await service.report(walletEvent(bob.id));
    await service.receiver.waitFor('/of-somebody', 1);
    assert.equal(service.receiver.at('/of-nobody').length, 0);
  });

  it("lists the account's own events, oldest first", async () => {
    const ada = await join();
    for (let index = 0; index < 3; index++) await service.report(walletEvent(ada.id, { data: { index } }));
    type EventPage = { events: { id: string; type: string; data: { index: number } }[]; next: string | null };
    const first = await ada.ok<EventPage>('GET', '/api/events?limit=2');
    const second = await ada.ok<EventPage>('GET', `/api/events?limit=2&after=${first.next}`);
    const indexes = [...first.events, ...second.events].map(({ data }) => data.index);
    assert.deepEqual([indexes, second.next], [[0, 1, 2], null]);
  });
});
