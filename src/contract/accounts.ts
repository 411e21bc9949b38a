import Type, { type Static } from 'typebox';
import {
  Code,
  DisplayName,
  Email,
  EmailOrNone,
  LinkToken,
  Password,
  Phone,
  PLAIN_TEXT_PATTERN,
  RoleName,
  SpendLimitState,
  Time,
  TimeOrNull,
  Username,
} from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Assertion } from './passkey-credentials.ts';
import { Done, IdParam, ListOf, LongListOf, LongPageQuery, Ok, PageQuery } from './responses.ts';

/** The account in the response to a login. */
export const LoggedIn = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  display_name: Type.String(),
  role: RoleName,
});
/** A login session of a browser. `current`: the session that sent this request. */
export const Session = Type.Object({
  id: Type.Integer(),
  current: Type.Boolean(),
  address: Type.String(),
  user_agent: Type.String(),
  created_time: Time,
  last_used_time: Time,
  expires_at: Time,
});
const SecondStep = Type.Object({ require_2fa: Type.Literal(true) });

export const register = endpoint({
  method: 'POST',
  path: '/api/user/register',
  summary: 'Create an account',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ username: Username, password: Password, email: Type.Optional(EmailOrNone) }),
  response: Ok(Type.Object({ id: Type.Integer(), username: Type.String() })),
});

export const login = endpoint({
  method: 'POST',
  path: '/api/user/login',
  summary: 'Sign in with a password; sets the cookie `session`',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  secret: true,
  body: Type.Object({
    username: Type.String({ minLength: 1, maxLength: 254, description: 'user name or e-mail' }),
    password: Type.String({ minLength: 1, maxLength: 128 }),
  }),
  response: Ok(Type.Union([LoggedIn, SecondStep])),
});

export const loginSecondStep = endpoint({
  method: 'POST',
  path: '/api/user/login/2fa',
  summary: 'Finish a sign-in (this one or that of a device) with a TOTP code, a backup code or a passkey',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  secret: true,
  body: Type.Object({
    code: Type.Optional(Code),
    credential: Type.Optional(Assertion),
  }),
  response: Ok(LoggedIn),
});

export const logout = endpoint({
  method: 'POST',
  path: '/api/user/logout',
  summary: 'End this session',
  tag: 'accounts',
  policy: 'owner',
  withoutSecondFactor: true,
  envelope: 'api',
  response: Done,
});

export const getSelf = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/user/self',
  summary: 'The account of the credential',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      id: Type.Integer(),
      username: Type.String(),
      display_name: Type.String(),
      email: Type.String({ description: 'empty: none' }),
      role: RoleName,
      status: Type.Integer({ description: '1 enabled, 2 disabled' }),
      quota: Type.Integer({ description: 'the balance, reservations already deducted' }),
      used_quota: Type.Integer({ description: 'settled' }),
      request_count: Type.Integer(),
      current_package_code: Type.String(),
      package_expires_at: Type.Integer({ description: 'Unix seconds; 0: no end' }),
      has_2fa: Type.Boolean(),
      phone_bound: Type.Boolean(),
      messaging_bound: Type.Boolean(),
      spend_limit: Type.Union([SpendLimitState, Type.Null()], {
        description: 'of the account, or else of its plan; null: none',
      }),
      created_time: Time,
    }),
  ),
});

export const putSelf = endpoint({
  method: 'PUT',
  path: '/api/user/self',
  summary: 'Change display name, e-mail address or password; a device credential may change the display name only',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  body: Type.Object({
    display_name: Type.Optional(DisplayName),
    email: Type.Optional(EmailOrNone),
    password: Type.Optional(Password),
    original_password: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  }),
  response: Done,
});

const Settings = {
  time_zone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA name; days of allowances begin by it' }),
};

export const getSettings = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/user/settings',
  summary: 'Settings of the account',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  response: Ok(Type.Object(Settings)),
});

export const putSettings = endpoint({
  organization: 'admin',
  method: 'PUT',
  path: '/api/user/settings',
  summary: 'Change settings; only the named keys change',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  body: Type.Partial(Type.Object(Settings)),
  response: Done,
});

export const listSessions = endpoint({
  method: 'GET',
  path: '/api/user/sessions',
  summary: 'Where the account is signed in',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  query: Type.Object(PageQuery),
  response: ListOf(Session),
});

export const endSession = endpoint({
  method: 'DELETE',
  path: '/api/user/sessions/:id',
  summary: "End one of the account's own sessions",
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  params: IdParam,
  response: Done,
});

export const createManagementToken = endpoint({
  method: 'POST',
  path: '/api/user/token',
  summary:
    'Create the management access token, which replaces the old one; a new password, role, status or second step ends it',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  secret: true,
  response: Ok(Type.Object({ access_token: Type.String() })),
});

export const setUpTwoFactor = endpoint({
  method: 'POST',
  path: '/api/user/2fa/setup',
  summary: 'Begin two-step verification',
  tag: 'accounts',
  policy: 'owner',
  withoutSecondFactor: true,
  envelope: 'api',
  secret: true,
  response: Ok(Type.Object({ secret: Type.String(), otpauth_url: Type.String() })),
});

export const enableTwoFactor = endpoint({
  method: 'POST',
  path: '/api/user/2fa/enable',
  summary: 'Turn two-step verification on; the backup codes are shown once',
  tag: 'accounts',
  policy: 'owner',
  withoutSecondFactor: true,
  envelope: 'api',
  secret: true,
  body: Type.Object({ code: Code }),
  response: Ok(Type.Object({ backup_codes: Type.Array(Type.String()) })),
});

export const disableTwoFactor = endpoint({
  method: 'POST',
  path: '/api/user/2fa/disable',
  summary: 'Turn two-step verification off',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({ code: Code }),
  response: Done,
});

export const sendPhoneCode = endpoint({
  method: 'POST',
  path: '/api/user/bindings/phone/code',
  summary: 'Send a code to a phone',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({ phone: Phone }),
  response: Done,
});

export const bindPhone = endpoint({
  method: 'POST',
  path: '/api/user/bindings/phone',
  summary: 'Link the phone number the code was sent to',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({ phone: Phone, code: Type.String({ minLength: 1, maxLength: 16 }) }),
  response: Done,
});

export const bindMessaging = endpoint({
  method: 'POST',
  path: '/api/user/bindings/messaging',
  summary: 'Link a messaging app by the code its bot shows',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 256, pattern: PLAIN_TEXT_PATTERN }) }),
  response: Done,
});

export const getEmail = endpoint({
  method: 'GET',
  path: '/api/user/email',
  summary: 'The e-mail address of the account, and whether it is confirmed',
  tag: 'accounts',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      email: Type.String({ description: 'empty: none' }),
      confirmed: Type.Boolean({ description: 'whether it can be used to sign in' }),
      can_confirm: Type.Boolean({
        description: 'whether the service sends e-mail; where not, an address counts at once',
      }),
    }),
  ),
});

export const resendConfirmation = endpoint({
  method: 'POST',
  path: '/api/user/email/confirmation',
  summary: 'Send the link that confirms the e-mail address again',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  response: Done,
});

export const confirmEmail = endpoint({
  method: 'POST',
  path: '/api/user/email/confirm',
  summary: 'Confirm an e-mail address by the link sent to it; once, within 24 hours',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken }),
  response: Done,
});

export const requestPasswordReset = endpoint({
  method: 'POST',
  path: '/api/user/password-reset',
  summary:
    'Send a link for a new password if an account has confirmed this e-mail address; the response is the same if none has',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ email: Email }),
  response: Done,
});

export const resetPassword = endpoint({
  method: 'POST',
  path: '/api/user/password-reset/confirm',
  summary:
    'Set a new password by a link (of an e-mail: 30 minutes; of an administrator: a day). Once. Ends all sign-ins',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  body: Type.Object({ token: LinkToken, password: Password }),
  response: Done,
});

export const adminCreateResetLink = endpoint({
  method: 'POST',
  path: '/api/admin/users/:id/password-reset',
  summary: 'Create a link by which a user sets a new password; it works once, within a day',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  secret: true,
  params: IdParam,
  response: Ok(Type.Object({ url: Type.String(), expires_at: Time })),
});

export const LOGIN_OUTCOMES = ['success', 'wrong_password', 'wrong_code', 'wrong_passkey', 'disabled'] as const;
/** Outcome of a login attempt. */
export type LoginOutcomeName = (typeof LOGIN_OUTCOMES)[number];

/** A login attempt on an account. Attempts over the rate limit are refused earlier and not recorded. */
export const LoginAttempt = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer(),
  outcome: Type.Enum([...LOGIN_OUTCOMES]),
  two_step: Type.Boolean({ description: 'the second step was asked for' }),
  known_source: Type.Boolean({ description: 'from a device or network the account has signed in from before' }),
  address: Type.String(),
  user_agent: Type.String(),
  created_time: Time,
});
/** A login attempt on an account. */
export type LoginAttempt = Static<typeof LoginAttempt>;

const query = Type.Object({
  ...LongPageQuery,
  failed: Type.Optional(Type.Literal('true', { description: 'only attempts that failed' })),
});

export const listLogins = endpoint({
  method: 'GET',
  path: '/api/user/logins',
  summary: 'Sign-ins to the account, with failed attempts, newest first',
  tag: 'accounts',
  policy: 'owner',
  envelope: 'api',
  query,
  response: LongListOf(LoginAttempt),
});

export const adminListLogins = endpoint({
  method: 'GET',
  path: '/api/admin/logins',
  summary: 'Sign-ins to accounts the caller manages, with failed attempts, newest first',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...query.properties,
    user_id: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,15}$' })),
  }),
  response: LongListOf(LoginAttempt),
});

/** Reasons for a session ending early. */
export const SESSION_END_REASONS = [
  'password_changed',
  'password_reset',
  'email_confirmed',
  'password_set_by_administrator',
  'two_factor_on',
  'two_factor_off',
  'second_factors_reset',
  'role_changed',
  'account_disabled',
  'account_removed',
  'signed_out_elsewhere',
  'signed_out_by_administrator',
  'signed_out_by_provider',
  'expired',
] as const;
/** Reason for a session ending early. */
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];

export const getSessionEnd = endpoint({
  method: 'GET',
  path: '/api/user/session-end',
  summary: 'Why the session of the cookie `session` ended, kept for a week; null: still active or unknown',
  tag: 'accounts',
  policy: 'public',
  envelope: 'api',
  secret: true,
  response: Ok(
    Type.Object({
      reason: Type.Union([Type.Enum([...SESSION_END_REASONS]), Type.Null()]),
      ended_time: TimeOrNull,
    }),
  ),
});
