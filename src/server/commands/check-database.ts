import { sql } from 'kysely';
import { HOUR_MS } from '../../contract/time-units.ts';
import { sealedTwoFactorSecrets } from '../accounts/two-factor.ts';
import { USAGE_RULES } from '../artifacts/artifact-store.ts';
import { sealedConnections, sealedCredentials } from '../channels/credentials.ts';
import { sealedPasswordCells } from '../mailbox/passwords.ts';
import { sealedInvitationMails } from '../organizations/organizations.ts';
import { loadConfig } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { findMasterKey, previousKeysOf } from '../platform/master-key.ts';
import { findDamage, sqlitePathOf } from '../platform/transfer/sqlite-backup.ts';
import { createVault, openSealed, type SealedColumn } from '../platform/vault.ts';
import { auditLedger } from '../quota/ledger-audit.ts';
import { sealedSettings } from '../site-settings/settings.ts';
import type { Executor, Tables } from '../tables.ts';
import { sealedShareTokens } from '../video/shares.ts';
import { sealedWebhookSecrets } from '../webhooks/endpoint-store.ts';
import { directUrlOf, withDatabase } from './service-database.ts';

/** All columns encrypted under the master key. */
export const encryptedColumns = (kysely: Executor): SealedColumn[] => [
  sealedCredentials(kysely),
  sealedConnections(kysely),
  sealedTwoFactorSecrets(kysely),
  ...sealedPasswordCells(kysely),
  ...sealedWebhookSecrets(kysely),
  sealedShareTokens(kysely),
  sealedSettings(kysely),
  sealedInvitationMails(kysely),
];

/** An inconsistency in the data. */
export interface CheckFinding {
  readonly rule: string;
  readonly at: string;
  readonly expected?: number;
  readonly found?: number;
}

/** A full audit may take minutes with many millions of entries. */
export const STATEMENT_TIMEOUT = { statementTimeoutMs: HOUR_MS };

/**
 * Checks the database of DATABASE_URL, whether or not the service is running: the pages of the file (SQLite), the
 * ledger, rows that must be consistent with each other, and that encrypted values open with the master key. Empty if
 * everything is in order.
 */
export async function checkDatabase(): Promise<CheckFinding[]> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  const path = databaseUrl.startsWith('sqlite:') ? sqlitePathOf(databaseUrl) : undefined;
  const damage = path === undefined ? undefined : findDamage(path);
  if (damage !== undefined) return [{ rule: 'the file is sound', at: damage }];
  const vault = createVault(findMasterKey(config, path).key, previousKeysOf(config));
  const rule = 'an encrypted value opens with the master key';
  return withDatabase(
    directUrlOf(config),
    async (database) => [
      ...(await auditLedger(database)),
      ...(await findBrokenRows(database)),
      ...(await openSealed(vault, encryptedColumns(database.kysely))).map((at) => ({ rule, at })),
    ],
    STATEMENT_TIMEOUT,
  );
}

/** A row that breaks a rule. */
interface RowFinding {
  readonly rule: string;
  /** The table and the row: `tasks task_…`. */
  readonly at: string;
}

const MAX_FINDINGS = 100;

/**
 * Finds inconsistent rows that no sequence of requests and crashes should produce; the ledger has its own audit. Each
 * rule is one statement and therefore sees one consistent state while the service runs. Returns at most a hundred
 * findings per rule.
 */
export async function findBrokenRows({ kysely }: Database<Tables>): Promise<RowFinding[]> {
  const found: RowFinding[] = [];
  for (const { rule, table, query } of ROW_RULES) {
    const { rows } = await sql<{ at: string | number }>`${query} limit ${sql.lit(MAX_FINDINGS)}`.execute(kysely);
    found.push(...rows.map(({ at }) => ({ rule, at: `${table} ${at}` })));
  }
  return found;
}

const ENDED = sql`('SUCCESS', 'FAILURE')`;

const ROW_RULES = [
  {
    rule: 'an account has a wallet',
    table: 'accounts',
    query: sql`select id as at from accounts a where not exists (select 1 from wallets w where w.user_id = a.id)`,
  },
  {
    rule: 'a token belongs to an account',
    table: 'tokens',
    query: sql`select id as at from tokens t where not exists (select 1 from accounts a where a.id = t.user_id)`,
  },
  {
    rule: 'a device sign-in has its token',
    table: 'device_authorizations',
    query: sql`select id as at from device_authorizations d
      where not exists (select 1 from tokens t where t.id = d.llm_token_id and t.revoked_at is null)`,
  },
  {
    rule: 'an open task has a reservation, one that has ended has none',
    table: 'tasks',
    query: sql`select id as at from tasks t
      where (status in ${ENDED}) = (exists (select 1 from reservations r where r.ref = t.id))`,
  },
  {
    rule: 'an open task is polled, one that has ended is not',
    table: 'tasks',
    query: sql`select id as at from tasks where (status in ${ENDED}) = (next_poll_at is not null)`,
  },
  {
    rule: 'the reservation of a video belongs to a task',
    table: 'reservations',
    query: sql`select ref as at from reservations r
      where ref like 'task\\_%' escape '\\' and not exists (select 1 from tasks t where t.id = r.ref)`,
  },
  {
    rule: 'the channel of a task exists',
    table: 'tasks',
    query: sql`select id as at from tasks t
      where channel_id is not null and not exists (select 1 from channels c where c.id = t.channel_id)`,
  },
  {
    rule: 'a subscription belongs to a plan',
    table: 'subscriptions',
    query: sql`select id as at from subscriptions s where not exists (select 1 from plans p where p.id = s.plan_id)`,
  },
  {
    rule: 'an inbox counts its notifications',
    table: 'inboxes',
    query: sql`select user_id as at from inboxes i where user_id <> 0 and (
      total_user <> (select count(*) from notifications n where n.user_id = i.user_id and n.for_admin = 0)
      or total_admin <> (select count(*) from notifications n where n.user_id = i.user_id and n.for_admin = 1))`,
  },
  ...USAGE_RULES,
] as const;
