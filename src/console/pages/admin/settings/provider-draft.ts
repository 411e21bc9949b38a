import { GITHUB_ISSUER, type IdentityProvider } from '../../../../contract/identity-providers.ts';
import { defined } from '../../../../contract/objects.ts';

/** Providers whose issuer is known, and any other one. */
export type ProviderPreset = 'google' | 'microsoft' | 'github' | 'oidc';

/** The form of an identity provider. */
export interface ProviderDraft {
  readonly preset: ProviderPreset;
  readonly id: string;
  readonly title: string;
  readonly issuer: string;
  /** Id of the tenant at Microsoft, from which the issuer follows. */
  readonly tenant: string;
  readonly clientId: string;
  /** Empty: unchanged. */
  readonly clientSecret: string;
  readonly autoCreate: boolean;
  readonly domains: readonly string[];
  readonly plan: string;
  readonly adminClaim: string;
  readonly adminValues: readonly string[];
  /** Fields without an input, kept as they are. */
  readonly more: Pick<IdentityProvider, 'scopes' | 'claims'>;
}

const GOOGLE_ISSUER = 'https://accounts.google.com';
const MICROSOFT = /^https:\/\/login\.microsoftonline\.com\/([^/]+)\/v2\.0\/?$/;

const EMPTY: ProviderDraft = {
  preset: 'oidc',
  id: '',
  title: '',
  issuer: '',
  tenant: '',
  clientId: '',
  clientSecret: '',
  autoCreate: false,
  domains: [],
  plan: '',
  adminClaim: '',
  adminValues: [],
  more: {},
};

/** Forms of new providers. */
export const PRESETS: Readonly<Record<ProviderPreset, ProviderDraft>> = {
  google: { ...EMPTY, preset: 'google', id: 'google', title: 'Google', issuer: GOOGLE_ISSUER },
  microsoft: { ...EMPTY, preset: 'microsoft', id: 'microsoft', title: 'Microsoft' },
  github: { ...EMPTY, preset: 'github', id: 'github', title: 'GitHub', issuer: GITHUB_ISSUER },
  oidc: EMPTY,
};

const presetOf = (issuer: string): ProviderPreset => {
  if (issuer === GOOGLE_ISSUER) return 'google';
  if (issuer === GITHUB_ISSUER) return 'github';
  return MICROSOFT.test(issuer) ? 'microsoft' : 'oidc';
};

/** The form of a stored provider. */
export function toDraft(provider: Omit<IdentityProvider, 'client_secret'>): ProviderDraft {
  const { id, title, issuer, client_id, scopes, claims, allowed_domains = [], admins, plan = '' } = provider;
  return {
    preset: presetOf(issuer),
    id,
    title,
    issuer,
    tenant: MICROSOFT.exec(issuer)?.[1] ?? '',
    clientId: client_id,
    clientSecret: '',
    autoCreate: provider.auto_create === true,
    domains: allowed_domains,
    plan,
    adminClaim: admins?.claim ?? '',
    adminValues: admins?.values ?? [],
    more: defined({ scopes, claims }),
  };
}

/** The provider to store; without a secret, the stored one is kept. */
export function toProvider(draft: ProviderDraft): Omit<IdentityProvider, 'client_secret'> & { client_secret?: string } {
  const { preset, tenant, domains, plan, adminClaim, adminValues, autoCreate } = draft;
  return {
    id: draft.id,
    title: draft.title.trim(),
    issuer: preset === 'microsoft' ? `https://login.microsoftonline.com/${tenant}/v2.0` : draft.issuer,
    client_id: draft.clientId,
    ...draft.more,
    ...defined({
      client_secret: draft.clientSecret || undefined,
      allowed_domains: domains.length === 0 ? undefined : [...domains],
      admins: adminClaim === '' ? undefined : { claim: adminClaim, values: [...adminValues] },
      plan: plan === '' || !autoCreate ? undefined : plan,
      auto_create: autoCreate || undefined,
    }),
  };
}
