import type { Kysely } from 'kysely';
import { Secret, TOTP } from 'otpauth';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import { normalizeTypedCode } from '../platform/text.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { SealContext, SealedColumn, Vault } from '../platform/vault.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { Account, AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import { type AccountRateLimits, GuessLimit, type GuessSource, toGuessSource } from './rate-limits.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { CredentialRecheck, LoginRevocation } from './sessions.ts';

const BACKUP_CODE_COUNT = 10;
/** 24 characters of 32 are 120 bits: no dictionary of them is feasible, so one plain hash suffices. */
const BACKUP_CODE_LENGTH = 24;
const BACKUP_CODE_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Accepted steps before and after the current one, to allow for clock drift. */
const ACCEPTED_STEP_DRIFT = 1;

/** The caller who changes their two-step verification. The session of the request is kept, all others end. */
interface TwoFactorChange {
  readonly caller: AccountCaller;
  readonly origin: RequestOrigin;
}

interface TwoFactorServiceDependencies {
  /** Address of this service. */
  readonly baseUrl: string;
  readonly settings: Live<{ readonly siteName: string }>;
  readonly database: Database<Tables>;
  readonly store: TwoFactorStore;
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly credentials: CredentialRecheck;
  readonly loginRevocation: LoginRevocation;
  readonly notices: SecurityNotices;
}

/** Two-step verification: TOTP (RFC 6238) and backup codes. */
export class TwoFactorService {
  readonly #dependencies: TwoFactorServiceDependencies;
  readonly #guesses: GuessLimit;

  constructor(dependencies: TwoFactorServiceDependencies) {
    this.#dependencies = dependencies;
    const { secondStepsByAccount, secondStepsByKnownSource } = dependencies.rateLimits;
    this.#guesses = new GuessLimit({
      byAccount: secondStepsByAccount,
      byKnownSource: secondStepsByKnownSource,
      resetsWrongGuesses: false,
    });
  }

  async isEnabled(userId: number, db?: Executor): Promise<boolean> {
    return ((await this.#dependencies.store.find(userId, db))?.enabled_at ?? null) !== null;
  }

  /**
   * Creates a secret that takes effect only once `enable` has received a code generated from it. @throws two_factor_on
   */
  async setUp(account: Account): Promise<{ readonly secret: string; readonly otpauthUrl: string }> {
    const { store, vault } = this.#dependencies;
    const secret = new Secret({ size: 20 });
    const sealed = vault.seal(secret.base32, twoFactorSecretCell(account.id));
    if (!(await store.putSecret(account.id, sealed))) throw new AppError('two_factor_on');
    return { secret: secret.base32, otpauthUrl: new TOTP({ ...this.#nameEntry(account), secret }).toString() };
  }

  /**
   * The name of the entry in an authenticator app. Apps replace an entry by one of the same name, which locked `root` of
   * one installation out by setting up another one's. A colon separates the two parts, however it is encoded.
   */
  #nameEntry({ username }: Account): { readonly issuer: string; readonly label: string } {
    const { baseUrl, settings } = this.#dependencies;
    const issuer = settings.current().siteName.replaceAll(':', ' ');
    return { issuer, label: `${username}@${new URL(baseUrl).hostname}`.replaceAll(':', '-') };
  }

  /** Returns the backup codes. @throws two_factor_on, two_factor_not_set_up, wrong_code, rate_limit_exceeded */
  enable(change: TwoFactorChange, code: string): Promise<readonly string[]> {
    const { store, clock } = this.#dependencies;
    const { userId } = change.caller;
    return this.#applyChange(change, 'two-factor-on', assertSetUp, async (trx, row) => {
      const step = this.#findMatchingStep(userId, row.secret, normalizeTypedCode(code));
      if (step === undefined) throw new AppError('wrong_code');
      if (!(await store.enable(trx, userId, row.secret, step, clock.now()))) throw new AppError('two_factor_on');
      const codes = Array.from({ length: BACKUP_CODE_COUNT }, () =>
        randomText(BACKUP_CODE_LENGTH, BACKUP_CODE_ALPHABET),
      );
      await store.replaceBackupCodes(
        trx,
        userId,
        codes.map((each) => hashBackupCode(userId, each)),
      );
      return codes.map((each) => each.replace(/.{6}(?=.)/g, '$&-'));
    });
  }

  /** @throws two_factor_off, wrong_code, rate_limit_exceeded */
  disable(change: TwoFactorChange, code: string): Promise<void> {
    const { userId } = change.caller;
    return this.#applyChange(change, 'two-factor-off', assertEnabled, async (trx) => {
      await this.useCode(trx, userId, code);
      if (!(await this.#dependencies.store.disable(trx, userId))) throw new AppError('two_factor_off');
    });
  }

  /** Confirms the second step again for a logged-in caller. @throws wrong_code, rate_limit_exceeded */
  async confirm(caller: AccountCaller, code: string): Promise<void> {
    const { database } = this.#dependencies;
    await this.withGuess(caller.userId, toGuessSource(caller), () =>
      database.transaction((trx) => this.useCode(trx, caller.userId, code)),
    );
  }

  /** Counts one guess at a code, and refunds it unless the check throws. @throws rate_limit_exceeded */
  async withGuess<R>(userId: number, source: GuessSource, check: () => Promise<R>): Promise<R> {
    await this.#guesses.consume(String(userId), source);
    const result = await check();
    await this.#guesses.succeed(String(userId), source);
    return result;
  }

  /** Uses up a TOTP or backup code. @throws wrong_code */
  async useCode(trx: Trx, userId: number, code: string): Promise<void> {
    const row = await this.#dependencies.store.find(userId, trx);
    const isRight = row?.enabled_at != null && (await this.#consume(trx, userId, row.secret, code));
    if (!isRight) throw new AppError('wrong_code');
  }

  async #consume(trx: Trx, userId: number, sealed: string, code: string): Promise<boolean> {
    const { store } = this.#dependencies;
    const plain = normalizeTypedCode(code).toLowerCase();
    if (plain.length === BACKUP_CODE_LENGTH) return store.consumeBackupCode(trx, userId, hashBackupCode(userId, plain));
    const step = this.#findMatchingStep(userId, sealed, plain);
    return step !== undefined && store.consumeTotpStep(trx, userId, sealed, step);
  }

  /** The TOTP step a code belongs to, if within the accepted drift. */
  #findMatchingStep(userId: number, sealed: string, code: string): number | undefined {
    const { vault, clock } = this.#dependencies;
    // The library compares bytes, and throws for a text of equal characters but more bytes.
    if (!/^[0-9]{6}$/.test(code)) return undefined;
    const totp = new TOTP({ secret: Secret.fromBase32(vault.open(sealed, twoFactorSecretCell(userId))) });
    const timestamp = clock.now();
    const delta = totp.validate({ token: code, timestamp, window: ACCEPTED_STEP_DRIFT });
    return delta === null ? undefined : totp.counter({ timestamp }) + delta;
  }

  /** Applies one change under the account's lock; its guesses count like those of logins. */
  async #applyChange<R>(
    { caller, origin }: TwoFactorChange,
    event: 'two-factor-on' | 'two-factor-off',
    assertApplicable: (row: TwoFactorRow | undefined) => TwoFactorRow,
    work: (trx: Trx, row: TwoFactorRow) => Promise<R>,
  ): Promise<R> {
    const { database, store, accounts, credentials, auditLog, loginRevocation, notices } = this.#dependencies;
    const { userId } = caller;
    // A change that is impossible in the current state does not count as a guess.
    assertApplicable(await store.find(userId));
    const apply = async (trx: Trx): Promise<R> => {
      await accounts.lock(trx, userId);
      await credentials.assertLive(trx, caller);
      const done = await work(trx, assertApplicable(await store.find(userId, trx)));
      const reason = event === 'two-factor-on' ? 'two_factor_on' : 'two_factor_off';
      await loginRevocation.revokeAll(trx, userId, reason, caller.kind === 'session' ? caller.sessionId : undefined);
      await auditLog.record(trx, { actorId: userId, action: `self.${event}`, target: `user:${userId}`, ...origin });
      await notices.notify(trx, userId, event);
      return done;
    };
    return this.withGuess(userId, toGuessSource(caller), () => database.transaction(apply));
  }
}

const hashBackupCode = (userId: number, code: string): string => hashToken(`${userId}:${code}`);

function assertSetUp(row: TwoFactorRow | undefined): TwoFactorRow {
  if (row === undefined) throw new AppError('two_factor_not_set_up');
  if (row.enabled_at !== null) throw new AppError('two_factor_on');
  return row;
}

function assertEnabled(row: TwoFactorRow | undefined): TwoFactorRow {
  if (row === undefined || row.enabled_at === null) throw new AppError('two_factor_off');
  return row;
}

interface TwoFactorRow {
  /** The secret, encrypted under the master key. */
  readonly secret: string;
  readonly last_step: number;
  /** Null while set up but not yet enabled. */
  readonly enabled_at: number | null;
}

/** SQL of `two_factors` and `backup_codes`. */
export class TwoFactorStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(userId: number, db: Executor = this.#database.kysely): Promise<TwoFactorRow | undefined> {
    return db
      .selectFrom('two_factors')
      .select(['secret', 'last_step', 'enabled_at'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
  }

  /** Stores a new secret, replacing one that was never enabled; returns false if two-step verification is on. */
  async putSecret(userId: number, secret: string): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .insertInto('two_factors')
        .values({ user_id: userId, secret, last_step: 0, enabled_at: null })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet({ secret, last_step: 0 }).where('two_factors.enabled_at', 'is', null),
        )
        .executeTakeFirst(),
    );
  }

  /** Enables the secret whose code was checked; returns true for exactly one of several concurrent callers. */
  async enable(trx: Trx, userId: number, secret: string, step: number, now: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('two_factors')
        .set({ enabled_at: now, last_step: step })
        .where('user_id', '=', userId)
        .where('secret', '=', secret)
        .where('enabled_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /**
   * Accepts a TOTP step only if newer than every earlier one; returns true for exactly one of several concurrent
   * callers.
   */
  async consumeTotpStep(trx: Trx, userId: number, secret: string, step: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('two_factors')
        .set({ last_step: step })
        .where('user_id', '=', userId)
        .where('secret', '=', secret)
        .where('last_step', '<', step)
        .where('enabled_at', 'is not', null)
        .executeTakeFirst(),
    );
  }

  /** Consumes a backup code; returns true for exactly one of several concurrent callers. */
  async consumeBackupCode(trx: Trx, userId: number, hash: string): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('backup_codes').where('user_id', '=', userId).where('hash', '=', hash).executeTakeFirst(),
    );
  }

  async replaceBackupCodes(trx: Trx, userId: number, hashes: readonly string[]): Promise<void> {
    await trx.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
    await trx
      .insertInto('backup_codes')
      .values(hashes.map((hash) => ({ user_id: userId, hash })))
      .execute();
  }

  /** Removes the secret and backup codes; returns false if two-step verification was off. */
  async disable(trx: Trx, userId: number): Promise<boolean> {
    const result = await trx
      .deleteFrom('two_factors')
      .where('user_id', '=', userId)
      .where('enabled_at', 'is not', null)
      .executeTakeFirst();
    await trx.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
    return wasChanged(result);
  }

  /** The subset of the accounts that have two-step verification on. */
  async findUsersWithTwoFactor(userIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (userIds.length === 0) return new Set();
    const rows = await this.#database.kysely
      .selectFrom('two_factors')
      .select('user_id')
      .where('user_id', 'in', [...userIds])
      .where('enabled_at', 'is not', null)
      .execute();
    return new Set(rows.map((row) => row.user_id));
  }
}

const BATCH = 500;

/** Binds a sealed secret to its column and account. */
export const twoFactorSecretCell = (userId: number): SealContext => ({
  table: 'two_factors',
  row: userId,
  column: 'secret',
});

/** The secrets of two-step verification, for key rotation. Phone codes are sealed too, but expire within minutes. */
export const sealedTwoFactorSecrets = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('two_factors')
      .select(['user_id', 'secret'])
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(BATCH)
      .execute();
    return rows.map(({ user_id: id, secret }) => ({ id, context: twoFactorSecretCell(id), sealed: secret }));
  },
  replace: ({ id, sealed: old }, secret) =>
    kysely.updateTable('two_factors').set({ secret }).where('user_id', '=', id).where('secret', '=', old).execute(),
});
