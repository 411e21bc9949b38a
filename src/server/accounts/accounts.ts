import type { Page } from '../../contract/schemas.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Authenticator } from '../platform/http/caller.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Log } from '../platform/log.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { Vault } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { type Administration, makeAdministration } from './administration.ts';
import type { Audit } from './audit.ts';
import { type AuditFilter, listAudit, makeAudit } from './audit-store.ts';
import { type DeviceTokens, makeAuthenticator } from './authenticator.ts';
import { type Bindings, makeBindings } from './bindings.ts';
import { makeBudgets } from './budgets.ts';
import { httpMessagingVerifier, httpPhoneDriver, logPhoneDriver } from './couriers.ts';
import { type EndLogins, type EndsWithAccount, makeEndLogins } from './ending.ts';
import { makeFirstAdministrator } from './first-start.ts';
import { makeLastUse } from './last-use.ts';
import { type Logins, makeLogins } from './logins.ts';
import { makePasswords, type Passwords } from './passwords.ts';
import { makePeople, type People, type PlanOf } from './people.ts';
import { makeSecurityNotices } from './security-notices.ts';
import { makeSessions, type Sessions } from './sessions.ts';
import { makeSettings, type Settings } from './settings.ts';
import { makeStanding, type Standing } from './standing.ts';
import { makeTokens, type Tokens } from './tokens.ts';
import { makeTwoFactors, type TwoFactors } from './two-factor.ts';
import { makeUserTokens, type UserTokens } from './user-tokens.ts';

export interface AccountsConfig {
  readonly apiUserHeader: string;
  readonly registration: 'open' | 'closed';
  readonly newUserQuota: number;
  readonly adminUsername: string;
  readonly adminPassword: string | undefined;
  readonly phoneDriver: 'log' | 'http';
  readonly phoneHttpUrl: string | undefined;
  readonly messagingVerifyUrl: string | undefined;
}

export interface AccountsParts {
  readonly config: AccountsConfig;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly vault: Vault;
  readonly limits: Limits;
  readonly outbound: Outbound;
  readonly quota: Quota;
  /** Device sign-ins: their access_tokens, and what ends them with the account. */
  readonly deviceTokens?: DeviceTokens;
  readonly endsWithAccount?: readonly EndsWithAccount[];
  /** Tells owners of changes to how they log in. */
  readonly notifier?: Notifier;
  /** Without packages every account is on the plan `none`. */
  readonly planOf?: PlanOf;
}

/** What accounts offer the other capabilities and app.ts. */
export interface Accounts {
  readonly authenticator: Authenticator;
  readonly audit: Audit;
  readonly logins: Logins;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly userTokens: UserTokens;
  readonly twoFactors: TwoFactors;
  readonly people: People;
  readonly bindings: Bindings;
  readonly settings: Settings;
  readonly administration: Administration;
  /** Audit entries, newest first. */
  auditLog(filter: AuditFilter, page: Page): ReturnType<typeof listAudit>;
  readonly passwords: Passwords;
  readonly endLogins: EndLogins;
  readonly standing: Standing;
  /** Makes the first root account where there has never been one; call it before listening. */
  start(show: (line: string) => void): Promise<void>;
  /** Removes what has expired. */
  sweep(): Promise<void>;
  /** Writes now when tokens were last used. */
  flush(): Promise<void>;
  /** Writes what is still to be written, and stops. */
  close(): Promise<void>;
}

const NO_PLAN: PlanOf = async () => ({ code: 'none', expiresAt: 0 });

/** Puts the parts of this capability together. */
export function makeAccounts(parts: AccountsParts): Accounts {
  const { config, database, clock, log, vault, quota, outbound } = parts;
  const audit = makeAudit(clock);
  const passwords = makePasswords();
  const budgets = makeBudgets(parts.limits);
  const sessions = makeSessions(database, clock);
  const lastUse = makeLastUse(database, clock, log);
  const notice = makeSecurityNotices(parts.notifier);
  const standing = makeStanding(database);
  const endLogins = makeEndLogins(sessions, parts.endsWithAccount ?? []);
  const twoFactors = makeTwoFactors({ database, clock, vault, budgets, audit, endLogins, notice });
  const logins = makeLogins({ database, clock, passwords, budgets, sessions, twoFactors });
  const people = makePeople({
    database,
    clock,
    passwords,
    budgets,
    logins,
    quota,
    audit,
    endLogins,
    notice,
    planOf: parts.planOf ?? NO_PLAN,
    registration: config.registration,
    newUserQuota: config.newUserQuota,
  });
  const authenticator = makeAuthenticator({
    database,
    clock,
    sessions,
    lastUse,
    userHeader: config.apiUserHeader,
    ...(parts.deviceTokens === undefined ? {} : { deviceTokens: parts.deviceTokens }),
  });
  return {
    authenticator,
    audit,
    logins,
    sessions,
    tokens: makeTokens(database, clock, quota),
    userTokens: makeUserTokens(database, clock, audit, notice),
    twoFactors,
    people,
    bindings: makeBindings({
      database,
      clock,
      vault,
      budgets,
      audit,
      phone:
        config.phoneDriver === 'http' && config.phoneHttpUrl !== undefined
          ? httpPhoneDriver(outbound, config.phoneHttpUrl)
          : logPhoneDriver(log),
      messaging: httpMessagingVerifier(outbound, config.messagingVerifyUrl),
    }),
    settings: makeSettings(database),
    administration: makeAdministration({
      database,
      clock,
      people,
      passwords,
      quota,
      audit,
      endLogins,
      notice,
      sessions,
      standing,
    }),
    auditLog: (filter, page) => listAudit(database.kysely, filter, page),
    passwords,
    endLogins,
    standing,
    start: (show) =>
      makeFirstAdministrator({
        database,
        clock,
        passwords,
        quota,
        adminUsername: config.adminUsername,
        adminPassword: config.adminPassword,
        show,
      }),
    async sweep() {
      await sessions.removeExpired();
      await logins.removeExpired();
    },
    flush: () => lastUse.flush(),
    close: () => lastUse.close(),
  };
}
