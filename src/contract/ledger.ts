import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { LongListOf, LongPageQuery, Ok } from './responses.ts';

const Id = Type.String({ pattern: '^[1-9][0-9]{0,15}$' });
const Count = Type.Integer({ minimum: 0 });

/** `token_id` of usage imported from another program; the ledger has no entry for it. */
export const IMPORTED_USAGE_TOKEN = -1;

/** Kinds of ledger entries. */
export const LEDGER_KINDS = ['reserve', 'settle', 'refund', 'grant', 'expire', 'closing'] as const;

const ledgerAmounts = {
  kind: Type.String(),
  amount: Type.Integer({ description: 'Signed change of the balance.' }),
  plan_amount: Type.Integer({ description: 'Signed change of the allowance of the plan.' }),
  created_time: Type.Integer(),
};

export const LedgerRow = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer(),
  organization: Type.String({ description: 'Slug, if `user_id` is an organization; else empty.' }),
  submitted_by: Type.String({ description: 'The member who called for an organization; empty: the account itself.' }),
  ...ledgerAmounts,
  task_id: Type.String({ description: 'Empty unless it belongs to a video.' }),
  prompt: Type.Optional(Type.String({ description: 'Start of the prompt of its video.' })),
  request_id: Type.String({ description: 'Empty unless it belongs to a model call; of grants their cause.' }),
  steps: Type.Optional(
    Type.Array(Type.Object(ledgerAmounts), { description: 'With `net`: the entries it sums up, oldest first.' }),
  ),
});

export const listLedger = endpoint({
  method: 'GET',
  path: '/api/admin/ledger',
  summary: 'Changes of all balances, newest first',
  tag: 'money',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...LongPageQuery,
    user_id: Type.Optional(Id),
    task_id: Type.Optional(Type.String({ maxLength: 200 })),
    kind: Type.Optional(Type.Enum([...LEDGER_KINDS])),
    net: Type.Optional(
      Type.Literal('true', { description: 'One row for each call: the sum of its entries. Not with `kind`.' }),
    ),
  }),
  response: LongListOf(LedgerRow),
});

const figures = { requests: Count, quota: Count, prompt_tokens: Count, completion_tokens: Count };
const usageQuery = {
  from: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds; default 29 days before `to`, at most 365.' }),
  ),
  to: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds, that day included; default now.' }),
  ),
  model: Type.Optional(Type.String({ maxLength: 200 })),
  token_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}$', description: '0: without a token.' })),
};

export const checkLedger = endpoint({
  method: 'GET',
  path: '/api/admin/ledger/check',
  summary: 'Audit the ledger: the entries since the last audit and every balance; each entry is read again once a day',
  tag: 'money',
  policy: 'root',
  envelope: 'api',
  response: Ok(
    Type.Object({
      ok: Type.Boolean(),
      errors: Type.Array(
        Type.Object({ rule: Type.String(), at: Type.String(), expected: Type.Number(), found: Type.Number() }),
        { description: 'Of this audit and of the last that read every entry.' },
      ),
      checked_at: Type.Integer({ description: 'Unix seconds.' }),
      full_checked_at: Type.Integer({ description: 'Time of the last full audit, in Unix seconds; 0: none yet.' }),
    }),
  ),
});

/** Member of a usage row that names the group of each value of `by`; an organization is an account of its own. */
export const USAGE_COLUMNS = {
  day: 'day',
  model: 'model',
  token: 'token_id',
  user: 'user_id',
  organization: 'user_id',
  channel: 'channel_id',
} as const;

const MOST_ROWS = { description: 'At most 10,000, the most expensive; `total` counts all.' };

/** Figures of one group; keys the query does not group by are omitted. */
const group = {
  day: Type.Optional(Type.String({ description: 'UTC, such as 2026-11-21.' })),
  model: Type.Optional(Type.String()),
  token_id: Type.Optional(Type.Integer()),
};

export const getUsage = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/usage',
  summary: 'Usage of the account, by day, model and API key',
  tag: 'money',
  policy: 'account',
  envelope: 'api',
  query: Type.Object({
    ...usageQuery,
    by: Type.Optional(
      Type.String({ pattern: '^(day|model|token)(,(day|model|token)){0,2}$', description: 'Default day,model,token.' }),
    ),
  }),
  response: Ok(
    Type.Object({ rows: Type.Array(Type.Object({ ...group, ...figures }), MOST_ROWS), total: Type.Object(figures) }),
  ),
});

export const getAllUsage = endpoint({
  method: 'GET',
  path: '/api/admin/usage',
  summary: 'Usage of all accounts, by day, model, API key, account, organization and channel',
  tag: 'money',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...usageQuery,
    user_id: Type.Optional(Id),
    channel_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}$', description: '0: none was reached.' })),
    by: Type.Optional(
      Type.String({
        pattern: '^(day|model|token|user|organization|channel)(,(day|model|token|user|organization|channel)){0,4}$',
        description: 'Default day,model. With organization, only organizations count; user_id is their id.',
      }),
    ),
  }),
  response: Ok(
    Type.Object({
      rows: Type.Array(
        Type.Object({
          ...group,
          user_id: Type.Optional(Type.Integer()),
          channel_id: Type.Optional(Type.Integer()),
          ...figures,
        }),
        MOST_ROWS,
      ),
      total: Type.Object(figures),
    }),
  ),
});

const dashboard = { tag: 'money', policy: 'model', envelope: 'model' } as const;

/**
 * OpenAI's former billing endpoints, which chat clients use to show a balance. Amounts are in units of display
 * currency.
 */
export const getBillingSubscription = endpoint({
  ...dashboard,
  method: 'GET',
  path: '/v1/dashboard/billing/subscription',
  summary: "The spending limit of this key: its own, else the balance of its account, in OpenAI's former format",
  response: Type.Object({
    object: Type.Literal('billing_subscription'),
    has_payment_method: Type.Boolean(),
    soft_limit_usd: Type.Number(),
    hard_limit_usd: Type.Number(),
    system_hard_limit_usd: Type.Number(),
    access_until: Type.Integer({ description: 'Unix seconds; 0: without an end.' }),
  }),
});

/** The path of clients whose base URL has no version: one-api and new-api serve both. */
export const getBillingSubscriptionAlias = endpoint({
  ...getBillingSubscription,
  path: '/dashboard/billing/subscription',
  isOtherSpelling: true,
});

/** The balance query of new-api's clients, in new-api's format; `code` is the boolean true here, not a number. */
export const getTokenUsage = endpoint({
  tag: 'money',
  policy: 'model',
  envelope: 'api',
  method: 'GET',
  path: '/api/usage/token',
  summary: "Available and used amounts of this key, in new-api's format",
  response: Type.Object({
    code: Type.Boolean(),
    message: Type.String(),
    data: Type.Object({
      object: Type.Literal('token_usage'),
      name: Type.String(),
      total_granted: Type.Integer({ description: "Quota: the key's limit, else what its account ever had." }),
      total_used: Type.Integer(),
      total_available: Type.Integer(),
      unlimited_quota: Type.Boolean(),
      model_limits: Type.Record(Type.String(), Type.Boolean()),
      model_limits_enabled: Type.Boolean(),
      expires_at: Type.Integer({ description: 'Unix seconds; 0: never.' }),
    }),
  }),
});
/** The path with a trailing slash, as new-api's clients send it. */
export const getTokenUsageAlias = endpoint({ ...getTokenUsage, path: '/api/usage/token/', isOtherSpelling: true });

const Day = Type.Optional(
  Type.String({
    pattern: '^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$',
    description: 'UTC, such as `2026-01-31` or `2026-1-31`.',
  }),
);

export const getBillingUsage = endpoint({
  ...dashboard,
  method: 'GET',
  path: '/v1/dashboard/billing/usage',
  summary: "The spending of this key in hundredths, in OpenAI's former format",
  query: Type.Object({ start_date: Day, end_date: Day }),
  response: Type.Object({ object: Type.Literal('list'), total_usage: Type.Number() }),
});
export const getBillingUsageAlias = endpoint({
  ...getBillingUsage,
  path: '/dashboard/billing/usage',
  isOtherSpelling: true,
});
