import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

const MODEL = 'MiniMax-Hailuo-02';

forEachDatabase((_name, _open, freshUrl) => {
  let service: VideoService;
  before(async () => {
    const options = { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '1' }, sandbox: { latencyMs: 1_000 } };
    service = await startVideoService(await freshUrl(), options, [{ name: 'hailuo', model: MODEL }]);
  });
  after(() => service.stop());

  it('T55: a job id returned to two concurrent submits is shown to neither and costs nothing', async () => {
    const { control } = service.sandbox;
    control.fault({ kind: 'duplicate', vendor: 'hailuo', operation: 'submit', match: 'second' });
    const first = service.caller.submit({ model: MODEL, prompt: 'the first' });
    // The vendor receives both requests before it responds to either.
    while (control.requests({ operation: 'submit' }).length === 0) await pause(5);
    const both = await Promise.all([first, service.caller.submit({ model: MODEL, prompt: 'the second' })]);
    for (const submitted of both) {
      const { status, error } = await service.caller.waitUntilEnded(idOf(submitted));
      assert.equal(status, 'failed', JSON.stringify(error));
    }
    assert.equal(control.jobs('hailuo').length, 2);

    control.fault({ kind: 'duplicate', vendor: 'hailuo', operation: 'submit', match: 'late' });
    const earlier = await service.caller.submit({ model: MODEL, prompt: 'long since answered' });
    const late = await service.caller.submit({ model: MODEL, prompt: 'a late one' });
    assert.equal((await service.caller.waitUntilEnded(idOf(earlier))).status, 'completed', 'whose it was stays known');
    assert.equal((await service.caller.waitUntilEnded(idOf(late))).status, 'failed');
    await assertLedgerConsistent(service.app.database);
  });
});
