import { type ColumnDefinitionBuilder, type Generated, sql } from 'kysely';
import type { SpendPeriod } from '../../contract/amounts.ts';
import { CLAUDE_CODE_CLIENT } from '../../contract/claude-code.ts';
import { CLI_OAUTH_CLIENT } from '../../contract/device-auth.ts';
import type { ClientType } from '../../contract/device-clients.ts';
import type { Audience } from '../../contract/oauth.ts';
import { type Migration, type MigrationTransaction, required, type UntypedTables } from '../platform/db/migrate.ts';
import type { Dialect } from '../platform/db/sql.ts';
import { hashToken } from '../platform/tokens.ts';

/** Tables of the device authorization capability. */
export interface DeviceAuthTables {
  /** Registered clients. A disabled one gets no codes and no tokens; tokens it already has work until they expire. */
  device_clients: {
    client_id: string;
    name: string;
    enabled: 0 | 1;
    created_at: number;
    /** A `public` client has no secret. */
    type: Generated<ClientType>;
    /** JSON list. */
    redirect_uris: Generated<string>;
    /** The scopes it may request, separated by spaces; null: all. */
    scopes: string | null;
  };
  /** At most two per client, so that a secret can be replaced while the old one still ships. SHA-256 only. */
  device_client_secrets: { id: Generated<number>; client_id: string; hash: string; hint: string; created_at: number };
  /**
   * Codes that devices wait for (RFC 8628 section 3.2), and authorization codes (RFC 6749 section 4.1), which begin as
   * `approved`. Queries never return rows past `sweep_at`.
   */
  device_codes: {
    id: Generated<number>;
    device_code_hash: string;
    /** Eight letters, no dash. */
    user_code: string;
    client_id: string;
    client_name: string;
    /** Empty if the client sent none; an empty id never matches. */
    device_id: string;
    /** IP and program that requested the code. */
    address: string;
    /** The IP, or the /64 of an IPv6, which the limit on pending codes counts by. */
    network: string;
    user_agent: string;
    status: 'pending' | 'approved' | 'denied' | 'used';
    /** The account that logged in for this code; no other may decide it. */
    claimed_by: number | null;
    /** The account that decided. */
    user_id: number | null;
    created_at: number;
    /** When a pending code expires. */
    expires_at: number;
    decided_at: number | null;
    /** Expiry of the tokens, fixed at approval although the tokens are created when the client collects. */
    access_expires_at: number | null;
    refresh_expires_at: number | null;
    /** For the OAuth endpoints: the current interval, and the last poll, early or not. */
    interval_seconds: number;
    polled_at: number | null;
    sweep_at: number;
    /** What the sign-in is granted; null: a device sign-in with access_token and llm_token for everything. */
    scopes: string | null;
    audience: Audience | null;
    /** Of an authorization code: where it was sent, and the PKCE challenge its verifier must match. */
    redirect_uri: string | null;
    code_challenge: string | null;
    /** The owner's limits for the grant. */
    spend_amount: number | null;
    spend_period: SpendPeriod | null;
    grant_ends_at: number | null;
    /** The organization that the sign-in acts for; null: the account itself. */
    organization_id: Generated<number | null>;
  };
  /** Upper bound of the pending codes of a network; see `DeviceCodeStore.reserve`. Void after `ends_at`. */
  device_code_counts: { network: string; codes: number; ends_at: number };
  /** A signed-in device, or an OAuth grant, with its tokens. Shares the id of its code. */
  device_authorizations: {
    id: number;
    user_id: number;
    client_id: string;
    client_name: string;
    device_id: string;
    address: string;
    user_agent: string;
    access_hash: string;
    access_expires_at: number;
    refresh_expires_at: number;
    /** The token that model calls are charged under. The key of a grant's token is never issued. */
    llm_token_id: number;
    /** When the user approved; the maximum lifetime counts from here. */
    created_at: number;
    last_used_at: number;
    last_address: string;
    /** Of a grant, separated by spaces; null: a device sign-in. */
    scopes: string | null;
    audience: Audience | null;
    /** When the grant ends, if its owner chose a time. */
    grant_ends_at: number | null;
    /** The access_token before the last refresh, of a client whose programs share a credential file, until it expires. */
    previous_access_hash: string | null;
    previous_access_ends_at: number | null;
    /** The organization that the sign-in acts for; null: the account itself. */
    organization_id: Generated<number | null>;
  };
  /**
   * Every refresh_token of a device until it expires, including used ones, so that reuse is detected (RFC 9700 section
   * 4.14.2).
   */
  device_refresh_tokens: {
    hash: string;
    authorization_id: number;
    client_id: string;
    expires_at: number;
    used_at: number | null;
  };
}

/** Schema history of the device authorization capability. */
export const deviceAuthMigrations: readonly Migration[] = [
  {
    id: '0005-device-auth',
    up: async (trx, dialect) => {
      await createClients(trx, dialect);
      await createCodes(trx, dialect);
      await createAuthorizations(trx, dialect);
    },
  },
  { id: '0006-device-code-counts', up: createCodeCounts },
  { id: '0007-oauth-grants', up: addGrants },
  { id: '0008-claude-code', up: addClaudeCode },
];

/** Creates the command line's client at the first start; an administrator may disable it or remove it permanently. */
async function createClients(trx: MigrationTransaction, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('device_clients')
    .addColumn('client_id', text, (column) => column.primaryKey())
    .addColumn('name', text, required)
    .addColumn('enabled', bool, required)
    .addColumn('created_at', int64, required)
    .execute();
  await trx.schema
    .createTable('device_client_secrets')
    .addColumn('id', int64, autoIncrement)
    .addColumn('client_id', text, required)
    .addColumn('hash', text, required)
    .addColumn('hint', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  await trx.schema
    .createIndex('device_client_secrets_by_client')
    .on('device_client_secrets')
    .column('client_id')
    .execute();
  const row = { client_id: CLI_OAUTH_CLIENT.id, created_at: Date.now() };
  const secret = { hash: hashToken(CLI_OAUTH_CLIENT.secret), hint: CLI_OAUTH_CLIENT.secret.slice(0, 8) };
  const insert = (table: string, values: UntypedTables[string]) => trx.insertInto(table).values(values).execute();
  await insert('device_clients', { ...row, name: CLI_OAUTH_CLIENT.name, enabled: 1 });
  await insert('device_client_secrets', { ...row, ...secret });
}

async function createCodes(trx: MigrationTransaction, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await trx.schema
    .createTable('device_codes')
    .addColumn('id', int64, autoIncrement)
    .addColumn('device_code_hash', text, (column) => column.notNull().unique())
    .addColumn('user_code', text, (column) => column.notNull().unique())
    .addColumn('client_id', text, required)
    .addColumn('client_name', text, required)
    .addColumn('device_id', text, required)
    .addColumn('address', text, required)
    .addColumn('network', text, required)
    .addColumn('user_agent', text, required)
    .addColumn('status', text, required)
    .addColumn('claimed_by', int64)
    .addColumn('user_id', int64)
    .addColumn('created_at', int64, required)
    .addColumn('expires_at', int64, required)
    .addColumn('decided_at', int64)
    .addColumn('access_expires_at', int64)
    .addColumn('refresh_expires_at', int64)
    .addColumn('interval_seconds', int64, required)
    .addColumn('polled_at', int64)
    .addColumn('sweep_at', int64, required)
    .execute();
  const index = (name: string) => trx.schema.createIndex(name).on('device_codes');
  // Partial indexes of the rows that can match, so that creating a code updates few indexes.
  await index('device_codes_by_device').column('device_id').where('device_id', '!=', '').execute();
  await index('device_codes_by_user').column('user_id').where('user_id', 'is not', null).execute();
  await index('device_codes_by_network').column('network').where(sql.ref('status'), '=', sql.lit('pending')).execute();
  await index('device_codes_by_end').column('sweep_at').execute();
}

/**
 * Codes that processes of the previous release create during a rolling upgrade are not counted; they expire within
 * their lifetime.
 */
async function createCodeCounts(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  await trx.schema
    .createTable('device_code_counts')
    .addColumn('network', text, (column) => column.primaryKey())
    .addColumn('codes', int64, required)
    .addColumn('ends_at', int64, required)
    .execute();
  await sql`insert into device_code_counts (network, codes, ends_at)
    select network, count(*), max(expires_at) from device_codes where status = 'pending' group by network`.execute(trx);
  // The count of pending codes reads only the index, and only its unexpired part.
  await trx.schema.dropIndex('device_codes_by_network').execute();
  await trx.schema
    .createIndex('device_codes_pending')
    .on('device_codes')
    .columns(['network', 'expires_at'])
    .where(sql.ref('status'), '=', sql.lit('pending'))
    .execute();
}

async function createAuthorizations(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  await trx.schema
    .createTable('device_authorizations')
    .addColumn('id', int64, (column) => column.primaryKey())
    .addColumn('user_id', int64, required)
    .addColumn('client_id', text, required)
    .addColumn('client_name', text, required)
    .addColumn('device_id', text, required)
    .addColumn('address', text, required)
    .addColumn('user_agent', text, required)
    .addColumn('access_hash', text, (column) => column.notNull().unique())
    .addColumn('access_expires_at', int64, required)
    .addColumn('refresh_expires_at', int64, required)
    .addColumn('llm_token_id', int64, required)
    .addColumn('created_at', int64, required)
    .addColumn('last_used_at', int64, required)
    .addColumn('last_address', text, required)
    .execute();
  const index = (name: string, on: string, columns: string[]) => trx.schema.createIndex(name).on(on).columns(columns);
  await index('device_authorizations_by_user', 'device_authorizations', ['user_id', 'id']).execute();
  await index('device_authorizations_by_client', 'device_authorizations', ['client_id']).execute();
  await index('device_authorizations_by_llm_token', 'device_authorizations', ['llm_token_id']).execute();
  await trx.schema
    .createTable('device_refresh_tokens')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('authorization_id', int64, required)
    .addColumn('client_id', text, required)
    .addColumn('expires_at', int64, required)
    .addColumn('used_at', int64)
    .execute();
  await index('device_refresh_tokens_by_end', 'device_refresh_tokens', ['expires_at']).execute();
}

async function addGrants({ schema }: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  const add = (table: string, column: string, type: Dialect['int64' | 'text'], build = unchanged) =>
    schema.alterTable(table).addColumn(column, type, build).execute();
  await add('device_clients', 'type', text, (column) => column.notNull().defaultTo('confidential'));
  await add('device_clients', 'redirect_uris', text, (column) => column.notNull().defaultTo('[]'));
  await add('device_clients', 'scopes', text);
  for (const table of ['device_codes', 'device_authorizations']) {
    await add(table, 'scopes', text);
    await add(table, 'audience', text);
    await add(table, 'grant_ends_at', int64);
  }
  await add('device_codes', 'redirect_uri', text);
  await add('device_codes', 'code_challenge', text);
  await add('device_codes', 'spend_amount', int64);
  await add('device_codes', 'spend_period', text);
}

async function addClaudeCode(trx: MigrationTransaction, { int64, text }: Dialect): Promise<void> {
  const add = (column: string, type: Dialect['int64' | 'text']) =>
    trx.schema.alterTable('device_authorizations').addColumn(column, type).execute();
  await add('previous_access_hash', text);
  await add('previous_access_ends_at', int64);
  await trx.schema
    .createIndex('device_authorizations_by_previous')
    .on('device_authorizations')
    .column('previous_access_hash')
    .where(sql.ref('previous_access_hash'), 'is not', null)
    .execute();
  const { id, name } = CLAUDE_CODE_CLIENT;
  const client = { client_id: id, name, enabled: 1, created_at: Date.now(), type: 'public', scopes: 'models' };
  await trx
    .insertInto('device_clients')
    .values(client)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const unchanged = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column;
