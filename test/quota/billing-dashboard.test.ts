import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { openLedger } from '../ledger-fixture.ts';

forEachDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { quota: 5_000_000 });
  });
  after(() => service.stop());
  const get = async (path: string, key: string) => {
    const { status, body } = await callModelApi(service.baseUrl, key, 'GET', `/v1/dashboard/billing/${path}`);
    assert.equal(status, 200, JSON.stringify(body));
    const alias = await callModelApi(service.baseUrl, key, 'GET', `/dashboard/billing/${path}`);
    assert.deepEqual(alias.body, body, 'NextChat has no version in this path');
    return body as Record<string, unknown>;
  };

  test(`${name}: programs for new-api read the remaining quota of a key`, async () => {
    const expires_at = Math.floor(Date.now() / 1_000) + 86_400;
    const limits = { name: 'old client', quota_limit: 700, models: ['sandbox-chat'], expires_at };
    const limited = await service.operator.makeToken(limits);
    for (const path of ['/api/usage/token', '/api/usage/token/']) {
      const { status, body } = await callModelApi(service.baseUrl, limited, 'GET', path);
      assert.equal(status, 200);
      assert.deepEqual(body, {
        code: true,
        message: 'ok',
        data: {
          object: 'token_usage',
          name: 'old client',
          total_granted: 700,
          total_used: 0,
          total_available: 700,
          unlimited_quota: false,
          model_limits: { 'sandbox-chat': true },
          model_limits_enabled: true,
          expires_at,
        },
      });
    }
    const { body } = await callModelApi(service.baseUrl, service.key, 'GET', '/api/usage/token');
    const { unlimited_quota, total_available, expires_at: end } = body.data as unknown as Record<string, unknown>;
    assert.deepEqual([unlimited_quota, total_available, end], [true, 5_000_000, 0]);
    const unknown = await callModelApi(service.baseUrl, 'sk-none', 'GET', '/api/usage/token');
    assert.equal(unknown.status, 401);
  });

  test(`${name}: chat clients read a key's limit and usage as in OpenAI's dashboard`, async () => {
    const limited = await service.operator.makeToken({ quota_limit: 1_000_000 });
    assert.equal((await get('subscription', limited)).hard_limit_usd, 2);
    assert.equal((await get('subscription', service.key)).hard_limit_usd, 10, 'without a limit: the wallet');
    assert.equal((await get('usage', limited)).total_usage, 0);
    const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: '[chunks=100]' }] };
    assert.equal((await callModelApi(service.baseUrl, limited, 'POST', '/v1/chat/completions', chat)).status, 200);
    const charged = (await service.waitUntilSettled())[0]?.charged ?? 0;
    const { database } = service.app;
    const { day, user_id: userId } = await database.kysely
      .selectFrom('usage_daily')
      .select(['day', 'user_id'])
      .executeTakeFirstOrThrow();
    // That of the charge: it may be midnight meanwhile.
    const today = new Date(day * DAY_MS).toISOString().slice(0, 10);
    for (const path of ['usage', `usage?start_date=${today}&end_date=${today}`])
      assert.equal((await get(path, limited)).total_usage, (charged / 500_000) * 100, path);
    assert.equal((await get('usage?start_date=2020-01-01&end_date=2020-01-31', limited)).total_usage, 0);
    const subscription = await get('subscription', limited);
    assert.deepEqual(subscription, {
      object: 'billing_subscription',
      has_payment_method: true,
      soft_limit_usd: 2,
      hard_limit_usd: 2,
      system_hard_limit_usd: 2,
      access_until: 0,
    });
    const total = (charged / 500_000) * 100;
    assert.equal((await get('subscription', service.key)).hard_limit_usd, 10, 'the balance and what was used of it');
    assert.equal((await get('usage', service.key)).total_usage, total, 'without a limit: what the account used');
    for (const [range, expected] of [
      [`start_date=${today}`, total],
      [`end_date=${today}`, total],
      ['end_date=2020-01-31', 0],
      ['start_date=9999-01-01', 0],
      ['start_date=2026-99-99', total],
      // As `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}` writes it.
      ['start_date=9999-1-1', 0],
      ['start_date=2020-1-1&end_date=2020-1-31', 0],
      ['start_date=2020-1-1&end_date=9999-9-9', total],
    ] as const) {
      assert.equal((await get(`usage?${range}`, service.key)).total_usage, expected, range);
      assert.equal((await get(`usage?${range}`, limited)).total_usage, expected, range);
    }
    const tokens = database.kysely.selectFrom('token_limits').select('token_id').where('used', '>', 0);
    const { token_id: tokenId } = await tokens.executeTakeFirstOrThrow();
    await openLedger(database).reserve('req_open', userId, 500, tokenId);
    assert.equal((await get('usage', limited)).total_usage, total + 0.1, 'what is reserved counts');
    assert.equal((await get(`usage?start_date=${today}`, limited)).total_usage, total, 'until it is charged');
    const other = await service.operator.makeToken({ quota_limit: 1_000_000 });
    assert.equal((await get(`usage?start_date=${today}`, other)).total_usage, 0, 'a key with a limit: its own use');
  });
});
