import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import * as client from 'openid-client';
import { Check } from 'typebox/value';
import { Email } from '../../contract/account-fields.ts';
import { GITHUB_ISSUER, type IdentityProvider, type PROVIDER_CHECKS } from '../../contract/identity-providers.ts';
import { defined, isObject } from '../../contract/objects.ts';
import type { OrganizationRole } from '../../contract/organization-roles.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import { isWellFormedText, normalizeName } from '../platform/text.ts';

const API = 'https://api.github.com';
/** `iss` of GitHub's redirects since April 2026 (RFC 9207). Identities keep `GITHUB_ISSUER`, which they are stored with. */
const GITHUB_SERVER = `${GITHUB_ISSUER}/login/oauth`;

/** GitHub speaks OAuth 2.0 only: fixed endpoints, and the person from its API. */
const makeGithubConfiguration = ({ client_id, client_secret }: IdentityProvider): client.Configuration =>
  new client.Configuration(
    {
      issuer: GITHUB_SERVER,
      authorization_endpoint: `${GITHUB_SERVER}/authorize`,
      token_endpoint: `${GITHUB_SERVER}/access_token`,
    },
    client_id,
    { client_secret },
    client.ClientSecretPost(client_secret),
  );

/** The person as claims of OpenID Connect. The e-mail is the primary one, if GitHub has verified it. */
async function readGithubClaims(
  configuration: client.Configuration,
  accessToken: string,
): Promise<Record<string, unknown> & { readonly iss: string; readonly sub: string }> {
  const read = async (path: string, refusals: readonly number[] = []): Promise<unknown> => {
    const headers = new Headers({ accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' });
    const url = new URL(`${API}${path}`);
    const response = await client.fetchProtectedResource(configuration, accessToken, url, 'GET', undefined, headers);
    if (refusals.includes(response.status)) return undefined;
    if (!response.ok) throw new Error(`GitHub answered ${path} with ${response.status}`, { cause: response });
    return response.json();
  };
  const { id, login, name } = (await read('/user')) as Readonly<Record<string, unknown>>;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw new Error('GitHub sent no id of the person');
  // Without the scope `user:email`, GitHub refuses OAuth apps with 404; without the permission, GitHub Apps with 403.
  const emails = (await read('/user/emails', [403, 404])) as readonly Readonly<Record<string, unknown>>[] | undefined;
  const primary = Array.isArray(emails) ? emails.find((each) => each.primary === true && each.verified === true) : {};
  return {
    iss: GITHUB_ISSUER,
    sub: String(id),
    preferred_username: login,
    name,
    email: primary?.email,
    email_verified: primary?.verified,
  };
}

/** The person a provider has authenticated. */
export interface VerifiedIdentity {
  readonly issuer: string;
  readonly sub: string;
  /** Lower case; undefined unless it is an address that the provider states to have verified. */
  readonly verifiedEmail: string | undefined;
  /** As stated, verified or not; shown only. */
  readonly email: string | undefined;
  readonly name: string | undefined;
  readonly username: string | undefined;
  /** Whether the provider asked for several factors (RFC 8176). */
  readonly hasSeveralFactors: boolean;
  /** The provider's own session id. */
  readonly sid: string | undefined;
  /** Whether the claim of `admins` has one of its values; undefined: the provider maps no roles. */
  readonly isAdmin: boolean | undefined;
  /** Memberships that the claims grant. */
  readonly organizations: readonly { readonly slug: string; readonly role: OrganizationRole }[];
}

/** The values a redirect to a provider is bound to. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Seconds. */
  readonly maxAge: number | undefined;
}

/** The session a logout token ends; at least one of `sub` and `sid` is defined. */
export interface LogoutToken {
  readonly issuer: string;
  readonly sub: string | undefined;
  readonly sid: string | undefined;
  readonly jti: string;
}

/** One result of the check of a provider's settings. */
export interface ProviderCheck {
  readonly name: (typeof PROVIDER_CHECKS)[number];
  readonly ok: boolean;
  readonly detail: string;
}

interface Connection {
  readonly configuration: client.Configuration;
  /** Undefined for GitHub, which takes the secret in the body. */
  readonly authentication: SecretAuthentication | undefined;
  readonly issuer: string;
  readonly keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  readonly algorithms: string[];
}

const METADATA_MS = 10 * 60_000;
const MAX_CONNECTIONS = 100;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
/** Logout tokens older than this are refused; their ids are remembered for longer. */
export const LOGOUT_TOKEN_SECONDS = 600;
const CLOCK_TOLERANCE_SECONDS = 30;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const DEFAULT_SCOPES = ['openid', 'email', 'profile'];
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
/** Answers to a made-up code by a token endpoint that has accepted client id and secret. */
const CODE_REFUSALS: readonly unknown[] = ['invalid_grant', 'bad_verification_code'];
/** Answers to a client that a token endpoint does not authenticate; Keycloak sends the second. */
const CLIENT_REFUSALS: readonly unknown[] = ['invalid_client', 'unauthorized_client'];

interface ProviderClientDependencies {
  readonly outbound: OutboundClient;
  /** Prefix of the redirect URIs. */
  readonly baseUrl: string;
}

/** Speaks OpenID Connect with the identity providers, and OAuth 2.0 with GitHub. */
export class ProviderClient {
  readonly #outbound: OutboundClient;
  readonly #baseUrl: string;
  readonly #connections = new LRUCache<string, Promise<Connection>>({ max: MAX_CONNECTIONS, ttl: METADATA_MS });

  constructor({ outbound, baseUrl }: ProviderClientDependencies) {
    this.#outbound = outbound;
    this.#baseUrl = baseUrl;
  }

  redirectUri({ id }: Pick<IdentityProvider, 'id'>): string {
    return `${this.#baseUrl}/auth/${id}/callback`;
  }

  /** Whether the provider states when the person last signed in there, so that an age can be required. */
  async statesSignInTime(provider: IdentityProvider): Promise<boolean> {
    const { configuration } = await this.#connect(provider);
    return configuration.serverMetadata().claims_supported?.includes('auth_time') === true;
  }

  /** URL of the provider's sign-in page. @throws identity_provider_unavailable */
  async authorizationUrl(provider: IdentityProvider, secrets: SignInSecrets): Promise<string> {
    const { configuration } = await this.#connect(provider);
    const isGitHub = provider.issuer === GITHUB_ISSUER;
    const scopes = provider.scopes ?? (isGitHub ? ['read:user', 'user:email'] : DEFAULT_SCOPES);
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri(provider),
      scope: (isGitHub ? scopes : [...new Set(['openid', ...scopes])]).join(' '),
      state: secrets.state,
      code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
      code_challenge_method: 'S256',
      ...defined({
        nonce: isGitHub ? undefined : secrets.nonce,
        max_age: secrets.maxAge === undefined ? undefined : String(secrets.maxAge),
      }),
    });
    return url.href;
  }

  /**
   * Redeems the code of a returning browser and checks everything the provider states.
   *
   * @param query of the callback
   * @throws access_denied, identity_rejected, identity_provider_unavailable
   */
  async redeem(provider: IdentityProvider, query: URLSearchParams, secrets: SignInSecrets): Promise<VerifiedIdentity> {
    const connection = await this.#connect(provider);
    const { configuration } = connection;
    const isGitHub = provider.issuer === GITHUB_ISSUER;
    return translated(async () => {
      const tokens = await authenticated(connection, () =>
        client.authorizationCodeGrant(configuration, new URL(`${this.redirectUri(provider)}?${query}`), {
          expectedState: secrets.state,
          pkceCodeVerifier: secrets.codeVerifier,
          ...defined({ expectedNonce: isGitHub ? undefined : secrets.nonce, maxAge: secrets.maxAge }),
          idTokenExpected: !isGitHub,
        }),
      );
      const claims = isGitHub
        ? await readGithubClaims(configuration, tokens.access_token)
        : await readOidcClaims(configuration, tokens);
      return toIdentity(provider, claims);
    });
  }

  /** @throws identity_rejected, identity_provider_unavailable */
  async verifyLogoutToken(provider: IdentityProvider, token: string): Promise<LogoutToken> {
    const { keys, issuer, algorithms } = await this.#connect(provider);
    if (keys === undefined) throw rejected('the provider has no signing keys');
    const { payload, protectedHeader } = await translated(() =>
      jwtVerify(token, keys, {
        issuer,
        audience: provider.client_id,
        algorithms,
        // Hydra, LemonLDAP and older Keycloak and Authentik send no `exp`: `maxTokenAge` bounds those by `iat`.
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: LOGOUT_TOKEN_SECONDS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
      }),
    );
    const { sub, sid, jti, events, nonce } = payload;
    const type = protectedHeader.typ?.toLowerCase();
    if (type !== undefined && !['jwt', 'logout+jwt', 'application/logout+jwt'].includes(type))
      throw rejected('not a logout token');
    if (nonce !== undefined) throw rejected('a logout token has no nonce');
    const event = (events as Record<string, unknown> | null)?.[LOGOUT_EVENT];
    if (typeof event !== 'object' || event === null || Array.isArray(event)) throw rejected('not a logout event');
    if (typeof jti !== 'string' || jti === '') throw rejected('the logout token has no id');
    if (sub === undefined && sid === undefined) throw rejected('neither sub nor sid');
    if (![sub ?? '', sid ?? '', jti].every(isStorable)) throw rejected('sub, sid or jti is no text that can be stored');
    return { issuer, sub, sid: sid as string | undefined, jti };
  }

  /** Tries the settings of a provider: its metadata, its keys, and client id and secret with a made-up code. */
  async check(provider: IdentityProvider): Promise<readonly ProviderCheck[]> {
    this.#connections.delete(keyOf(provider));
    const discovery = await attempt(() => this.#connect(provider));
    if (!('value' in discovery)) return [{ name: 'discovery', ok: false, detail: discovery.problem }];
    const { configuration } = discovery.value;
    const { jwks_uri: jwksUri } = configuration.serverMetadata();
    const checks: ProviderCheck[] = [{ name: 'discovery', ok: true, detail: '' }];
    if (provider.issuer !== GITHUB_ISSUER) {
      const keys = await attempt(() => this.#assertHasKeys(provider, jwksUri));
      checks.push({ name: 'keys', ok: 'value' in keys, detail: 'value' in keys ? '' : keys.problem });
    }
    return [...checks, await this.#checkClient(provider, discovery.value)];
  }

  async #assertHasKeys(provider: IdentityProvider, jwksUri: string | undefined): Promise<void> {
    if (jwksUri === undefined) throw rejected('the metadata has no jwks_uri');
    const answer = await this.#fetchOf(provider)(jwksUri, {
      method: 'GET',
      headers: {},
      redirect: 'manual',
      body: null,
    });
    const { keys } = (answer.ok ? await answer.json() : {}) as { readonly keys?: unknown };
    if (!Array.isArray(keys) || keys.length === 0) throw rejected(`no keys at ${jwksUri} (status ${answer.status})`);
  }

  async #checkClient(provider: IdentityProvider, connection: Connection): Promise<ProviderCheck> {
    try {
      await authenticated(connection, () =>
        client.genericGrantRequest(connection.configuration, 'authorization_code', {
          code: 'reelgate-test',
          redirect_uri: this.redirectUri(provider),
          code_verifier: client.randomPKCECodeVerifier(),
        }),
      );
      return { name: 'client', ok: true, detail: '' };
    } catch (error) {
      const code = errorCodeOf(error);
      const isAccepted = CODE_REFUSALS.includes(code);
      return { name: 'client', ok: isAccepted, detail: isAccepted ? '' : describe(error) };
    }
  }

  /** Metadata and keys of a provider, shared by concurrent requests; failures are not kept. */
  #connect(provider: IdentityProvider): Promise<Connection> {
    const key = keyOf(provider);
    const known = this.#connections.get(key);
    if (known !== undefined) return known;
    const connecting = translated(() => this.#discover(provider));
    this.#connections.set(key, connecting);
    connecting.catch(() => {
      if (this.#connections.peek(key) === connecting) this.#connections.delete(key);
    });
    return connecting;
  }

  async #discover(provider: IdentityProvider): Promise<Connection> {
    const fetchFromProvider = this.#fetchOf(provider);
    if (provider.issuer === GITHUB_ISSUER) {
      const configuration = makeGithubConfiguration(provider);
      configuration[client.customFetch] = fetchFromProvider;
      return { configuration, authentication: undefined, issuer: GITHUB_ISSUER, keys: undefined, algorithms: [] };
    }
    const isInsecure = provider.issuer.startsWith('http:');
    const authentication = new SecretAuthentication(provider.client_secret);
    const configuration = await client.discovery(
      // The complete address, with which the library leaves the comparison of the issuer to this class.
      new URL(`${withoutSlash(provider.issuer)}/.well-known/openid-configuration`),
      provider.client_id,
      { client_secret: provider.client_secret },
      authentication.authenticate,
      {
        [client.customFetch]: fetchFromProvider,
        // The signature is checked even though the token came straight from the provider.
        execute: [client.enableNonRepudiationChecks, ...(isInsecure ? [client.allowInsecureRequests] : [])],
      },
    );
    const metadata = configuration.serverMetadata();
    const { issuer, jwks_uri: jwksUri, authorization_endpoint: page } = metadata;
    // Authentik's issuers end in a slash that people leave out; everything else must be equal.
    if (withoutSlash(issuer) !== withoutSlash(provider.issuer))
      throw rejected(`the provider calls itself ${issuer}, not ${provider.issuer}`);
    const url = URL.parse(page ?? '');
    if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && LOOPBACK.test(url.hostname)))
      throw rejected('the provider has no authorization endpoint with https');
    return {
      configuration,
      authentication,
      issuer,
      keys:
        jwksUri === undefined
          ? undefined
          : createRemoteJWKSet(new URL(jwksUri), {
              [joseFetch]: (target, { headers }) =>
                fetchFromProvider(target, {
                  method: 'GET',
                  headers: Object.fromEntries(new Headers(headers)),
                  redirect: 'manual',
                  body: null,
                }),
            }),
      algorithms: (metadata.id_token_signing_alg_values_supported ?? ['RS256']).filter((each) =>
        /^(?:RS|PS|ES)\d{3}$|^EdDSA$|^Ed25519$|^ML-DSA-\d\d$/.test(each),
      ),
    };
  }

  /**
   * Requests to a provider. Only the issuer's own origin, which root has configured, may be private; other hosts that
   * its metadata names must be public.
   */
  #fetchOf({ issuer }: IdentityProvider): client.CustomFetch {
    const { origin } = new URL(issuer);
    return async (url, { method, headers, body, signal }) => {
      const answer = await this.#outbound.requestJson({
        method: method as 'GET' | 'POST',
        url,
        headers,
        // openid-client sends forms as texts or URLSearchParams.
        body: typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : undefined,
        private: new URL(url).origin === origin,
        maxBytes: MAX_BYTES,
        totalTimeoutMs: TIMEOUT_MS,
        signal: signal ?? undefined,
      });
      const type = answer.headers['content-type'];
      return new Response([204, 205, 304].includes(answer.status) ? null : answer.text, {
        status: answer.status,
        headers: type === undefined ? {} : { 'content-type': type },
      });
    };
  }
}

const keyOf = ({ issuer, client_id, client_secret }: IdentityProvider): string =>
  JSON.stringify([issuer, client_id, client_secret]);

const withoutSlash = (url: string): string => url.replace(/\/$/, '');

/**
 * Sends the secret in the body if the provider's metadata lists that, otherwise as HTTP Basic, the default. The metadata
 * lists what the provider knows; Authelia, Okta and Hydra accept only the one method a client is registered for.
 */
class SecretAuthentication {
  readonly #secret: string;
  /** The first method was refused and the other accepted. */
  #isReversed = false;

  constructor(secret: string) {
    this.#secret = secret;
  }

  readonly authenticate: client.ClientAuth = (server, metadata, body, headers) => {
    const prefersBody = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true;
    const inBody = prefersBody !== this.#isReversed;
    const method = inBody ? client.ClientSecretPost(this.#secret) : client.ClientSecretBasic(this.#secret);
    method(server, metadata, body, headers);
  };

  /** Runs a token request, and once more with the other method if the client is refused, which uses up no code. */
  async run<R>(request: () => Promise<R>): Promise<R> {
    const tried = this.#isReversed;
    try {
      return await request();
    } catch (error) {
      if (!CLIENT_REFUSALS.includes(errorCodeOf(error))) throw error;
      this.#isReversed = !tried;
      return request().catch((again: unknown) => {
        if (!CLIENT_REFUSALS.includes(errorCodeOf(again))) throw again;
        this.#isReversed = tried;
        throw error;
      });
    }
  }
}

const authenticated = <R>({ authentication }: Connection, request: () => Promise<R>): Promise<R> =>
  authentication === undefined ? request() : authentication.run(request);

async function readOidcClaims(
  configuration: client.Configuration,
  tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
): Promise<Record<string, unknown> & { readonly iss: string; readonly sub: string }> {
  const claims = tokens.claims();
  if (claims === undefined) throw rejected('the provider sent no id_token');
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return { ...claims };
  const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
  return { ...more, ...claims };
}

function toIdentity(
  provider: IdentityProvider,
  claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string },
): VerifiedIdentity {
  const names = { email: 'email', email_verified: 'email_verified', name: 'name', username: 'preferred_username' };
  // A subject without the characters that cannot be stored could be another one.
  if (!isStorable(claims.sub)) throw rejected('sub cannot be stored');
  const text = (name: keyof typeof names): string | undefined => {
    const value = readClaim(claims, provider.claims?.[name] ?? names[name]);
    return isStorable(value) && value.trim() !== '' ? value.trim() : undefined;
  };
  const mapped = [provider.admins, ...(provider.organizations ?? [])].flatMap((each) => each?.claim ?? []);
  for (const claim of mapped) assertStated(claims, claim);
  const email = text('email');
  // Some providers write the boolean as text. Anything else, absence included, means that it is not verified.
  const verified = readClaim(claims, provider.claims?.email_verified ?? names.email_verified);
  return {
    issuer: claims.iss,
    sub: claims.sub,
    email: email?.toLowerCase(),
    verifiedEmail: (verified === true || verified === 'true') && isAddress(email) ? email.toLowerCase() : undefined,
    name: text('name'),
    username: text('username'),
    hasSeveralFactors: Array.isArray(claims.amr) && claims.amr.includes('mfa'),
    sid: isStorable(claims.sid) ? claims.sid : undefined,
    isAdmin: provider.admins && hasValue(readClaim(claims, provider.admins.claim), provider.admins.values),
    organizations: (provider.organizations ?? [])
      .filter(({ claim, values }) => hasValue(readClaim(claims, claim), values))
      .map(({ slug, role }) => ({ slug, role })),
  };
}

/**
 * Whether a text is an address that a login finds. One that typing it would turn into another, such as one in full-width
 * characters, is not: the provider has not verified that other address.
 */
const isAddress = (text: string | undefined): text is string => Check(Email, text) && normalizeName(text) === text;

/** Whether a claim is text that both databases can store. */
const isStorable = (claim: unknown): claim is string => typeof claim === 'string' && isWellFormedText(claim);

/** A claim by its name, or by a path through nested claims such as `realm_access.roles`. */
function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (at, key) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, key)
          ? (at as Record<string, unknown>)[key]
          : undefined,
      claims,
    );
}

/**
 * Refuses a person whose claim the provider only refers to, as Entra does with the groups of somebody in more than 200
 * (OpenID Connect Core, section 5.6.2): taken for a person without groups, they would lose role, memberships and keys.
 *
 * @throws identity_rejected
 */
function assertStated(claims: Readonly<Record<string, unknown>>, name: string): void {
  const { _claim_names: elsewhere } = claims;
  if (readClaim(claims, name) !== undefined || !isObject(elsewhere)) return;
  if (Object.hasOwn(elsewhere, name) || Object.hasOwn(elsewhere, name.split('.', 1)[0] ?? ''))
    throw rejected(`the provider left out the claim ${name}, which has too many values for a token`);
}

const hasValue = (claim: unknown, values: readonly string[]): boolean =>
  valuesOf(claim).some(
    (each) => ['string', 'number', 'boolean'].includes(typeof each) && values.includes(String(each)),
  );

/** Zitadel states roles as an object: the name of each leads to the organizations that grant it. */
function valuesOf(claim: unknown): readonly unknown[] {
  if (isObject(claim)) return Object.keys(claim).filter((name) => isObject(claim[name]));
  return Array.isArray(claim) ? claim : [claim];
}

const rejected = (why: string): AppError => new AppError('identity_rejected', { log: { why } });

/** Runs an exchange with a provider; its failures become errors of ours, with the cause in the log only. */
async function translated<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (isAppError(error)) throw error;
    const log = { why: describe(error) };
    if (isUnreachable(error)) throw new AppError('identity_provider_unavailable', { cause: error, log });
    throw new AppError(errorCodeOf(error) === 'access_denied' ? 'access_denied' : 'identity_rejected', {
      cause: error,
      log,
    });
  }
}

/** What a failure of the library contains, from the outside in: its error, their causes, responses and bodies. */
interface FailureDetails {
  readonly message?: unknown;
  readonly error?: unknown;
  readonly error_description?: unknown;
  readonly body?: { readonly error?: unknown };
  readonly cause?: unknown;
}

const MAX_CAUSES = 5;

function causesOf(error: unknown): readonly FailureDetails[] {
  const causes: FailureDetails[] = [];
  for (let at = error; typeof at === 'object' && at !== null && causes.length < MAX_CAUSES; ) {
    causes.push(at);
    at = (at as FailureDetails).cause;
  }
  return causes;
}

const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some(
    (each) => each instanceof OutboundError || (each instanceof Response && each.status >= 500) || isTimeout(each),
  );

const isTimeout = (error: object): boolean => error instanceof DOMException && error.name === 'TimeoutError';

/** The `error` of a provider's answer. GitHub sends it with status 200. */
const errorCodeOf = (error: unknown): unknown =>
  causesOf(error)
    .flatMap((each) => [each.error, each.body?.error])
    .find((each) => typeof each === 'string');

function describe(error: unknown): string {
  if (isAppError(error)) {
    const why = error.options.log?.why;
    return typeof why === 'string' ? why : error.code;
  }
  const parts = causesOf(error).flatMap((each) => [each.message, each.error_description]);
  const texts = [errorCodeOf(error), ...parts].filter((each) => typeof each === 'string' && each !== '');
  return [...new Set(texts)].join(': ').slice(0, 500);
}

async function attempt<R>(work: () => Promise<R>): Promise<{ readonly value: R } | { readonly problem: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { problem: describe(error) };
  }
}
