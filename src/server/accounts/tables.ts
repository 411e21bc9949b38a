import { type Generated, sql } from 'kysely';
import type { LoginOutcomeName, SessionEndReason } from '../../contract/accounts.ts';
import { type Migration, required, type Schema } from '../platform/db/migrate.ts';
import type { Dialect } from '../platform/db/sql.ts';

/** Tables of the accounts capability. */
export interface AccountTables extends AuditTables, LoginHistoryTables, PasskeyTables {
  accounts: {
    id: Generated<number>;
    /** Lower case; null once the account is removed, which frees the name while old records keep their id. */
    username: string | null;
    /** Lower case, as the owner entered it. Other accounts may have entered the same address. */
    email: string | null;
    /** The e-mail if it counts for login; unique across accounts. */
    login_email: string | null;
    /**
     * When the owner confirmed `login_email` by mail, or an administrator entered it; null: never. Unix milliseconds.
     */
    email_confirmed_at: number | null;
    display_name: string;
    role: 'user' | 'admin' | 'root';
    /** `organization`: owns what its members share, and cannot sign in. */
    kind: Generated<'person' | 'organization'>;
    /** 1 enabled, 2 disabled. */
    status: number;
    /** IANA name. */
    time_zone: Generated<string>;
    /** Videos in progress at once; null: as many as the plan permits. */
    concurrent_tasks: Generated<number | null>;
    /** Videos that may wait; null: as many as the plan permits. */
    queued_tasks: Generated<number | null>;
    created_at: number;
    removed_at: number | null;
  };
  /** argon2id in PHC form. `generated`: the service drew the password at random instead of a person choosing it. */
  passwords: { user_id: number; hash: string; changed_at: number; generated: 0 | 1 };
  /** Sources an account has logged in from: `device:` and the SHA-256 of a cookie, or `network:` and an IP or /64. */
  known_login_sources: { user_id: number; source: string; last_used_at: number };
  /** At most one row, ever: the process that inserts it creates the first root account. */
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
  /** Logins with a correct password and an outstanding second step. Authenticates only that step. */
  pending_logins: {
    hash: string;
    user_id: number;
    /** Purpose of the login: `login`, or one registered by another capability, with its own subject. */
    purpose: string;
    subject: string;
    wrong: number;
    created_at: number;
    expires_at: number;
  };
  /** The management access token, one per account. */
  user_tokens: { user_id: number; hash: string; created_at: number };
  /** Keys of the model paths. `sk`: created by an account's owner; `llm`: created by a device sign-in. */
  tokens: {
    id: Generated<number>;
    kind: 'sk' | 'llm';
    user_id: number;
    /** The member who created the key of an organization; null: a key of a person. */
    actor_id: Generated<number | null>;
    name: string;
    hash: string;
    /** First characters of the key, by which owners recognize it in a list. */
    hint: string;
    /** JSON list of model names; null = all. */
    models: string | null;
    /** JSON list of IP addresses and CIDR ranges; null = any. */
    allowed_addresses: string | null;
    /** Rate per minute and burst size; null = unlimited. */
    requests_per_minute: number | null;
    tokens_per_minute: number | null;
    concurrent_calls: number | null;
    concurrent_tasks: number | null;
    /** Videos that may wait; null: as many as the account may have. */
    queued_tasks: Generated<number | null>;
    expires_at: number | null;
    created_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  /** Secrets of keys that a rotation replaced and that work until `expires_at`; SHA-256, as in `tokens`. */
  old_key_secrets: {
    id: Generated<number>;
    token_id: number;
    hash: string;
    hint: string;
    expires_at: number;
    last_used_at: number | null;
  };
  two_factors: {
    user_id: number;
    /** Base32 secret, sealed under the master key. */
    secret: string;
    /** Newest accepted TOTP step; each counts once (RFC 6238 section 5.2). */
    last_step: number;
    /** Null while set up but not yet enabled. */
    enabled_at: number | null;
  };
  /** SHA-256 of at least 112 random bits; deleted when used. */
  backup_codes: { user_id: number; hash: string };
  bindings: { user_id: number; kind: 'phone' | 'messaging'; value: string; created_at: number };
  /** The code is sealed, because a hash of six digits is easily brute-forced. */
  phone_codes: { user_id: number; phone: string; code: string; wrong: number; expires_at: number };
  /** Single-use links in e-mails, by the SHA-256 of the token. `email`: the address the mail went to. */
  email_tokens: {
    hash: string;
    user_id: number;
    purpose: 'confirm' | 'reset';
    email: string;
    /** The administrator who created the link to pass it on; null: it was mailed. */
    issued_by: number | null;
    expires_at: number;
  };
}

/** Schema history of the accounts capability. */
export const accountMigrations: readonly Migration[] = [
  {
    id: '0002-accounts',
    up: async (trx, dialect) => {
      await createAccounts(trx.schema, dialect);
      await createLogins(trx.schema, dialect);
      await createLoginHistory(trx.schema, dialect);
      await createTokens(trx.schema, dialect);
      await createSecondSteps(trx.schema, dialect);
      await createBindings(trx.schema, dialect);
      await createEmailTokens(trx.schema, dialect);
      await createAuditLog(trx.schema, dialect);
    },
  },
  {
    id: '0009-account-tasks',
    async up({ schema }, { int64 }) {
      await schema.alterTable('accounts').addColumn('concurrent_tasks', int64).execute();
      await schema.alterTable('accounts').addColumn('queued_tasks', int64).execute();
      await schema.alterTable('tokens').addColumn('queued_tasks', int64).execute();
    },
  },
  { id: '0003-passkeys', up: (trx, dialect) => createPasskeys(trx.schema, dialect) },
  {
    id: '0008-token-rotation',
    async up({ schema }, { int64, text, autoIncrement }) {
      await schema
        .createTable('old_key_secrets')
        .addColumn('id', int64, autoIncrement)
        .addColumn('token_id', int64, required)
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('hint', text, required)
        .addColumn('expires_at', int64, required)
        .addColumn('last_used_at', int64)
        .execute();
      const index = (name: string) => schema.createIndex(name).on('old_key_secrets');
      await index('old_key_secrets_by_token').columns(['token_id', 'expires_at']).execute();
      await index('old_key_secrets_by_end').column('expires_at').execute();
    },
  },
];

async function createAccounts(schema: Schema, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('accounts')
    .addColumn('id', int64, autoIncrement)
    .addColumn('username', text, (column) => column.unique())
    .addColumn('email', text)
    .addColumn('login_email', text, (column) => column.unique())
    .addColumn('email_confirmed_at', int64)
    .addColumn('display_name', text, required)
    .addColumn('role', text, required)
    .addColumn('status', int64, required)
    .addColumn('time_zone', text, (column) => column.notNull().defaultTo('UTC'))
    .addColumn('created_at', int64, required)
    .addColumn('removed_at', int64)
    .execute();
  await schema.createIndex('accounts_by_role').on('accounts').columns(['role', 'id']).execute();
  await schema.createIndex('accounts_by_status').on('accounts').columns(['status', 'id']).execute();
  await schema
    .createTable('passwords')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('hash', text, required)
    .addColumn('changed_at', int64, required)
    .addColumn('generated', bool, required)
    .execute();
  await schema
    .createTable('first_administrator')
    .addColumn('place', int64, (column) => column.primaryKey())
    .execute();
}

async function createLogins(schema: Schema, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('sessions')
    .addColumn('id', int64, autoIncrement)
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('user_id', int64, required)
    .addColumn('address', text, required)
    .addColumn('user_agent', text, required)
    .addColumn('created_at', int64, required)
    .addColumn('last_used_at', int64, required)
    .addColumn('expires_at', int64, required)
    .execute();
  await schema
    .createTable('pending_logins')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('user_id', int64, required)
    .addColumn('purpose', text, required)
    .addColumn('subject', text, required)
    .addColumn('wrong', int64, required)
    .addColumn('created_at', int64, required)
    .addColumn('expires_at', int64, required)
    .execute();
  await schema
    .createTable('known_login_sources')
    .addColumn('user_id', int64, required)
    .addColumn('source', text, required)
    .addColumn('last_used_at', int64, required)
    .addPrimaryKeyConstraint('known_login_sources_key', ['user_id', 'source'])
    .execute();
  const index = (name: string, on: string, column: string) => schema.createIndex(name).on(on).column(column);
  await index('sessions_by_user', 'sessions', 'user_id').execute();
  await index('sessions_by_end', 'sessions', 'expires_at').execute();
  await index('pending_logins_by_user', 'pending_logins', 'user_id').execute();
  await index('known_login_sources_by_use', 'known_login_sources', 'last_used_at').execute();
}

async function createTokens(schema: Schema, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('user_tokens')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('created_at', int64, required)
    .execute();
  await schema
    .createTable('tokens')
    .addColumn('id', int64, autoIncrement)
    .addColumn('kind', text, required)
    .addColumn('user_id', int64, required)
    .addColumn('name', text, required)
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('hint', text, required)
    .addColumn('models', text)
    .addColumn('allowed_addresses', text)
    .addColumn('requests_per_minute', int64)
    .addColumn('tokens_per_minute', int64)
    .addColumn('concurrent_calls', int64)
    .addColumn('concurrent_tasks', int64)
    .addColumn('expires_at', int64)
    .addColumn('created_at', int64, required)
    .addColumn('last_used_at', int64)
    .addColumn('revoked_at', int64)
    .execute();
  await schema
    .createIndex('tokens_by_revocation')
    .on('tokens')
    .column('revoked_at')
    .where('revoked_at', 'is not', null)
    .execute();
  await schema.createIndex('tokens_by_user').on('tokens').columns(['user_id', 'id']).execute();
}

async function createSecondSteps(schema: Schema, { int64, text }: Dialect): Promise<void> {
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
}

async function createBindings(schema: Schema, { int64, text }: Dialect): Promise<void> {
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

async function createEmailTokens(schema: Schema, { int64, text }: Dialect): Promise<void> {
  await schema
    .createTable('email_tokens')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('user_id', int64, required)
    .addColumn('purpose', text, required)
    .addColumn('email', text, required)
    .addColumn('issued_by', int64)
    .addColumn('expires_at', int64, required)
    .execute();
  const index = (name: string, columns: string[]) => schema.createIndex(name).on('email_tokens').columns(columns);
  await index('email_tokens_by_user', ['user_id', 'purpose']).execute();
  await index('email_tokens_by_end', ['expires_at']).execute();
}

/** Table of the audit log. */
export interface AuditTables {
  audit_log: {
    id: Generated<number>;
    actor_id: number | null;
    /** The organization acted for or changed; null: none. */
    organization_id: Generated<number | null>;
    action: string;
    target: string;
    before: string | null;
    after: string | null;
    address: string;
    request_id: string;
    created_at: number;
  };
}

async function createAuditLog(schema: Schema, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('audit_log')
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
  const index = (name: string, columns: string[]) => schema.createIndex(name).on('audit_log').columns(columns);
  await index('audit_log_by_actor', ['actor_id', 'id']).execute();
  await index('audit_log_by_target', ['target', 'id']).execute();
  await index('audit_log_by_action', ['action', 'id']).execute();
}

interface LoginHistoryTables {
  /** Why sessions were revoked, by the SHA-256 of the cookie, which the browser still has. */
  ended_sessions: { hash: string; reason: SessionEndReason; ended_at: number };
  /** Login attempts by account. */
  login_history: {
    id: Generated<number>;
    user_id: number;
    outcome: LoginOutcomeName;
    two_step: 0 | 1;
    known_source: 0 | 1;
    address: string;
    user_agent: string;
    created_at: number;
  };
}

async function createLoginHistory(schema: Schema, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('ended_sessions')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('reason', text, required)
    .addColumn('ended_at', int64, required)
    .execute();
  await schema.createIndex('ended_sessions_by_end').on('ended_sessions').column('ended_at').execute();
  await schema
    .createTable('login_history')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('outcome', text, required)
    .addColumn('two_step', bool, required)
    .addColumn('known_source', bool, required)
    .addColumn('address', text, required)
    .addColumn('user_agent', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  await schema.createIndex('login_history_by_user').on('login_history').columns(['user_id', 'id']).execute();
  await schema
    .createIndex('login_history_failed')
    .on('login_history')
    .column('id')
    .where(sql.ref('outcome'), '!=', 'success')
    .execute();
}

interface PasskeyTables {
  /** WebAuthn credentials. Usable only while `rp_id` is the host of BASE_URL. */
  passkeys: {
    id: Generated<number>;
    user_id: number;
    /** Base64url. */
    credential_id: string;
    /** COSE key, base64url; keys of ML-DSA have up to 2.6 KB. */
    public_key: string;
    /** COSE algorithm: -7 ES256, -8 EdDSA, -257 RS256, -48 ML-DSA-44. */
    algorithm: number;
    /** Signature counter of the authenticator; 0 if it has none. */
    counter: number;
    /** JSON array. */
    transports: string;
    /** Model of the authenticator; zeros if it does not say. */
    aaguid: string;
    /** Whether the passkey may be copied to other devices, and whether it has been. */
    backup_eligible: 0 | 1;
    backed_up: 0 | 1;
    rp_id: string;
    name: string;
    created_at: number;
    last_used_at: number | null;
  };
  /** The random id under which authenticators store an account's passkeys, base64url. */
  passkey_users: { user_id: number; handle: string };
  /** SHA-256 of used WebAuthn challenges, kept until they would have expired. */
  used_challenges: { hash: string; expires_at: number };
}

async function createPasskeys(schema: Schema, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('passkeys')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('credential_id', text, (column) => column.notNull().unique())
    .addColumn('public_key', text, required)
    .addColumn('algorithm', int64, required)
    .addColumn('counter', int64, required)
    .addColumn('transports', text, required)
    .addColumn('aaguid', text, required)
    .addColumn('backup_eligible', bool, required)
    .addColumn('backed_up', bool, required)
    .addColumn('rp_id', text, required)
    .addColumn('name', text, required)
    .addColumn('created_at', int64, required)
    .addColumn('last_used_at', int64)
    .execute();
  await schema.createIndex('passkeys_by_user').on('passkeys').columns(['user_id', 'id']).execute();
  await schema
    .createTable('passkey_users')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('handle', text, (column) => column.notNull().unique())
    .execute();
  await schema
    .createTable('used_challenges')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('expires_at', int64, required)
    .execute();
  await schema.createIndex('used_challenges_by_end').on('used_challenges').column('expires_at').execute();
}
