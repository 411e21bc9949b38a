import { randomBytes } from 'node:crypto';
import { PENDING_LOGIN_MS } from '../../src/server/accounts/login-service.ts';
import { type Accounts, type AccountsDependencies, makeAccounts } from '../../src/server/accounts/module.ts';
import { addAccountRoutes } from '../../src/server/accounts/routes.ts';
import { SESSION_MS } from '../../src/server/accounts/sessions.ts';
import { createClientIpResolver } from '../../src/server/platform/client-ip.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { createLoginCookies, renewSessionCookies } from '../../src/server/platform/http/login-cookies.ts';
import { createHttpServer } from '../../src/server/platform/http/server.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { createMetrics } from '../../src/server/platform/metrics.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService } from '../../src/server/quota/ledger-service.ts';
import type { Tables } from '../../src/server/tables.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import { checkResponses } from '../openapi-response-check.ts';
import { TestUser } from './test-user-client.ts';

export const ROOT = { username: 'root', password: 'root-password-1' };

/** Accounts behind the real HTTP layer, with the parts a test controls. */
export interface AccountsFixture {
  readonly accounts: Accounts;
  readonly clock: ManualClock;
  readonly database: Database<Tables>;
  readonly fastify: Awaited<ReturnType<typeof createHttpServer>>['fastify'];
  readonly routes: Awaited<ReturnType<typeof createHttpServer>>['routes'];
  /** Lines the first start printed to stderr. */
  readonly printed: string[];
  /** A client with an empty cookie jar. */
  anonymous(address?: string): TestUser;
  /** Registers and logs in. */
  newUser(username: string): Promise<TestUser>;
  close(): Promise<void>;
}

/** Overrides of the accounts' configuration and dependencies. */
export interface AccountsFixtureOptions {
  readonly config?: Partial<AccountsDependencies['config']>;
  readonly settings?: Partial<ReturnType<AccountsDependencies['settings']['current']>>;
  readonly dependencies?: Partial<AccountsDependencies>;
  readonly secure?: boolean;
  readonly clock?: ManualClock;
}

/** Accounts behind the real HTTP layer, on the test's own database. */
export async function startAccounts(
  database: Database<Tables>,
  options: AccountsFixtureOptions = {},
): Promise<AccountsFixture> {
  const clock = options.clock ?? manualClock();
  const log = openLog('silent');
  const ledger = new LedgerService({ store: new LedgerStore(database), clock });
  const accounts = makeAccounts({
    config: {
      baseUrl: 'http://127.0.0.1',
      apiUserHeader: 'service-api-user',
      keyRequestsPerMinute: 0,
      adminUsername: ROOT.username,
      adminPassword: ROOT.password,
      ...options.config,
    },
    settings: {
      current: () => ({
        registration: 'open',
        requireSecondFactor: 'off',
        siteName: 'Reelgate',
        newUserQuota: 0,
        newUserPlan: undefined,
        passwordSignIn: true,
        phoneHttpUrl: undefined,
        messagingVerifyUrl: undefined,
        ...options.settings,
      }),
    },
    metrics: createMetrics('test'),
    database,
    clock,
    log,
    vault: createVault(randomBytes(32)),
    masterKey: randomBytes(32),
    limits: createRateLimits({ clock }),
    ledger,
    outbound: openOutbound(),
    passwordCost: CHEAP_PASSWORD_HASHING,
    notifier: { notify: async () => {} },
    mailer: { isEnabled: false, registerKind: () => {}, isScheduled: async () => false, enqueue: async () => false },
    findPlan: async () => ({ code: 'none', expiresAt: 0 }),
    givePlan: async () => false,
    deviceTokens: { find: async () => undefined, recordUse: () => {} },
    memberships: {
      find: async () => undefined,
      findById: async () => undefined,
      lock: async () => false,
      listOf: async () => [],
      assertNotLastOwner: async () => {},
    },
    linkedLogins: [],
    standingAccess: [],
    identities: { revokeAll: async () => {} },
    ...options.dependencies,
  });
  const { fastify, routes } = await createHttpServer({
    log,
    authenticator: accounts.authenticator,
    defaultLocale: 'en',
    baseUrl: 'http://127.0.0.1',
    corsOrigins: [],
    maxConnectionsPerIp: 0,
    isTrustedProxy: () => false,
    clientIpOf: createClientIpResolver([]),
  });
  const cookies = createLoginCookies({
    secure: options.secure ?? false,
    sessionSeconds: SESSION_MS / 1000,
    pendingSeconds: PENDING_LOGIN_MS / 1000,
  });
  renewSessionCookies(fastify, cookies);
  addAccountRoutes(routes, { accounts, cookies });
  checkResponses(routes.endpoints);
  const shown: string[] = [];
  await accounts.createFirstAdministrator((line) => shown.push(line));
  const visitor = (address = '127.0.0.1') => new TestUser(fastify, address);
  return {
    accounts,
    clock,
    database,
    fastify,
    routes,
    printed: shown,
    anonymous: visitor,
    async newUser(username) {
      const person = visitor();
      await person.register(username);
      await person.logIn(username);
      return person;
    },
    async close() {
      await fastify.close();
      await accounts.close();
    },
  };
}
