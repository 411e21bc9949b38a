import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { type ChatService, chatBody, startChat } from './chat-fixture.ts';

interface LoggedCall {
  readonly ref: string;
  readonly token_id: number;
  readonly quota: number;
  readonly status: string;
}

// Calls from the console's playground: authenticated by session, without an API key.
forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl());
  });
  after(() => service.stop());

  const call = async (path: string, body: object) => {
    const headers = { ...service.operator.headers, 'content-type': 'application/json' };
    return fetch(`${service.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };

  it('answers by session, charges the account, and logs the call with a receipt and without a key', async () => {
    const response = await call('/api/chat/completions', chatBody('Hello'));
    assert.equal(response.status, 200, await response.text());
    await service.waitUntilSettled();
    const [row] = await service.operator.requestData<LoggedCall[]>('GET', '/api/requests');
    assert.deepEqual([row?.token_id, row?.status], [0, 'ok']);
    assert.ok((row?.quota ?? 0) > 0);
    const id = response.headers.get('x-request-id') ?? '';
    const receipt = await service.operator.requestData<{ charged: number }>('GET', `/api/receipts/${id}`);
    assert.equal(receipt.charged, row?.quota);
  });

  it('generates images in the same way', async () => {
    const { status } = await call('/api/images/generations', { model: 'sandbox-image', prompt: 'A boat' });
    assert.equal(status, 200);
  });

  it('refuses callers without a session, keys, unknown models and malformed bodies', async () => {
    const url = `${service.baseUrl}/api/chat/completions`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(chatBody('Hello'));
    assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 401);
    const withKey = { ...headers, authorization: `Bearer ${service.key}` };
    assert.equal((await fetch(url, { method: 'POST', headers: withKey, body })).status, 401);
    const unknown = await call('/api/chat/completions', chatBody('Hello', { model: 'none', stream: true }));
    assert.match(await unknown.text(), /"success":false.*none/);
    assert.equal((await call('/api/chat/completions', { model: 'sandbox-chat' })).status, 400);
  });
});
