import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { middayClock } from '../midday-clock.ts';
import { assertAllowancesConsistent } from '../plans/assert-allowances-consistent.ts';
import { type ChatService, startChat } from './chat-fixture.ts';

/** Enough for a few responses of five tokens, but not for the higher estimates that further calls reserve. */
const DAILY = 20_000;

forEachDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { overrides: { clock: middayClock } });
    const { operator } = service;
    await operator.requestData('POST', '/api/admin/package-cards', {
      package_code: 'talks',
      name: 'Talks',
      level: 1,
      duration_days: 30,
      daily_quota: DAILY,
      models: ['sandbox-chat'],
    });
    const { codes } = await operator.requestData<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
      package_code: 'talks',
      count: 1,
    });
    await operator.requestData('POST', '/api/user/redeem', { code: codes[0] });
  });
  after(() => service.stop());
  const own = () =>
    service.operator.requestData<{ allowance_left: number; wallet: number }>('GET', '/api/user/package');

  test(`${name}: a plan pays for model calls and receives the unused part of a reservation back`, async () => {
    const before = await own();
    assert.equal((await service.ask('[chunks=5] hello')).status, 200);
    const [end] = await service.waitUntilSettled();
    const { allowance_left, wallet } = await own();
    assert.equal(end?.kind, 'settle');
    assert.equal(allowance_left, DAILY - (end?.charged ?? 0));
    assert.equal(wallet, before.wallet);
  });

  test(`${name}: a plan serves only its models, and a refused call costs nothing`, async () => {
    const before = await own();
    const { status, body } = await callModelApi(service.baseUrl, service.key, 'POST', '/v1/embeddings', {
      model: 'sandbox-embedding',
      input: 'not in the card',
    });
    assert.deepEqual([status, (body.error as unknown as { code: string }).code], [403, 'model_not_allowed']);
    assert.deepEqual(await own(), before);
  });

  test(`${name}: the ledger is consistent`, async () => {
    await assertLedgerConsistent(service.app.database);
    await assertAllowancesConsistent(service.app.database);
  });
});
