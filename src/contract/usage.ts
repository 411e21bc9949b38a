import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { ListOf, Ok, PageQuery } from './schemas.ts';

const Id = Type.String({ pattern: '^[1-9][0-9]{0,15}$' });
const Count = Type.Integer({ minimum: 0 });

/** Kinds of ledger entries. */
export const LEDGER_KINDS = ['reserve', 'settle', 'refund', 'grant', 'expire'] as const;

export const LedgerRow = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer(),
  kind: Type.String(),
  amount: Type.Integer({ description: 'What it changed in the wallet, with its sign.' }),
  task_id: Type.String({ description: 'Empty unless it belongs to a video.' }),
  request_id: Type.String({ description: 'Empty unless it belongs to a model call; of grants their cause.' }),
  created_time: Type.Integer(),
});

export const listLedger = endpoint({
  method: 'GET',
  path: '/api/admin/ledger',
  summary: 'Every change of every wallet, newest first',
  tag: 'money',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...PageQuery,
    user_id: Type.Optional(Id),
    task_id: Type.Optional(Type.String({ maxLength: 200 })),
    kind: Type.Optional(Type.Enum([...LEDGER_KINDS])),
  }),
  answer: ListOf(LedgerRow),
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
  summary:
    'Prove that every balance is the sum of its entries; on SQLite writers wait about a second per million entries',
  tag: 'money',
  policy: 'root',
  envelope: 'api',
  answer: Ok(
    Type.Object({
      ok: Type.Boolean(),
      errors: Type.Array(
        Type.Object({ rule: Type.String(), at: Type.String(), expected: Type.Number(), found: Type.Number() }),
      ),
    }),
  ),
});

/** Figures of one group; keys that are not grouped by are left out. */
const group = {
  day: Type.Optional(Type.String({ description: 'UTC, such as 2026-11-21.' })),
  model: Type.Optional(Type.String()),
  token_id: Type.Optional(Type.Integer()),
};

export const getUsage = endpoint({
  method: 'GET',
  path: '/api/usage',
  summary: 'What this account used, by day, model and token',
  tag: 'money',
  policy: 'account',
  envelope: 'api',
  query: Type.Object({
    ...usageQuery,
    by: Type.Optional(
      Type.String({ pattern: '^(day|model|token)(,(day|model|token)){0,2}$', description: 'Default day,model,token.' }),
    ),
  }),
  answer: Ok(Type.Object({ rows: Type.Array(Type.Object({ ...group, ...figures })), total: Type.Object(figures) })),
});

export const getAllUsage = endpoint({
  method: 'GET',
  path: '/api/admin/usage',
  summary: 'What all accounts used, by day, model, token and account',
  tag: 'money',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...usageQuery,
    user_id: Type.Optional(Id),
    by: Type.Optional(
      Type.String({
        pattern: '^(day|model|token|user)(,(day|model|token|user)){0,3}$',
        description: 'Default day,model.',
      }),
    ),
  }),
  answer: Ok(
    Type.Object({
      rows: Type.Array(Type.Object({ ...group, user_id: Type.Optional(Type.Integer()), ...figures })),
      total: Type.Object(figures),
    }),
  ),
});
