import type { AccountStore } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/module.ts';
import type { TokenStore } from '../accounts/tokens.ts';
import type { DeviceRevocation } from '../device-auth/authorization-store.ts';
import type { Mailer } from '../mail/mail-queue.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Vault } from '../platform/vault.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { type CurrentPlanCode, OrganizationAdmin } from './organization-admin.ts';
import type { OrganizationStore } from './organization-store.ts';
import { OrganizationService } from './organizations.ts';

interface OrganizationsDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly config: { readonly baseUrl: string };
  readonly store: OrganizationStore;
  readonly accountStore: AccountStore;
  readonly tokens: TokenStore;
  readonly revocation: DeviceRevocation;
  readonly accounts: Pick<Accounts, 'auditLog'>;
  readonly ledger: Ledger;
  readonly notifier: Notifier;
  readonly rateLimits: RateLimits;
  readonly mailer: Mailer;
  readonly vault: Vault;
  readonly settings: Live<Pick<SiteSettings, 'oidcProviders'>>;
  readonly findPlan: (id: number) => Promise<CurrentPlanCode>;
}

interface Organizations {
  readonly organizations: OrganizationService;
  readonly organizationAdmin: OrganizationAdmin;
}

/** Constructs the organizations capability. */
export function makeOrganizations({
  config,
  accountStore,
  accounts,
  revocation,
  rateLimits,
  settings,
  ...shared
}: OrganizationsDependencies): Organizations {
  const all = { ...shared, accounts: accountStore, auditLog: accounts.auditLog };
  const organizations = new OrganizationService({
    ...all,
    revokeSignIns: (trx, filter) => revocation.revoke(trx, filter),
    invitationLimit: rateLimits.define({ name: 'organization-invitations', points: 100, durationSeconds: 86_400 }),
    baseUrl: config.baseUrl,
    isClaimed: (slug) =>
      settings.current().oidcProviders.some(({ organizations: mapped }) => mapped?.some((each) => each.slug === slug)),
  });
  return { organizations, organizationAdmin: new OrganizationAdmin({ ...all, organizations }) };
}
