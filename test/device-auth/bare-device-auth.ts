import { TokenStore } from '../../src/server/accounts/tokens.ts';
import type { RevokedAuthorization } from '../../src/server/device-auth/authorization-store.ts';
import { type DeviceAuth, makeDeviceAccess, makeDeviceAuth } from '../../src/server/device-auth/module.ts';
import type { Notice } from '../../src/server/notifications/notifier.ts';
import { OrganizationStore } from '../../src/server/organizations/organization-store.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { createMetrics } from '../../src/server/platform/metrics.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService } from '../../src/server/quota/ledger-service.ts';
import type { Tables } from '../../src/server/tables.ts';
import { type AccountsFixture, startAccounts } from '../accounts/accounts-fixture.ts';

/** Device authorization and accounts without the HTTP layer, which would refuse many of the requests earlier. */
export interface DeviceAuthWithoutHttp extends DeviceAuth {
  readonly accounts: AccountsFixture;
  /** Notices sent to owners. */
  readonly notices: readonly Notice[];
  /** A list for each announced revocation. */
  readonly revocations: readonly (readonly RevokedAuthorization[])[];
}

/** Starts device authorization on the database, with high code limits. */
export async function startBareDeviceAuth(database: Database<Tables>): Promise<DeviceAuthWithoutHttp> {
  const accounts = await startAccounts(database);
  const { clock } = accounts;
  const notices: Notice[] = [];
  const revocations: (readonly RevokedAuthorization[])[] = [];
  const deviceAccess = makeDeviceAccess({
    database,
    clock,
    log: openLog('silent'),
    tokens: new TokenStore(database),
    onRevoked: async (_trx, revoked) => {
      revocations.push(revoked);
    },
  });
  const deviceAuth = makeDeviceAuth({
    codesPerIp: () => 50,
    codeLimits: { perIp: 100, pendingPerIp: 100, perClient: 100 },
    config: {
      deviceCodeTtlSeconds: 600,
      refreshReuseWindowSeconds: 60,
    },
    metrics: createMetrics('test'),
    database,
    clock,
    limits: createRateLimits({ clock }),
    notifier: {
      notify: async (_trx, notice) => {
        notices.push(notice);
      },
    },
    deviceAccess,
    memberships: new OrganizationStore(database),
    accounts: accounts.accounts,
    outbound: { requestUntrusted: () => Promise.reject(new Error('no document is fetched')) },
    acceptsMetadata: () => false,
    ledger: new LedgerService({ store: new LedgerStore(database), clock }),
  });
  return { ...deviceAuth, accounts, notices, revocations };
}
