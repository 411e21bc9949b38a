import Type from 'typebox';
import { SPEND_PERIODS } from './amounts.ts';
import { endpoint } from './endpoint.ts';
import { PASSKEY_BODY_LIMIT, PasskeyField } from './passkey-credentials.ts';

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
/** Checked by the handler, which reports most errors to the client by a redirect. */
const QueryParameter = (description: string) => Type.Optional(Type.Unknown({ description }));
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
    authorization_endpoint: Type.String(),
    device_authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: Type.String(),
    response_types_supported: Type.Array(Type.String()),
    response_modes_supported: Type.Array(Type.String()),
    grant_types_supported: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    code_challenge_methods_supported: Type.Array(Type.String()),
    authorization_response_iss_parameter_supported: Type.Boolean(),
    client_id_metadata_document_supported: Type.Boolean(),
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
  summary: 'The same metadata at the location of OpenID Connect; no id_token is issued',
});

const resourceMetadata = {
  method: 'GET',
  tag: 'oauth',
  policy: 'public',
  envelope: 'oauth',
  response: Type.Object({
    resource: Type.String(),
    authorization_servers: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    bearer_methods_supported: Type.Array(Type.String()),
    resource_name: Type.String(),
    resource_documentation: Type.String(),
  }),
} as const;

export const apiMetadata = endpoint({
  ...resourceMetadata,
  path: RESOURCE_METADATA_PATH,
  summary: 'Metadata of the management and model APIs as a protected resource (RFC 9728)',
});

export const mcpMetadata = endpoint({
  ...resourceMetadata,
  path: `${RESOURCE_METADATA_PATH}/mcp`,
  summary: 'Metadata of the MCP server as a protected resource (RFC 9728)',
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

const consentPage = { tag: 'oauth', policy: 'self', envelope: 'page', responseStatuses: [200, 303] } as const;
const consentForm = { ...consentPage, method: 'POST', accepts: 'form', bodyLimit: 16 * 1024 } as const;

/** Longest authorization request in a query; a URL has to pass proxies too. */
export const MAX_REQUEST_LENGTH = 4_000;
const ConsentFields = {
  request: Type.String({ maxLength: MAX_REQUEST_LENGTH, description: 'the query of the authorization request' }),
  form: Type.String({ maxLength: 200, description: 'anti-forgery value of this form in this browser' }),
  lang: Type.Optional(Type.String({ maxLength: 16 })),
};

export const oauthAuthorize = endpoint({
  ...consentPage,
  method: 'GET',
  path: '/oauth/authorize',
  summary: 'The page on which a user approves an application (RFC 6749 section 4.1, PKCE required)',
  query: Type.Object({
    client_id: QueryParameter('a registered client'),
    redirect_uri: QueryParameter('exactly as registered; any port of a loopback address'),
    response_type: QueryParameter('`code`'),
    scope: QueryParameter(`of ${OAUTH_SCOPES.join(', ')}, separated by spaces`),
    state: QueryParameter('returned as it is'),
    code_challenge: QueryParameter('RFC 7636'),
    code_challenge_method: QueryParameter('`S256`'),
    resource: QueryParameter('RFC 8707: BASE_URL or BASE_URL/mcp'),
    lang: Type.Optional(Type.String({ maxLength: 16 })),
    step: Type.Optional(Type.String({ maxLength: 16 })),
  }),
});

export const oauthApprove = endpoint({
  ...consentForm,
  path: '/oauth/authorize/approve',
  bodyLimit: PASSKEY_BODY_LIMIT,
  summary: 'Form of the page: approve the application, within limits; returns to it with a code',
  body: Type.Object({
    ...ConsentFields,
    otp: Type.Optional(Type.String({ maxLength: 64, description: 'TOTP or backup code, where the page asks for one' })),
    passkey: Type.Optional(PasskeyField),
    organization: Type.Optional(Type.String({ maxLength: 40, description: 'empty: the account itself' })),
    expires_in_days: Type.Optional(Type.String({ maxLength: 10, description: 'empty: until it is revoked' })),
    spend_limit_amount: Type.Optional(
      Type.String({ maxLength: 30, description: 'in the display currency; empty: none of its own' }),
    ),
    spend_limit_period: Type.Optional(Type.String({ maxLength: 10, description: SPEND_PERIODS.join(', ') })),
  }),
});

export const oauthDeny = endpoint({
  ...consentForm,
  path: '/oauth/authorize/deny',
  summary: 'Form of the page: deny; returns to the application with access_denied',
  body: Type.Object(ConsentFields),
});

export const oauthToken = endpoint({
  ...form,
  path: '/oauth/token',
  summary: 'Exchange a code (RFC 6749 section 4.1.3), poll for tokens (RFC 8628 section 3.4) or refresh them',
  policy: 'self',
  body: Type.Object({
    ...ClientFields,
    grant_type: Parameter,
    device_code: Parameter,
    code: Parameter,
    redirect_uri: Parameter,
    code_verifier: Parameter,
    refresh_token: Parameter,
    scope: Parameter,
    resource: Parameter,
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
  summary: 'End the device sign-in that a token belongs to (RFC 7009); an unknown token gets the same response',
  policy: 'self',
  body: Type.Object({ ...ClientFields, token: Parameter, token_type_hint: Parameter }),
  response: Type.Object({}),
});
