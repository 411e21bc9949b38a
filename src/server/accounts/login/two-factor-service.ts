import { Secret, TOTP } from 'otpauth';
import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { AccountCaller, RequestOrigin } from '../../platform/http/request-context.ts';
import { normalizeTypedCode } from '../../platform/text.ts';
import { hashToken, randomText } from '../../platform/tokens.ts';
import type { Vault } from '../../platform/vault.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';
import type { Account, AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log-types.ts';
import type { AccountRateLimits } from '../rate-limits.ts';
import type { SecurityNotices } from '../security-notices.ts';
import { GuessLimit, type GuessSource, toGuessSource } from './guess-limit.ts';
import type { LoginRevocation } from './login-revocation.ts';
import { twoFactorSecretCell } from './two-factor-reencryption-store.ts';
import type { TwoFactorRow, TwoFactorStore } from './two-factor-store.ts';

const ISSUER = 'Reelgate';
const BACKUP_CODE_COUNT = 10;
/** 24 characters of 32 are 120 bits: a dictionary of them is infeasible, so one plain hash is enough. */
const BACKUP_CODE_LENGTH = 24;
const BACKUP_CODE_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Steps before and after the present one that are accepted, for clocks that differ. */
const ACCEPTED_STEP_DRIFT = 1;

/** The caller who changes their two-step verification. The session of the request is kept, all others end. */
export interface TwoFactorChange {
  readonly caller: AccountCaller;
  readonly origin: RequestOrigin;
}

export interface TwoFactorServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: TwoFactorStore;
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly logins: LoginRevocation;
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

  /** Creates a secret that takes effect only once `enable` has received a code of it. @throws two_factor_on */
  async setUp(account: Account): Promise<{ readonly secret: string; readonly otpauthUrl: string }> {
    const { store, vault } = this.#dependencies;
    const secret = new Secret({ size: 20 });
    const sealed = vault.seal(secret.base32, twoFactorSecretCell(account.id));
    if (!(await store.putSecret(account.id, sealed))) throw new AppError('two_factor_on');
    const otpauthUrl = new TOTP({ issuer: ISSUER, label: account.username, secret }).toString();
    return { secret: secret.base32, otpauthUrl };
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
      if (!(await this.consumeCode(trx, userId, code))) throw new AppError('wrong_code');
      if (!(await this.#dependencies.store.disable(trx, userId))) throw new AppError('two_factor_off');
    });
  }

  /** The second step again, by somebody who is logged in. @throws wrong_code, rate_limit_exceeded */
  async confirm(caller: AccountCaller, code: string): Promise<void> {
    const { database } = this.#dependencies;
    await this.withGuess(caller.userId, toGuessSource(caller), () =>
      database.transaction(async (trx) => (await this.consumeCode(trx, caller.userId, code)) || undefined),
    );
  }

  /**
   * Counts one guess at a code, runs the work that checks it, and refunds the guess where the work returns something.
   *
   * @throws wrong_code where the work returns undefined, rate_limit_exceeded
   */
  async withGuess<R>(userId: number, source: GuessSource, check: () => Promise<R | undefined>): Promise<R> {
    await this.#guesses.consume(String(userId), source);
    const result = await check();
    if (result === undefined) throw new AppError('wrong_code');
    await this.#guesses.succeed(String(userId), source);
    return result;
  }

  /** Whether a TOTP or backup code is right; it never will be again, unless the transaction is rolled back. */
  async consumeCode(trx: Trx, userId: number, code: string): Promise<boolean> {
    const { store } = this.#dependencies;
    const plain = normalizeTypedCode(code).toLowerCase();
    const row = await store.find(userId, trx);
    if (row === undefined || row.enabled_at === null) return false;
    if (plain.length === BACKUP_CODE_LENGTH) return store.consumeBackupCode(trx, userId, hashBackupCode(userId, plain));
    const step = this.#findMatchingStep(userId, row.secret, plain);
    return step !== undefined && store.consumeTotpStep(trx, userId, row.secret, step);
  }

  /** The TOTP step a code belongs to, if it is one of the steps around now. */
  #findMatchingStep(userId: number, sealed: string, code: string): number | undefined {
    const { vault, clock } = this.#dependencies;
    // The library compares bytes, and throws for a text that has as many characters but more bytes.
    if (!/^[0-9]{6}$/.test(code)) return undefined;
    const totp = new TOTP({ secret: Secret.fromBase32(vault.open(sealed, twoFactorSecretCell(userId))) });
    const timestamp = clock.now();
    const delta = totp.validate({ token: code, timestamp, window: ACCEPTED_STEP_DRIFT });
    return delta === null ? undefined : totp.counter({ timestamp }) + delta;
  }

  /** One change under the account's lock; its guesses are counted like those of logins. */
  async #applyChange<R>(
    { caller, origin }: TwoFactorChange,
    event: 'two-factor-on' | 'two-factor-off',
    assertApplicable: (row: TwoFactorRow | undefined) => TwoFactorRow,
    work: (trx: Trx, row: TwoFactorRow) => Promise<R>,
  ): Promise<R> {
    const { database, store, accounts, auditLog, logins, notices } = this.#dependencies;
    const { userId } = caller;
    const source = toGuessSource(caller);
    // A change that is impossible in the present state does not count as a guess.
    assertApplicable(await store.find(userId));
    await this.#guesses.consume(String(userId), source);
    const result = await database.transaction(async (trx) => {
      if ((await accounts.lock(trx, userId)) === undefined) throw new AppError('unauthorized');
      const done = await work(trx, assertApplicable(await store.find(userId, trx)));
      const reason = event === 'two-factor-on' ? 'two_factor_on' : 'two_factor_off';
      await logins.revokeAll(trx, userId, reason, caller.kind === 'session' ? caller.sessionId : undefined);
      await auditLog.record(trx, { actorId: userId, action: `self.${event}`, target: `user:${userId}`, ...origin });
      await notices.notify(trx, userId, event);
      return done;
    });
    await this.#guesses.succeed(String(userId), source);
    return result;
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
