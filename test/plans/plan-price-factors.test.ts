import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { asObject } from '../../src/contract/objects.ts';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, PRICE, startChat } from '../chat/chat-fixture.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';

interface ReceiptBody {
  readonly charged: number;
  readonly lines: readonly { readonly label: string; readonly quota: number; readonly multiplier: number }[];
  readonly facts: Readonly<Record<string, number>>;
}

forEachDatabase((_name, _open, freshUrl) => {
  describe('plans with a price factor and channels', { concurrency: false }, () => {
    let service: ChatService;
    let planId: number;
    let channels: number[];
    before(async () => {
      service = await startChat(await freshUrl(), { channels: 2 });
      const { operator } = service;
      await service.addChannel('kling', ['kling-v1-6']);
      channels = (await operator.requestData<{ id: number }[]>('GET', '/api/admin/channels')).map(({ id }) => id);
      const card = { package_code: 'vip', name: 'VIP', level: 1, duration_days: 30 };
      ({ id: planId } = await operator.requestData<{ id: number }>('POST', '/api/admin/package-cards', card));
      const { codes } = await operator.requestData<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
        package_code: 'vip',
        count: 1,
      });
      await operator.requestData('POST', '/api/user/redeem', { code: codes[0] });
    });
    after(async () => {
      await assertLedgerConsistent(service.app.database);
      await service.stop();
    });

    const change = (terms: object) => service.operator.requestData('PUT', `/api/admin/package-cards/${planId}`, terms);
    const receiptOf = (ref: string) =>
      service.operator.requestData<ReceiptBody>('GET', `/api/receipts/${encodeURIComponent(ref)}`);

    for (const factor of [1.5, 0.8, 0, 1])
      test(`a call costs ${factor} times its price, and the receipt shows the factor as a line`, async () => {
        await change({ price_factor: factor });
        const answer = await service.ask('[chunks=7] hello');
        assert.equal(answer.status, 200);
        const usage = answer.body.usage as unknown as { prompt_tokens: number; completion_tokens: number };
        const listed =
          usage.prompt_tokens * PRICE.input_per_million + usage.completion_tokens * PRICE.output_per_million;
        const [end] = await service.waitUntilSettled();
        assert.equal(end?.charged, Math.ceil((listed * Math.round(factor * 10)) / 10 / 1_000_000));
        const receipt = await receiptOf(end?.ref ?? '');
        assert.equal(receipt.charged, end?.charged);
        const sum = receipt.lines.reduce((total, { quota }) => total + quota, 0);
        assert.equal(Math.ceil(sum) + 0, receipt.charged);
        const line = receipt.lines.find(({ label }) => label === 'plan_factor');
        assert.equal(line?.multiplier, factor === 1 ? undefined : Number((factor - 1).toFixed(9)));
        assert.equal(receipt.facts.plan_factor, factor === 1 ? undefined : factor);
      });

    test('a key and the console list exactly the models that channels of the plan serve', async () => {
      const listed = async () => {
        const { body } = await callModelApi(service.baseUrl, service.key, 'GET', '/v1/models');
        return (body.data as unknown as { id: string }[]).map(({ id }) => id);
      };
      const inConsole = async () =>
        (await service.operator.requestData<{ id: string; permitted: boolean }[]>('GET', '/api/models'))
          .filter(({ permitted }) => permitted)
          .map(({ id }) => id);
      const [video, chat] = [channels[0], channels.at(-1)];
      await change({ channels: [chat] });
      assert.deepEqual(
        [(await listed()).includes('kling-v1-6'), (await listed()).includes('sandbox-chat')],
        [false, true],
      );
      assert.deepEqual((await inConsole()).sort(), (await listed()).sort());
      const one = await callModelApi(service.baseUrl, service.key, 'GET', '/v1/models/kling-v1-6');
      assert.equal(one.status, 404);
      await change({ channels: [video] });
      assert.deepEqual(await listed(), ['kling-v1-6']);
      assert.deepEqual(await inConsole(), ['kling-v1-6']);
      await change({ channels: [] });
      assert.ok((await listed()).length > 1);
    });

    test('a video, its quote and its refund use the factor', async () => {
      const model = 'kling-v1-6';
      const quote = async () => {
        const { body } = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/videos/quote', {
          model,
          prompt: 'a boat',
        });
        return Number(body.quota);
      };
      await change({ price_factor: 1 });
      const listed = await quote();
      assert.ok(listed > 0);
      await change({ price_factor: 1.1 });
      assert.equal(await quote(), Math.ceil((listed * 11) / 10));
      const { wallet: before } = await service.operator.requestData<{ wallet: number }>('GET', '/api/user/package');
      const made = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/videos', { model, prompt: 'a boat' });
      assert.equal(made.status, 200);
      const { wallet, ...own } = await service.operator.requestData<{ wallet: number; price_factor: number }>(
        'GET',
        '/api/user/package',
      );
      assert.equal(before - wallet, Math.ceil((listed * 11) / 10));
      assert.equal(own.price_factor, 1.1);
    });

    test('only the channels of the plan serve its holders, from the next call on', async () => {
      await change({ price_factor: 1, channels: [channels[1] as number] });
      assert.equal((await service.ask('hi')).status, 200);
      await service.waitUntilSettled();
      const served = await service.app.database.kysely
        .selectFrom('requests')
        .select('channel_id')
        .where('kind', '=', 'chat')
        .orderBy('seq', 'desc')
        .executeTakeFirst();
      assert.equal(served?.channel_id, channels[1]);
      await change({ channels: [999_999] });
      const refused = await service.ask('hi');
      assert.deepEqual([refused.status, asObject(refused.body.error)?.code], [403, 'model_not_allowed']);
      await change({ channels: [] });
      assert.equal((await service.ask('hi')).status, 200);
      await service.waitUntilSettled();
    });

    test('invalid factors are refused', async () => {
      for (const price_factor of [-1, 1_001, 1e-10, '2', null]) {
        const { success } = await service.operator.request('PUT', `/api/admin/package-cards/${planId}`, {
          price_factor,
        });
        assert.equal(success, false, String(price_factor));
      }
    });
  });
});
