import type { LongPage } from '../../contract/responses.ts';
import type { Mailer } from '../mail/mail-queue.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { PeriodicWriter } from '../platform/concurrency.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { Authenticator } from '../platform/http/route-registry.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Vault } from '../platform/vault.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { AccountAccess, AccountStore } from './account-store.ts';
import { createFirstAdministrator } from './administrator-access.ts';
import { type AuditFilter, type AuditLog, AuditStore } from './audit-log.ts';
import {
  BindingService,
  BindingStore,
  HttpMessagingAccountLookup,
  HttpPhoneSender,
  LogPhoneSender,
  type PhoneCodeSender,
} from './bindings.ts';
import { CredentialRevocationWatch } from './credential-watch.ts';
import { EmailConfirmationService, EmailLinkIssuer, EmailTokenStore, PasswordResetService } from './email.ts';
import { KeyRotation } from './key-rotation.ts';
import { LoginHistory, LoginHistoryStore, LoginService, PresenceCheck } from './login-service.ts';
import type { Memberships } from './memberships.ts';
import { OwnAccountService } from './own-account.ts';
import { PasskeyChallenges, PasskeyService, PasskeyStore, RelyingParty } from './passkeys.ts';
import { type PasswordCost, PasswordHasher } from './passwords.ts';
import { AccountRateLimits, defineKeyLimit, KnownSourceStore, KnownSources } from './rate-limits.ts';
import { type FindPlan, type GivePlan, RegistrationService } from './registration.ts';
import { type DeviceAccessTokens, RequestAuthenticator } from './request-authenticator.ts';
import { SecondFactors } from './second-factors.ts';
import { SecurityNotices } from './security-notices.ts';
import {
  CredentialRecheck,
  type LinkedLogins,
  LoginRevocation,
  ManagementTokenService,
  ManagementTokenStore,
  PendingLoginStore,
  SessionService,
  SessionStore,
} from './sessions.ts';
import { TokenService, TokenStore } from './tokens.ts';
import { TwoFactorService, TwoFactorStore } from './two-factor.ts';
import { UserAdminService } from './user-admin.ts';
import { WaysIn } from './ways-in.ts';

interface AccountsConfig {
  readonly baseUrl: string;
  readonly apiUserHeader: string;
  readonly keyRequestsPerMinute: number;
  readonly adminUsername: string;
  readonly adminPassword: string | undefined;
}

type AccountsSettings = Pick<
  SiteSettings,
  | 'registration'
  | 'requireSecondFactor'
  | 'newUserQuota'
  | 'newUserPlan'
  | 'phoneHttpUrl'
  | 'messagingVerifyUrl'
  | 'siteName'
  | 'passwordSignIn'
>;

/** Dependencies of the accounts capability. */
export interface AccountsDependencies {
  readonly config: AccountsConfig;
  readonly settings: Live<AccountsSettings>;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly vault: Vault;
  readonly masterKey: Buffer;
  readonly limits: RateLimits;
  readonly metrics: Pick<Metrics, 'recordPasskeyUse'>;
  readonly outbound: OutboundClient;
  readonly ledger: Ledger;
  readonly notifier: Notifier;
  readonly mailer: Mailer;
  readonly findPlan: FindPlan;
  readonly givePlan: GivePlan;
  /** Verifies access_tokens of device sign-ins. */
  readonly deviceTokens: DeviceAccessTokens;
  readonly memberships: Memberships;
  /** Cost of new password hashes; default `PASSWORD_COST`. */
  readonly passwordCost?: PasswordCost;
  /** Logins of other capabilities that end with an account's sessions. */
  readonly linkedLogins: readonly LinkedLogins[];
  /** Access without a login that ends when the account's e-mail is confirmed for the first time. */
  readonly standingAccess: readonly LinkedLogins[];
  /** Linked identities, which must end with the other access prepared before an address was confirmed. */
  readonly identities: LinkedLogins;
}

/** The part of this capability that other capabilities and app.ts use. */
export interface Accounts {
  readonly authenticator: Authenticator & Pick<RequestAuthenticator, 'callerOf'>;
  readonly access: AccountAccess;
  /** Ends long responses when the credential they were opened with ends. */
  readonly credentialWatch: CredentialRevocationWatch;
  readonly auditLog: AuditLog;
  readonly bindings: BindingService;
  readonly credentials: CredentialRecheck;
  readonly emailConfirmations: EmailConfirmationService;
  readonly passwordResets: PasswordResetService;
  readonly loginHistory: LoginHistory;
  readonly logins: LoginService;
  readonly managementTokens: ManagementTokenService;
  readonly ownAccount: OwnAccountService;
  readonly passkeys: PasskeyService;
  readonly passwords: PasswordHasher;
  /** Checks that the owner of a session is present before it adds another way in. */
  readonly presence: PresenceCheck;
  readonly relyingParty: RelyingParty;
  readonly secondFactors: SecondFactors;
  readonly sessions: SessionService;
  readonly waysIn: WaysIn;
  readonly rotation: KeyRotation;
  readonly tokens: TokenService;
  readonly twoFactors: TwoFactorService;
  readonly userAdministration: UserAdminService;
  readonly users: RegistrationService;
  /** Audit entries, newest first. */
  listAuditLog(filter: AuditFilter, page: LongPage): ReturnType<AuditStore['list']>;
  /** Creates the first root account if there has never been one; call before listening. */
  createFirstAdministrator(printOnce: (text: string) => void): Promise<void>;
  /** Deletes expired rows. */
  removeExpired(): Promise<void>;
  /** Flushes pending writes and stops. */
  close(): Promise<void>;
}

/** Constructs the accounts capability. */
export function makeAccounts(dependencies: AccountsDependencies): Accounts {
  const { config, settings, database, clock, log, vault, ledger, outbound, deviceTokens, memberships, linkedLogins } =
    dependencies;
  const accounts = new AccountStore(database);
  const sessionStore = new SessionStore(database);
  const pendingLogins = new PendingLoginStore(database);
  const managementTokenStore = new ManagementTokenStore(database);
  const tokenStore = new TokenStore(database);
  const twoFactorStore = new TwoFactorStore(database);
  const bindingStore = new BindingStore(database);
  const auditLog = new AuditStore(database, clock);

  const access = new AccountAccess(accounts);
  const credentialWatch = new CredentialRevocationWatch({ database, clock, log });
  const notices = new SecurityNotices(dependencies.notifier);
  const rateLimits = new AccountRateLimits(dependencies.limits);
  const passwords = new PasswordHasher(dependencies.passwordCost);
  const sessions = new SessionService({ store: sessionStore, clock });
  const credentials = new CredentialRecheck({ sessions: sessionStore, managementTokens: managementTokenStore });
  const loginRevocation = new LoginRevocation({
    sessions: sessionStore,
    pendingLogins,
    managementTokens: managementTokenStore,
    linkedLogins,
    clock,
  });
  const loginHistory = new LoginHistory({ store: new LoginHistoryStore(database), clock, log });
  const knownSourceStore = new KnownSourceStore(database);
  const knownSources = new KnownSources({ store: knownSourceStore, sessions: sessionStore, clock });
  const shared = {
    database,
    accounts,
    clock,
    vault,
    rateLimits,
    auditLog,
    notices,
    passwords,
    ledger,
    loginRevocation,
    credentials,
  };
  const relyingParty = new RelyingParty(config.baseUrl);
  const rpId = relyingParty.isOn ? relyingParty.id : undefined;
  const waysIn = new WaysIn({ settings, rpId });
  const passkeyStore = new PasskeyStore(database);
  const challenges = new PasskeyChallenges(dependencies);
  const passkeys = new PasskeyService({
    ...shared,
    store: passkeyStore,
    relyingParty,
    challenges,
    metrics: dependencies.metrics,
    waysIn,
    settings,
  });
  const emailTokens = new EmailTokenStore(database);
  const links = new EmailLinkIssuer(emailTokens, config.baseUrl);
  const emails = { ...shared, tokens: emailTokens, links, mailer: dependencies.mailer };
  const emailConfirmations = new EmailConfirmationService({
    ...emails,
    keys: tokenStore,
    bindings: bindingStore,
    twoFactors: twoFactorStore,
    passkeys: passkeyStore,
    knownSources: knownSourceStore,
    standingAccess: dependencies.standingAccess,
    identities: dependencies.identities,
    waysIn,
    sessions,
  });
  const { baseUrl } = config;
  const twoFactors = new TwoFactorService({ ...shared, store: twoFactorStore, settings, baseUrl });
  const secondFactors = new SecondFactors({ database, settings, twoFactors, passkeys, waysIn });
  const logins = new LoginService({
    ...shared,
    pendingLogins,
    knownSources,
    loginHistory,
    sessions,
    twoFactors,
    passkeys,
    secondFactors,
    waysIn,
  });
  const users = new RegistrationService({
    ...shared,
    settings,
    bindings: bindingStore,
    twoFactors: twoFactorStore,
    emailConfirmations,
    findPlan: dependencies.findPlan,
    givePlan: dependencies.givePlan,
    log,
  });
  const phoneSender = (): PhoneCodeSender => {
    const { phoneHttpUrl } = settings.current();
    return phoneHttpUrl === undefined ? new LogPhoneSender(log) : new HttpPhoneSender(outbound, phoneHttpUrl);
  };
  const tokenUse = new PeriodicWriter<true>({
    log,
    subject: 'the last use of tokens',
    write: (batch) => tokenStore.recordUse([...batch.keys()], clock.now()),
  });
  const rotation = new KeyRotation(shared);
  const oldSecretUse = new PeriodicWriter<true>({
    log,
    subject: 'the last use of replaced secrets',
    write: (batch) => rotation.recordUse([...batch.keys()]),
  });
  return {
    authenticator: new RequestAuthenticator({
      accounts,
      sessions,
      managementTokens: managementTokenStore,
      tokens: tokenStore,
      tokenUse,
      oldSecretUse,
      deviceTokens,
      memberships,
      secondFactors,
      keyLimit: defineKeyLimit(dependencies.limits, config.keyRequestsPerMinute),
      clock,
      userHeader: config.apiUserHeader,
      baseUrl: config.baseUrl,
    }),
    access,
    credentialWatch,
    auditLog,
    bindings: new BindingService({
      ...shared,
      store: bindingStore,
      phoneSender: { send: (phone, code) => phoneSender().send(phone, code) },
      messaging: {
        verify: (code) => new HttpMessagingAccountLookup(outbound, settings.current().messagingVerifyUrl).verify(code),
      },
    }),
    credentials,
    emailConfirmations,
    passwordResets: new PasswordResetService({ ...emails, access }),
    loginHistory,
    logins,
    managementTokens: new ManagementTokenService({ ...shared, store: managementTokenStore }),
    ownAccount: new OwnAccountService({ ...shared, logins, emailConfirmations }),
    passkeys,
    passwords,
    presence: new PresenceCheck({
      database,
      logins,
      secondFactors,
      twoFactors,
      waysIn,
      sessions: sessionStore,
      clock,
    }),
    relyingParty,
    secondFactors,
    sessions,
    waysIn,
    rotation,
    tokens: new TokenService({ database, store: tokenStore, clock, ledger, rotation, memberships }),
    twoFactors,
    userAdministration: new UserAdminService({
      ...shared,
      access,
      users,
      sessions,
      sessionStore,
      tokens: tokenStore,
      memberships,
      twoFactors: twoFactorStore,
      passkeys: passkeyStore,
    }),
    users,
    listAuditLog: (filter, page) => auditLog.list(filter, page),
    createFirstAdministrator: (printOnce) =>
      createFirstAdministrator(
        {
          database,
          accounts,
          clock,
          passwords,
          ledger,
          username: config.adminUsername,
          password: config.adminPassword,
        },
        printOnce,
      ),
    async removeExpired() {
      await sessions.deleteExpired();
      await logins.deleteExpired();
      await emailTokens.deleteExpired(clock.now());
      await bindingStore.deleteExpiredCodes(clock.now());
      await rotation.deleteEnded();
      await challenges.deleteExpired();
    },
    async close() {
      credentialWatch.close();
      await tokenUse.close();
      await oldSecretUse.close();
      await loginHistory.close();
    },
  };
}
