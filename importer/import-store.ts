import { IMPORTED_USAGE_TOKEN } from '../src/contract/ledger.ts';
import { statementParts } from '../src/server/platform/db/sql.ts';
import type { Executor, Trx } from '../src/server/tables.ts';
import type { ImportedKey, ImportedUser } from './mapping/accounts.ts';
import type { ImportedCode } from './mapping/plans.ts';
import { ImportRecordStore } from './record-store.ts';

/** Usage of one account, model and day in the source. */
export interface ImportedUsage {
  readonly sourceUserId: number;
  readonly day: number;
  readonly model: string;
  readonly requests: number;
  readonly quota: number;
  readonly tokens: number;
}

/** Columns of a row of usage. */
const USAGE_COLUMNS = 9;

/** Reported for an account whose e-mail is already the login of another account. */
export const NO_LOGIN_EMAIL = 'no-login-email';

/** Reference of the ledger entry that grants an imported balance. */
export const grantRef = (importId: number, sourceUserId: number): string => `import:${importId}:${sourceUserId}`;

/**
 * SQL that writes imported accounts, wallets, keys and codes. Whole pages of rows are written per statement, so that
 * hundreds of thousands take seconds.
 */
export class AccountImportStore extends ImportRecordStore {
  /** The subset of these names and login e-mails that accounts already have. */
  async takenNames(
    usernames: readonly string[],
    emails: readonly string[],
    db: Executor = this.kysely,
  ): Promise<{ readonly usernames: Set<string>; readonly emails: Set<string> }> {
    const [named, mailed] = await Promise.all([
      usernames.length === 0
        ? []
        : db.selectFrom('accounts').select('username').where('username', 'in', usernames).execute(),
      emails.length === 0
        ? []
        : db.selectFrom('accounts').select('login_email').where('login_email', 'in', emails).execute(),
    ]);
    return {
      usernames: new Set(named.flatMap(({ username }) => username ?? [])),
      emails: new Set(mailed.flatMap(({ login_email: email }) => email ?? [])),
    };
  }

  /** Inserts accounts with their passwords, wallets and one grant each. */
  async addUsers(trx: Trx, importId: number, users: readonly NamedUser[], now: number): Promise<void> {
    if (users.length === 0) return;
    const made = await trx
      .insertInto('accounts')
      .values(
        users.map((user) => ({
          username: user.username,
          email: user.email,
          login_email: user.loginEmail,
          email_confirmed_at: null,
          display_name: user.displayName,
          role: user.role,
          status: user.isEnabled ? 1 : 2,
          created_at: user.createdAt ?? now,
          removed_at: null,
        })),
      )
      .returning(['id', 'username'])
      .execute();
    const ids = new Map(made.map(({ id, username }) => [username, id]));
    const numbered = users.map((user) => ({ user, id: ids.get(user.username) as number }));
    const passwords = numbered.flatMap(({ user, id }) =>
      user.passwordHash === undefined
        ? []
        : [{ user_id: id, hash: user.passwordHash, changed_at: now, generated: 0 as const }],
    );
    if (passwords.length > 0) await trx.insertInto('passwords').values(passwords).execute();
    const wallets = numbered.map(({ user, id }) => ({ user_id: id, balance: user.grant, used: 0, requests: 0 }));
    await trx.insertInto('wallets').values(wallets).execute();
    const grants = numbered.filter(({ user }) => user.grant > 0);
    if (grants.length > 0)
      await trx
        .insertInto('ledger')
        .values(
          grants.map(({ user, id }) => ({
            user_id: id,
            kind: 'grant',
            amount: user.grant,
            plan_amount: 0,
            charged: 0,
            ref: grantRef(importId, user.sourceId),
            token_id: null,
            model: null,
            note: 'imported balance',
            created_at: now,
          })),
        )
        .execute();
    await this.note(
      trx,
      numbered.map(({ user, id }) => ({
        import_id: importId,
        kind: 'user',
        source_id: user.sourceId,
        name: user.username,
        target_id: id,
        detail: user.email !== null && user.loginEmail === null ? NO_LOGIN_EMAIL : null,
      })),
    );
  }

  /** Enables second steps. @param secrets sealed */
  async addSecondSteps(
    trx: Trx,
    secrets: readonly { readonly userId: number; readonly secret: string }[],
    now: number,
  ): Promise<void> {
    if (secrets.length === 0) return;
    await trx
      .insertInto('two_factors')
      .values(secrets.map(({ userId, secret }) => ({ user_id: userId, secret, last_step: 0, enabled_at: now })))
      .execute();
  }

  /** Inserts the usage of accounts as history. */
  async addUsage(trx: Trx, rows: readonly (Omit<ImportedUsage, 'sourceUserId'> & { readonly userId: number })[]) {
    // The accounts of one page may have used many models for years: more values than a statement takes.
    for (const part of statementParts(rows, USAGE_COLUMNS))
      await trx
        .insertInto('usage_daily')
        .values(
          part.map(({ userId, day, model, requests, quota, tokens }) => ({
            user_id: userId,
            day,
            token_id: IMPORTED_USAGE_TOKEN,
            model,
            channel_id: 0,
            requests,
            quota,
            prompt_tokens: tokens,
            completion_tokens: 0,
          })),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
  }

  /** The subset of these keys that already exist. */
  async knownHashes(hashes: readonly string[], db: Executor = this.kysely): Promise<ReadonlySet<string>> {
    if (hashes.length === 0) return new Set();
    const rows = await db.selectFrom('tokens').select('hash').where('hash', 'in', hashes).execute();
    return new Set(rows.map(({ hash }) => hash));
  }

  async addKeys(
    trx: Trx,
    importId: number,
    keys: readonly (ImportedKey & { readonly accountId: number })[],
    now: number,
  ): Promise<void> {
    if (keys.length === 0) return;
    const made = await trx
      .insertInto('tokens')
      .values(
        keys.map((key) => ({
          kind: 'sk' as const,
          user_id: key.accountId,
          name: key.name,
          hash: key.hash,
          hint: key.hint,
          models: key.models.length === 0 ? null : JSON.stringify(key.models),
          allowed_addresses: key.addresses.length === 0 ? null : JSON.stringify(key.addresses),
          expires_at: key.expiresAt ?? null,
          created_at: key.createdAt ?? now,
          last_used_at: key.lastUsedAt ?? null,
          revoked_at: null,
        })),
      )
      .returning(['id', 'hash'])
      .execute();
    const ids = new Map(made.map(({ id, hash }) => [hash, id]));
    const limits = keys.flatMap(({ hash, limit }) =>
      limit === undefined ? [] : [{ token_id: ids.get(hash) as number, quota_limit: limit.quota, used: limit.used }],
    );
    if (limits.length > 0) await trx.insertInto('token_limits').values(limits).execute();
    await this.note(
      trx,
      keys.map(({ hash, sourceId }) => ({
        import_id: importId,
        kind: 'key',
        source_id: sourceId,
        name: '',
        target_id: ids.get(hash) as number,
        detail: null,
      })),
    );
  }

  /** The subset of these codes that already exist. */
  async knownCodes(hashes: readonly string[], db: Executor = this.kysely): Promise<ReadonlySet<string>> {
    if (hashes.length === 0) return new Set();
    const rows = await db.selectFrom('redemption_codes').select('hash').where('hash', 'in', hashes).execute();
    return new Set(rows.map(({ hash }) => hash));
  }

  async addCodes(
    trx: Trx,
    importId: number,
    codes: readonly (ImportedCode & { readonly hash: string; readonly hint: string })[],
    now: number,
  ): Promise<void> {
    if (codes.length === 0) return;
    const batch = await trx
      .insertInto('redemption_batches')
      .values({ note: `import ${importId}`, created_by: 0, created_at: now })
      .returning('id')
      .executeTakeFirstOrThrow();
    const made = await trx
      .insertInto('redemption_codes')
      .values(
        codes.map((code) => ({
          batch_id: batch.id,
          hash: code.hash,
          hint: code.hint,
          plan_id: null,
          quota: code.quota,
          state: 'unused' as const,
          expires_at: code.expiresAt ?? null,
          used_by: null,
          used_at: null,
          created_at: code.createdAt ?? now,
        })),
      )
      .returning(['id', 'hash'])
      .execute();
    const ids = new Map(made.map(({ id, hash }) => [hash, id]));
    await this.note(
      trx,
      codes.map(({ hash, sourceId }) => ({
        import_id: importId,
        kind: 'code',
        source_id: sourceId,
        name: '',
        target_id: ids.get(hash) as number,
        detail: null,
      })),
    );
  }
}

/** An account with its name and e-mail in this service. */
interface NamedUser extends ImportedUser {
  /** The e-mail if it counts for login; unique across accounts. */
  readonly loginEmail: string | null;
}

/** Names and e-mails already taken. Assigned ones are added. */
interface TakenNames {
  readonly usernames: Set<string>;
  readonly emails: Set<string>;
}

const MAX_LENGTH = 30;

/** Assigns each account a free name: its own, or its own with its old number as suffix. */
export function nameUsers(users: readonly ImportedUser[], taken: TakenNames): NamedUser[] {
  return users.map((user) => {
    const username = candidatesOf(user).find((name) => !taken.usernames.has(name)) ?? `user-${user.sourceId}-imported`;
    taken.usernames.add(username);
    const loginEmail = user.email !== null && !taken.emails.has(user.email) ? user.email : null;
    if (loginEmail !== null) taken.emails.add(loginEmail);
    return { ...user, username, loginEmail };
  });
}

/** Candidate names of an account, best first. */
export function candidatesOf({ username, sourceId }: ImportedUser): string[] {
  const withSuffix = (suffix: string): string => [...username].slice(0, MAX_LENGTH - suffix.length).join('') + suffix;
  return [username, withSuffix(`-${sourceId}`), withSuffix(`-${sourceId}-2`)];
}
