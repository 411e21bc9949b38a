/**
 * A process that reports events, each with a row written in the same transaction, and delivers them until it is killed.
 */
import { flushCompileCache } from 'node:module';
import { AccountAccess, AccountStore } from '../../src/server/accounts/account-store.ts';
import { AuditStore } from '../../src/server/accounts/audit-log.ts';
import { makeEvents } from '../../src/server/event-log/event-log.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import type { Tables } from '../../src/server/tables.ts';
import { makeWebhooks } from '../../src/server/webhooks/module.ts';
import { reportedEventRowName } from './event-row-names.ts';
import { readInstruction } from './read-instruction-line.ts';

/** Instruction to the process, as one line of JSON. */
export interface EventProcessOrder {
  readonly databaseUrl: string;
  readonly masterKey: string;
  readonly userId: number;
  /** Receiver as `host:port`. */
  readonly receiver: string;
  /** Milliseconds by which this process's clock is ahead, so that the previous process's claims are due again. */
  readonly clockOffsetMs: number;
  /** Number of the first event to report; undefined: only deliver the remaining events and print `drained`. */
  readonly from: number | undefined;
}

const order = await readInstruction<EventProcessOrder>();
const { userId, clockOffsetMs } = order;
const database = openDatabase<Tables>(order.databaseUrl);
const clock = { now: () => Date.now() + clockOffsetMs };
const log = openLog('silent');
const events = makeEvents({ database, clock, log, retentionMs: () => 0 });
const webhooks = makeWebhooks({
  config: { allowHttp: false, webhookPrivateHosts: [order.receiver] },
  settings: { current: () => ({ retentionEventsDays: 0 }) },
  version: 'test',
  database,
  events,
  notifier: { notify: async () => {} },
  access: new AccountAccess(new AccountStore(database)),
  auditLog: new AuditStore(database, clock),
  vault: createVault(Buffer.from(order.masterKey, 'base64')),
  outbound: openOutbound(),
  rateLimits: createRateLimits({ clock }),
  clock,
  log,
});
await webhooks.start();
if (order.from === undefined) {
  process.stdout.write('ready\n');
  const left = async (): Promise<number> => {
    const queued = await database.kysely.selectFrom('event_queue').select('event_seq').limit(1).execute();
    return queued.length + (await webhooks.countPending());
  };
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  process.stdout.write('drained\n');
  process.exit(0);
}
for (let number = order.from; ; number++) {
  await database.transaction(async (trx) => {
    await trx
      .insertInto('meta')
      .values({ name: reportedEventRowName(number), value: 'true' })
      .execute();
    await events.eventLog.write(trx, {
      type: 'wallet.low',
      userId,
      subject: `subject:${number % 5}`,
      data: { number },
    });
  });
  if (number > order.from) continue;
  // The parent kills the process some time after this line, whatever the speed of the machine.
  process.stdout.write('ready\n');
  // Flushed now because the process ends by a kill: the next process loads the same modules.
  flushCompileCache();
}
