import type { Transaction } from 'kysely';
import { Secret, TOTP } from 'otpauth';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import { hashToken, randomText, type Vault } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Audit, AuditEntry } from './audit.ts';
import type { Budgets } from './budgets.ts';
import type { EndLogins } from './ending.ts';
import { secretPlace } from './seal-store.ts';
import type { SecurityNotices } from './security-notices.ts';
import { type Account, lockAccount } from './store.ts';
import {
  findTwoFactor,
  putSecret,
  replaceBackupCodes,
  type TwoFactorRow,
  takeBackupCode,
  takeStep,
  turnOff,
  turnOn,
} from './two-factor-store.ts';

type Trx = Transaction<Tables>;

const ISSUER = 'Reelgate';
const BACKUP_CODES = 10;
/** 24 characters of 32 are 120 bits: no dictionary of them can be made, so one plain hash is enough. */
const BACKUP_LENGTH = 24;
const BACKUP_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
/** Steps before and after now that are accepted, for clocks that differ. */
const WINDOW = 1;

/** Who changes their two-step verification, and which session of theirs goes on. */
export interface Changer {
  readonly userId: number;
  readonly keepSessionId?: number;
  readonly trace?: Pick<AuditEntry, 'address' | 'requestId'>;
}

export interface TwoFactors {
  /** Makes a secret that counts only once a code of it was shown to `enable`. @throws two_factor_on */
  setUp(account: Account): Promise<{ readonly secret: string; readonly otpauthUrl: string }>;
  /** Answers the backup codes. @throws two_factor_on, two_factor_not_set_up, wrong_code, rate_limit_exceeded */
  enable(changer: Changer, code: string): Promise<readonly string[]>;
  /** @throws two_factor_off, wrong_code, rate_limit_exceeded */
  disable(changer: Changer, code: string): Promise<void>;
  isOn(trx: Trx, userId: number): Promise<boolean>;
  isOnFor(userId: number): Promise<boolean>;
  /** The second step again, by somebody logged in already. @throws wrong_code, rate_limit_exceeded */
  confirm(userId: number, code: string): Promise<void>;
  /** Whether a TOTP or backup code is right; it never will be again. A rollback of the transaction undoes its use. */
  accept(trx: Trx, userId: number, code: string): Promise<boolean>;
}

export interface TwoFactorParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly budgets: Budgets;
  readonly audit: Audit;
  readonly endLogins: EndLogins;
  readonly notice: SecurityNotices;
}

export function makeTwoFactors({
  database,
  clock,
  vault,
  budgets,
  audit,
  endLogins,
  notice,
}: TwoFactorParts): TwoFactors {
  const postgres = database.dialect === 'postgres';

  /** The step a code belongs to, if it is one of the steps around now. */
  const stepOf = (userId: number, sealed: string, code: string): number | undefined => {
    const totp = new TOTP({ secret: Secret.fromBase32(vault.open(sealed, secretPlace(userId))) });
    const timestamp = clock.now();
    const delta = totp.validate({ token: code, timestamp, window: WINDOW });
    return delta === null ? undefined : totp.counter({ timestamp }) + delta;
  };

  const accept: TwoFactors['accept'] = async (trx, userId, code) => {
    const plain = code.replace(/[\s-]/g, '').toLowerCase();
    const row = await findTwoFactor(trx, userId);
    if (row === undefined || row.enabled_at === null) return false;
    if (plain.length === BACKUP_LENGTH) return takeBackupCode(trx, userId, hashOf(userId, plain));
    const step = /^\d{6}$/.test(plain) ? stepOf(userId, row.secret, plain) : undefined;
    return step !== undefined && takeStep(trx, userId, row.secret, step);
  };

  /** One change under the account's lock, its guesses counted with those of logins. */
  const change = async <R>(
    changer: Changer,
    event: 'two-factor-on' | 'two-factor-off',
    assertFit: (row: TwoFactorRow | undefined) => TwoFactorRow,
    work: (trx: Trx, row: TwoFactorRow) => Promise<R>,
  ): Promise<R> => {
    const { userId, keepSessionId, trace } = changer;
    // What cannot be done at all is no guess.
    assertFit(await findTwoFactor(database.kysely, userId));
    await budgets.codesOfAccount.spend(userId);
    const result = await database.transaction(async (trx) => {
      if ((await lockAccount(trx, postgres, userId)) === undefined) throw new AppError('unauthorized');
      const done = await work(trx, assertFit(await findTwoFactor(trx, userId)));
      await endLogins(trx, userId, keepSessionId);
      await audit.record(trx, { actorId: userId, action: `self.${event}`, target: `user:${userId}`, ...trace });
      await notice(trx, userId, event);
      return done;
    });
    await budgets.codesOfAccount.giveBack(userId);
    return result;
  };

  return {
    accept,
    isOn: async (trx, userId) => ((await findTwoFactor(trx, userId))?.enabled_at ?? null) !== null,
    isOnFor: async (userId) => ((await findTwoFactor(database.kysely, userId))?.enabled_at ?? null) !== null,
    async confirm(userId, code) {
      await budgets.codesOfAccount.spend(userId);
      if (!(await database.transaction((trx) => accept(trx, userId, code)))) throw new AppError('wrong_code');
      await budgets.codesOfAccount.giveBack(userId);
    },
    async setUp(account) {
      const secret = new Secret({ size: 20 });
      const sealed = vault.seal(secret.base32, secretPlace(account.id));
      if (!(await putSecret(database.kysely, account.id, sealed))) throw new AppError('two_factor_on');
      const otpauthUrl = new TOTP({ issuer: ISSUER, label: account.username, secret }).toString();
      return { secret: secret.base32, otpauthUrl };
    },
    enable: (changer, code) =>
      change(changer, 'two-factor-on', assertSetUp, async (trx, row) => {
        const step = stepOf(changer.userId, row.secret, code.replace(/\s/g, ''));
        if (step === undefined) throw new AppError('wrong_code');
        if (!(await turnOn(trx, changer.userId, row.secret, step, clock.now()))) throw new AppError('two_factor_on');
        const codes = Array.from({ length: BACKUP_CODES }, () => randomText(BACKUP_LENGTH, BACKUP_ALPHABET));
        await replaceBackupCodes(
          trx,
          changer.userId,
          codes.map((each) => hashOf(changer.userId, each)),
        );
        return codes.map((each) => each.replace(/.{6}(?=.)/g, '$&-'));
      }),
    disable: (changer, code) =>
      change(changer, 'two-factor-off', assertOn, async (trx) => {
        if (!(await accept(trx, changer.userId, code))) throw new AppError('wrong_code');
        if (!(await turnOff(trx, changer.userId))) throw new AppError('two_factor_off');
      }),
  };
}

const hashOf = (userId: number, code: string): string => hashToken(`${userId}:${code}`);

function assertSetUp(row: TwoFactorRow | undefined): TwoFactorRow {
  if (row === undefined) throw new AppError('two_factor_not_set_up');
  if (row.enabled_at !== null) throw new AppError('two_factor_on');
  return row;
}

function assertOn(row: TwoFactorRow | undefined): TwoFactorRow {
  if (row === undefined || row.enabled_at === null) throw new AppError('two_factor_off');
  return row;
}
