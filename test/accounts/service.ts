import { randomBytes } from 'node:crypto';
import { type Accounts, type AccountsParts, makeAccounts } from '../../src/server/accounts/accounts.ts';
import { PENDING_MS } from '../../src/server/accounts/logins.ts';
import { addAccountRoutes } from '../../src/server/accounts/routes.ts';
import { SESSION_MS } from '../../src/server/accounts/sessions.ts';
import { makeAddressOf } from '../../src/server/platform/address.ts';
import { type HandClock, handClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { makeHttp } from '../../src/server/platform/http/server.ts';
import { makeSessionCookies, renewSessionCookies } from '../../src/server/platform/http/session-cookie.ts';
import { makeLimits } from '../../src/server/platform/limits/limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/door.ts';
import { makeVault } from '../../src/server/platform/secrets.ts';
import { makeQuota } from '../../src/server/quota/service.ts';
import { QuotaStore } from '../../src/server/quota/store.ts';
import type { Tables } from '../../src/server/tables.ts';
import { Person } from './person.ts';

export const ROOT = { username: 'root', password: 'root-password-1' };

export interface Service {
  readonly accounts: Accounts;
  readonly clock: HandClock;
  readonly database: Database<Tables>;
  readonly fastify: Awaited<ReturnType<typeof makeHttp>>['fastify'];
  readonly routes: Awaited<ReturnType<typeof makeHttp>>['routes'];
  /** What the first start showed on stderr. */
  readonly shown: string[];
  /** Somebody with an empty cookie jar. */
  visitor(address?: string): Person;
  /** Registers and logs in. */
  person(username: string): Promise<Person>;
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly config?: Partial<AccountsParts['config']>;
  readonly parts?: Partial<AccountsParts>;
  readonly secure?: boolean;
  readonly clock?: HandClock;
}

/** Accounts behind the real HTTP layer, on a database of the test's. */
export async function startService(database: Database<Tables>, options: ServiceOptions = {}): Promise<Service> {
  const clock = options.clock ?? handClock();
  const log = openLog('silent');
  const quota = makeQuota(new QuotaStore(database), clock);
  const accounts = makeAccounts({
    config: {
      apiUserHeader: 'service-api-user',
      registration: 'open',
      newUserQuota: 0,
      adminUsername: ROOT.username,
      adminPassword: ROOT.password,
      phoneDriver: 'log',
      phoneHttpUrl: undefined,
      messagingVerifyUrl: undefined,
      ...options.config,
    },
    database,
    clock,
    log,
    vault: makeVault(randomBytes(32)),
    limits: makeLimits({ clock }),
    quota,
    outbound: openOutbound(),
    ...options.parts,
  });
  const { fastify, routes } = await makeHttp({
    log,
    authenticator: accounts.authenticator,
    defaultLocale: 'en',
    hosts: [],
    addressOf: makeAddressOf([]),
  });
  const cookies = makeSessionCookies({
    secure: options.secure ?? false,
    sessionSeconds: SESSION_MS / 1000,
    pendingSeconds: PENDING_MS / 1000,
  });
  renewSessionCookies(fastify, cookies);
  addAccountRoutes(routes, { accounts, cookies });
  const shown: string[] = [];
  await accounts.start((line) => shown.push(line));
  const visitor = (address = '127.0.0.1') => new Person(fastify, address);
  return {
    accounts,
    clock,
    database,
    fastify,
    routes,
    shown,
    visitor,
    async person(username) {
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
