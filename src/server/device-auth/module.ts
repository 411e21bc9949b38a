import type { OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { Accounts } from '../accounts/module.ts';
import type { DeviceAccessToken, DeviceAccessTokens } from '../accounts/request-authenticator.ts';
import type { LinkedLogins } from '../accounts/sessions.ts';
import type { TokenStore } from '../accounts/tokens.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { PeriodicWriter } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { AuthorizationStore, DeviceRevocation, type DeviceUse, type OnDevicesRevoked } from './authorization-store.ts';
import { ClientMetadataDocuments } from './client-metadata.ts';
import { ClientService, ClientStore, parseScopes } from './clients.ts';
import { DeviceCodeStore } from './code-store.ts';
import { ApprovalSecondStepCheck, DeviceCodeService, LOGIN_PURPOSE } from './codes.ts';
import { DevicesService } from './devices.ts';
import { GrantService } from './grants.ts';
import { type DeviceCodeLimits, DeviceRateLimits, toDeviceCodeLimits } from './rate-limits.ts';
import { DeviceTokenService } from './tokens.ts';

const DELETE_BATCH = 1_000;
/** How long an expired refresh_token is answered with "expired" instead of "invalid". */
const EXPIRED_REFRESH_RETENTION_MS = 30 * DAY_MS;

/** The access_token of a device sign-in, which has an llm_token for models. */
const DEVICE_TOKEN_SCOPES: readonly OauthScope[] = ['account'];

interface DeviceAccessDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tokens: Pick<TokenStore, 'revokeLlm'>;
  readonly onRevoked: OnDevicesRevoked;
}

/**
 * The part of this capability that accounts depend on: verification of access_tokens, and revocation with an account's
 * logins.
 */
interface DeviceAccess extends DeviceAccessTokens, LinkedLogins {
  readonly authorizations: AuthorizationStore;
  readonly codes: DeviceCodeStore;
  readonly revocation: DeviceRevocation;
  /** Flushes pending writes and stops. */
  close(): Promise<void>;
}

interface DeviceAuthConfig {
  readonly deviceCodeTtlSeconds: number;
  readonly refreshReuseWindowSeconds: number;
}

interface DeviceAuthDependencies {
  readonly config: DeviceAuthConfig;
  /** The setting `DEVICE_CODES_PER_ADDRESS`. */
  readonly codesPerIp: () => number;
  /** Overrides parts of the limits; used by tests. */
  readonly codeLimits?: Partial<DeviceCodeLimits>;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly limits: RateLimits;
  readonly metrics: Pick<Metrics, 'recordTokenRequest'>;
  readonly notifier: Notifier;
  readonly deviceAccess: DeviceAccess;
  readonly memberships: Memberships;
  readonly accounts: Pick<Accounts, 'access' | 'auditLog' | 'credentials' | 'logins' | 'secondFactors' | 'tokens'>;
  readonly outbound: Pick<OutboundClient, 'requestUntrusted'>;
  /** The setting `OAUTH_CLIENT_METADATA`. */
  readonly acceptsMetadata: () => boolean;
  readonly ledger: Pick<Ledger, 'setSpendLimit' | 'spendLimits'>;
}

/** The part of this capability that its own routes and app.ts use. */
export interface DeviceAuth {
  readonly memberships: Pick<Memberships, 'listOf'>;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly clients: ClientService;
  readonly codes: DeviceCodeService;
  readonly codeStore: DeviceCodeStore;
  readonly devices: DevicesService;
  readonly deviceTokens: DeviceTokenService;
  readonly grants: GrantService;
  readonly rateLimits: DeviceRateLimits;
  readonly revocation: DeviceRevocation;
  /** Deletes expired rows. */
  removeExpired(): Promise<void>;
}

/** Constructs the part of this capability that accounts need; called before accounts are constructed. */
export function makeDeviceAccess({ database, clock, log, tokens, onRevoked }: DeviceAccessDependencies): DeviceAccess {
  const authorizations = new AuthorizationStore(database);
  const codes = new DeviceCodeStore(database);
  const revocation = new DeviceRevocation({ authorizations, codes, tokens, clock, onRevoked });
  const use = new PeriodicWriter<DeviceUse>({
    log,
    subject: 'the last use of devices',
    write: (batch) => authorizations.recordUse(batch),
  });
  return {
    authorizations,
    codes,
    revocation,
    async find(tokenHash): Promise<DeviceAccessToken | undefined> {
      const row = await authorizations.findByAccessToken(tokenHash);
      return (
        row && {
          userId: row.user_id,
          authorizationId: row.id,
          expiresAt: row.access_expires_at,
          scopes: row.scopes === null ? DEVICE_TOKEN_SCOPES : parseScopes(row.scopes),
          audience: row.audience ?? 'api',
          modelTokenId: row.llm_token_id,
          ...defined({ organizationId: row.organization_id ?? undefined }),
        }
      );
    },
    recordUse: (authorizationId, address) => use.record(authorizationId, { at: clock.now(), address }),
    revokeAll: (trx, userId) => revocation.revokeAll(trx, userId),
    close: () => use.close(),
  };
}

/** Constructs the device authorization capability. */
export function makeDeviceAuth(dependencies: DeviceAuthDependencies): DeviceAuth {
  const { config, database, clock, metrics, notifier, accounts, deviceAccess, memberships, ledger } = dependencies;
  const { authorizations, codes: codeStore, revocation } = deviceAccess;
  const codeLimits = () => ({ ...toDeviceCodeLimits(dependencies.codesPerIp()), ...dependencies.codeLimits });
  const rateLimits = new DeviceRateLimits(dependencies.limits, codeLimits);
  const documents = new ClientMetadataDocuments({
    outbound: dependencies.outbound,
    clock,
    rateLimits,
    isEnabled: dependencies.acceptsMetadata,
  });
  const clients = new ClientService({ ...accounts, database, store: new ClientStore(database), clock, documents });
  const approvalCheck = new ApprovalSecondStepCheck({ secondFactors: accounts.secondFactors, clock });
  const shared = {
    ...accounts,
    memberships,
    ledger,
    database,
    clock,
    notifier,
    clients,
    rateLimits,
    revocation,
    authorizations,
  };
  const codes = new DeviceCodeService({
    ...shared,
    store: codeStore,
    approvalCheck,
    ttlSeconds: config.deviceCodeTtlSeconds,
    maxPendingPerNetwork: () => codeLimits().pendingPerIp,
  });
  accounts.logins.registerPurpose({
    name: LOGIN_PURPOSE,
    onLoggedIn: (trx, userCode, account) => codes.claim(trx, userCode, account.id),
  });
  return {
    memberships,
    approvalCheck,
    clients,
    codes,
    codeStore,
    devices: new DevicesService({ ...shared, codes: codeStore }),
    deviceTokens: new DeviceTokenService({
      ...shared,
      metrics,
      codes: codeStore,
      reuseWindowMs: config.refreshReuseWindowSeconds * 1000,
    }),
    grants: new GrantService({ ...shared, codeStore, approvalCheck }),
    rateLimits,
    revocation,
    async removeExpired() {
      const now = clock.now();
      while ((await codeStore.deleteExpired(now, DELETE_BATCH)) === DELETE_BATCH);
      await codeStore.deleteEndedCounts(now);
      await authorizations.deleteExpiredRefreshTokens(now - EXPIRED_REFRESH_RETENTION_MS);
    },
  };
}
