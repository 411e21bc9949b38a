import { Check, Errors } from 'typebox/value';
import { GITHUB_ISSUER, IdentityProvider } from '../../contract/identity-providers.ts';
import { ConfigError, type Setting, type SettingDescription } from './setting-readers.ts';

const MAX_PROVIDERS = 20;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const MICROSOFT_HOST = 'login.microsoftonline.com';
const MICROSOFT_TENANT = /^\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/v2\.0\/?$/i;

/**
 * One provider as it is entered in the console, with the stored secret if it lacks one.
 *
 * @throws ConfigError
 */
export function readIdentityProvider(draft: object, stored: readonly IdentityProvider[]): IdentityProvider {
  const provider = restoreSecret(draft, stored);
  const why = problemOf(provider);
  if (why !== undefined) throw new ConfigError('OIDC_PROVIDERS', why);
  return provider as IdentityProvider;
}

/** Identity providers as JSON, each with its client secret. */
export const identityProviders = (about: SettingDescription): Setting<readonly IdentityProvider[]> => ({
  ...about,
  secret: true,
  read(text, name) {
    const problem = (why: string): ConfigError => new ConfigError(name, why);
    if (text === undefined) return [];
    const given = parseJson(text);
    if (!Array.isArray(given)) throw problem('must be a JSON list of identity providers');
    if (given.length > MAX_PROVIDERS) throw problem(`may name ${MAX_PROVIDERS} identity providers`);
    const providers = given.map((each, index) => {
      const why = problemOf(each);
      if (why !== undefined) throw problem(`[${index}].${why}`);
      return each as IdentityProvider;
    });
    if (new Set(providers.map(({ id }) => id)).size < providers.length) throw problem('has two providers with one id');
    return providers;
  },
  redaction: {
    show: (providers) => (providers.length === 0 ? '' : JSON.stringify(providers.map(withoutSecret))),
    restore: restoreSecrets,
  },
});

const withoutSecret = ({ client_secret: _, ...rest }: IdentityProvider) => rest;

/**
 * Adds the stored secret to a provider that lacks one, if issuer and client are the same: a secret is never sent to
 * another host than the one it was entered for.
 */
function restoreSecrets(text: string, stored: readonly IdentityProvider[]): string {
  const given = parseJson(text);
  if (!Array.isArray(given)) return text;
  return JSON.stringify(given.map((each) => restoreSecret(each, stored)));
}

function restoreSecret(each: unknown, stored: readonly IdentityProvider[]): unknown {
  if (typeof each !== 'object' || each === null) return each;
  const { issuer, client_id, client_secret } = each as Partial<IdentityProvider>;
  if (client_secret !== undefined && client_secret !== '') return each;
  const known = stored.find((one) => one.issuer === issuer && one.client_id === client_id);
  return known === undefined ? each : { ...each, client_secret: known.client_secret };
}

/** The field that is wrong, and why; undefined if all are right. */
function problemOf(provider: unknown): string | undefined {
  if (!Check(IdentityProvider, provider)) {
    const [error] = Errors(IdentityProvider, provider);
    return `${error?.instancePath.slice(1).replaceAll('/', '.') ?? ''} ${error?.message ?? 'is wrong'}`;
  }
  const { issuer } = provider;
  const url = URL.parse(issuer);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
    return 'issuer must be a URL without query, fragment and credentials';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
    return 'issuer must start with https://; http:// is for this machine alone';
  if (url.hostname === MICROSOFT_HOST && !MICROSOFT_TENANT.test(url.pathname))
    return `issuer must be https://${MICROSOFT_HOST}/TENANT-ID/v2.0; common and organizations admit every tenant`;
  if (url.hostname === new URL(GITHUB_ISSUER).hostname && issuer !== GITHUB_ISSUER)
    return `issuer must be ${GITHUB_ISSUER} for GitHub`;
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
