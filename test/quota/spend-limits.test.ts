import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, chatBody, startChat } from '../chat/chat-fixture.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { retryWhileUnavailable } from '../faults/submit-steps.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { postMcp, toolCall } from '../mcp/mcp-fixture.ts';
import { middayClock } from '../midday-clock.ts';

interface KeyRow {
  readonly id: number;
  readonly spend_limit: { amount: number; period: string; spent: number; renews_at: number } | null;
}

/** Reads a duration in OpenAI's format, such as `25h0m3s`, `1m0s` or `8.64s`. */
function durationMs(text: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = /^(?:(\d+)h)?(?:(\d+)m)?([\d.]+)s$/.exec(text) ?? assert.fail(text);
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
}

describe('spend limits', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: ChatService;
    before(async () => {
      service = await startChat(await freshUrl(), { overrides: { clock: middayClock } });
      await service.addChannel('sora', ['sora-2']);
      await service.operator.requestData('PUT', '/api/admin/models/sora-2', { price: { per_second: 100 } });
    });
    after(async () => {
      await service.waitUntilSettled();
      await assertLedgerConsistent(service.app.database);
      await service.stop();
    });

    const VIDEO = { model: 'sora-2', prompt: 'a boat [stuck]', seconds: '4' };
    const make = async (spend_limit: object | null) => {
      const { key, id } = await service.operator.requestData<{ key: string; id: number }>('POST', '/api/tokens', {
        name: 'limited',
        spend_limit,
      });
      return { key, id, row: () => service.operator.requestData<KeyRow>('GET', `/api/tokens/${id}`) };
    };
    const submit = (key: string) => callModelApi(service.baseUrl, key, 'POST', '/v1/videos', VIDEO);

    it('are validated by name, set, changed and removed', async () => {
      for (const wrong of [
        { amount: 0, period: 'day' },
        { amount: 1.5, period: 'day' },
        { amount: 10, period: 'year' },
        { amount: 10 },
        { amount: '10', period: 'day' },
        { amount: 10, period: 'day', extra: 1 },
        'none',
      ]) {
        const answer = await service.operator.request('POST', '/api/tokens', { name: 'x', spend_limit: wrong });
        assert.equal(answer.success, false, JSON.stringify(wrong));
        assert.match(answer.message ?? '', /spend_limit/);
      }
      const { id, row } = await make({ amount: 1_000, period: 'week' });
      const { amount, period, spent, renews_at: renewsAt } = (await row()).spend_limit ?? {};
      assert.deepEqual([amount, period, spent], [1_000, 'week', 0]);
      assert.equal(new Date((renewsAt ?? 0) * 1_000).getUTCDay(), 1);
      await service.operator.requestData('PUT', `/api/tokens/${id}`, { name: 'kept' });
      assert.equal((await row()).spend_limit?.amount, 1_000);
      await service.operator.requestData('PUT', `/api/tokens/${id}`, { spend_limit: null });
      assert.equal((await row()).spend_limit, null);
    });

    it('refuse videos, calls and MCP tools alike, in the envelope of each, and say what is left', async () => {
      const { key, row } = await make({ amount: 900, period: 'month' });
      const first = await submit(key);
      assert.deepEqual(
        [first.status, first.headers.get('x-ratelimit-limit-quota'), first.headers.get('x-ratelimit-remaining-quota')],
        [200, '900', '500'],
      );
      const resetsAt = middayClock.now() + durationMs(first.headers.get('x-ratelimit-reset-quota') ?? '');
      const renewsAt = ((await row()).spend_limit?.renews_at ?? 0) * 1_000;
      assert.ok(Math.abs(resetsAt - renewsAt) < 60_000, `${resetsAt} ${renewsAt}`);
      assert.equal((await submit(key)).status, 200);
      assert.equal((await row()).spend_limit?.spent, 800);
      const quote = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos/quote', VIDEO);
      const { spend_limits: limits, how_many_now: now } = quote.body as unknown as {
        spend_limits: { of: string; left: number }[];
        how_many_now: number;
      };
      assert.deepEqual([limits.map((limit) => [limit.of, limit.left]), now], [[['key', 100]], 0]);
      const renewal = new Date(renewsAt).toISOString();
      const refused = await submit(key);
      const { error } = refused.body as unknown as { error: { code: string; message: string } };
      assert.deepEqual([refused.status, error.code], [403, 'quota_not_enough']);
      assert.match(error.message, /spend limit of this key is .* per month/);
      assert.ok(error.message.includes(renewal), error.message);
      assert.equal(refused.headers.get('x-ratelimit-remaining-quota'), '100');
      const chat = await callModelApi(service.baseUrl, key, 'POST', '/v1/chat/completions', chatBody('hi'));
      assert.equal(chat.status, 403);
      assert.equal(chat.headers.get('x-ratelimit-remaining-quota'), '100');
      const tool = await postMcp(service.baseUrl, key, toolCall('create_video', { model: 'sora-2', prompt: 'x' }));
      assert.equal(tool.body.result?._meta?.error?.code, 'quota_not_enough');
      assert.equal((await row()).spend_limit?.spent, 800);
    });

    it('of the account apply to all of its keys and to the console', async () => {
      const { id } = service.operator;
      const change = (spend_limit: object | null) =>
        service.operator.requestData('PUT', `/api/admin/users/${id}`, { spend_limit });
      await change({ amount: 400, period: 'day' });
      const { key } = await make(null);
      assert.equal((await submit(key)).status, 200);
      assert.equal((await submit(service.key)).status, 403);
      assert.equal((await service.operator.request('POST', '/api/videos', { ...VIDEO, seconds: 4 })).success, false);
      const self = await service.operator.requestData<KeyRow>('GET', '/api/user/self');
      assert.deepEqual([self.spend_limit?.amount, self.spend_limit?.spent], [400, 400]);
      await change(null);
      assert.equal((await service.operator.requestData<KeyRow>('GET', '/api/user/self')).spend_limit, null);
      assert.equal((await submit(key)).status, 200);
    });

    it('of a plan cap the wallet too, and monthly_quota_limit the allowance', async () => {
      const { id } = service.operator;
      const card = {
        ...{ package_code: 'capped', name: 'capped', level: 1, duration_days: 60, daily_quota: 10_000 },
        ...{ monthly_quota_limit: 500, spend_limit: { amount: 1_200, period: 'month' } },
      };
      const { id: cardId } = await service.operator.requestData<{ id: number }>(
        'POST',
        '/api/admin/package-cards',
        card,
      );
      await service.operator.requestData('POST', '/api/user/package/activate', { user_id: id, package_code: 'capped' });
      const { key } = await make(null);
      const before = (await service.operator.quota()).quota;
      assert.equal((await submit(key)).status, 200);
      assert.equal((await service.operator.quota()).quota, before, 'paid by the allowance');
      assert.equal((await submit(key)).status, 200);
      assert.equal((await service.operator.quota()).quota, before - 300, '100 of the month were left');
      assert.equal((await submit(key)).status, 200);
      assert.equal((await submit(key)).status, 403);
      await service.operator.requestData('PUT', `/api/admin/package-cards/${cardId}`, { spend_limit: null });
      assert.equal((await submit(key)).status, 200);
    });

    it('T73: of a key grant exactly what fits under 200 parallel submits', async () => {
      const { key, row } = await make({ amount: 4_000, period: 'day' });
      const answers = await Promise.all(Array.from({ length: 200 }, () => retryWhileUnavailable(() => submit(key))));
      const count = (status: number) => answers.filter((answer) => answer.status === status).length;
      assert.deepEqual([count(200), count(403)], [10, 190]);
      assert.equal((await row()).spend_limit?.spent, 4_000);
    });
  });
});
