import type { Static } from 'typebox';
import Type from 'typebox';
import { Time, TimeOrNull } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { LongListOf, LongPageQuery, Ok } from './responses.ts';

export const LOGIN_OUTCOMES = ['success', 'wrong_password', 'wrong_code', 'wrong_passkey', 'disabled'] as const;
/** Outcome of a login attempt. */
export type LoginOutcomeName = (typeof LOGIN_OUTCOMES)[number];

/** A login attempt on an account. Attempts over the rate limit are refused earlier and not recorded. */
export const LoginAttempt = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer(),
  outcome: Type.Enum([...LOGIN_OUTCOMES]),
  two_step: Type.Boolean({ description: 'the second step was asked for' }),
  known_source: Type.Boolean({ description: 'from a device or network the account has logged in from before' }),
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
