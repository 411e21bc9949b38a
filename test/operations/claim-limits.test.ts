import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { ArtifactStore } from '../../src/server/artifacts/artifact-store.ts';
import { MailStore } from '../../src/server/mail/mail-queue.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { PollStore } from '../../src/server/video/poll-scheduler.ts';
import { DeliveryStore } from '../../src/server/webhooks/delivery-store.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { insertTask } from '../video/task-fixture.ts';

const NOW = 1_000;
const LEASE_MS = 60_000;

/** Work that processes claim: inserts a due row, and claims at most one. */
interface Claimable {
  readonly table: string;
  readonly insert: (database: Database<Tables>, number: number) => Promise<unknown>;
  readonly claimOne: (database: Database<Tables>) => Promise<readonly unknown[]>;
}

const LANE = 'endpoint:1';

const CLAIMABLES: readonly Claimable[] = [
  {
    table: 'tasks',
    insert: (database, number) =>
      insertTask(database, { id: `task_${number}`, public_id: `task_${number}`, next_poll_at: 1 }),
    claimOne: (database) => new PollStore(database).claimDue(NOW, LEASE_MS, 1),
  },
  {
    table: 'artifacts',
    insert: (database, number) =>
      database.transaction((trx) =>
        new ArtifactStore(database).insert(trx, { id: `file_${number}`, taskId: `task_${number}`, userId: 1 }, 1),
      ),
    claimOne: (database) => new ArtifactStore(database).claimDue(NOW, LEASE_MS, 1),
  },
  {
    table: 'outgoing_mails',
    insert: ({ kysely }, number) =>
      kysely
        .insertInto('outgoing_mails')
        .values({
          ...{ id: `mail_${number}`, kind: 'test', locale: 'en', params: '{}', recipient: 'ada@example.com' },
          ...{ tries: 0, next_try_at: 1, created_at: 1, expires_at: LEASE_MS },
        })
        .execute(),
    claimOne: (database) => new MailStore(database).claimDue(NOW, LEASE_MS, 1),
  },
  {
    table: 'webhook_deliveries',
    insert: (database, number) =>
      database.transaction((trx) =>
        new DeliveryStore(database).insertOne(
          trx,
          {
            ...{ seq: number, id: `evt_${number}`, type: 'webhook.test', user_id: 1, subject: `test:${number}` },
            ...{ data: '{}', callback_url: null, deduplication_key: null, created_at: 1 },
          },
          { endpointId: 1, userId: 1, lane: LANE, url: '' },
          1,
        ),
      ),
    claimOne: (database) => new DeliveryStore(database).claim([{ lane: LANE, count: 1 }], NOW, NOW + LEASE_MS),
  },
];

forEachDatabase((name, open) => {
  for (const { table, insert, claimOne } of CLAIMABLES)
    it(`claims no more ${table} than asked for, also right after the first ones`, async () => {
      const database = await open();
      await insert(database, 0);
      // From now on PostgreSQL expects one row, and plans accordingly.
      if (name === 'postgres') await sql`analyze ${sql.table(table)}`.execute(database.kysely);
      for (let number = 1; number <= 30; number++) await insert(database, number);
      assert.equal((await claimOne(database)).length, 1);
      assert.equal((await claimOne(database)).length, 1);
    });
});
