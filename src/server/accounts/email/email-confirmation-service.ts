import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { DAY_MS } from '../../../contract/time-units.ts';
import type { Mailer, MailText, RenderedMail } from '../../mail/mail-queue.ts';
import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { isUniqueViolation } from '../../platform/db/sql.ts';
import type { RequestOrigin } from '../../platform/http/request-context.ts';
import { hashToken } from '../../platform/tokens.ts';
import type { Tables, Trx } from '../../tables.ts';
import type { AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log-types.ts';
import type { BindingStore } from '../bindings/binding-store.ts';
import type { KnownSourceStore } from '../login/known-source-store.ts';
import type { LinkedLogins, LoginRevocation } from '../login/login-revocation.ts';
import type { TwoFactorStore } from '../login/two-factor-store.ts';
import type { AccountRateLimits } from '../rate-limits.ts';
import type { SecurityNotices } from '../security-notices.ts';
import type { TokenStore } from '../tokens/token-store.ts';
import type { EmailLinkIssuer } from './email-link-issuer.ts';
import { ADDRESS_CHANGED, CONFIRMATION } from './email-texts.ts';
import type { EmailTokenStore } from './email-token-store.ts';

const CONFIRMATION_MS = DAY_MS;
const CONFIRMATION_MAIL = 'email-confirmation';
const ADDRESS_CHANGED_MAIL = 'email-changed';

export interface EmailConfirmationDependencies {
  readonly database: Database<Tables>;
  readonly accounts: AccountStore;
  readonly tokens: EmailTokenStore;
  readonly links: EmailLinkIssuer;
  readonly mailer: Mailer;
  readonly clock: Clock;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly loginRevocation: LoginRevocation;
  readonly keys: Pick<TokenStore, 'revokeAll'>;
  readonly bindings: Pick<BindingStore, 'deleteOfUser'>;
  readonly twoFactors: Pick<TwoFactorStore, 'disable'>;
  readonly knownSources: Pick<KnownSourceStore, 'deleteOfUser'>;
  /** What other capabilities keep that acts for an account without a login: webhooks. */
  readonly standingAccess: readonly LinkedLogins[];
  readonly notices: SecurityNotices;
}

/** The e-mail of an account. `confirmed`: it counts for login and for resetting the password. */
export interface EmailState {
  readonly email: string;
  readonly confirmed: boolean;
}

/**
 * Confirmation of e-mail addresses. Where the service sends mail, an address counts for login only once somebody opened the
 * link that was sent to it; where it does not, it counts at once.
 */
export class EmailConfirmationService {
  readonly #dependencies: EmailConfirmationDependencies;
  constructor(dependencies: EmailConfirmationDependencies) {
    this.#dependencies = dependencies;
    const { mailer } = dependencies;
    mailer.registerKind(CONFIRMATION_MAIL, (mail) => this.#renderConfirmation(mail));
    mailer.registerKind(ADDRESS_CHANGED_MAIL, (mail) => this.#renderAddressChanged(mail));
  }

  /** Whether addresses have to be confirmed. */
  get isRequired(): boolean {
    return this.#dependencies.mailer.isEnabled;
  }

  async findState(userId: number): Promise<EmailState> {
    const account = await this.#dependencies.accounts.findEmail(userId);
    const { email, login_email, email_confirmed_at } = account ?? {};
    const isForLogin = email != null && email === login_email;
    return { email: email ?? '', confirmed: isForLogin && (!this.isRequired || email_confirmed_at != null) };
  }

  /** Sends the link to a new address, in the transaction that stores the address. */
  async queue(trx: Trx, userId: number, email: string, locale: Locale): Promise<boolean> {
    const { mailer, clock } = this.#dependencies;
    const expiresAt = clock.now() + CONFIRMATION_MS;
    const params = { userId: String(userId) };
    return mailer.enqueue(trx, { kind: CONFIRMATION_MAIL, recipient: email, locale, params, expiresAt });
  }

  /** Tells the address that counted so far that another one was given. */
  async queueChangeNotice(trx: Trx, userId: number, previousEmail: string, locale: Locale): Promise<void> {
    const { mailer, clock } = this.#dependencies;
    const expiresAt = clock.now() + CONFIRMATION_MS;
    const params = { userId: String(userId) };
    await mailer.enqueue(trx, { kind: ADDRESS_CHANGED_MAIL, recipient: previousEmail, locale, params, expiresAt });
  }

  /** Counts a mail that a registration or a change of address causes. @throws rate_limit_exceeded */
  async consumeLimit(email: string): Promise<void> {
    const { rateLimits } = this.#dependencies;
    await rateLimits.emailsByRecipient.consume(email);
    await rateLimits.emailsTotal.consume('all');
  }

  /** Sends the link again. @throws mail_off, not_exist, rate_limit_exceeded, unavailable */
  async resend(userId: number, locale: Locale): Promise<void> {
    const { database, rateLimits } = this.#dependencies;
    if (!this.isRequired) throw new AppError('mail_off');
    const { email, confirmed } = await this.findState(userId);
    if (email === '') throw new AppError('not_exist', { params: { what: 'e-mail address' } });
    if (confirmed) return;
    await rateLimits.emailsByAccount.consume(userId);
    await this.consumeLimit(email);
    const isQueued = await database.transaction((trx) => this.queue(trx, userId, email, locale));
    if (!isQueued) throw new AppError('unavailable');
  }

  /**
   * Makes the address of a link count for login. An account that has the same address without ever having confirmed it
   * loses it as its login: the mail proves whose address it is.
   *
   * @throws link_invalid also when the account has another address by now, email_taken
   */
  async confirm(token: string, origin: RequestOrigin): Promise<void> {
    const { database } = this.#dependencies;
    await database
      .transaction((trx) => this.#apply(trx, hashToken(token), origin))
      .catch((error: unknown) => {
        // Another account confirmed the same address at the same moment; the unique index refused this one.
        if (isUniqueViolation(error)) throw new AppError('email_taken', { cause: error });
        throw error;
      });
  }

  async #apply(trx: Trx, hash: string, origin: RequestOrigin): Promise<void> {
    const { accounts, tokens, clock, auditLog } = this.#dependencies;
    const now = clock.now();
    const token = await tokens.consume(trx, hash, 'confirm', now);
    if (token === undefined) throw new AppError('link_invalid');
    const account = await accounts.lock(trx, token.user_id);
    if (account === undefined || account.email !== token.email) throw new AppError('link_invalid');
    await accounts.releaseUnconfirmedEmail(trx, token.email, account.id);
    if (await accounts.isLoginEmailTaken(trx, token.email, account.id)) throw new AppError('email_taken');
    const isFirst = (await accounts.findEmail(account.id, trx))?.email_confirmed_at == null;
    if (isFirst) await this.#endEarlierAccess(trx, account.id, now);
    await accounts.update(trx, account.id, { login_email: token.email, email_confirmed_at: now });
    await tokens.deleteOfUser(trx, account.id, 'confirm');
    // Links that were sent to the address that counted before.
    await tokens.deleteOfUser(trx, account.id, 'reset');
    await auditLog.record(trx, {
      actorId: account.id,
      action: 'self.email-confirmed',
      target: `user:${account.id}`,
      after: { email: token.email },
      ...origin,
    });
  }

  /**
   * Until an address is confirmed, anybody may have made the account in its name and prepared ways into it, which would
   * outlive the new password its owner sets.
   */
  async #endEarlierAccess(trx: Trx, userId: number, now: number): Promise<void> {
    const { loginRevocation, keys, bindings, twoFactors, knownSources, standingAccess, notices } = this.#dependencies;
    await loginRevocation.revokeAll(trx, userId, 'email_confirmed');
    await keys.revokeAll(trx, userId, now);
    await bindings.deleteOfUser(trx, userId);
    await twoFactors.disable(trx, userId);
    await knownSources.deleteOfUser(trx, userId);
    for (const each of standingAccess) await each.revokeAll(trx, userId);
    await notices.notify(trx, userId, 'first-confirmation');
  }

  async #renderConfirmation(mail: RenderedMail): Promise<MailText | undefined> {
    const { accounts, links } = this.#dependencies;
    const { recipient: email, locale, expiresAt } = mail;
    const account = await accounts.find(Number(mail.params.userId));
    // The address was changed again or removed meanwhile.
    if (account === undefined || account.email !== email) return undefined;
    const link = await links.create({ user_id: account.id, purpose: 'confirm', email, expires_at: expiresAt });
    return CONFIRMATION[locale]({ username: account.username, link, site: links.site });
  }

  async #renderAddressChanged({ params, locale }: RenderedMail): Promise<MailText | undefined> {
    const { accounts, links } = this.#dependencies;
    const account = await accounts.find(Number(params.userId));
    if (account === undefined) return undefined;
    const link = links.toPage('/account/security');
    return ADDRESS_CHANGED[locale]({ username: account.username, link, site: links.site });
  }
}
