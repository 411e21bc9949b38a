import { hash } from 'node:crypto';
import { ENABLED } from '../../contract/account-fields.ts';
import type { IdentityProvider } from '../../contract/identity-providers.ts';
import type { Account, AccountStore } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { LoginOutcome, LoginService, StartedLogin } from '../accounts/login-service.ts';
import type { RegistrationService } from '../accounts/registration.ts';
import type { CredentialRecheck, SessionService } from '../accounts/sessions.ts';
import type { UserAdminService } from '../accounts/user-admin.ts';
import type { WaysIn } from '../accounts/ways-in.ts';
import type { Notice, Notifier } from '../notifications/notifier.ts';
import type { OrganizationService } from '../organizations/organizations.ts';
import { AppError, isAppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, LoginClient, RequestOrigin } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { truncateCodePoints } from '../platform/text.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { EndedSessions, IdentityRow, IdentityStore, PendingSignIn } from './identity-store.ts';
import {
  LOGOUT_TOKEN_SECONDS,
  type ProviderClient,
  type SignInSecrets,
  type VerifiedIdentity,
} from './provider-client.ts';

/** Purpose under which logins by an identity are registered. */
const PURPOSE = 'identity';
/** Time a browser may spend at the provider. */
const SIGN_IN_MS = 10 * 60_000;
/** Oldest sign-in at the provider by which an identity is linked. */
const LINK_MAX_AGE_SECONDS = 600;
const DISPLAY_NAME_LENGTH = 60;
const MAX_EMAIL_LENGTH = 254;

/** What a login by an identity records; kept while the second step is outstanding. */
interface IdentityLogin {
  readonly title: string;
  readonly issuer: string;
  readonly sub: string;
  readonly sid: string | undefined;
  /** The account was just created, so every source is unknown to it. */
  readonly isNew: boolean;
  readonly returnTo: string;
}

/** Reserves the device code of the page that a login returns to, if it is such a page, for the account. */
export type ClaimDeviceCode = (trx: Trx, returnTo: string, userId: number) => Promise<void>;

/** A browser that starts, or returns from, a sign-in. */
export interface IdentityBrowser {
  /** Value of the cookie that binds `state` to the browser. */
  readonly cookie: string;
  readonly client: LoginClient;
}

/** A linked identity, or the login that an identity has started. */
export type IdentityOutcome = LoginOutcome | { readonly step: 'linked' };

interface IdentitySignInDependencies {
  readonly database: Database<Tables>;
  readonly store: IdentityStore;
  readonly client: ProviderClient;
  readonly providers: Live<readonly IdentityProvider[]>;
  readonly accountStore: AccountStore;
  readonly logins: LoginService;
  readonly sessions: SessionService;
  readonly credentials: CredentialRecheck;
  readonly users: RegistrationService;
  readonly userAdministration: UserAdminService;
  readonly organizations: Pick<OrganizationService, 'mapMemberships'>;
  readonly waysIn: WaysIn;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier;
  readonly claimDeviceCode: ClaimDeviceCode;
  readonly metrics: Pick<Metrics, 'recordIdentitySignIn'>;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Signs people in by identities at identity providers. An identity finds its account by issuer and subject alone; an
 * e-mail never does, because some providers let anybody state any address.
 */
export class IdentitySignIn {
  readonly #dependencies: IdentitySignInDependencies;

  constructor(dependencies: IdentitySignInDependencies) {
    this.#dependencies = dependencies;
    dependencies.logins.registerPurpose({
      name: PURPOSE,
      onLoggedIn: (trx, subject, account, login) => this.#recordLogin(trx, JSON.parse(subject), account, login),
    });
    dependencies.waysIn.register(async (db, { id }) => (await this.#usable(db, id)).length > 0);
  }

  /** @throws not_found */
  findProvider(id: string): IdentityProvider {
    const provider = this.#dependencies.providers.current().find((each) => each.id === id);
    if (provider === undefined) throw new AppError('not_found');
    return provider;
  }

  /** The provider's URL to send the browser to. @throws identity_provider_unavailable */
  start(provider: IdentityProvider, browser: IdentityBrowser, returnTo: string): Promise<string> {
    return this.#start(provider, browser, { return_to: returnTo, user_id: null, session_hash: null, max_age: null });
  }

  /** Like `start`, to link the identity to the account of a session. @throws identity_provider_unavailable */
  async startLink(
    provider: IdentityProvider,
    browser: IdentityBrowser,
    caller: AccountCaller,
    returnTo: string,
  ): Promise<string> {
    const { session } = browser.client;
    if (caller.kind !== 'session' || session === undefined) throw new AppError('forbidden');
    const maxAge = (await this.#dependencies.client.statesSignInTime(provider)) ? LINK_MAX_AGE_SECONDS : null;
    const link = { user_id: caller.userId, session_hash: hashToken(session), max_age: maxAge };
    return this.#start(provider, browser, { return_to: returnTo, ...link });
  }

  async #start(
    provider: IdentityProvider,
    { cookie }: IdentityBrowser,
    purpose: Pick<PendingSignIn, 'return_to' | 'user_id' | 'session_hash' | 'max_age'>,
  ): Promise<string> {
    const { store, client, clock, metrics } = this.#dependencies;
    const state = randomText(43);
    const secrets = toSecrets(state, cookie, purpose.max_age);
    const url = await this.#recordFailure(provider, () => client.authorizationUrl(provider, secrets));
    metrics.recordIdentitySignIn(provider.id, 'started');
    await store.insertSignIn({
      state_hash: hashToken(state),
      browser_hash: hashToken(cookie),
      provider: provider.id,
      ...purpose,
      expires_at: clock.now() + SIGN_IN_MS,
    });
    return url;
  }

  /** The sign-in of a returning browser; each can be taken once. @throws login_expired */
  async take(
    provider: IdentityProvider,
    cookie: string | undefined,
    state: string | undefined,
  ): Promise<PendingSignIn> {
    const { store, clock } = this.#dependencies;
    if (cookie === undefined || state === undefined) throw new AppError('login_expired');
    const key = { state_hash: hashToken(state), browser_hash: hashToken(cookie), provider: provider.id };
    const taken = await store.takeSignIn(key, clock.now());
    if (taken === undefined) throw new AppError('login_expired');
    return taken;
  }

  /**
   * Finishes a sign-in taken by `take`: links the identity, or logs its account in.
   *
   * @throws access_denied, identity_rejected, identity_provider_unavailable, identity_domain, identity_unknown,
   *   identity_taken, login_expired, account_disabled, username_taken
   */
  async complete(
    provider: IdentityProvider,
    pending: PendingSignIn,
    query: URLSearchParams,
    browser: IdentityBrowser,
    origin: RequestOrigin,
  ): Promise<IdentityOutcome> {
    const outcome = await this.#recordFailure(provider, () =>
      this.#complete(provider, pending, query, browser, origin),
    );
    this.#dependencies.metrics.recordIdentitySignIn(provider.id, outcome.step === 'linked' ? 'linked' : 'ok');
    return outcome;
  }

  /** Counts and logs a failure; the person sees its text only. */
  async #recordFailure<R>(provider: IdentityProvider, work: () => Promise<R>): Promise<R> {
    const { metrics, log } = this.#dependencies;
    try {
      return await work();
    } catch (error) {
      const code = isAppError(error) ? error.code : 'internal_error';
      metrics.recordIdentitySignIn(provider.id, code);
      const details = isAppError(error) ? error.options.log : undefined;
      log.warn({ provider: provider.id, code, ...details }, 'a sign-in at an identity provider failed');
      throw error;
    }
  }

  async #complete(
    provider: IdentityProvider,
    pending: PendingSignIn,
    query: URLSearchParams,
    { cookie, client: loginClient }: IdentityBrowser,
    origin: RequestOrigin,
  ): Promise<IdentityOutcome> {
    const { client, database, logins } = this.#dependencies;
    const state = query.get('state') ?? '';
    const identity = await client.redeem(provider, query, toSecrets(state, cookie, pending.max_age));
    assertAllowedDomain(provider, identity);
    if (pending.user_id !== null) {
      await this.#link(provider, pending, pending.user_id, identity, loginClient.session, origin);
      return { step: 'linked' };
    }
    const { userId, isNew } = await database.transaction((trx) => this.#findOrCreate(trx, provider, identity, origin));
    const login: IdentityLogin = { ...pick(identity), title: provider.title, isNew, returnTo: pending.return_to };
    return logins.logInVerified({
      userId,
      client: loginClient,
      hasSecondFactor: identity.hasSeveralFactors,
      purpose: { name: PURPOSE, subject: JSON.stringify(login) },
    });
  }

  /** The account of an identity, with its e-mail and role as the provider states them now. */
  async #findOrCreate(
    trx: Trx,
    provider: IdentityProvider,
    identity: VerifiedIdentity,
    origin: RequestOrigin,
  ): Promise<{ readonly userId: number; readonly isNew: boolean }> {
    const { store, accountStore, userAdministration, organizations } = this.#dependencies;
    const known = await store.find(identity, trx);
    if (known === undefined && provider.auto_create !== true) throw new AppError('identity_unknown');
    const userId = known?.user_id ?? (await this.#create(trx, provider, identity, origin));
    const account = await accountStore.lock(trx, userId);
    if (account === undefined) throw new AppError('login_expired');
    if (known !== undefined) await store.updateEmail(trx, known.id, toStoredEmail(identity));
    if (identity.isAdmin !== undefined && account.status === ENABLED)
      await userAdministration.mapRole(trx, account, identity.isAdmin, provider.id, origin);
    if (provider.organizations !== undefined && account.status === ENABLED)
      await organizations.mapMemberships(
        trx,
        userId,
        { provider: provider.id, granted: identity.organizations },
        origin,
      );
    return { userId, isNew: known === undefined };
  }

  async #create(
    trx: Trx,
    provider: IdentityProvider,
    identity: VerifiedIdentity,
    origin: RequestOrigin,
  ): Promise<number> {
    const { users, auditLog } = this.#dependencies;
    const { verifiedEmail, name } = identity;
    const userId = await users.createWithoutPassword(trx, {
      username: identity.username ?? verifiedEmail ?? `${provider.id}-user`,
      displayName: name && toPlainText(name),
      verifiedEmail,
      plan: provider.plan,
    });
    if (!(await this.#insert(trx, provider, identity, userId))) throw new AppError('login_expired');
    await auditLog.record(trx, {
      actorId: userId,
      action: 'self.identity-create',
      target: `user:${userId}`,
      after: toAuditDetails(provider.id, identity),
      ...origin,
    });
    return userId;
  }

  #insert(trx: Trx, provider: IdentityProvider, identity: VerifiedIdentity, userId: number): Promise<boolean> {
    const { store, clock } = this.#dependencies;
    return store.insert(trx, {
      user_id: userId,
      provider: provider.id,
      issuer: identity.issuer,
      sub: identity.sub,
      email: toStoredEmail(identity),
      created_at: clock.now(),
      last_used_at: null,
    });
  }

  /** Only for the session that started the link, which must not have ended since. */
  async #link(
    provider: IdentityProvider,
    pending: PendingSignIn,
    userId: number,
    identity: VerifiedIdentity,
    session: string | undefined,
    origin: RequestOrigin,
  ): Promise<void> {
    const { database, store, accountStore, sessions, credentials, auditLog, notifier } = this.#dependencies;
    const row = session === undefined ? undefined : await sessions.find(session);
    if (session === undefined || row?.user_id !== userId || hashToken(session) !== pending.session_hash)
      throw new AppError('login_expired');
    await database.transaction(async (trx) => {
      const account = await accountStore.lock(trx, userId);
      if (account?.status !== ENABLED) throw new AppError('login_expired');
      const caller = { kind: 'session', userId, role: row.role, sessionId: row.id } as const;
      if ((await credentials.findCreatedAt(caller, trx)) === undefined) throw new AppError('login_expired');
      if (!(await this.#insert(trx, provider, identity, userId))) {
        if ((await store.find(identity, trx))?.user_id !== userId) throw new AppError('identity_taken');
        return;
      }
      await auditLog.record(trx, {
        actorId: userId,
        action: 'self.identity-add',
        target: `user:${userId}`,
        after: toAuditDetails(provider.id, identity),
        ...origin,
      });
      await notifier.notify(trx, toNotice(userId, 'added', provider.title));
    });
  }

  /** In the transaction that starts the session; the identity may have been unlinked since. */
  async #recordLogin(trx: Trx, login: IdentityLogin, account: Account, started: StartedLogin): Promise<void> {
    const { store, notifier, claimDeviceCode, clock } = this.#dependencies;
    const now = clock.now();
    if (!(await store.recordUse(trx, login, account.id, now))) throw new AppError('login_expired');
    const { issuer, sub, sid = null } = login;
    await store.insertSession(trx, {
      session_hash: started.sessionHash,
      user_id: account.id,
      issuer,
      sub,
      sid,
      created_at: now,
    });
    await claimDeviceCode(trx, login.returnTo, account.id);
    if (!started.isKnownSource && !login.isNew)
      await notifier.notify(trx, toNotice(account.id, 'signedIn', login.title));
  }

  list(userId: number): Promise<IdentityRow[]> {
    return this.#dependencies.store.list(userId);
  }

  /** Unlinks an identity and ends the other sessions it started. @throws not_exist, last_way_in */
  async remove(caller: AccountCaller, id: number, session: string | undefined, origin: RequestOrigin): Promise<void> {
    const { database, store, accountStore, sessions, waysIn, auditLog, notifier } = this.#dependencies;
    const { userId } = caller;
    await database.transaction(async (trx) => {
      const account = await accountStore.lock(trx, userId);
      const removed = account && (await store.remove(trx, userId, id));
      if (account === undefined || removed === undefined) throw notExistError('identity');
      await waysIn.assertSomeLeft(trx, account);
      const own = session === undefined ? '' : hashToken(session);
      const started = await store.takeSessions(trx, { issuer: removed.issuer, sub: removed.sub });
      const others = started.filter((each) => each !== own);
      await sessions.endByHashes(trx, others, 'signed_out_elsewhere');
      await auditLog.record(trx, {
        actorId: userId,
        action: 'self.identity-remove',
        target: `user:${userId}`,
        before: toAuditDetails(removed.provider, removed),
        ...origin,
      });
      await notifier.notify(trx, toNotice(userId, 'removed', this.#titleOf(removed.provider)));
    });
  }

  /**
   * Ends the sessions that a logout token names, and the logins whose second step is outstanding.
   *
   * @throws identity_rejected, identity_provider_unavailable
   */
  async logOut(provider: IdentityProvider, token: string): Promise<void> {
    const { client, database, store, logins, sessions, clock, metrics } = this.#dependencies;
    const { issuer, sub, sid, jti } = await client.verifyLogoutToken(provider, token);
    await database.transaction(async (trx) => {
      // Longer than the token is accepted, so that it is never forgotten while it works.
      const expiresAt = clock.now() + 2 * LOGOUT_TOKEN_SECONDS * 1000;
      if (!(await store.useLogoutToken(trx, { issuer, jti, expires_at: expiresAt })))
        throw new AppError('identity_rejected', { log: { why: 'a logout token was used twice' } });
      const ended = { issuer, sub, sid };
      // First, so that a second step completed meanwhile is among the sessions.
      await logins.endPending(trx, PURPOSE, (subject) => isNamed(JSON.parse(subject), ended));
      await sessions.endByHashes(trx, await store.takeSessions(trx, ended), 'signed_out_by_provider');
    });
    metrics.recordIdentitySignIn(provider.id, 'signed_out');
  }

  deleteExpired(): Promise<void> {
    return this.#dependencies.store.deleteExpired(this.#dependencies.clock.now());
  }

  /** Identities of an account whose provider is still configured. */
  async #usable(db: Executor, userId: number): Promise<readonly IdentityRow[]> {
    const ids = new Set(this.#dependencies.providers.current().map(({ id }) => id));
    return (await this.#dependencies.store.list(userId, db)).filter(({ provider }) => ids.has(provider));
  }

  #titleOf(id: string): string {
    return this.#dependencies.providers.current().find((each) => each.id === id)?.title ?? id;
  }
}

const pick = ({ issuer, sub, sid }: VerifiedIdentity) => ({ issuer, sub, sid });

/** Whether a logout token names the sign-in of a login. */
const isNamed = (login: IdentityLogin, { issuer, sub, sid }: EndedSessions): boolean =>
  login.issuer === issuer && (sub === undefined || login.sub === sub) && (sid === undefined || login.sid === sid);

/** Derived from `state`, which is in the URL, and the cookie, which only this browser has: nothing secret is stored. */
function toSecrets(state: string, cookie: string, maxAge: number | null): SignInSecrets {
  const derive = (use: string): string => hash('sha256', `${use}:${state}:${cookie}`, 'base64url');
  return { state, nonce: derive('nonce'), codeVerifier: derive('verifier'), maxAge: maxAge ?? undefined };
}

/** An address counts for its domain only if the provider has verified it. @throws identity_domain */
function assertAllowedDomain(
  { allowed_domains: domains }: IdentityProvider,
  { verifiedEmail }: VerifiedIdentity,
): void {
  if (domains === undefined) return;
  const domain = verifiedEmail?.slice(verifiedEmail.lastIndexOf('@') + 1);
  if (domain === undefined || !domains.includes(domain)) throw new AppError('identity_domain');
}

const toStoredEmail = ({ email }: Pick<VerifiedIdentity, 'email'>): string | null =>
  email?.slice(0, MAX_EMAIL_LENGTH) ?? null;

/** Without characters that could disguise text beside it. */
const toPlainText = (name: string): string | undefined =>
  truncateCodePoints(name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim(), DISPLAY_NAME_LENGTH) || undefined;

const toAuditDetails = (provider: string, { issuer, sub }: { readonly issuer: string; readonly sub: string }) => ({
  provider,
  issuer,
  sub,
});

const NOTICES = {
  added: {
    title: {
      en: (title: string) => `You can now sign in with ${title}`,
      'zh-CN': (title: string) => `已可使用 ${title} 登录`,
    },
    content: {
      en: 'This sign-in method was added to your account. If it was not you, remove it now and change your password.',
      'zh-CN': '您的账号已添加此登录方式。如果不是您本人操作，请立即移除并更改密码。',
    },
  },
  removed: {
    title: {
      en: (title: string) => `${title} was removed from your sign-in methods`,
      'zh-CN': (title: string) => `已移除登录方式 ${title}`,
    },
    content: {
      en: 'Other browsers that had signed in with it were signed out.',
      'zh-CN': '通过它登录的其他浏览器已退出登录。',
    },
  },
  signedIn: {
    title: {
      en: (title: string) => `New sign-in with ${title}`,
      'zh-CN': (title: string) => `通过 ${title} 的新登录`,
    },
    content: {
      en: 'Your account was signed in to from a device and network it had not been used from before.',
      'zh-CN': '您的账号在一台未曾使用过的设备和网络上登录。',
    },
  },
} as const;

function toNotice(userId: number, change: keyof typeof NOTICES, providerTitle: string): Notice {
  const { title, content } = NOTICES[change];
  return {
    userId,
    topic: 'security',
    type: 'system',
    title: { en: title.en(providerTitle), 'zh-CN': title['zh-CN'](providerTitle) },
    content,
    targetUrl: '/account/security',
  };
}
