import type { Generated } from 'kysely';
import type { Dialect } from '../platform/db/dialect.ts';
import type { Migration } from '../platform/db/migrate.ts';

export interface AccountTables {
  accounts: {
    id: Generated<number>;
    /** Lower case; null once the account is removed, so that the name is free again while old records keep their id. */
    username: string | null;
    /** Lower case. */
    email: string | null;
    display_name: string;
    role: 'user' | 'admin' | 'root';
    /** 1 enabled, 2 disabled. */
    status: number;
    /** IANA name. */
    time_zone: Generated<string>;
    created_at: number;
    removed_at: number | null;
  };
  /** argon2id in PHC form. */
  passwords: { user_id: number; hash: string; changed_at: number };
  /** At most one row, ever: whoever inserts it makes the first root account. */
  first_administrator: { place: number };
  /** Login sessions by the SHA-256 of the cookie. */
  sessions: {
    id: Generated<number>;
    hash: string;
    user_id: number;
    address: string;
    user_agent: string;
    created_at: number;
    last_used_at: number;
    expires_at: number;
  };
  /** A password was right and the second step is open. Authenticates nothing but that step. */
  pending_logins: {
    hash: string;
    user_id: number;
    /** What the login is for: `login`, or another capability's own word with its own subject. */
    purpose: string;
    subject: string;
    wrong: number;
    created_at: number;
    expires_at: number;
  };
  /** The management access token; one an account. */
  user_tokens: { user_id: number; hash: string; created_at: number };
  /** Keys of the model paths. `sk`: made by people; `llm`: made by a device sign-in. */
  tokens: {
    id: Generated<number>;
    kind: 'sk' | 'llm';
    user_id: number;
    name: string;
    hash: string;
    /** First characters of the key, to know it again in a list. */
    hint: string;
    /** JSON list of model names; null = all. */
    models: string | null;
    expires_at: number | null;
    created_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  two_factors: {
    user_id: number;
    /** Base32 secret, sealed under the master key. */
    secret: string;
    /** Newest TOTP step that was accepted (RFC 6238 section 5.2: each once). */
    last_step: number;
    /** Null while it is only set up. */
    enabled_at: number | null;
  };
  /** SHA-256 of at least 112 random bits; a used one is deleted. */
  backup_codes: { user_id: number; hash: string };
  bindings: { user_id: number; kind: 'phone' | 'messaging'; value: string; created_at: number };
  /** The code is sealed, since six digits hide behind no hash. */
  phone_codes: { user_id: number; phone: string; code: string; wrong: number; expires_at: number };
  audit_log: {
    id: Generated<number>;
    actor_id: number | null;
    action: string;
    target: string;
    before: string | null;
    after: string | null;
    address: string;
    request_id: string;
    created_at: number;
  };
}

export const accountMigrations: readonly Migration[] = [
  {
    id: '0002-accounts',
    up: async (trx, dialect) => {
      const { int64, text, autoIncrement } = dialect;
      const table = (name: string) => trx.schema.createTable(name);
      const index = (name: string, on: string, columns: string[]) =>
        trx.schema.createIndex(name).on(on).columns(columns);

      await table('accounts')
        .addColumn('id', int64, autoIncrement)
        .addColumn('username', text, (column) => column.unique())
        .addColumn('email', text, (column) => column.unique())
        .addColumn('display_name', text, required)
        .addColumn('role', text, required)
        .addColumn('status', int64, required)
        .addColumn('created_at', int64, required)
        .addColumn('removed_at', int64)
        .execute();
      await table('passwords')
        .addColumn('user_id', int64, (column) => column.primaryKey())
        .addColumn('hash', text, required)
        .addColumn('changed_at', int64, required)
        .execute();
      await table('first_administrator')
        .addColumn('place', int64, (column) => column.primaryKey())
        .execute();
      await table('sessions')
        .addColumn('id', int64, autoIncrement)
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('user_id', int64, required)
        .addColumn('address', text, required)
        .addColumn('user_agent', text, required)
        .addColumn('created_at', int64, required)
        .addColumn('last_used_at', int64, required)
        .addColumn('expires_at', int64, required)
        .execute();
      await index('sessions_by_user', 'sessions', ['user_id']).execute();
      await index('sessions_by_end', 'sessions', ['expires_at']).execute();
      await table('pending_logins')
        .addColumn('hash', text, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('purpose', text, required)
        .addColumn('subject', text, required)
        .addColumn('wrong', int64, required)
        .addColumn('created_at', int64, required)
        .addColumn('expires_at', int64, required)
        .execute();
      await index('pending_logins_by_user', 'pending_logins', ['user_id']).execute();
      await table('user_tokens')
        .addColumn('user_id', int64, (column) => column.primaryKey())
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('created_at', int64, required)
        .execute();
      await table('tokens')
        .addColumn('id', int64, autoIncrement)
        .addColumn('kind', text, required)
        .addColumn('user_id', int64, required)
        .addColumn('name', text, required)
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('hint', text, required)
        .addColumn('models', text)
        .addColumn('expires_at', int64)
        .addColumn('created_at', int64, required)
        .addColumn('last_used_at', int64)
        .addColumn('revoked_at', int64)
        .execute();
      await index('tokens_by_user', 'tokens', ['user_id', 'id']).execute();
      await createSecondStep(trx.schema, dialect);
      await table('audit_log')
        .addColumn('id', int64, autoIncrement)
        .addColumn('actor_id', int64)
        .addColumn('action', text, required)
        .addColumn('target', text, required)
        .addColumn('before', text)
        .addColumn('after', text)
        .addColumn('address', text, required)
        .addColumn('request_id', text, required)
        .addColumn('created_at', int64, required)
        .execute();
      await index('audit_log_by_actor', 'audit_log', ['actor_id', 'id']).execute();
      await index('audit_log_by_target', 'audit_log', ['target', 'id']).execute();
    },
  },
  {
    id: '0003-account-settings',
    up: async (trx, { text }) => {
      await trx.schema
        .alterTable('accounts')
        .addColumn('time_zone', text, (column) => column.notNull().defaultTo('UTC'))
        .execute();
    },
  },
];

const required: Parameters<ReturnType<Schema['createTable']>['addColumn']>[2] = (column) => column.notNull();

type Schema = Parameters<Migration['up']>[0]['schema'];

async function createSecondStep(schema: Schema, { int64, text }: Dialect): Promise<void> {
  await schema
    .createTable('two_factors')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('secret', text, required)
    .addColumn('last_step', int64, required)
    .addColumn('enabled_at', int64)
    .execute();
  await schema
    .createTable('backup_codes')
    .addColumn('user_id', int64, required)
    .addColumn('hash', text, required)
    .addPrimaryKeyConstraint('backup_codes_key', ['user_id', 'hash'])
    .execute();
  await schema
    .createTable('bindings')
    .addColumn('user_id', int64, required)
    .addColumn('kind', text, required)
    .addColumn('value', text, required)
    .addColumn('created_at', int64, required)
    .addPrimaryKeyConstraint('bindings_key', ['user_id', 'kind'])
    .addUniqueConstraint('bindings_once', ['kind', 'value'])
    .execute();
  await schema
    .createTable('phone_codes')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('phone', text, required)
    .addColumn('code', text, required)
    .addColumn('wrong', int64, required)
    .addColumn('expires_at', int64, required)
    .execute();
}
