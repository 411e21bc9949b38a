import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { REQUEST_KINDS, REQUEST_STATUSES } from './request-kinds.ts';
import { Limit, Ok } from './responses.ts';

const Count = Type.Integer({ minimum: 0 });

/** One finished call or video. Neither prompt nor result is stored. */
export const RequestRow = Type.Object({
  ref: Type.String({ description: 'Task id or request id; names its receipt.' }),
  time: Type.Integer({ description: 'Unix seconds of its end; it began `duration_ms` before.' }),
  kind: Type.Enum([...REQUEST_KINDS]),
  model: Type.String(),
  token_id: Type.Integer({ description: '0: started in the console.' }),
  token_name: Type.String(),
  status: Type.Enum([...REQUEST_STATUSES]),
  error_code: Type.String({ description: 'Empty unless it failed.' }),
  input_tokens: Count,
  cached_tokens: Type.Integer({ minimum: 0, description: 'Of the input tokens, those read from a cache.' }),
  output_tokens: Count,
  seconds: Type.Integer({ minimum: 0, description: 'Length of the video; 0 for everything else.' }),
  quota: Type.Integer({ minimum: 0, description: 'What was charged.' }),
  duration_ms: Count,
  first_token_ms: Type.Union([Count, Type.Null()], { description: 'Until the first event of a stream.' }),
  stream: Type.Boolean(),
  client: Type.String({ description: 'User-Agent of the request, its first 64 characters.' }),
  submitted_by: Type.String({ description: 'The member who called for an organization; empty: the account itself.' }),
});

/** A finished call or video as shown to administrators. */
export const AdminRequestRow = Type.Object({
  ...RequestRow.properties,
  user_id: Type.Integer(),
  organization: Type.String({ description: 'Slug, if `user_id` is an organization; else empty.' }),
  channel_id: Type.Integer({ description: '0: it was sent to none.' }),
  served_model: Type.String({ description: 'The name that was sent to the channel.' }),
});

const Seconds = Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds.' });
const RowId = Type.String({ pattern: '^[0-9]{1,15}$' });

const FILTER = {
  model: Type.Optional(Type.String({ maxLength: 200 })),
  token_id: Type.Optional(RowId),
  status: Type.Optional(Type.Enum([...REQUEST_STATUSES])),
  kind: Type.Optional(Type.Enum([...REQUEST_KINDS])),
  from: Type.Optional(Seconds),
  to: Type.Optional(Seconds),
};
const ADMIN_FILTER = { ...FILTER, user_id: Type.Optional(RowId), channel_id: Type.Optional(RowId) };

/** Cursor of a page, taken from `next` of the previous page. Imported history has negative numbers. */
export const CURSOR_PATTERN = '^-?[0-9]{1,15}\\.-?[0-9]{1,15}$';

const PAGE = {
  after: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      description: '`next` of the page before.',
    }),
  ),
  limit: Limit,
};
const Next = Type.Union([Type.String(), Type.Null()], { description: 'null: there are no more.' });

const own = { tag: 'requests', policy: 'account', envelope: 'api', method: 'GET' } as const;
const all = { tag: 'requests', policy: 'admin', envelope: 'api', method: 'GET' } as const;

export const listRequests = endpoint({
  organization: 'member',
  ...own,
  path: '/api/requests',
  summary: 'Finished calls and videos of the account, newest first',
  query: Type.Object({ ...FILTER, ...PAGE }),
  response: Type.Object({ success: Type.Literal(true), data: Type.Array(RequestRow), next: Next }),
});

export const listAllRequests = endpoint({
  ...all,
  path: '/api/admin/requests',
  summary: 'Finished calls and videos of all accounts, newest first',
  query: Type.Object({ ...ADMIN_FILTER, ...PAGE }),
  response: Type.Object({ success: Type.Literal(true), data: Type.Array(AdminRequestRow), next: Next }),
});

const csv = { responseTypes: ['text/csv'] } as const;

export const exportRequests = endpoint({
  organization: 'member',
  ...own,
  ...csv,
  path: '/api/requests.csv',
  summary: 'The requests of the account as CSV, at most 50,000 rows',
  query: Type.Object(FILTER),
});

export const exportAllRequests = endpoint({
  ...all,
  ...csv,
  path: '/api/admin/requests.csv',
  summary: 'The requests of all accounts as CSV, at most 50,000 rows',
  query: Type.Object(ADMIN_FILTER),
});

const live = { responseTypes: ['text/event-stream'] } as const;

export const streamRequests = endpoint({
  organization: 'member',
  ...own,
  ...live,
  path: '/api/requests/stream',
  summary: 'Calls and videos of the account as they finish, as server-sent events: `request` with one row',
  query: Type.Object(FILTER),
});

export const streamAllRequests = endpoint({
  ...all,
  ...live,
  path: '/api/admin/requests/stream',
  summary: 'Calls and videos of all accounts as they finish, as server-sent events',
  query: Type.Object(ADMIN_FILTER),
});

const Milliseconds = Type.Union([Count, Type.Null()]);

const FIGURES = {
  requests: Count,
  succeeded: Count,
  success_rate: Type.Number({ description: '0 to 1; calls whose caller left count neither way.' }),
  p50_ms: Milliseconds,
  p95_ms: Milliseconds,
  first_token_p50_ms: Milliseconds,
  first_token_p95_ms: Milliseconds,
  quota: Count,
};

const statisticsSummary = 'Success rate, durations and cost of the newest 20,000 matching calls';

export const getRequestStatistics = endpoint({
  organization: 'member',
  ...own,
  path: '/api/requests/statistics',
  summary: statisticsSummary,
  query: Type.Object({ ...FILTER, by: Type.Optional(Type.Enum(['model', 'token'])) }),
  response: Ok(Type.Array(Type.Object({ key: Type.String(), name: Type.String(), ...FIGURES }))),
});

export const getAllRequestStatistics = endpoint({
  ...all,
  path: '/api/admin/requests/statistics',
  summary: `${statisticsSummary}, of all accounts`,
  query: Type.Object({
    ...ADMIN_FILTER,
    by: Type.Optional(Type.Enum(['model', 'token', 'channel', 'user', 'organization'])),
  }),
  response: Ok(
    Type.Array(
      Type.Object({
        key: Type.String({ description: 'A model, or the id of a token, channel, account or organization.' }),
        name: Type.String({ description: 'Of the token, channel or account.' }),
        ...FIGURES,
      }),
    ),
  ),
});
