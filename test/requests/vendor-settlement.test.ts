import assert from 'node:assert/strict';
import { after, afterEach, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Static } from 'typebox';
import { type Receipt, sumOfReceipt } from '../../src/contract/request-log.ts';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

type ReceiptBody = Static<typeof Receipt>;

/** Vendors that report usage in their responses, with the simulators' figures for five seconds. */
const VENDORS = [
  { vendor: 'kling', model: 'kling-v2-1-master', fact: 'units', reported: 10 },
  { vendor: 'vidu', model: 'viduq2', fact: 'units', reported: 60 },
  { vendor: 'seedance', model: 'doubao-seedance-1-0-pro-250528', fact: 'units', reported: 0 },
  { vendor: 'wan', model: 'wan2.5-t2v-preview', fact: 'seconds', reported: 5 },
] as const;

interface VideoRow {
  readonly task_id: string;
  readonly quota: number;
  readonly reserved?: number;
}

forEachDatabase((_name, _open, freshUrl) => {
  let service: SandboxService;
  let key: string;
  before(async () => {
    service = await startSandboxService(await freshUrl());
    for (const { vendor, model } of VENDORS) await service.addChannel(vendor, [model]);
    await service.operator.grantQuota(1_000_000_000);
    key = await service.operator.makeToken();
  });
  after(() => service.stop());
  afterEach(() => assertLedgerConsistent(service.app.database));

  const setPrice = (model: string, price: object): Promise<unknown> =>
    service.operator.requestData('PUT', `/api/admin/models/${model}`, { price });
  const submit = (model: string) =>
    callModelApi(service.baseUrl, key, 'POST', '/v1/videos', { model, prompt: 'herons', seconds: '5' });
  const receiptOf = async (ref: unknown): Promise<ReceiptBody> => {
    for (let tries = 0; tries < 400; tries++) {
      const receipt = await service.operator.requestData<ReceiptBody>('GET', `/api/receipts/${String(ref)}`);
      if (receipt.outcome !== 'open') return receipt;
      await pause(25);
    }
    assert.fail('the video did not end');
  };

  for (const { vendor, model, fact, reported } of VENDORS)
    it(`charges what ${vendor} reports, and refunds the rest in the same transaction`, async () => {
      const line = fact === 'units' ? { per_unit: 3, max_units: 1_000_000 } : { per_second: 600_000 };
      await setPrice(model, { lines: [line], settle_by: 'vendor' });
      const { status, body } = await submit(model);
      assert.equal(status, 200, JSON.stringify(body));
      const receipt = await receiptOf(body.id ?? body.task_id);
      assert.equal(receipt.reserved, 3_000_000);
      const count = Number(receipt.facts[fact]);
      if (reported > 0) assert.equal(count, reported);
      assert.ok(count > 0);
      assert.equal(receipt.charged, count * (fact === 'units' ? 3 : 600_000));
      assert.equal(sumOfReceipt(receipt.lines), receipt.charged);
      assert.equal(receipt.refunded, receipt.reserved - receipt.charged);
      assert.equal(receipt.ledger.length, 2);
      // The list of videos shows the same amount as the receipt.
      const videos = await service.operator.requestData<VideoRow[]>('GET', '/api/videos');
      const video = videos.find(({ task_id }) => task_id === receipt.ref);
      assert.equal(video?.quota, receipt.charged);
      assert.equal(video.reserved, receipt.reserved > receipt.charged ? receipt.reserved : undefined);
    });

  it('never charges more than was reserved', async () => {
    await setPrice('viduq2', { lines: [{ per_unit: 3, max_units: 4 }], settle_by: 'vendor' });
    const receipt = await receiptOf((await submit('viduq2')).body.id);
    assert.deepEqual([receipt.reserved, receipt.charged, receipt.facts.units], [12, 12, 60]);
    assert.deepEqual(
      receipt.lines.map(({ label, quota }) => [label, quota]),
      [
        ['per_unit', 180],
        ['not_charged', -168],
      ],
    );
  });

  it('refuses a request that no price line matches before a reservation', async () => {
    await setPrice('viduq2', { lines: [{ when: { seconds: [4] }, per_call: 1 }] });
    const { quota } = await service.operator.quota();
    const { status, body } = await submit('viduq2');
    assert.equal(status, 400, JSON.stringify(body));
    assert.match(JSON.stringify(body), /no price for this request/);
    assert.equal((await service.operator.quota()).quota, quota);
  });
});
