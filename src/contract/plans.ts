import Type from 'typebox';
import { Note, PLAIN_TEXT_PATTERN, Quota, SpendLimit, Time } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** The built-in package of accounts without a subscription; created by the service, never listed, never removed. */
export const NO_PACKAGE = 'none';

/** Keys of the contract, in its order. */
const PACKAGE_CARD = {
  id: Type.Integer(),
  package_code: Type.String(),
  name: Type.String(),
  description: Type.String(),
  level: Type.Integer({ description: 'Larger is higher.' }),
  price_amount: Type.Number({ description: 'Display price in the display currency.' }),
  purchasable: Type.Boolean(),
  daily_quota: Type.Integer({ description: 'Per natural day, where refresh_interval_seconds is 0.' }),
  duration_days: Type.Integer(),
  refresh_interval_seconds: Type.Integer({ description: '0: refreshed per natural day.' }),
  system_builtin: Type.Boolean({ description: 'Created by the service.' }),
  interval_quota: Type.Integer({ description: 'Per refresh_interval_seconds, where that is not 0.' }),
  weekly_quota_limit: Type.Integer({ description: 'Cap of each 7 × 24 h from activation; 0: none.' }),
  status: Type.Integer({ description: '1 enabled, 2 disabled' }),
  created_time: Time,
};
/** Absent where users request the plan by a ticket. */
const OrderLink = Type.String({ description: 'Where the plan is bought; absent: users request it by a ticket.' });
export const PackageCard = Type.Object({
  ...PACKAGE_CARD,
  monthly_quota_limit: Type.Optional(
    Type.Integer({ description: 'Cap of each 30 × 24 h from activation; absent: none.' }),
  ),
  order_url: Type.Optional(OrderLink),
});
const AdminPackageCard = Type.Object({
  ...PACKAGE_CARD,
  monthly_quota_limit: Type.Integer({ description: 'Cap of each 30 × 24 h from activation; 0: none.' }),
  order_url: Type.String({ description: 'Where the plan is bought; empty: users request it by a ticket.' }),
  models: Type.Array(Type.String(), { description: 'Empty: all.' }),
  price_factor: Type.Number({ description: 'Factor on the prices its holders pay.' }),
  channels: Type.Array(Type.Integer(), { description: 'Channels that serve its holders; empty: all.' }),
  storage_days: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Retention of video copies in days; 0: unlimited, null: ARTIFACTS_DAYS.',
  }),
  storage_gb: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Space of these copies in GiB; null: a quarter of ARTIFACTS_MAX_GB.',
  }),
  concurrent_tasks: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Videos of an account in progress at once; null: any number.',
  }),
  queued_tasks: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Videos of an account that may wait for a slot; null: 10,000.',
  }),
  spend_limit: Type.Union([SpendLimit, Type.Null()], {
    description: 'Spend limit of accounts without their own, balance included; null: none.',
  }),
});

export const listPackageCards = endpoint({
  method: 'GET',
  path: '/api/package-cards',
  summary: 'Plans on offer, by level',
  tag: 'packages',
  policy: 'public',
  envelope: 'api',
  response: Ok(Type.Array(PackageCard)),
});

const Seconds = Type.Integer({ minimum: 0, maximum: 366 * 86_400 });
const OrderUrl = Type.String({ maxLength: 2_000, pattern: '^(https://[^\\s"<>]+)?$' });
const TaskLimit = Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]);
const PackageCardFields = {
  package_code: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' }),
  name: Type.String({ minLength: 1, maxLength: 100, pattern: PLAIN_TEXT_PATTERN }),
  description: Type.String({ maxLength: 2_000 }),
  level: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  price_amount: Type.Number({ minimum: 0, maximum: 1e9 }),
  purchasable: Type.Boolean(),
  daily_quota: Quota,
  duration_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
  refresh_interval_seconds: Seconds,
  interval_quota: Quota,
  weekly_quota_limit: Quota,
  monthly_quota_limit: Quota,
  status: Type.Union([Type.Literal(1), Type.Literal(2)]),
  order_url: OrderUrl,
  models: Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: PLAIN_TEXT_PATTERN }), {
    maxItems: 500,
    uniqueItems: true,
  }),
  price_factor: Type.Number({
    minimum: 0,
    maximum: 1_000,
    multipleOf: 1e-9,
    description: 'Factor on the prices its holders pay.',
  }),
  channels: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
    maxItems: 500,
    uniqueItems: true,
    description: 'Empty: all.',
  }),
  storage_days: Type.Union([Type.Integer({ minimum: 0, maximum: 36_500 }), Type.Null()]),
  storage_gb: Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]),
  concurrent_tasks: TaskLimit,
  queued_tasks: TaskLimit,
  spend_limit: Type.Union([SpendLimit, Type.Null()]),
};
const { package_code, name, level, duration_days, ...optional } = PackageCardFields;

const admin = { tag: 'admin', policy: 'admin', envelope: 'api' } as const;

export const PLAN_SORTS = ['level', 'name', 'duration', 'price'] as const;
export const adminListPackageCards = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/package-cards',
  summary: 'All plans',
  query: Type.Object({ ...PageQuery, sort: SortBy(PLAN_SORTS, 'Default: by level, the lowest first.') }),
  response: ListOf(AdminPackageCard),
});
export const adminCreatePackageCard = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/package-cards',
  summary: 'Create a plan',
  body: Type.Object(
    { package_code, name, level, duration_days, ...Type.Partial(Type.Object(optional)).properties },
    { additionalProperties: false },
  ),
  response: Ok(Type.Object({ id: Type.Integer() })),
});
export const adminGetPackageCard = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/package-cards/:id',
  summary: 'One plan',
  params: IdParam,
  response: Ok(AdminPackageCard),
});
export const adminUpdatePackageCard = endpoint({
  ...admin,
  method: 'PUT',
  path: '/api/admin/package-cards/:id',
  summary: 'Change a plan, for its holders too; only the named keys change',
  params: IdParam,
  body: Type.Object(Type.Partial(Type.Object(PackageCardFields)).properties, { additionalProperties: false }),
  response: Done,
});
export const adminDeletePackageCard = endpoint({
  ...admin,
  method: 'DELETE',
  path: '/api/admin/package-cards/:id',
  summary: 'Delete a plan without holders and open codes',
  params: IdParam,
  response: Done,
});

const Window = Type.Object({
  kind: Type.Enum(['day', 'interval', 'week', 'month']),
  limit: Type.Integer(),
  used: Type.Integer(),
  left: Type.Integer(),
  starts_at: Time,
  refreshes_at: Type.Integer({ description: 'Unix seconds; a full allowance again.' }),
  used_per_hour: Type.Integer({ description: 'Pace since the window began.' }),
  runs_out_at: Type.Integer({ description: 'Unix seconds, at that pace; 0: not before it refreshes.' }),
});

export const getOwnPackage = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/user/package',
  summary: 'The plan of the account: allowances left, resets, forecast and waiting plans',
  tag: 'packages',
  policy: 'account',
  envelope: 'api',
  response: Ok(
    Type.Object({
      package_code: Type.String(),
      name: Type.String(),
      description: Type.String(),
      level: Type.Integer(),
      started_at: Type.Integer({ description: 'Unix seconds; 0 without a plan.' }),
      expires_at: Type.Integer({ description: 'Unix seconds; 0: no end.' }),
      models: Type.Array(Type.String(), { description: 'Empty: all.' }),
      price_factor: Type.Number({ description: 'Factor on prices.' }),
      allowance_left: Type.Integer({ description: 'Available to the next call before the balance pays.' }),
      windows: Type.Array(Window, { description: 'A charge must fit into all of them; empty: no allowance.' }),
      wallet: Type.Integer(),
      time_zone: Type.String(),
      waiting: Type.Array(
        Type.Object({
          package_code: Type.String(),
          name: Type.String(),
          level: Type.Integer(),
          duration_days: Type.Integer(),
          starts_at: Type.Integer({ description: 'Unix seconds; when those before it have ended.' }),
        }),
      ),
    }),
  ),
});

const Outcome = Type.Enum(['active', 'extended', 'waiting', 'credited', 'ended'], {
  description: 'Outcome: active now, added to the active plan, queued, or credited to the balance.',
});
const GrantResult = Type.Object({
  outcome: Outcome,
  package_code: Type.String({ description: 'Empty: the code was for quota.' }),
  quota: Type.Integer({ description: 'Credited to the balance.' }),
  package_expires_at: Type.Integer({ description: 'End of the running plan in Unix seconds; 0: none.' }),
});

export const redeemCode = endpoint({
  organization: 'admin',
  method: 'POST',
  path: '/api/user/redeem',
  summary: 'Redeem a code; case, spaces and dashes do not matter',
  tag: 'packages',
  policy: 'account',
  envelope: 'api',
  body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Ok(GrantResult),
});

export const activatePackage = endpoint({
  method: 'POST',
  path: '/api/user/package/activate',
  summary: 'Assign a plan to an account; `none` ends the current one. With an Idempotency-Key only once',
  tag: 'packages',
  policy: 'admin',
  envelope: 'api',
  body: Type.Object({
    user_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    package_code: Type.String({ minLength: 1, maxLength: 64 }),
    duration_days: Type.Optional(PackageCardFields.duration_days),
  }),
  response: Ok(GrantResult),
});

const CODE_STATUS = ['unused', 'used', 'voided', 'expired'] as const;
/** State of a redemption code. */
export type CodeStatus = (typeof CODE_STATUS)[number];
const CodeListItem = Type.Object({
  id: Type.Integer(),
  batch_id: Type.Integer(),
  code: Type.String({ description: 'Masked.' }),
  package_code: Type.String({ description: 'Empty: for quota.' }),
  quota: Type.Integer(),
  status: Type.Enum([...CODE_STATUS]),
  note: Type.String(),
  used_by: Type.Integer({ description: '0: unused.' }),
  used_time: Type.Integer(),
  expires_at: Type.Integer({ description: 'Unix seconds; 0: no end.' }),
  created_time: Time,
});
const ExpiresAt = Type.Union([Type.Integer({ minimum: 1, maximum: 253_402_300_799 }), Type.Null()], {
  description: 'Unix seconds; null: no end.',
});
const CodeFilter = {
  status: Type.Optional(Type.Enum([...CODE_STATUS])),
  batch_id: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,15}$' })),
  package_code: Type.Optional(Type.String({ maxLength: 64 })),
};

export const CODE_SORTS = ['batch', 'expires', 'used'] as const;
export const adminListRedemptionCodes = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/redemption-codes',
  summary: 'Redemption codes, masked',
  query: Type.Object({ ...PageQuery, ...CodeFilter, sort: SortBy(CODE_SORTS, 'Default: the newest first.') }),
  response: ListOf(CodeListItem),
});
export const adminListRedemptionBatches = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/redemption-batches',
  summary: 'Batches of redemption codes, newest first',
  query: Type.Object(PageQuery),
  response: ListOf(
    Type.Object({
      id: Type.Integer(),
      note: Type.String(),
      package_code: Type.String({ description: 'Empty: for quota.' }),
      quota: Type.Integer({ description: 'Of each code.' }),
      count: Type.Integer({ description: 'Number of codes.' }),
      created_time: Time,
    }),
  ),
});
export const adminCreateRedemptionCodes = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/redemption-codes',
  summary: 'Create a batch of redemption codes, shown once',
  secret: true,
  body: Type.Object({
    package_code: Type.Optional(PackageCardFields.package_code),
    quota: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e15 })),
    count: Type.Integer({ minimum: 1, maximum: 1_000 }),
    expires_at: Type.Optional(ExpiresAt),
    note: Type.Optional(Note),
  }),
  response: Ok(Type.Object({ id: Type.Integer({ description: 'Of the batch.' }), codes: Type.Array(Type.String()) })),
});
export const adminExportRedemptionCodes = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/redemption-codes/export',
  responseTypes: ['text/csv'],
  summary: 'Redemption codes, masked, as CSV without live formulas; at most 10,000',
  query: Type.Object(CodeFilter),
});
export const adminGetRedemptionCode = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/redemption-codes/:id',
  summary: 'One redemption code, masked',
  params: IdParam,
  response: Ok(CodeListItem),
});
export const adminUpdateRedemptionCode = endpoint({
  ...admin,
  method: 'PUT',
  path: '/api/admin/redemption-codes/:id',
  summary: 'Change the expiry of an unused code, even after it expired',
  params: IdParam,
  body: Type.Object({ expires_at: Type.Optional(ExpiresAt) }),
  response: Done,
});
export const adminVoidRedemptionCode = endpoint({
  ...admin,
  method: 'DELETE',
  path: '/api/admin/redemption-codes/:id',
  summary: 'Revoke an unused code',
  params: IdParam,
  response: Done,
});
export const adminVoidRedemptionBatch = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/redemption-codes/void',
  summary: 'Revoke the unused codes of a batch',
  body: Type.Object({ batch_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
  response: Ok(Type.Object({ voided: Type.Integer() })),
});

/** Default alert thresholds, in percent of the budget. */
export const DEFAULT_THRESHOLDS = [50, 80, 100] as const;

const Thresholds = Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
  minItems: 1,
  maxItems: 10,
  description: 'Per cent of the budget at which a notification and the event `budget.reached` are sent.',
});

export const Budget = Type.Object({
  token_id: Type.Integer({ description: '0: the whole account.' }),
  token_name: Type.String({ description: 'Empty for the account.' }),
  month_quota: Type.Integer(),
  thresholds: Thresholds,
  month: Type.String({ description: 'The calendar month of UTC that `spent` is of, such as 2026-11.' }),
  spent: Type.Integer({ description: 'Quota charged in this month; open reservations are not in it.' }),
});

const budgetShared = { tag: 'money', envelope: 'api' } as const;
const oneBudget = {
  ...budgetShared,
  policy: 'owner',
  path: '/api/budgets/:token_id',
  params: Type.Object({
    token_id: Type.String({ pattern: '^(0|[1-9][0-9]{0,15})$', description: 'An own API key; 0: the account.' }),
  }),
} as const;

export const listBudgets = endpoint({
  organization: 'admin',
  ...budgetShared,
  policy: 'account',
  method: 'GET',
  path: '/api/budgets',
  summary: 'Monthly budgets of the account and its keys, with the amounts spent',
  response: Ok(Type.Array(Budget)),
});

export const putBudget = endpoint({
  organization: 'admin',
  ...oneBudget,
  method: 'PUT',
  summary: 'Set the monthly budget of the account or of a key. A budget notifies; a key limit blocks',
  body: Type.Object({
    month_quota: Type.Integer({ minimum: 1, maximum: 1e15 }),
    thresholds: Type.Optional(Thresholds),
  }),
  response: Ok(Budget),
});

export const deleteBudget = endpoint({
  ...oneBudget,
  organization: 'admin',
  method: 'DELETE',
  summary: 'Delete a budget',
  response: Done,
});
