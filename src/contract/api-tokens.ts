import Type from 'typebox';
import { NullableSpendState, PLAIN_TEXT_PATTERN, Quota, SpendLimitChange, Time, TimeOrNull } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

const TokenName = Type.String({ minLength: 1, maxLength: 100, pattern: PLAIN_TEXT_PATTERN });
const PositiveOrNull = (maximum: number, description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Null()], { description }));
/** Upper bound of every per-minute limit; a higher limit would have no effect. */
const MAX_PER_MINUTE = 1_000_000_000;
const MAX_AT_ONCE = 1_000;
const MAX_QUEUED = 1_000_000;
const RateLimits = {
  requests_per_minute: PositiveOrNull(MAX_PER_MINUTE, 'model calls and submitted videos; null: any number'),
  tokens_per_minute: PositiveOrNull(MAX_PER_MINUTE, 'input and output of model calls; null: any number'),
  concurrent_calls: PositiveOrNull(MAX_AT_ONCE, 'model calls at once; null: any number'),
  concurrent_tasks: PositiveOrNull(MAX_AT_ONCE, 'videos in progress at once; null: any number'),
  queued_tasks: PositiveOrNull(MAX_QUEUED, 'videos that may wait for a slot; null: as many as the account may have'),
};
/** Refuses unknown fields by name: a misspelled limit would otherwise not apply. */
const CLOSED = { additionalProperties: false } as const;
const TokenLimits = {
  ...RateLimits,
  expires_at: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 253_402_300_799 }), Type.Null()])),
  quota_limit: Type.Optional(Type.Union([Quota, Type.Null()])),
  spend_limit: SpendLimitChange,
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: PLAIN_TEXT_PATTERN }), {
      maxItems: 200,
      description: 'empty: all',
    }),
  ),
  allowed_addresses: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 100,
      description: 'IP addresses and CIDR ranges the key may be used from; empty: any',
    }),
  ),
};

export const TOKEN_SORTS = ['created', 'name', 'expires', 'used'] as const;

/** An API token without its key. */
const ApiToken = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  key_hint: Type.String({ description: 'the first characters of the key' }),
  expires_at: TimeOrNull,
  quota_limit: Type.Union([Type.Integer(), Type.Null()]),
  quota_used: Type.Integer({ description: 'counted while there is a limit' }),
  spend_limit: NullableSpendState,
  models: Type.Array(Type.String()),
  allowed_addresses: Type.Array(Type.String()),
  requests_per_minute: Type.Union([Type.Integer(), Type.Null()]),
  tokens_per_minute: Type.Union([Type.Integer(), Type.Null()]),
  concurrent_calls: Type.Union([Type.Integer(), Type.Null()]),
  concurrent_tasks: Type.Union([Type.Integer(), Type.Null()]),
  queued_tasks: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Videos that may wait for a slot; null: as many as the account may have.',
  }),
  created_by: Type.String({ description: 'User name of the member who created a key of an organization.' }),
  created_time: Time,
  last_used_time: TimeOrNull,
  old_keys: Type.Array(Type.Object({ key_hint: Type.String(), expires_at: Time, last_used_time: TimeOrNull }), {
    description: 'Secrets that a rotation replaced and that still work.',
  }),
});

/** Longest time that a replaced secret still works. */
export const MAX_OVERLAP_SECONDS = 7 * 86_400;
export const DEFAULT_OVERLAP_SECONDS = 86_400;

export const listTokens = endpoint({
  method: 'GET',
  path: '/api/tokens',
  summary: 'API keys of the account',
  tag: 'tokens',
  policy: 'owner',
  organization: 'member',
  envelope: 'api',
  query: Type.Object({ ...PageQuery, sort: SortBy(TOKEN_SORTS, 'Default -created: the newest first.') }),
  response: ListOf(ApiToken),
});

export const getToken = endpoint({
  method: 'GET',
  path: '/api/tokens/:id',
  summary: "One of the account's API keys",
  tag: 'tokens',
  policy: 'owner',
  organization: 'member',
  envelope: 'api',
  params: IdParam,
  response: Ok(ApiToken),
});

export const createToken = endpoint({
  method: 'POST',
  path: '/api/tokens',
  summary: 'Create an `sk-` API key; the key is shown once',
  tag: 'tokens',
  policy: 'owner',
  organization: 'member',
  envelope: 'api',
  secret: true,
  body: Type.Object({ name: TokenName, ...TokenLimits }, CLOSED),
  response: Ok(Type.Object({ id: Type.Integer(), key: Type.String() })),
});

export const updateToken = endpoint({
  method: 'PUT',
  path: '/api/tokens/:id',
  summary: 'Change an API key; only the named keys change',
  tag: 'tokens',
  policy: 'owner',
  organization: 'member',
  envelope: 'api',
  params: IdParam,
  body: Type.Object({ name: Type.Optional(TokenName), ...TokenLimits }, CLOSED),
  response: Done,
});

export const rotateToken = endpoint({
  organization: 'member',
  method: 'POST',
  path: '/api/tokens/:id/rotate',
  summary: 'Give an API key a new secret, shown once; the old one works for a while. Id, limits and usage stay',
  tag: 'tokens',
  policy: 'owner',
  envelope: 'api',
  secret: true,
  params: IdParam,
  body: Type.Object(
    {
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_OVERLAP_SECONDS,
          description: `How long the old secret still works; default ${DEFAULT_OVERLAP_SECONDS}, 0: it ends at once.`,
        }),
      ),
    },
    CLOSED,
  ),
  response: Ok(Type.Object({ id: Type.Integer(), key: Type.String(), old_key_expires_at: TimeOrNull })),
});

export const endTokenRotation = endpoint({
  organization: 'member',
  method: 'DELETE',
  path: '/api/tokens/:id/rotation',
  summary: 'End the old secrets of an API key now',
  tag: 'tokens',
  policy: 'owner',
  envelope: 'api',
  params: IdParam,
  response: Done,
});

export const revokeToken = endpoint({
  method: 'DELETE',
  path: '/api/tokens/:id',
  summary: 'Revoke an API key; it stops working at once',
  tag: 'tokens',
  policy: 'owner',
  organization: 'member',
  envelope: 'api',
  params: IdParam,
  response: Done,
});
