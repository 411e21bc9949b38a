import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { countMessageTokens, messages } from './model-calls.ts';
import { AnthropicModels, listModels } from './models.ts';
import { DEVICE_GRANT } from './oauth.ts';
import { Done, IdParam, ListOf, Ok, PageQuery } from './responses.ts';

/** Path of the gateway that Claude Code signs in to; its issuer is this path under BASE_URL. */
export const CLAUDE_CODE_PATH = '/claude-code';
/** Built-in public client of the sign-ins. */
export const CLAUDE_CODE_CLIENT = { id: 'claude-code', name: 'Claude Code' } as const;
/** Grants of the token endpoint. */
export const CLAUDE_CODE_GRANTS = [DEVICE_GRANT, 'refresh_token'] as const;

const Parameter = Type.Optional(Type.String({ maxLength: 1_000 }));

const gateway = { tag: 'claude-code' } as const;
const oauth = { ...gateway, policy: 'self', envelope: 'claude-code-oauth' } as const;
const form = { ...oauth, method: 'POST', accepts: 'form', optionalBody: true, secret: true } as const;
const withToken = { ...gateway, policy: 'claude-code', envelope: 'claude-code' } as const;

export const claudeCodeMetadata = endpoint({
  ...oauth,
  method: 'GET',
  path: `${CLAUDE_CODE_PATH}/.well-known/oauth-authorization-server`,
  summary: 'Metadata of the gateway that Claude Code signs in to',
  response: Type.Object({
    issuer: Type.String(),
    device_authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: Type.String(),
    grant_types_supported: Type.Array(Type.String()),
    response_types_supported: Type.Array(Type.String()),
    token_endpoint_auth_methods_supported: Type.Array(Type.String()),
    revocation_endpoint_auth_methods_supported: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    gateway_protocol_version: Type.Integer(),
  }),
});

export const claudeCodeDeviceAuthorization = endpoint({
  ...form,
  path: `${CLAUDE_CODE_PATH}/oauth/device_authorization`,
  summary: 'Begin a sign-in of Claude Code (RFC 8628 section 3.1); needs no parameter',
  body: Type.Object({ surface: Parameter }),
  response: Type.Object({
    device_code: Type.String(),
    user_code: Type.String(),
    verification_uri: Type.String(),
    verification_uri_complete: Type.String(),
    expires_in: Type.Integer(),
    interval: Type.Integer(),
  }),
});

export const claudeCodeToken = endpoint({
  ...form,
  path: `${CLAUDE_CODE_PATH}/oauth/token`,
  summary: 'Poll for the tokens of a Claude Code sign-in, or refresh them; needs no client',
  body: Type.Object({ grant_type: Parameter, device_code: Parameter, refresh_token: Parameter }),
  response: Type.Object({
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer(),
    refresh_token: Type.String(),
    scope: Type.String(),
    email: Type.Optional(Type.String({ description: 'of an account that has confirmed it' })),
  }),
});

export const claudeCodeRevoke = endpoint({
  ...form,
  path: `${CLAUDE_CODE_PATH}/oauth/revoke`,
  summary: 'Sign out the Claude Code that a token belongs to (RFC 7009); an unknown token gets the same response',
  body: Type.Object({ token: Parameter, token_type_hint: Parameter }),
  response: Type.Object({}),
});

export const claudeCodeSettings = endpoint({
  ...withToken,
  method: 'GET',
  path: `${CLAUDE_CODE_PATH}/managed/settings`,
  summary: 'The managed settings of the site with their checksum as ETag; 404 where there are none',
  responseStatuses: [200, 304],
  response: Type.Object({ uuid: Type.String(), checksum: Type.String(), settings: Type.Unknown() }),
});

export const claudeCodeHello = endpoint({
  ...withToken,
  method: 'GET',
  path: `${CLAUDE_CODE_PATH}/api/hello`,
  summary: 'Whether the gateway responds and the token works',
  response: Type.Object({}),
});

const ClaudeCodeUsageAnswer = Type.Object({
  extra_usage: Type.Object({
    is_enabled: Type.Boolean(),
    monthly_limit: Type.Number({ description: 'of the limit that is reached first, in hundredths of the currency' }),
    used_credits: Type.Number(),
    utilization: Type.Integer({ description: 'percent' }),
    currency: Type.String({ description: 'ISO 4217; CRD: credits of this site' }),
  }),
  limits: Type.Array(
    Type.Object({
      kind: Type.Literal('spend'),
      group: Type.Enum(['daily', 'weekly', 'monthly']),
      percent: Type.Integer(),
      resets_at: Type.String(),
      severity: Type.Enum(['normal', 'warning', 'critical']),
      is_active: Type.Boolean({ description: 'whether it is the one in extra_usage' }),
    }),
  ),
});
/** A person's spend limits as Claude Code shows them under `/usage`. */
export type ClaudeCodeUsageAnswer = Static<typeof ClaudeCodeUsageAnswer>;

export const claudeCodeUsage = endpoint({
  ...withToken,
  method: 'GET',
  path: `${CLAUDE_CODE_PATH}/api/oauth/usage`,
  summary: 'Spend limits of the user and the amounts used; 404 where there are none',
  response: ClaudeCodeUsageAnswer,
});

export const claudeCodeModels = endpoint({
  ...withToken,
  method: 'GET',
  path: `${CLAUDE_CODE_PATH}/v1/models`,
  summary: "Models the user may call, paged in the form of Anthropic's API",
  query: Type.Pick(listModels.query, ['limit', 'before_id', 'after_id']),
  response: AnthropicModels,
});

export const claudeCodeMessages = endpoint({
  ...messages,
  ...withToken,
  path: `${CLAUDE_CODE_PATH}/v1/messages`,
  summary: 'Message by Claude Code, streamed or not',
});

export const claudeCodeCountTokens = endpoint({
  ...countMessageTokens,
  ...withToken,
  path: `${CLAUDE_CODE_PATH}/v1/messages/count_tokens`,
  summary: 'Tokens of a message by Claude Code; free of charge',
});

/** Signals of OpenTelemetry that the program reports to its gateway. */
const telemetry = (signal: 'metrics' | 'logs' | 'traces') =>
  endpoint({
    ...withToken,
    method: 'POST',
    path: `${CLAUDE_CODE_PATH}/v1/${signal}`,
    summary: `Receive the ${signal} of the program and discard them`,
    accepts: 'discard',
    bodyLimit: 16 * 1024 * 1024,
    response: Type.Object({}),
  });
export const claudeCodeMetrics = telemetry('metrics');
export const claudeCodeLogs = telemetry('logs');
export const claudeCodeTraces = telemetry('traces');

/** The site's managed settings of Claude Code, as root edits them. */
export const ClaudeCodePolicy = Type.Object({
  value: Type.Unsafe<Readonly<Record<string, unknown>> | null>({ description: 'an object; null: there are none' }),
  checksum: Type.String({
    description: '`sha256:` and the hash of the JSON with sorted keys; empty where there are none',
  }),
  sensitive: Type.Array(Type.String(), {
    description: 'the keys that can run programs or redirect traffic, or whose effect this release does not know',
  }),
});
/** The site's managed settings of Claude Code, as root edits them. */
export type ClaudeCodePolicy = Static<typeof ClaudeCodePolicy>;

const policySetting = {
  tag: 'admin',
  policy: 'root',
  envelope: 'api',
  path: '/api/admin/settings/CLAUDE_CODE_MANAGED_SETTINGS',
} as const;

export const getClaudeCodePolicy = endpoint({
  ...policySetting,
  method: 'GET',
  summary: 'The managed settings that Claude Code receives from this site',
  response: Ok(ClaudeCodePolicy),
});

/** Bytes; a policy with long lists of permissions has a few kilobytes. */
export const MAX_POLICY_BYTES = 64 * 1024;

export const updateClaudeCodePolicy = endpoint({
  ...policySetting,
  method: 'PUT',
  summary:
    'Replace the managed settings of Claude Code; those that can run programs need confirm and the password or a code',
  bodyLimit: 2 * MAX_POLICY_BYTES,
  body: Type.Object({
    value: Type.Unknown({ description: 'managed-settings.json as an object or a text; null or an empty text: none' }),
    confirm: Type.Optional(Type.Boolean({ description: 'required for settings that can run programs' })),
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    code: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'of the authenticator, or a backup code' }),
    ),
  }),
  response: Ok(ClaudeCodePolicy),
});

export const adminListClaudeCode = endpoint({
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  method: 'GET',
  path: '/api/admin/claude-code',
  summary: 'Users signed in to Claude Code, last used first',
  query: Type.Object(PageQuery),
  response: ListOf(
    Type.Object({
      id: Type.Integer({ description: 'of the device' }),
      user_id: Type.Integer(),
      username: Type.String(),
      name: Type.String({ description: 'of the device, if its owner named it' }),
      program: Type.String({ description: 'User-Agent of the sign-in' }),
      created_time: Type.Integer(),
      last_used_time: Type.Integer(),
      last_used_address: Type.String(),
    }),
  ),
});

export const adminEndClaudeCode = endpoint({
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  method: 'DELETE',
  path: '/api/admin/claude-code/:id',
  summary: 'Sign out one Claude Code',
  params: IdParam,
  response: Done,
});
