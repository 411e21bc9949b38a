import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { makeEvents } from '../event-log/event-log.ts';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { ChannelFailureNotices } from './channel-health.ts';

forEachDatabase((_name, open) => {
  it('the recovery of a channel is reported once across all processes, and only after a reported failure', async () => {
    const database = await open();
    const clock = manualClock(Date.UTC(2026, 0, 1));
    const log = openLog('silent');
    const { eventLog, store } = makeEvents({ database, clock, log, retentionMs: () => 0 });
    const process = () =>
      new ChannelFailureNotices({
        database,
        notifier: {
          notifyAdministrators: async (trx, { event, deduplicationKey }) =>
            event && eventLog.write(trx, { ...event, deduplicationKey }),
        },
        events: eventLog,
        eventHistory: store,
        clock,
        log,
      });
    const [one, other] = [process(), process()];
    const call = { channelId: 7, credentialId: 1, vendor: 'kling', operation: 'submit', outcome: 'auth' } as const;
    const types = async () =>
      (await store.list({ userIds: [0], since: 0, afterSeq: 0, limit: 100 })).map(({ type }) => type);
    const recover = () =>
      Promise.all([one, other].map((each) => each.circuitClosed({ ...call, outcome: 'ok' }, { name: 'main' })));
    await recover();
    assert.deepEqual(await types(), []);
    await one.circuitOpened(call, { name: 'main' });
    await other.circuitOpened(call, { name: 'main' });
    await recover();
    await recover();
    assert.deepEqual(await types(), ['channel.failing', 'channel.recovered']);
    const reported = ['channel.failing', 'channel.recovered'];
    for (const minutes of [1, 30, 30, 1, 1]) {
      clock.advance(minutes * 60_000);
      await one.circuitOpened(call, { name: 'main' });
      await other.circuitOpened(call, { name: 'main' });
      if (minutes === 1) await recover();
    }
    assert.deepEqual(
      await types(),
      [...reported, ...reported],
      'a failure after a recovery is reported, hourly at most',
    );
    clock.advance(86_400_000);
    await one.circuitOpened(call, { name: 'main' });
    await other.circuitOpened(call, { name: 'main' });
    await recover();
    assert.deepEqual(await types(), [...reported, ...reported, ...reported]);
    clock.advance(86_400_000);
    await one.circuitOpened(call, { name: 'main' });
    const billing = { type: 'billing.difference', subject: 'channel:7', data: {} } as const;
    await database.transaction((trx) => eventLog.write(trx, billing));
    await recover();
    assert.equal((await types()).at(-1), 'channel.recovered', 'whatever else was reported of it meanwhile');
  });
});
