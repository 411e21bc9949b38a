import type { Locale } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { type Clock, isTimeZone } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { isUniqueViolation } from '../platform/db/sql.ts';
import type { AccountCaller, RequestOrigin } from '../platform/http/route-registry.ts';
import type { Tables, Trx } from '../tables.ts';
import { type AccountStore, NO_LOGIN_EMAIL } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import { type EmailConfirmationService, normalizeEmail } from './email.ts';
import type { LoginService } from './login-service.ts';
import { assertUncommonPassword } from './passwords.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { LoginRevocation } from './sessions.ts';

/** The fields users may change in their own account; absent fields stay unchanged. */
interface OwnAccountUpdate {
  readonly display_name?: string;
  /** An empty string removes the e-mail. */
  readonly email?: string;
  readonly password?: string;
  /** The current password; required with `password`, and with `email` if e-mails can reset passwords. */
  readonly original_password?: string;
}

interface OwnAccountDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly logins: LoginService;
  readonly loginRevocation: LoginRevocation;
  readonly emailConfirmations: EmailConfirmationService;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

/** The changes that owners make to their account. */
export class OwnAccountService {
  readonly #dependencies: OwnAccountDependencies;

  constructor(dependencies: OwnAccountDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws forbidden, wrong_password, password_too_common, invalid_request, rate_limit_exceeded, unauthorized */
  async update(caller: AccountCaller, update: OwnAccountUpdate, origin: RequestOrigin, locale: Locale): Promise<void> {
    const { database, accounts, emailConfirmations, logins } = this.#dependencies;
    const { userId } = caller;
    const { email, password, original_password: original } = update;
    const changesLogin = email !== undefined || password !== undefined || original !== undefined;
    if (caller.kind === 'device' && changesLogin) throw new AppError('forbidden');
    const change = (trx: Trx, fields: OwnAccountUpdate) => this.#updateOwnFields(trx, userId, fields, origin, locale);
    const newEmail = await this.#findProtectedEmail(userId, update);
    if (password === undefined && newEmail === undefined) {
      // A protected e-mail is the present one, and stays as it is even if it is voided meanwhile.
      const fields = emailConfirmations.isRequired ? { display_name: update.display_name } : update;
      return retryOnce(() => database.transaction((trx) => change(trx, fields)));
    }
    if (original === undefined)
      throw invalidRequest(
        password === undefined
          ? 'original_password is required to change the e-mail.'
          : 'original_password is required to change the password.',
        'original_password',
      );
    if (password !== undefined) await assertUncommonPassword(password, (await accounts.find(userId))?.username ?? '');
    await logins.withConfirmedPassword(caller, original, async (hasher, stored) => {
      // After the password was proved: a session alone must not use up the limits of everybody's mail.
      if (newEmail) await emailConfirmations.consumeLimit(newEmail, userId);
      const hash = password === undefined ? undefined : await hasher.hash(password);
      await retryOnce(() =>
        database.transaction(async (trx) => {
          await accounts.lock(trx, userId);
          // The password may have been changed since it was proved.
          if ((await accounts.findPassword(userId, trx))?.hash !== stored) throw new AppError('wrong_password');
          // First, because it voids an e-mail that is not confirmed.
          if (hash !== undefined) await this.#replacePassword(trx, caller, hash, origin);
          await change(trx, update);
        }),
      );
    });
  }

  /** IANA name of the time zone that defines the account's days. */
  findTimeZone(userId: number): Promise<string> {
    return this.#dependencies.accounts.findTimeZone(userId);
  }

  /** @throws invalid_request for an unknown zone */
  async setTimeZone(userId: number, timeZone: string): Promise<void> {
    if (!isTimeZone(timeZone))
      throw invalidRequest('time_zone must be an IANA name such as Europe/Berlin.', 'time_zone');
    await this.#dependencies.accounts.setTimeZone(userId, timeZone);
  }

  /**
   * The e-mail of a change that requires the password, null for its removal. Control of the address allows a password
   * reset, so a session alone must not be able to change it.
   */
  async #findProtectedEmail(userId: number, { email, password }: OwnAccountUpdate): Promise<string | null | undefined> {
    const { accounts, emailConfirmations } = this.#dependencies;
    if (!emailConfirmations.isRequired) return undefined;
    const next = normalizeEmail(email);
    const known = await accounts.findEmail(userId);
    const isReset = password !== undefined && known?.email_confirmed_at != null;
    return next === (isReset ? known.login_email : known?.email) ? undefined : next;
  }

  async #replacePassword(trx: Trx, caller: AccountCaller, hash: string, origin: RequestOrigin): Promise<void> {
    const { accounts, loginRevocation, auditLog, notices, clock } = this.#dependencies;
    const { userId } = caller;
    await accounts.putPassword(trx, userId, hash, clock.now());
    const keptSession = caller.kind === 'session' ? caller.sessionId : undefined;
    await loginRevocation.revokeAll(trx, userId, 'password_changed', keptSession);
    await auditLog.record(trx, { actorId: userId, action: 'self.password', target: `user:${userId}`, ...origin });
    await notices.notify(trx, userId, 'password');
  }

  /** Updates every self-service field except the password. */
  async #updateOwnFields(
    trx: Trx,
    userId: number,
    update: OwnAccountUpdate,
    origin: RequestOrigin,
    locale: Locale,
  ): Promise<void> {
    const { accounts, auditLog } = this.#dependencies;
    const account = await accounts.lock(trx, userId);
    if (account === undefined) throw new AppError('unauthorized');
    const email = normalizeEmail(update.email);
    const columns = defined({ display_name: update.display_name, email });
    if (Object.keys(columns).length > 0) await accounts.update(trx, userId, columns);
    if (email === undefined || email === account.email) return;
    await this.#changeLoginEmail(trx, userId, email, locale);
    await auditLog.record(trx, {
      actorId: userId,
      action: 'self.email',
      target: `user:${userId}`,
      before: { email: account.email },
      after: { email },
      ...origin,
    });
  }

  /**
   * If e-mails need confirmation, the previous login e-mail stays valid until the new one is confirmed or the e-mail is
   * removed.
   */
  async #changeLoginEmail(trx: Trx, userId: number, email: string | null, locale: Locale): Promise<void> {
    const { accounts, emailConfirmations } = this.#dependencies;
    if (email === null) return void (await accounts.update(trx, userId, NO_LOGIN_EMAIL));
    if (!emailConfirmations.isRequired) {
      const isTaken = await accounts.isLoginEmailTaken(trx, email, userId);
      return void (await accounts.update(trx, userId, { ...NO_LOGIN_EMAIL, login_email: isTaken ? null : email }));
    }
    const known = await accounts.findEmail(userId, trx);
    if (known?.login_email === email && known.email_confirmed_at !== null) return;
    await emailConfirmations.queue(trx, userId, email, locale);
    if (known?.login_email != null && known.email_confirmed_at !== null)
      await emailConfirmations.queueChangeNotice(trx, userId, known.login_email, locale);
  }
}

/** Retries once if two accounts set the same login e-mail concurrently: on the second try the loser finds it taken. */
async function retryOnce<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    return work();
  }
}
