import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Static } from 'typebox';
import type { getServiceStatus } from '../../src/contract/service.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

type Operations = Static<typeof getServiceStatus.response>['data'];
const START = Date.UTC(2026, 10, 23, 12);

describe('service status for administrators', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const clock = manualClock(START);
    let service: TestService;
    before(async () => {
      service = await startTestService(await freshUrl(), { INSTANCE_NAME: 'one' }, { clock });
    });
    after(() => service.stop());

    const read = () => service.root.ok<Operations>('GET', '/api/admin/operations');
    /** Waits for the process to write its row, which it does right after it starts listening. */
    const untilListed = async (): Promise<Operations> => {
      for (;;) {
        const state = await read();
        if (state.instances.length > 0) return state;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };

    it('lists the responding process, every incident in the runbook, and no blocked account', async () => {
      const { instances, incidents, blocked, last_day } = await untilListed();
      assert.deepEqual(
        instances.map(({ name, is_alive, seen_at }) => [name, is_alive, seen_at]),
        [['one', true, START / 1000]],
      );
      assert.equal(incidents.length, 13);
      assert.deepEqual([blocked, last_day], [[], { requests: 0, failed: 0, quota: 0 }]);
    });

    it('lists accounts whose calls are refused, and the refused calls', async () => {
      const user = await service.signUp('poor');
      const { kysely } = service.app.database;
      const refused = { ref: 'req_poor', user_id: user.id, token_id: 0, channel_id: 0, kind: 'chat' as const };
      const nothing = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, seconds: 0, quota: 0, reserved: 0 };
      await kysely
        .insertInto('requests')
        .values({
          ...refused,
          ...nothing,
          model: 'm',
          served_model: '',
          status: 'failed',
          error_code: 'quota_not_enough',
          duration_ms: 1,
          first_token_ms: null,
          stream: 0,
          client: '',
          price: '',
          facts: '',
          created_at: START,
        })
        .execute();
      clock.advance(1_000);
      const { blocked, last_day } = await read();
      assert.deepEqual(blocked, [
        { user_id: user.id, username: 'poor', error_code: 'quota_not_enough', requests: 1, last_time: START / 1000 },
      ]);
      assert.deepEqual(last_day, { requests: 1, failed: 1, quota: 0 });
      await user.fails(403, 'GET', '/api/admin/operations');
    });

    it('opens an incident when a process stops reporting', async () => {
      clock.advance(600_000);
      const { incidents, instances } = await read();
      assert.equal(instances[0]?.is_alive, false);
      assert.deepEqual(
        incidents.filter(({ is_open }) => is_open).map(({ id, subjects }) => [id, subjects]),
        [['replica_frozen', ['one']]],
      );
    });
  });
});
