import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, Ok } from './responses.ts';

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

const shared = { tag: 'money', envelope: 'api' } as const;
const one = {
  ...shared,
  policy: 'owner',
  path: '/api/budgets/:token_id',
  params: Type.Object({
    token_id: Type.String({ pattern: '^(0|[1-9][0-9]{0,15})$', description: 'An own API key; 0: the account.' }),
  }),
} as const;

export const listBudgets = endpoint({
  organization: 'admin',
  ...shared,
  policy: 'account',
  method: 'GET',
  path: '/api/budgets',
  summary: 'Monthly budgets of the account and its keys, with the amounts spent',
  response: Ok(Type.Array(Budget)),
});

export const putBudget = endpoint({
  organization: 'admin',
  ...one,
  method: 'PUT',
  summary: 'Set the monthly budget of the account or of a key. A budget notifies; a key limit blocks',
  body: Type.Object({
    month_quota: Type.Integer({ minimum: 1, maximum: 1e15 }),
    thresholds: Type.Optional(Thresholds),
  }),
  response: Ok(Budget),
});

export const deleteBudget = endpoint({
  ...one,
  organization: 'admin',
  method: 'DELETE',
  summary: 'Delete a budget',
  response: Done,
});
