import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Static } from 'typebox';
import { type Receipt, sumOfReceipt } from '../../src/contract/request-log.ts';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

type ReceiptBody = Static<typeof Receipt>;

const CHAT_PRICE = { input_per_million: 333_333, output_per_million: 4_000_001, per_call: 3 };
const VIDEO_PRICE = { per_second: 100, multipliers: { resolution: { '1080p': 1.5 } } };

forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl());
    await service.operator.requestData('PUT', '/api/admin/models/sandbox-chat', { price: CHAT_PRICE });
    await service.operator.requestData('PUT', '/api/admin/models/sora-2', { price: VIDEO_PRICE });
    await service.addChannel('sora', ['sora-2']);
  });
  after(() => service.stop());

  const receiptOf = (ref: string): Promise<ReceiptBody> =>
    service.operator.requestData('GET', `/api/receipts/${encodeURIComponent(ref)}`);
  const startVideo = async (): Promise<string> => {
    const body = { model: 'sora-2', prompt: 'herons', seconds: '4' };
    return String((await callModelApi(service.baseUrl, service.key, 'POST', '/v1/videos', body)).body.id);
  };
  const whenEnded = async (ref: string): Promise<ReceiptBody> => {
    for (let tries = 0; tries < 400; tries++) {
      const receipt = await receiptOf(ref);
      if (receipt.outcome !== 'open') return receipt;
      await pause(25);
    }
    assert.fail(`${ref} did not end`);
  };

  it("contains the ledger's entries line by line for every kind of call", async () => {
    for (let index = 0; index < 6; index++) {
      await service.ask(`call ${'word '.repeat(index * 7)}`, { max_tokens: 5 + index });
      await (await service.stream(`stream [chunks=${index + 1}]`)).text();
    }
    await service.ask('an image', { model: 'no-such-model' });
    const image = { model: 'sandbox-image', prompt: 'herons', n: 2 };
    assert.equal(
      (await callModelApi(service.baseUrl, service.key, 'POST', '/v1/images/generations', image)).status,
      200,
    );
    const embedded = { model: 'sandbox-embedding', input: 'herons' };
    assert.equal((await callModelApi(service.baseUrl, service.key, 'POST', '/v1/embeddings', embedded)).status, 200);
    const rows = await service.waitUntilSettled();
    const settled = rows.filter(({ kind }) => kind === 'settle');
    assert.equal(settled.length, 14);
    for (const { ref, charged } of settled) {
      const receipt = await receiptOf(ref);
      assert.equal(receipt.charged, charged);
      assert.equal(sumOfReceipt(receipt.lines), charged, JSON.stringify(receipt.lines));
      assert.equal(-receipt.ledger.reduce((sum, { quota }) => sum + quota, 0), charged);
      assert.deepEqual(receipt.sources, [{ kind: 'wallet', quota: charged }]);
      assert.equal(receipt.refunded, receipt.reserved - charged);
      assert.equal(receipt.outcome, 'charged');
    }
    const images = (await Promise.all(settled.map(({ ref }) => receiptOf(ref)))).find(({ kind }) => kind === 'image');
    assert.deepEqual(images?.lines, [
      { label: 'per_call', quantity: 2, unit_quota: 1_000, multiplier: 1, quota: 2_000 },
    ]);
  });

  it('is found by the request id, including one chosen by the caller', async () => {
    const { headers } = await service.ask('hi');
    const own = await service.ask('hi', {}, { 'x-request-id': 'my-call-1' });
    assert.equal(own.status, 200);
    await service.waitUntilSettled();
    assert.equal((await receiptOf(headers.get('x-request-id') ?? '')).outcome, 'charged');
    assert.match((await receiptOf('my-call-1')).ref, /^req_my-call-1\./);
    const byKey = (key: string, ref: string) =>
      callModelApi(service.baseUrl, key, 'GET', `/v1/receipts/${encodeURIComponent(ref)}`);
    const mine = await byKey(service.key, headers.get('x-request-id') ?? '');
    assert.deepEqual([mine.status, mine.body.outcome], [200, 'charged']);
    assert.match(String((await byKey(service.key, 'my-call-1')).body.ref), /^req_my-call-1\./);
    const other = await service.operator.makeToken();
    for (const ref of [headers.get('x-request-id') ?? '', 'my-call-1', 'nothing'])
      assert.equal((await byKey(other, ref)).status, 404, ref);
  });

  it('of a video shows its reservation, then its charge, and stays the same after a price change', async () => {
    const id = await startVideo();
    const open = await receiptOf(id);
    assert.deepEqual([open.outcome, open.reserved, open.charged, open.ended_at], ['open', 400, 0, null]);
    assert.deepEqual(open.price?.per_second, 100);
    const ended = await whenEnded(id);
    assert.deepEqual(ended.lines, [{ label: 'per_second', quantity: 4, unit_quota: 100, multiplier: 1, quota: 400 }]);
    assert.equal(ended.facts.seconds, 4);
    await service.operator.requestData('PUT', '/api/admin/models/sora-2', { price: { per_second: 900 } });
    assert.deepEqual(await receiptOf(id), ended);
    const { body } = await callModelApi(service.baseUrl, service.key, 'GET', `/v1/videos/${id}/receipt`);
    assert.deepEqual(body, ended);
  });

  it('of a failed video has no lines and a full refund', async () => {
    const body = { model: 'sora-2', prompt: 'herons [fail]', seconds: '4' };
    const { body: video } = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/videos', body);
    const receipt = await whenEnded(String(video.id));
    assert.equal(receipt.outcome, 'refunded');
    assert.deepEqual([receipt.charged, receipt.lines, receipt.sources], [0, [], []]);
    assert.equal(receipt.refunded, receipt.reserved);
  });

  it('is only for its owner and administrators', async () => {
    const id = await startVideo();
    await service.operator.requestData('POST', '/api/admin/users', {
      username: 'stranger',
      password: 'stranger-password-1',
      display_name: 'stranger',
    });
    const login = await fetch(`${service.baseUrl}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'stranger', password: 'stranger-password-1' }),
    });
    const { data } = (await login.json()) as { data: { id: number } };
    const cookie = (login.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    const headers = { cookie, 'service-api-user': String(data.id) };
    const [answer] = [await fetch(`${service.baseUrl}/api/receipts/${id}`, { headers })];
    assert.equal(((await answer.json()) as { success: boolean }).success, false);
    const other = await service.operator.makeToken();
    const { status } = await callModelApi(service.baseUrl, other, 'GET', `/v1/videos/${id}/receipt`);
    assert.equal(status, 400, 'a video of another token');
    const list = await fetch(`${service.baseUrl}/api/requests`, { headers });
    assert.deepEqual(((await list.json()) as { data: unknown[] }).data, []);
    for (const path of ['/api/admin/requests', '/api/admin/requests.csv', '/api/admin/requests/stream'])
      assert.equal((await fetch(`${service.baseUrl}${path}`, { headers })).status, 403, path);
  });
});
