/** A process that applies for a mailbox or makes an application password and ends itself, kill -9, at a named point. */
import { makeAudit } from '../../src/server/accounts/audit-store.ts';
import { makeMailbox } from '../../src/server/mailbox/mailbox.ts';
import type { MailFaultPoint } from '../../src/server/mailbox/publishing.ts';
import { systemClock } from '../../src/server/platform/clock.ts';
import { openDatabase } from '../../src/server/platform/db/database.ts';
import { makeLimits } from '../../src/server/platform/limits/limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/door.ts';
import { makeVault } from '../../src/server/platform/secrets.ts';
import type { Tables } from '../../src/server/tables.ts';
import { mailConfig } from './service.ts';

export interface KillOrder {
  readonly databaseUrl: string;
  readonly mailcowUrl: string;
  readonly mailcowKey: string;
  readonly masterKey: string;
  readonly userId: number;
  readonly point: MailFaultPoint;
}

const order = JSON.parse(process.argv[2] ?? '') as KillOrder;
const { mailboxes } = await makeMailbox({
  config: mailConfig({ mailBackend: 'mailcow', mailMailcowUrl: order.mailcowUrl, mailMailcowKey: order.mailcowKey }),
  database: openDatabase<Tables>(order.databaseUrl),
  accounts: { profile: async () => ({ account: { username: 'ada' }, phoneBound: true, messagingBound: false }) },
  matchesAccountPassword: async () => false,
  audit: makeAudit(systemClock),
  vault: makeVault(Buffer.from(order.masterKey, 'base64')),
  limits: makeLimits(),
  outbound: openOutbound(),
  clock: systemClock,
  log: openLog('silent'),
  startSandboxMail: undefined,
  at: (point) => {
    if (point === order.point) process.kill(process.pid, 'SIGKILL');
  },
});
const trace = { actorId: order.userId };
if (order.point.startsWith('apply')) await mailboxes.apply(order.userId, 'ada', trace);
else await mailboxes.regenerate(order.userId, trace);
throw new Error(`it never came to ${order.point}`);
