import type { IdentityProvider } from '../../contract/identity-providers.ts';
import type { AccountStore } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/module.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { OrganizationService } from '../organizations/organizations.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { readIdentityProvider } from '../platform/setting-definitions.ts';
import { ConfigError } from '../platform/setting-readers.ts';
import type { Tables } from '../tables.ts';
import { type ClaimDeviceCode, IdentitySignIn } from './identity-sign-in.ts';
import { IdentityStore } from './identity-store.ts';
import { ProviderClient } from './provider-client.ts';

const WINDOW_SECONDS = 600;

/** Limits by IP (IPv6: by /64) on requests of anonymous callers that cost a row and a request to a provider. */
class IdentityRateLimits {
  readonly #starts: RateLimiter;
  readonly #failures: RateLimiter;
  readonly #logouts: RateLimiter;

  constructor(limits: RateLimits) {
    this.#starts = limits.define({ name: 'identity-starts', points: 300, durationSeconds: WINDOW_SECONDS });
    this.#failures = limits.define({ name: 'identity-failures', points: 100, durationSeconds: WINDOW_SECONDS });
    this.#logouts = limits.define({ name: 'identity-logouts', points: 100, durationSeconds: WINDOW_SECONDS });
  }

  /** @throws rate_limit_exceeded */
  async consumeStart(clientIp: string): Promise<void> {
    assertWithinLimit(await this.#starts.consume(toIpLimitKey(clientIp)));
  }

  /** Counts a failed return from a provider, a successful one not. @throws rate_limit_exceeded */
  countReturn<R>(clientIp: string, work: () => Promise<R>): Promise<R> {
    return countFailure(this.#failures, clientIp, work);
  }

  /** Counts an invalid logout token, a valid one not. @throws rate_limit_exceeded */
  countLogout<R>(clientIp: string, work: () => Promise<R>): Promise<R> {
    return countFailure(this.#logouts, clientIp, work);
  }
}

async function countFailure<R>(limiter: RateLimiter, clientIp: string, work: () => Promise<R>): Promise<R> {
  const key = toIpLimitKey(clientIp);
  assertWithinLimit(await limiter.consume(key));
  const result = await work();
  await limiter.refund(key);
  return result;
}

interface IdentityProvidersDependencies {
  readonly config: { readonly baseUrl: string };
  readonly settings: Live<Pick<SiteSettings, 'oidcProviders'>>;
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly outbound: OutboundClient;
  readonly rateLimits: RateLimits;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly notifier: Notifier;
  readonly accountStore: AccountStore;
  readonly accounts: Accounts;
  readonly organizations: Pick<OrganizationService, 'mapMemberships'>;
  readonly claimDeviceCode: ClaimDeviceCode;
}

/** The part of this capability that its routes and app.ts use. */
export interface IdentityProviders {
  readonly signIns: IdentitySignIn;
  readonly client: ProviderClient;
  readonly rateLimits: IdentityRateLimits;
  /** Adds the stored secret to settings under test that lack it. @throws invalid_request */
  toProvider(draft: ProviderDraft): IdentityProvider;
  /** Deletes expired rows. */
  removeExpired(): Promise<void>;
}

type ProviderDraft = Omit<IdentityProvider, 'client_secret'> & Partial<Pick<IdentityProvider, 'client_secret'>>;

/** Constructs the capability of signing in at identity providers. */
export function makeIdentityProviders(dependencies: IdentityProvidersDependencies): IdentityProviders {
  const { config, settings, database, outbound, accounts } = dependencies;
  const client = new ProviderClient({ outbound, baseUrl: config.baseUrl });
  const providers = { current: () => settings.current().oidcProviders };
  const signIns = new IdentitySignIn({
    ...accounts,
    ...dependencies,
    store: new IdentityStore(database),
    client,
    providers,
  });
  return {
    client,
    signIns,
    rateLimits: new IdentityRateLimits(dependencies.rateLimits),
    toProvider(draft) {
      try {
        return readIdentityProvider(draft, providers.current());
      } catch (error) {
        if (error instanceof ConfigError)
          throw invalidRequest(`OIDC_PROVIDERS cannot have this value: ${error.problem}`, 'provider');
        throw error;
      }
    },
    removeExpired: () => signIns.deleteExpired(),
  };
}
