/**
 * A process that applies for a mailbox or creates an application password and kills itself (SIGKILL) at a named point.
 */
import { AuditStore } from '../../src/server/accounts/audit-log.ts';
import { makeMailbox } from '../../src/server/mailbox/module.ts';
import type { MailFaultPoint } from '../../src/server/mailbox/provisioner.ts';
import { systemClock } from '../../src/server/platform/clock.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { createMetrics } from '../../src/server/platform/metrics.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import type { Tables } from '../../src/server/tables.ts';
import { mailConfig } from './mailbox-fixture.ts';

/** Instruction to the process, as a JSON argument. */
export interface KillOrder {
  readonly databaseUrl: string;
  readonly mailcowUrl: string;
  readonly mailcowKey: string;
  readonly masterKey: string;
  readonly userId: number;
  readonly point: MailFaultPoint;
}

const order = JSON.parse(process.argv[2] ?? '') as KillOrder;
const database = openDatabase<Tables>(order.databaseUrl);
const { mailboxes } = await makeMailbox({
  config: mailConfig({ mailBackend: 'mailcow', mailApiUrl: { url: order.mailcowUrl, key: order.mailcowKey } }),
  database,
  accounts: { profile: async () => ({ account: { username: 'ada' }, phoneBound: true, messagingBound: false }) },
  matchesAccountPassword: async () => false,
  auditLog: new AuditStore(database, systemClock),
  vault: createVault(Buffer.from(order.masterKey, 'base64')),
  rateLimits: createRateLimits(),
  outbound: openOutbound(),
  clock: systemClock,
  log: openLog('silent'),
  metrics: createMetrics('test'),
  startSandboxMail: undefined,
  onFaultPoint: (point) => {
    if (point === order.point) process.kill(process.pid, 'SIGKILL');
  },
});
const request = { userId: order.userId, actor: { actorId: order.userId } };
if (order.point.startsWith('apply')) await mailboxes.apply(request, 'ada');
else await mailboxes.regenerateAppPassword(request);
throw new Error(`it never came to ${order.point}`);
