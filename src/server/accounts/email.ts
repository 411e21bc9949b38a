import type { Selectable } from 'kysely';
import { Check } from 'typebox/value';
import { canManage, EmailOrNone, ENABLED } from '../../contract/account-fields.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Mailer, MailText, RenderedMail } from '../mail/mail-queue.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { isUniqueViolation } from '../platform/db/sql.ts';
import type { Actor, RequestOrigin } from '../platform/http/route-registry.ts';
import { normalizeName } from '../platform/text.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { Account, AccountAccess, AccountStore } from './account-store.ts';
import type { AuditLog } from './audit-log.ts';
import type { BindingStore } from './bindings.ts';
import type { PasskeyStore } from './passkeys.ts';
import { assertUncommonPassword, type PasswordHasher } from './passwords.ts';
import type { AccountRateLimits, KnownSourceStore } from './rate-limits.ts';
import type { SecurityNotices } from './security-notices.ts';
import type { LinkedLogins, LoginRevocation, SessionService } from './sessions.ts';
import type { TokenStore } from './tokens.ts';
import type { TwoFactorStore } from './two-factor.ts';
import type { WaysIn } from './ways-in.ts';

/**
 * Normalizes a typed address: like at login, full-width characters of Chinese input methods become plain ones, and
 * letters lower case, as mail systems treat addresses in practice. Null removes the e-mail.
 * @throws invalid_request if the plain form is no address
 */
export function normalizeEmail(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  const plain = normalizeName(text).toLowerCase();
  if (!Check(EmailOrNone, plain)) throw invalidRequest(`"${text}" is no address`, 'email');
  return plain || null;
}

const CONFIRMATION_MS = DAY_MS;
const CONFIRMATION_MAIL = 'email-confirmation';
const ADDRESS_CHANGED_MAIL = 'email-changed';

interface EmailConfirmationDependencies {
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
  readonly passkeys: Pick<PasskeyStore, 'deleteOfUser'>;
  readonly knownSources: Pick<KnownSourceStore, 'deleteOfUser'>;
  /** Linked identities of identity providers. */
  readonly identities: LinkedLogins;
  readonly waysIn: Pick<WaysIn, 'isPasswordAllowed'>;
  readonly sessions: Pick<SessionService, 'find'>;
  /** Access other capabilities hold for an account without a login: webhooks. */
  readonly standingAccess: readonly LinkedLogins[];
  readonly notices: SecurityNotices;
}

/** The e-mail of an account. `confirmed`: it counts for login and password resets. */
interface EmailState {
  readonly email: string;
  readonly confirmed: boolean;
}

/**
 * Confirmation of e-mail addresses. If the service sends mail, an address counts for login only after the link sent to
 * it was opened; otherwise it counts immediately.
 */
export class EmailConfirmationService {
  readonly #dependencies: EmailConfirmationDependencies;
  constructor(dependencies: EmailConfirmationDependencies) {
    this.#dependencies = dependencies;
    const { mailer } = dependencies;
    mailer.registerKind(CONFIRMATION_MAIL, (mail) => this.#renderConfirmation(mail));
    mailer.registerKind(ADDRESS_CHANGED_MAIL, (mail) => this.#renderAddressChanged(mail));
  }

  /** Whether addresses must be confirmed. */
  get isRequired(): boolean {
    return this.#dependencies.mailer.isEnabled;
  }

  async findState(userId: number): Promise<EmailState> {
    const account = await this.#dependencies.accounts.findEmail(userId);
    const { email, login_email, email_confirmed_at } = account ?? {};
    const isForLogin = email != null && email === login_email;
    return { email: email ?? '', confirmed: isForLogin && (!this.isRequired || email_confirmed_at != null) };
  }

  /** The address whose owner has proved to receive mail there; undefined for any other. */
  async findConfirmed(userId: number): Promise<string | undefined> {
    const { email, login_email, email_confirmed_at } = (await this.#dependencies.accounts.findEmail(userId)) ?? {};
    return email != null && email === login_email && email_confirmed_at != null ? email : undefined;
  }

  /** Queues the confirmation link to a new address, in the transaction that stores the address. */
  async queue(trx: Trx, userId: number, email: string, locale: Locale): Promise<boolean> {
    const { mailer, clock } = this.#dependencies;
    const expiresAt = clock.now() + CONFIRMATION_MS;
    const params = { userId: String(userId) };
    return mailer.enqueue(trx, { kind: CONFIRMATION_MAIL, recipient: email, locale, params, expiresAt });
  }

  /** Queues a notice to the previously confirmed address that a new address was entered. */
  async queueChangeNotice(trx: Trx, userId: number, previousEmail: string, locale: Locale): Promise<void> {
    const { mailer, clock } = this.#dependencies;
    const expiresAt = clock.now() + CONFIRMATION_MS;
    const params = { userId: String(userId) };
    await mailer.enqueue(trx, { kind: ADDRESS_CHANGED_MAIL, recipient: previousEmail, locale, params, expiresAt });
  }

  /**
   * Counts a confirmation mail.
   * @param userId the account that requests it; undefined: a registration
   * @throws rate_limit_exceeded
   */
  async consumeLimit(email: string, userId?: number): Promise<void> {
    const { rateLimits } = this.#dependencies;
    if (userId !== undefined) await rateLimits.emailsByAccount.consume(userId);
    await rateLimits.emailsByRecipient.consume(email);
    await rateLimits.emailsTotal.consume('all');
  }

  /** Sends the confirmation link again. @throws mail_off, not_exist, rate_limit_exceeded, unavailable */
  async resend(userId: number, locale: Locale): Promise<void> {
    if (!this.isRequired) throw new AppError('mail_off');
    const { email, confirmed } = await this.findState(userId);
    if (email === '') throw new AppError('not_exist', { params: { what: 'e-mail address' } });
    if (confirmed) return;
    await this.consumeLimit(email, userId);
    const isQueued = await this.#dependencies.database.transaction((trx) => this.queue(trx, userId, email, locale));
    if (!isQueued) throw new AppError('unavailable');
  }

  /**
   * Confirms the address of a link for login. Another account that has the same address unconfirmed can no longer log
   * in with it, because the mail proves who owns the address.
   *
   * @param session of the browser that opened the link
   * @throws link_invalid also if the account's address has changed since, email_taken
   */
  async confirm(token: string, session: string | undefined, origin: RequestOrigin): Promise<void> {
    const { database, sessions } = this.#dependencies;
    const viewer = session === undefined ? undefined : await sessions.find(session);
    await database
      .transaction((trx) => this.#apply(trx, hashToken(token), viewer?.user_id, origin))
      .catch((error: unknown) => {
        // Another account confirmed the same address concurrently; the unique index rejected this one.
        if (isUniqueViolation(error)) throw new AppError('email_taken', { cause: error });
        throw error;
      });
  }

  async #apply(trx: Trx, hash: string, viewerId: number | undefined, origin: RequestOrigin): Promise<void> {
    const { accounts, tokens, clock, auditLog } = this.#dependencies;
    const now = clock.now();
    const token = await tokens.consume(trx, hash, 'confirm', now);
    if (token === undefined) throw new AppError('link_invalid');
    const account = await accounts.lock(trx, token.user_id);
    if (account === undefined || account.email !== token.email) throw new AppError('link_invalid');
    await accounts.releaseUnconfirmedEmail(trx, token.email, account.id);
    if (await accounts.isLoginEmailTaken(trx, token.email, account.id)) throw new AppError('email_taken');
    const isFirst = (await accounts.findEmail(account.id, trx))?.email_confirmed_at == null;
    if (isFirst) await this.#endEarlierAccess(trx, account, viewerId === account.id, now);
    await accounts.update(trx, account.id, { login_email: token.email, email_confirmed_at: now });
    await tokens.deleteOfUser(trx, account.id, 'confirm');
    // Reset links sent to the previously confirmed address.
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
   * Ends access created before the address was confirmed. Anyone could have registered in the owner's name and prepared
   * a way in that would outlive the owner's new password. Passkeys and identities are kept if the browser is signed in
   * to the account, so that no one else prepared it, and where there are no passwords, since nothing else is a way in.
   */
  async #endEarlierAccess(trx: Trx, { id: userId, role }: Account, isSignedIn: boolean, now: number): Promise<void> {
    const { loginRevocation, keys, bindings, twoFactors, passkeys, identities } = this.#dependencies;
    const { waysIn, knownSources, standingAccess, notices } = this.#dependencies;
    const keepsWaysIn = isSignedIn || !waysIn.isPasswordAllowed(role);
    await loginRevocation.revokeAll(trx, userId, 'email_confirmed');
    await keys.revokeAll(trx, userId, now);
    await bindings.deleteOfUser(trx, userId);
    await twoFactors.disable(trx, userId);
    if (!keepsWaysIn) {
      await passkeys.deleteOfUser(trx, userId);
      await identities.revokeAll(trx, userId);
    }
    await knownSources.deleteOfUser(trx, userId);
    for (const each of standingAccess) await each.revokeAll(trx, userId);
    await notices.notify(trx, userId, keepsWaysIn ? 'first-confirmation-kept' : 'first-confirmation');
  }

  async #renderConfirmation(mail: RenderedMail): Promise<MailText | undefined> {
    const { accounts, links } = this.#dependencies;
    const { recipient: email, locale, expiresAt } = mail;
    const account = await accounts.find(Number(mail.params.userId));
    // The address was changed or removed since the mail was queued.
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

const RESET_MS = 30 * 60_000;
/** Long enough for an administrator to pass the link on by any channel. */
const ISSUED_RESET_MS = DAY_MS;
const RESET_MAIL = 'password-reset';

interface PasswordResetDependencies {
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

/**
 * Password reset by a link that is mailed to the confirmed address or passed on by an administrator. Two-step
 * verification stays on.
 */
export class PasswordResetService {
  readonly #dependencies: PasswordResetDependencies;
  constructor(dependencies: PasswordResetDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(RESET_MAIL, (mail) => this.#render(mail));
  }

  /**
   * Takes the same steps and time for every address: the account is looked up only when the mail is sent, so that the
   * response does not reveal whether the address is registered.
   *
   * @throws mail_off, rate_limit_exceeded, unavailable
   */
  async request(email: string, clientIp: string, locale: Locale): Promise<void> {
    const { database, mailer, rateLimits, clock } = this.#dependencies;
    if (!mailer.isEnabled) throw new AppError('mail_off');
    await rateLimits.passwordResetsByNetwork.consume(toIpLimitKey(clientIp));
    const recipient = normalizeEmail(email) ?? '';
    await rateLimits.emailsByRecipient.consume(recipient);
    await rateLimits.emailsTotal.consume('all');
    const expiresAt = clock.now() + RESET_MS;
    const isQueued = await database.transaction((trx) =>
      mailer.enqueue(trx, { kind: RESET_MAIL, recipient, locale, expiresAt }),
    );
    if (!isQueued) throw new AppError('unavailable');
  }

  /**
   * Creates a link for the administrator to pass on; earlier links stop working.
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
   * Sets the password and ends all logins of the account.
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
      const account = await accounts.lock(trx, owner.id);
      const used = await tokens.consume(trx, hash, 'reset', clock.now());
      if (used === undefined || account === undefined || !(await this.#isStillGood(trx, used, account)))
        throw new AppError('link_invalid');
      if (account.status !== ENABLED) throw new AppError('account_disabled');
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

  /**
   * Whether the address still counts for login, or the issuing administrator still ranks above the account, whose role
   * may have been raised since.
   */
  async #isStillGood(trx: Trx, { email, issued_by }: EmailToken, account: Account): Promise<boolean> {
    const { accounts } = this.#dependencies;
    if (issued_by === null) return (await accounts.findEmail(account.id, trx))?.login_email === email;
    const issuer = await accounts.find(issued_by, trx);
    return issuer?.status === ENABLED && canManage(issuer.role, account.role);
  }

  async #render({ recipient: email, locale, expiresAt }: RenderedMail): Promise<MailText | undefined> {
    const { accounts, links } = this.#dependencies;
    const account = await accounts.findByLogin(email);
    // Sent only to an address confirmed by mail or entered by an administrator.
    if (account === undefined || account.status !== ENABLED) return undefined;
    if ((await accounts.findEmail(account.id))?.email_confirmed_at == null) return undefined;
    const link = await links.create({ user_id: account.id, purpose: 'reset', email, expires_at: expiresAt });
    return PASSWORD_RESET[locale]({ username: account.username, link, site: links.site });
  }
}

/** Console pages that links in e-mails open. */
const PAGES: Readonly<Record<EmailToken['purpose'], string>> = {
  confirm: '/confirm-email',
  reset: '/reset-password',
};

/**
 * Creates links for e-mails (when the mail is sent) and for administrators to pass on. Tokens are never stored in
 * clear.
 */
export class EmailLinkIssuer {
  readonly #tokens: EmailTokenStore;
  readonly #baseUrl: string;
  constructor(tokens: EmailTokenStore, baseUrl: string) {
    this.#tokens = tokens;
    this.#baseUrl = baseUrl;
  }

  /** Public host name of the service. */
  get site(): string {
    return new URL(this.#baseUrl).host;
  }

  toPage(path: string): string {
    return this.#baseUrl + path;
  }

  /** Creates a link with the token in its fragment: browsers do not send fragments, so no proxy logs it. */
  async create(token: Omit<EmailToken, 'hash' | 'issued_by'> & Partial<EmailToken>, db?: Executor): Promise<string> {
    const secret = randomToken(CREDENTIAL_PREFIX.emailLink, 43);
    await this.#tokens.insert({ issued_by: null, ...token, hash: hashToken(secret) }, db);
    return `${this.#baseUrl}${PAGES[token.purpose]}#${secret}`;
  }
}

type EmailToken = Selectable<Tables['email_tokens']>;
type EmailTokenPurpose = EmailToken['purpose'];

/** SQL of `email_tokens`: mailed or passed-on links, by the SHA-256 of their token. */
export class EmailTokenStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(token: EmailToken, db: Executor = this.#database.kysely): Promise<void> {
    await db.insertInto('email_tokens').values(token).execute();
  }

  find(hash: string, purpose: EmailTokenPurpose, now: number): Promise<EmailToken | undefined> {
    return validTokens(this.#database.kysely, hash, purpose, now).executeTakeFirst();
  }

  /** Consumes a token; exactly one of several concurrent callers receives it. */
  consume(trx: Trx, hash: string, purpose: EmailTokenPurpose, now: number): Promise<EmailToken | undefined> {
    return trx
      .deleteFrom('email_tokens')
      .where('hash', '=', hash)
      .where('purpose', '=', purpose)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst();
  }

  async deleteOfUser(trx: Trx, userId: number, purpose: EmailTokenPurpose): Promise<void> {
    await trx.deleteFrom('email_tokens').where('user_id', '=', userId).where('purpose', '=', purpose).execute();
  }

  async deleteExpired(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('email_tokens').where('expires_at', '<=', now).execute();
  }
}

const validTokens = (db: Executor, hash: string, purpose: EmailTokenPurpose, now: number) =>
  db
    .selectFrom('email_tokens')
    .selectAll()
    .where('hash', '=', hash)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now);

interface Values {
  readonly username: string;
  readonly link: string;
  /** Public host name of the service, so that recipients with accounts at several services know the sender. */
  readonly site: string;
}
type Texts = Readonly<Record<Locale, (values: Values) => MailText>>;

const CONFIRMATION: Texts = {
  en: ({ username, link, site }) => ({
    subject: `Confirm your e-mail address for ${site}`,
    text: `Hello ${username},

open this link and confirm that this is your address:

${link}

It works for 24 hours. From then on you can sign in with the address and reset your password by e-mail.
The first confirmation of an account ends what was created in it before: sessions, API keys, webhooks and bindings.
If you did not give this address at ${site}, ignore this e-mail: nothing changes.
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `请确认您在 ${site} 的邮箱地址`,
    text: `${username}，您好：

请打开以下链接，确认这是您的邮箱地址：

${link}

链接 24 小时内有效。确认后即可使用该邮箱登录，并可通过邮件重置密码。
账号首次确认邮箱时，此前创建的会话、API 密钥、Webhook 和绑定均会失效。
如果您没有在 ${site} 填写此地址，请忽略本邮件，不会产生任何影响。
`,
  }),
};

const PASSWORD_RESET: Texts = {
  en: ({ username, link, site }) => ({
    subject: `Reset your password for ${site}`,
    text: `Hello ${username},

a password reset was requested for your account at ${site}. Open this link to choose a new one:

${link}

It works once, for 30 minutes. If it was not you, ignore this e-mail: your password stays as it is.
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `重置您在 ${site} 的密码`,
    text: `${username}，您好：

有人请求重置您在 ${site} 的账号密码。请打开以下链接设置新密码：

${link}

链接 30 分钟内有效，且只能使用一次。如果不是您本人操作，请忽略本邮件，密码不会改变。
`,
  }),
};

const ADDRESS_CHANGED: Texts = {
  en: ({ username, link, site }) => ({
    subject: `The e-mail address of your account at ${site} is being changed`,
    text: `Hello ${username},

a new e-mail address was given for your account at ${site}. Once it is confirmed, you no longer sign in with this one.
If this was not you, change your password at once. This also cancels the change of address:

${link}
`,
  }),
  'zh-CN': ({ username, link, site }) => ({
    subject: `您在 ${site} 的账号邮箱正在更改`,
    text: `${username}，您好：

您在 ${site} 的账号填写了新的邮箱地址。新地址确认后，将不能再使用本邮箱登录。
如果不是您本人操作，请立即更改密码，新邮箱地址将随之作废：

${link}
`,
  }),
};
