import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KyselyPlugin } from 'kysely';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { manualClock } from '../platform/clock.ts';
import { EventStore, makeEventLog } from './event-log.ts';

describe('lists of events', () => {
  forEachDatabase((name, open) => {
    // SQLite has one writer: no transaction can commit before an older one.
    if (name !== 'postgres') return;

    it('end no page beyond an event whose transaction is still in progress', async () => {
      const database = await open();
      const writer = makeEventLog(database, manualClock());
      const event = (subject: string) => ({ type: 'wallet.low', userId: 7, subject, data: {} }) as const;
      const written = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const slow = database.transaction(async (trx) => {
        await writer.write(trx, event('first'));
        written.resolve();
        await released.promise;
      });
      await written.promise;
      await database.transaction((trx) => writer.write(trx, event('second')));

      const waiting = Promise.withResolvers<void>();
      const onQuery: KyselyPlugin = {
        transformQuery({ node }) {
          if (node.kind === 'RawNode') waiting.resolve();
          return node;
        },
        transformResult: async ({ result }) => result,
      };
      const kysely = database.kysely.withPlugin(onQuery);
      const store = new EventStore({ ...database, kysely });
      const page = { userIds: [7], since: 0, limit: 1 };
      const listed = store.list({ ...page, afterSeq: 0 });
      await Promise.race([listed, waiting.promise]);
      released.resolve();
      await slow;
      const first = await listed;
      const second = await store.list({ ...page, afterSeq: first[0]?.seq ?? 0 });
      assert.deepEqual(
        [...first, ...second].map(({ subject }) => subject),
        ['first', 'second'],
      );
    });
  });
});
