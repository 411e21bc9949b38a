import Type from 'typebox';
import { endpoint } from './endpoint.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Scopes granted to every device sign-in regardless of the requested ones: management paths and model calls. */
export const DEVICE_SCOPE = 'api.device llm';

/**
 * Scopes of grants. `account`: the management API as with a device's access_token; `models`: model and video endpoints
 * at the account's expense; `mcp`: the tools at /mcp.
 */
export const OAUTH_SCOPES = ['account', 'models', 'mcp'] as const;
export type OauthScope = (typeof OAUTH_SCOPES)[number];

/** Lifetime of a grant's access_token; its client refreshes it. */
export const GRANT_ACCESS_SECONDS = 3_600;

/** Resources (RFC 8707) that an access_token is issued for, one each: path below BASE_URL, and the scopes it has. */
export const AUDIENCES = {
  api: { path: '', scopes: ['account', 'models'] },
  mcp: { path: '/mcp', scopes: ['mcp'] },
  'claude-code': { path: '/claude-code', scopes: ['models'] },
} as const satisfies Record<string, { readonly path: string; readonly scopes: readonly OauthScope[] }>;
export type Audience = keyof typeof AUDIENCES;

/** Path of the metadata of the resource at BASE_URL; that of another resource has its path appended (RFC 9728). */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

const Parameter = Type.Optional(Type.String({ maxLength: 1_000 }));
/** RFC 6749 section 2.3.1: credentials in the body or as HTTP Basic, never both. */
const ClientFields = { client_id: Parameter, client_secret: Parameter };

const form = { method: 'POST', tag: 'oauth', envelope: 'oauth', accepts: 'form', secret: true } as const;

const metadata = {
  method: 'GET',
  tag: 'oauth',
  policy: 'public',
  envelope: 'oauth',
  response: Type.Object({
    issuer: Type.String(),
    device_authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: Type.String(),
    response_types_supported: Type.Array(Type.String()),
    grant_types_supported: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    revocation_endpoint_auth_methods_supported: Type.Array(Type.String()),
    service_documentation: Type.String(),
    ui_locales_supported: Type.Array(Type.String()),
  }),
} as const;

export const oauthMetadata = endpoint({
  ...metadata,
  path: '/.well-known/oauth-authorization-server',
  summary: 'Authorization server metadata (RFC 8414)',
});

export const openidConfiguration = endpoint({
  ...metadata,
  path: '/.well-known/openid-configuration',
  summary: 'The same metadata where clients of OpenID Connect look for it; no id_token is issued',
});

export const oauthDeviceAuthorization = endpoint({
  ...form,
  path: '/oauth/device_authorization',
  summary: 'Begin a device sign-in (RFC 8628 section 3.1); client_name and device_id as on the JSON endpoint',
  policy: 'self',
  body: Type.Object({ ...ClientFields, scope: Parameter, client_name: Parameter, device_id: Parameter }),
  response: Type.Object({
    device_code: Type.String(),
    user_code: Type.String(),
    verification_uri: Type.String(),
    verification_uri_complete: Type.String(),
    expires_in: Type.Integer(),
    interval: Type.Integer(),
  }),
});

export const oauthToken = endpoint({
  ...form,
  path: '/oauth/token',
  summary: 'Poll for tokens (RFC 8628 section 3.4) or refresh them (RFC 6749 section 6)',
  policy: 'self',
  body: Type.Object({
    ...ClientFields,
    grant_type: Parameter,
    device_code: Parameter,
    refresh_token: Parameter,
    scope: Parameter,
  }),
  response: Type.Object({
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer(),
    refresh_token: Type.String(),
    scope: Type.String(),
    llm_token: Type.Optional(
      Type.String({ description: 'an `sk-` token for /v1 and /v2; with the first tokens only' }),
    ),
    user_id: Type.Optional(Type.Integer()),
    username: Type.Optional(Type.String()),
    display_name: Type.Optional(Type.String()),
  }),
});

export const oauthRevoke = endpoint({
  ...form,
  path: '/oauth/revoke',
  summary: 'End the device sign-in of any of its tokens (RFC 7009); an unknown token is answered alike',
  policy: 'self',
  body: Type.Object({ ...ClientFields, token: Parameter, token_type_hint: Parameter }),
  response: Type.Object({}),
});
