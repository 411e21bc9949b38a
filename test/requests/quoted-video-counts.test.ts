import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Static } from 'typebox';
import type { Quote } from '../../src/contract/own-videos.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

type QuoteBody = Static<typeof Quote>;

const BODY = { model: 'sora-2', prompt: 'herons', seconds: '4' };

forEachDatabase((_name, _open, freshUrl) => {
  let service: SandboxService;
  before(async () => {
    service = await startSandboxService(await freshUrl(), { overrides: { clock: middayClock } });
    await service.operator.requestData('PUT', '/api/admin/models/sora-2', { price: { per_second: 100 } });
    await service.addChannel('sora', ['sora-2']);
    const { quota } = await service.operator.quota();
    await service.operator.grantQuota(1_000 - quota);
  });
  after(() => service.stop());

  const quoteAs = async (key: string): Promise<QuoteBody> => {
    const { status, body } = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos/quote', BODY);
    assert.equal(status, 200, JSON.stringify(body));
    return body as unknown as QuoteBody;
  };
  /** Starts videos until the service refuses one; returns how many were started. */
  const startAll = async (key: string): Promise<number> => {
    for (let count = 0; ; count++) {
      const { status } = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos', BODY);
      if (status !== 200) return count;
    }
  };

  it("counts the videos that the key's limit and the wallet can pay for, and starts none", async () => {
    const limited = await service.operator.makeToken({ quota_limit: 900 });
    const quote = await quoteAs(limited);
    assert.deepEqual(
      [quote.quota, quote.how_many_now, quote.how_many_today, quote.key_left, quote.balance, quote.affordable],
      [400, 2, 2, 900, 1_000, true],
    );
    assert.deepEqual(quote.windows, []);
    assert.deepEqual(quote.lines, [{ label: 'per_second', quantity: 4, unit_quota: 100, multiplier: 1, quota: 400 }]);
    assert.deepEqual(await quoteAs(limited), quote);
    assert.equal((await service.operator.quota()).quota, 1_000);
  });

  it('refuses the same requests as a submit', async () => {
    const key = await service.operator.makeToken({ models: ['viduq1'] });
    const { status } = await callModelApi(service.baseUrl, key, 'POST', '/v1/videos/quote', BODY);
    assert.equal(status, 403);
    const unknown = { ...BODY, model: 'none' };
    const other = await service.operator.makeToken();
    assert.equal((await callModelApi(service.baseUrl, other, 'POST', '/v1/videos/quote', unknown)).status, 404);
  });

  it('counts the videos that the allowance and the wallet can pay for together', async () => {
    const { id } = service.operator;
    const card = { package_code: 'quoted', name: 'quoted', level: 1, duration_days: 30, daily_quota: 1_000 };
    await service.operator.requestData('POST', '/api/admin/package-cards', card);
    await service.operator.requestData('POST', '/api/user/package/activate', { user_id: id, package_code: 'quoted' });
    const key = await service.operator.makeToken();
    const quote = await quoteAs(key);
    // 1,000 of the allowance and 1,000 of the wallet: two from the allowance alone, a third from both, two from the
    // wallet.
    assert.equal(quote.how_many_now, 5);
    assert.deepEqual([quote.from_allowance, quote.from_wallet], [400, 0]);
    const [day] = quote.windows;
    assert.deepEqual([day?.kind, day?.limit, day?.left, day?.how_many], ['day', 1_000, 1_000, 2]);
    const untilFull = (day?.full_again ?? 0) - middayClock.now() / 1000;
    assert.ok(untilFull > -1 && untilFull <= 86_400, `full again in ${untilFull} s`);
    const own = await service.operator.requestData<QuoteBody>('POST', '/api/videos/quote', BODY);
    assert.deepEqual(own, omitObject(quote));
    assert.equal(await startAll(key), 5);
    const empty = await quoteAs(key);
    assert.deepEqual([empty.how_many_now, empty.affordable, empty.balance], [0, false, 0]);
  });

  it('counts over all windows: now the videos that fit into each, today as many as the week allows the intervals', async () => {
    const { id } = service.operator;
    const windows = { refresh_interval_seconds: 5 * 3_600, interval_quota: 1_000, weekly_quota_limit: 2_500 };
    const card = { package_code: 'windows', name: 'windows', level: 2, duration_days: 30, ...windows };
    await service.operator.requestData('POST', '/api/admin/package-cards', card);
    await service.operator.requestData('POST', '/api/user/package/activate', { user_id: id, package_code: 'windows' });
    const quote = await quoteAs(await service.operator.makeToken());
    assert.deepEqual(
      quote.windows.map(({ kind, limit, left, how_many }) => [kind, limit, left, how_many]),
      [
        ['interval', 1_000, 1_000, 2],
        ['week', 2_500, 2_500, 6],
      ],
    );
    const [interval, week] = quote.windows.map(({ full_again }) => full_again - middayClock.now() / 1_000);
    assert.ok((interval ?? 0) > -1 && (interval ?? 0) <= 5 * 3_600, `the interval begins anew in ${interval} s`);
    assert.ok((week ?? 0) > -1 && (week ?? 0) <= 7 * 86_400, `the week begins anew in ${week} s`);
    assert.equal(quote.how_many_now, 2);
    // One, two or more intervals start today: two videos each, and in the third one that the week still allows.
    assert.ok([2, 4, 5].includes(quote.how_many_today ?? 0), `${quote.how_many_today} today`);
  });
});

function omitObject(quote: QuoteBody): QuoteBody {
  const { object: _, ...rest } = quote as QuoteBody & { object?: string };
  return rest;
}
