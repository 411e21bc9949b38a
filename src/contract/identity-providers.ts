import Type, { type Static } from 'typebox';
import { Code, RoleName, TimeOrNull } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { ORGANIZATION_ROLES } from './organization-roles.ts';
import { Done, IdParam, Ok } from './responses.ts';

const ProviderId = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,31}$', description: '1 to 32 of a-z 0-9 -' });
const ClaimName = Type.String({ minLength: 1, maxLength: 200 });

/** Issuer that stands for GitHub, which speaks OAuth 2.0 without OpenID Connect. */
export const GITHUB_ISSUER = 'https://github.com';

/** An identity provider as root configures it. */
export const IdentityProvider = Type.Object(
  {
    id: ProviderId,
    title: Type.String({ minLength: 1, maxLength: 60, description: 'on the button' }),
    issuer: Type.String({ maxLength: 500, description: `issuer of OpenID Connect, or ${GITHUB_ISSUER}` }),
    client_id: Type.String({ minLength: 1, maxLength: 500 }),
    client_secret: Type.String({ minLength: 1, maxLength: 2000 }),
    scopes: Type.Optional(
      Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,200}$' }), {
        maxItems: 30,
        description: 'default: openid, email, profile',
      }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          email: Type.Optional(ClaimName),
          email_verified: Type.Optional(ClaimName),
          name: Type.Optional(ClaimName),
          username: Type.Optional(ClaimName),
        },
        { additionalProperties: false, description: 'names of claims that differ from the standard ones' },
      ),
    ),
    allowed_domains: Type.Optional(
      Type.Array(Type.String({ pattern: '^[a-z0-9.-]{1,190}$' }), {
        maxItems: 100,
        description: 'domains whose verified e-mail addresses may sign in; absent: all',
      }),
    ),
    admins: Type.Optional(
      Type.Object(
        { claim: ClaimName, values: Type.Array(Type.String({ maxLength: 200 }), { minItems: 1, maxItems: 100 }) },
        { additionalProperties: false, description: 'a claim with one of these values makes an administrator' },
      ),
    ),
    organizations: Type.Optional(
      Type.Array(
        Type.Object(
          {
            claim: ClaimName,
            values: Type.Array(Type.String({ maxLength: 200 }), { minItems: 1, maxItems: 100 }),
            slug: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$' }),
            role: Type.Enum([...ORGANIZATION_ROLES]),
          },
          { additionalProperties: false },
        ),
        { maxItems: 100, description: 'a claim with one of these values makes a member of the organization' },
      ),
    ),
    plan: Type.Optional(Type.String({ pattern: '^[a-z0-9_-]{1,40}$', description: 'plan of the accounts it creates' })),
    auto_create: Type.Optional(Type.Boolean({ description: 'creates an account for an unknown identity' })),
  },
  { additionalProperties: false },
);
/** An identity provider as root configures it. */
export type IdentityProvider = Static<typeof IdentityProvider>;

/** A provider with a button on the sign-in pages. */
export const SignInProvider = Type.Object({ id: Type.String(), title: Type.String() });
/** A provider with a button on the sign-in pages. */
export type SignInProvider = Static<typeof SignInProvider>;

const ProviderParam = Type.Object({ provider: ProviderId });
const page = {
  method: 'GET',
  tag: 'accounts',
  envelope: 'page',
  responseStatuses: [303],
  params: ProviderParam,
} as const;

export const startIdentitySignIn = endpoint({
  ...page,
  path: '/auth/:provider/start',
  summary: 'Begin signing in at an identity provider: redirects the browser to it',
  policy: 'public',
  query: Type.Object({
    return_to: Type.Optional(Type.String({ maxLength: 2000, description: 'path of this service to return to' })),
  }),
});

const Parameter = Type.Optional(Type.String({ maxLength: 8000 }));

export const identityCallback = endpoint({
  ...page,
  path: '/auth/:provider/callback',
  summary: 'Callback of the identity provider: signs in, or links the identity',
  policy: 'self',
  query: Type.Object({
    state: Parameter,
    code: Parameter,
    iss: Parameter,
    error: Parameter,
    error_description: Parameter,
  }),
});

export const backChannelLogout = endpoint({
  method: 'POST',
  path: '/auth/:provider/backchannel-logout',
  summary: 'End the sessions a logout_token names (OpenID Connect Back-Channel Logout 1.0)',
  tag: 'accounts',
  policy: 'self',
  envelope: 'oauth',
  accepts: 'form',
  secret: true,
  params: ProviderParam,
  body: Type.Object({ logout_token: Type.Optional(Type.String({ maxLength: 16_000 })) }),
  response: Type.Object({}),
});

export const getSession = endpoint({
  method: 'GET',
  path: '/api/user/session',
  summary: 'The account of the cookie `session` alone, for a page reached by a redirect after signing in',
  tag: 'accounts',
  policy: 'self',
  envelope: 'api',
  secret: true,
  response: Ok(
    Type.Object({ id: Type.Integer(), username: Type.String(), display_name: Type.String(), role: RoleName }),
  ),
});

const own = { tag: 'accounts', policy: 'owner', envelope: 'api' } as const;

/** An identity linked to the account. */
export const Identity = Type.Object({
  id: Type.Integer(),
  provider: Type.String({ description: 'id of the identity provider in OIDC_PROVIDERS' }),
  issuer: Type.String({ description: 'issuer of the identity provider' }),
  sub: Type.String({ description: 'id of the person at the issuer' }),
  email: Type.String({ description: 'as the identity provider last reported it; empty: none' }),
  last_used_time: TimeOrNull,
});
/** An identity linked to the account. */
export type Identity = Static<typeof Identity>;

export const listIdentities = endpoint({
  ...own,
  method: 'GET',
  path: '/api/user/identities',
  summary: 'Identities at identity providers that sign in to the account',
  response: Ok(Type.Array(Identity)),
});

export const startIdentityLink = endpoint({
  ...own,
  method: 'POST',
  path: '/api/user/identities/:provider/start',
  summary: 'Begin linking an identity; open the url in the same browser. Requires the second step or the password',
  secret: true,
  params: ProviderParam,
  optionalBody: true,
  body: Type.Object({
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    code: Type.Optional(Code),
  }),
  response: Ok(Type.Object({ url: Type.String() })),
});

export const deleteIdentity = endpoint({
  ...own,
  method: 'DELETE',
  path: '/api/user/identities/:id',
  summary: 'Unlink an identity; refused for the last way to sign in',
  params: IdParam,
  response: Done,
});

export const PROVIDER_CHECKS = ['discovery', 'keys', 'client'] as const;

export const testIdentityProvider = endpoint({
  method: 'POST',
  path: '/api/admin/identity-providers/test',
  summary: 'Check the settings of an identity provider: metadata, signing keys, client id and secret',
  tag: 'admin',
  policy: 'root',
  envelope: 'api',
  body: Type.Object({
    provider: Type.Object({
      ...IdentityProvider.properties,
      client_secret: Type.Optional(IdentityProvider.properties.client_secret),
    }),
  }),
  response: Ok(
    Type.Object({
      redirect_uri: Type.String(),
      backchannel_logout_uri: Type.String(),
      checks: Type.Array(
        Type.Object({
          name: Type.Enum([...PROVIDER_CHECKS]),
          ok: Type.Boolean(),
          detail: Type.String({ description: 'why it failed; empty: it did not' }),
        }),
      ),
    }),
  ),
});
