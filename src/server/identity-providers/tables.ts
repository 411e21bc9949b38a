import type { Generated } from 'kysely';
import { type Migration, required } from '../platform/db/migrate.ts';

/** Tables of the identity providers. */
export interface IdentityTables {
  /** Identities that sign in to an account, each bound to issuer and subject. */
  identities: {
    id: Generated<number>;
    user_id: number;
    /** Id of the provider when it was linked. */
    provider: string;
    issuer: string;
    sub: string;
    /** As the provider last told it; shown only, never used to find an account. */
    email: string | null;
    created_at: number;
    last_used_at: number | null;
  };
  /** Browsers at a provider, by the SHA-256 of `state`; deleted by their return. */
  identity_sign_ins: {
    state_hash: string;
    /** SHA-256 of the browser's cookie. */
    browser_hash: string;
    provider: string;
    return_to: string;
    /** The account to link, and the SHA-256 of its session; null: a sign-in. */
    user_id: number | null;
    session_hash: string | null;
    /** Maximum age in seconds of the sign-in at the provider; null: any. */
    max_age: number | null;
    expires_at: number;
  };
  /** Sessions started by an identity, which its provider can end. */
  identity_sessions: {
    session_hash: string;
    user_id: number;
    issuer: string;
    sub: string;
    /** The provider's own session id. */
    sid: string | null;
    created_at: number;
  };
  /** Logout tokens already used. */
  logout_tokens: { issuer: string; jti: string; expires_at: number };
}

/** Schema history of the identity providers. */
export const identityMigrations: readonly Migration[] = [
  {
    id: '0004-identities',
    async up({ schema }, { int64, text, autoIncrement }) {
      await schema
        .createTable('identities')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, required)
        .addColumn('provider', text, required)
        .addColumn('issuer', text, required)
        .addColumn('sub', text, required)
        .addColumn('email', text)
        .addColumn('created_at', int64, required)
        .addColumn('last_used_at', int64)
        .addUniqueConstraint('identities_once', ['issuer', 'sub'])
        .execute();
      await schema
        .createTable('identity_sign_ins')
        .addColumn('state_hash', text, (column) => column.primaryKey())
        .addColumn('browser_hash', text, required)
        .addColumn('provider', text, required)
        .addColumn('return_to', text, required)
        .addColumn('user_id', int64)
        .addColumn('session_hash', text)
        .addColumn('max_age', int64)
        .addColumn('expires_at', int64, required)
        .execute();
      await schema
        .createTable('identity_sessions')
        .addColumn('session_hash', text, (column) => column.primaryKey())
        .addColumn('user_id', int64, required)
        .addColumn('issuer', text, required)
        .addColumn('sub', text, required)
        .addColumn('sid', text)
        .addColumn('created_at', int64, required)
        .execute();
      await schema
        .createTable('logout_tokens')
        .addColumn('issuer', text, required)
        .addColumn('jti', text, required)
        .addColumn('expires_at', int64, required)
        .addPrimaryKeyConstraint('logout_tokens_key', ['issuer', 'jti'])
        .execute();
      const index = (name: string, on: string, columns: string[]) => schema.createIndex(name).on(on).columns(columns);
      await index('identities_by_user', 'identities', ['user_id']).execute();
      await index('identity_sign_ins_by_end', 'identity_sign_ins', ['expires_at']).execute();
      await index('identity_sessions_by_sub', 'identity_sessions', ['issuer', 'sub']).execute();
      await index('identity_sessions_by_sid', 'identity_sessions', ['issuer', 'sid']).execute();
      await index('identity_sessions_by_user', 'identity_sessions', ['user_id']).execute();
      await index('logout_tokens_by_end', 'logout_tokens', ['expires_at']).execute();
    },
  },
];
