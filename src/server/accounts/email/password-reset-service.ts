import { ENABLED } from '../../../contract/account-fields.ts';
import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { canManage } from '../../../contract/roles.ts';
import { DAY_MS } from '../../../contract/time-units.ts';
import type { Mailer, MailText, RenderedMail } from '../../mail/mail-queue.ts';
import { AppError, notExistError } from '../../platform/app-error.ts';
import { toIpLimitKey } from '../../platform/client-ip.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Actor, RequestOrigin } from '../../platform/http/request-context.ts';
import { hashToken } from '../../platform/tokens.ts';
import type { Tables, Trx } from '../../tables.ts';
import type { AccountAccess } from '../account-access.ts';
import type { Account, AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log-types.ts';
import { assertUncommonPassword } from '../login/assert-uncommon-password.ts';
import type { LoginRevocation } from '../login/login-revocation.ts';
import type { PasswordHasher } from '../login/password-hasher.ts';
import type { AccountRateLimits } from '../rate-limits.ts';
import type { SecurityNotices } from '../security-notices.ts';
import type { EmailLinkIssuer } from './email-link-issuer.ts';
import { PASSWORD_RESET } from './email-texts.ts';
import type { EmailToken, EmailTokenStore } from './email-token-store.ts';

const RESET_MS = 30 * 60_000;
/** An administrator passes the link on by whatever means there is. */
const ISSUED_RESET_MS = DAY_MS;
const RESET_MAIL = 'password-reset';

export interface PasswordResetDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly access: AccountAccess;
  readonly tokens: EmailTokenStore;
  readonly links: EmailLinkIssuer;
  readonly mailer: Mailer;
  readonly clock: Clock;
  readonly passwords: PasswordHasher;
  readonly rateLimits: AccountRateLimits;
  readonly loginRevocation: LoginRevocation;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

/** A new password by a link: sent to the confirmed e-mail, or passed on by an administrator. Two-step verification stays on. */
export class PasswordResetService {
  readonly #dependencies: PasswordResetDependencies;
  constructor(dependencies: PasswordResetDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(RESET_MAIL, (mail) => this.#render(mail));
  }

  /**
   * Does the same for every address, in the same time: whether an account has it is looked up when the mail is due.
   *
   * @throws mail_off, rate_limit_exceeded, unavailable
   */
  async request(email: string, clientIp: string, locale: Locale): Promise<void> {
    const { database, mailer, rateLimits, clock } = this.#dependencies;
    if (!mailer.isEnabled) throw new AppError('mail_off');
    await rateLimits.passwordResetsByNetwork.consume(toIpLimitKey(clientIp));
    const recipient = email.toLowerCase();
    await rateLimits.emailsByRecipient.consume(recipient);
    await rateLimits.emailsTotal.consume('all');
    const expiresAt = clock.now() + RESET_MS;
    const isQueued = await database.transaction((trx) =>
      mailer.enqueue(trx, { kind: RESET_MAIL, recipient, locale, expiresAt }),
    );
    if (!isQueued) throw new AppError('unavailable');
  }

  /**
   * Makes a link that the administrator passes on; links made before stop working.
   *
   * @returns `expiresAt` in Unix milliseconds
   * @throws not_exist, rank_too_low, account_disabled
   */
  async issueLink(userId: number, actor: Actor): Promise<{ readonly url: string; readonly expiresAt: number }> {
    const { database, accounts, access, tokens, links, auditLog, notices, clock } = this.#dependencies;
    const expiresAt = clock.now() + ISSUED_RESET_MS;
    const url = await database.transaction(async (trx) => {
      await access.assertCanManage(trx, actor.actorId, userId);
      const account = await accounts.lock(trx, userId);
      if (account === undefined) throw notExistError('account');
      if (account.status !== ENABLED) throw new AppError('account_disabled');
      await tokens.deleteOfUser(trx, userId, 'reset');
      const token = { user_id: userId, email: '', issued_by: actor.actorId, expires_at: expiresAt };
      const made = await links.create({ ...token, purpose: 'reset' }, trx);
      await auditLog.record(trx, { ...actor, action: 'user.password-reset-link', target: `user:${userId}` });
      await notices.notify(trx, userId, 'reset-link');
      return made;
    });
    return { url, expiresAt };
  }

  /**
   * Sets the password and ends everything the account is signed in with.
   *
   * @throws link_invalid, account_disabled, password_too_common, rate_limit_exceeded, unavailable
   */
  async reset(token: string, password: string, origin: RequestOrigin): Promise<void> {
    const { database, accounts, tokens, passwords, rateLimits, loginRevocation, auditLog, notices, clock } =
      this.#dependencies;
    await rateLimits.passwordResetsByNetwork.consume(toIpLimitKey(origin.address));
    const hash = hashToken(token);
    const found = await tokens.find(hash, 'reset', clock.now());
    const owner = found === undefined ? undefined : await accounts.find(found.user_id);
    // Checked before the password is hashed, so that a guessed link costs no hash.
    if (owner === undefined) throw new AppError('link_invalid');
    await assertUncommonPassword(password, owner.username);
    const passwordHash = await passwords.hash(password);
    await database.transaction(async (trx) => {
      const used = await tokens.consume(trx, hash, 'reset', clock.now());
      const account = used === undefined ? undefined : await accounts.lock(trx, used.user_id);
      if (used === undefined || account === undefined || !(await this.#isStillGood(trx, used, account)))
        throw new AppError('link_invalid');
      if (account.status !== ENABLED) throw new AppError('account_disabled');
      await tokens.deleteOfUser(trx, account.id, 'reset');
      await accounts.putPassword(trx, account.id, passwordHash, clock.now());
      await loginRevocation.revokeAll(trx, account.id, 'password_reset');
      await auditLog.record(trx, {
        actorId: account.id,
        action: 'self.password-reset',
        target: `user:${account.id}`,
        after: used.issued_by === null ? undefined : { issued_by: used.issued_by },
        ...origin,
      });
      await notices.notify(trx, account.id, 'password');
    });
  }

  /** The address still counts for login; or the administrator still ranks above the account, which may have risen since. */
  async #isStillGood(trx: Trx, { email, issued_by }: EmailToken, account: Account): Promise<boolean> {
    const { accounts } = this.#dependencies;
    if (issued_by === null) return (await accounts.findEmail(account.id, trx))?.login_email === email;
    const issuer = await accounts.find(issued_by, trx);
    return issuer?.status === ENABLED && canManage(issuer.role, account.role);
  }

  async #render({ recipient: email, locale, expiresAt }: RenderedMail): Promise<MailText | undefined> {
    const { accounts, links } = this.#dependencies;
    const account = await accounts.findByLogin(email);
    // Sent only to whoever has proved to read this address, or was given it by an administrator.
    if (account === undefined || account.status !== ENABLED) return undefined;
    if ((await accounts.findEmail(account.id))?.email_confirmed_at == null) return undefined;
    const link = await links.create({ user_id: account.id, purpose: 'reset', email, expires_at: expiresAt });
    return PASSWORD_RESET[locale]({ username: account.username, link, site: links.site });
  }
}
