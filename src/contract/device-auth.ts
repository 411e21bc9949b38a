import Type from 'typebox';
import { SpendLimitState } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { OAUTH_SCOPES } from './oauth.ts';
import { Assertion } from './passkey-credentials.ts';
import { Done, IdParam, ListOf, PageQuery } from './responses.ts';

/** States of a device authorization as reported by verify; `invalid`: no such code exists. */
export const DEVICE_STATUSES = ['pending', 'approved', 'denied', 'used', 'expired', 'invalid'] as const;
/** State of a device authorization. */
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

/** The `error` values of token and refresh. */
export const DEVICE_ERRORS = [
  'invalid_request',
  'invalid_client',
  'authorization_pending',
  'access_denied',
  'expired_token',
  'invalid_grant',
  'server_error',
] as const;

/**
 * Letters of a user_code: no vowels, so that no words occur, and no letter that resembles a digit (RFC 8628 section
 * 6.1).
 */
export const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
/** Minimum interval between two polls requested from clients, in seconds. */
export const POLL_INTERVAL_SECONDS = 5;
export const ACCESS_TOKEN_SECONDS = 30 * 86_400;
export const REFRESH_TOKEN_SECONDS = 90 * 86_400;
/** Stored length of client_name and device_id, in code points. */
export const NAME_LENGTH_MAX = 100;

/** As typed by the user: case, dashes and spaces are ignored. */
const UserCode = Type.String({
  minLength: 1,
  maxLength: 64,
  description: '`XXXX-XXXX`; case, dash and spaces are forgiven',
});
const ClientId = Type.String({ minLength: 1, maxLength: 200 });
const ClientSecret = Type.String({ minLength: 1, maxLength: 200 });
const Token = Type.String({ minLength: 1, maxLength: 200 });
/** Accepts more than is stored, because longer values are truncated rather than rejected. */
const Cut = Type.String({ maxLength: 10_000, description: 'cut after 100 characters' });

export const createDeviceCode = endpoint({
  method: 'POST',
  path: '/api/auth/device/code',
  summary: 'Begin a device sign-in: a code to poll with and a code to show',
  tag: 'device',
  policy: 'public',
  envelope: 'api',
  secret: true,
  body: Type.Object({ client_id: ClientId, client_name: Type.Optional(Cut), device_id: Type.Optional(Cut) }),
  response: Type.Object({
    success: Type.Literal(true),
    data: Type.Object({
      device_code: Type.String(),
      user_code: Type.String(),
      verification_uri: Type.String(),
      verification_uri_complete: Type.String(),
      expires_in: Type.Integer({ description: 'seconds' }),
      interval: Type.Integer({ description: 'seconds between polls' }),
    }),
  }),
});

export const deviceLogin = endpoint({
  method: 'POST',
  path: '/api/auth/device/login',
  summary: 'Sign in on the authorization page; needs a pending user_code and claims it for the account',
  tag: 'device',
  policy: 'public',
  envelope: 'api',
  secret: true,
  body: Type.Object({
    user_code: UserCode,
    username: Type.String({ minLength: 1, maxLength: 254, description: 'user name or e-mail' }),
    password: Type.String({ minLength: 1, maxLength: 128 }),
  }),
  response: Type.Object({
    success: Type.Literal(true),
    message: Type.Optional(Type.String()),
    data: Type.Union([
      Type.Object({ id: Type.Integer(), username: Type.String() }),
      Type.Object({ require_2fa: Type.Literal(true) }),
    ]),
  }),
});

export const verifyUserCode = endpoint({
  method: 'GET',
  path: '/api/auth/device/verify',
  summary: 'The state of a user_code; success is true only while it is pending',
  tag: 'device',
  policy: 'public',
  envelope: 'api',
  secret: true,
  query: Type.Object({ user_code: UserCode }),
  response: Type.Object({
    success: Type.Boolean(),
    status: Type.Enum(DEVICE_STATUSES),
    message: Type.String(),
  }),
});

export const approveDevice = endpoint({
  method: 'POST',
  path: '/api/auth/device/approve',
  summary: 'Approve the device that shows this user_code',
  tag: 'device',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({
    user_code: UserCode,
    code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'TOTP or backup code, required where two-step verification is on and the login is some time ago',
      }),
    ),
    credential: Type.Optional(Assertion),
    organization: Type.Optional(
      Type.String({ maxLength: 40, description: 'slug of the organization it acts for; absent: your own account' }),
    ),
  }),
  response: Done,
});

export const denyDevice = endpoint({
  method: 'POST',
  path: '/api/auth/device/deny',
  summary: 'Deny the device that shows this user_code',
  tag: 'device',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({ user_code: UserCode }),
  response: Done,
});

export const pollDeviceToken = endpoint({
  method: 'POST',
  path: '/api/auth/device/token',
  summary: 'Poll for the tokens; they are returned once',
  tag: 'device',
  policy: 'public',
  envelope: 'device',
  secret: true,
  body: Type.Object({ device_code: Token, client_id: ClientId, client_secret: ClientSecret }),
  response: Type.Object({
    success: Type.Literal(true),
    data: Type.Object({
      access_token: Type.String(),
      refresh_token: Type.String(),
      llm_token: Type.String({ description: 'an `sk-` token for /v1 and /v2' }),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer({ description: 'seconds the access_token has left' }),
      user_id: Type.Integer(),
      username: Type.String(),
      display_name: Type.String(),
    }),
  }),
});

export const refreshDevice = endpoint({
  method: 'POST',
  path: '/api/auth/device/refresh',
  summary: 'Exchange a refresh_token, once, for a new pair',
  tag: 'device',
  policy: 'public',
  envelope: 'device',
  secret: true,
  body: Type.Object({ refresh_token: Token, client_id: ClientId, client_secret: ClientSecret }),
  response: Type.Object({
    success: Type.Literal(true),
    data: Type.Object({
      access_token: Type.String(),
      refresh_token: Type.String(),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer(),
    }),
  }),
});

export const logoutDevice = endpoint({
  method: 'POST',
  path: '/api/auth/device/logout',
  summary: 'End the device sign-in of the bearer access_token, which may be expired',
  tag: 'device',
  policy: 'self',
  envelope: 'api',
  response: Done,
});

export const listDevices = endpoint({
  method: 'GET',
  path: '/api/user/devices',
  summary: 'Devices signed in to the account and applications with access, newest first',
  tag: 'device',
  policy: 'account',
  envelope: 'api',
  query: Type.Object(PageQuery),
  response: ListOf(
    Type.Object({
      id: Type.Integer(),
      client: Type.String({ description: 'registered name of the client' }),
      name: Type.String({ description: 'what its owner calls it, else what the client called itself' }),
      device_id: Type.String(),
      address: Type.String({ description: 'where the sign-in was asked for' }),
      user_agent: Type.String(),
      created_time: Type.Integer({ description: 'Unix seconds' }),
      last_used_time: Type.Integer({ description: 'Unix seconds' }),
      last_used_address: Type.String(),
      expires_time: Type.Integer({ description: 'Unix seconds at which it can no longer be refreshed' }),
      current: Type.Boolean({ description: 'it is the one this request came with' }),
      scopes: Type.Array(Type.Enum([...OAUTH_SCOPES]), {
        description: 'what it may do; a device sign-in has no others',
      }),
      spend_limit: Type.Union([SpendLimitState, Type.Null()], { description: 'the limit its owner set for it' }),
      expires_at: Type.Union([Type.Integer(), Type.Null()], {
        description: 'Unix seconds at which the owner ends it; null: no such time',
      }),
      organization: Type.String({ description: 'slug of the organization it acts for; empty: your own account' }),
    }),
  ),
});

export const renameDevice = endpoint({
  method: 'PUT',
  path: '/api/user/devices/:id',
  summary: 'Rename a device; an empty name restores that of its client',
  tag: 'device',
  policy: 'owner',
  envelope: 'api',
  params: IdParam,
  body: Type.Object({ name: Type.String({ maxLength: NAME_LENGTH_MAX }) }),
  response: Done,
});

export const endDevice = endpoint({
  method: 'DELETE',
  path: '/api/user/devices/:id',
  summary: "End one of the account's device sign-ins; its tokens stop working at once",
  tag: 'device',
  policy: 'account',
  envelope: 'api',
  params: IdParam,
  response: Done,
});

/**
 * OAuth client of this project's command line. Every copy ships the same secret, so the secret does not authenticate
 * the caller (RFC 8628 section 5.6, RFC 8252 section 8.5): the user's approval does, and administrators can disable the
 * client.
 */
export const CLI_OAUTH_CLIENT = {
  id: 'reelgate-cli',
  name: 'Reelgate CLI',
  secret: 'rgcs_cli_7wQm2ZkXv9TnB4yLr8Hd3PsGc6JfAe5U',
} as const;
