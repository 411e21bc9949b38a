import Type from 'typebox';
import {
  DisplayName,
  EmailOrNone,
  Note,
  NullableSpendState,
  Password,
  Quota,
  RoleName,
  SpendLimitChange,
  Status,
  Time,
  Username,
} from './account-fields.ts';
import { Session } from './accounts.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, LongListOf, LongPageQuery, Ok, PageQuery } from './responses.ts';

const UserRow = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  display_name: Type.String(),
  email: Type.String(),
  role: RoleName,
  status: Type.Integer(),
  quota: Type.Integer(),
  used_quota: Type.Integer(),
  request_count: Type.Integer(),
  current_package_code: Type.String(),
  package_expires_at: Type.Integer(),
  has_2fa: Type.Boolean(),
  phone_bound: Type.Boolean(),
  messaging_bound: Type.Boolean(),
  concurrent_tasks: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Videos in progress at once; null: as many as the plan permits.',
  }),
  queued_tasks: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Videos that may wait for a slot; null: as many as the plan permits.',
  }),
  spend_limit: NullableSpendState,
  created_time: Time,
});
const TaskLimit = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]));

export const adminListUsers = endpoint({
  method: 'GET',
  path: '/api/admin/users',
  summary: 'All accounts',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...LongPageQuery,
    q: Type.Optional(Type.String({ maxLength: 254, description: 'part of the user name, display name or e-mail' })),
    ids: Type.Optional(
      Type.String({ pattern: '^[1-9][0-9]{0,15}(,[1-9][0-9]{0,15}){0,49}$', description: 'only these, such as 3,12' }),
    ),
    role: Type.Optional(RoleName),
    status: Type.Optional(Type.Union([Type.Literal('1'), Type.Literal('2')])),
  }),
  response: LongListOf(UserRow),
});

export const adminCreateUser = endpoint({
  method: 'POST',
  path: '/api/admin/users',
  summary: 'Create an account',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  body: Type.Object({
    username: Username,
    password: Password,
    role: Type.Optional(RoleName),
    quota: Type.Optional(Quota),
    display_name: Type.Optional(DisplayName),
    email: Type.Optional(EmailOrNone),
  }),
  response: Ok(Type.Object({ id: Type.Integer() })),
});

export const adminGetUser = endpoint({
  method: 'GET',
  path: '/api/admin/users/:id',
  summary: 'One account',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: IdParam,
  response: Ok(UserRow),
});

export const adminUpdateUser = endpoint({
  method: 'PUT',
  path: '/api/admin/users/:id',
  summary: 'Change an account; only the named keys change, and with an Idempotency-Key the balance only once',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: IdParam,
  body: Type.Object(
    {
      username: Type.Optional(Username),
      password: Type.Optional(Password),
      role: Type.Optional(RoleName),
      status: Type.Optional(Status),
      quota: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e15, description: 'the balance afterwards' })),
      quota_delta: Type.Optional(Type.Integer({ minimum: -1e15, maximum: 1e15 })),
      note: Type.Optional(Note),
      display_name: Type.Optional(DisplayName),
      email: Type.Optional(EmailOrNone),
      concurrent_tasks: TaskLimit,
      queued_tasks: TaskLimit,
      spend_limit: SpendLimitChange,
    },
    { additionalProperties: false },
  ),
  response: Done,
});

export const adminDeleteUser = endpoint({
  method: 'DELETE',
  path: '/api/admin/users/:id',
  summary: 'Delete an account and everything that signs in with it',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: IdParam,
  response: Done,
});

export const adminListSessions = endpoint({
  method: 'GET',
  path: '/api/admin/users/:id/sessions',
  summary: 'Where an account is signed in, newest first',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: IdParam,
  query: Type.Object(PageQuery),
  response: ListOf(Session),
});

export const adminEndSession = endpoint({
  method: 'DELETE',
  path: '/api/admin/users/:id/sessions/:session',
  summary: 'End one session of an account',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: Type.Object({ ...IdParam.properties, session: IdParam.properties.id }),
  response: Done,
});

export const adminListAudit = endpoint({
  method: 'GET',
  path: '/api/admin/audit',
  summary: 'Who changed what, newest first',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({
    ...LongPageQuery,
    actor_id: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,15}$' })),
    organization_id: Type.Optional(
      Type.String({ pattern: '^[1-9][0-9]{0,15}$', description: 'changes of it, and those its members made for it' }),
    ),
    action: Type.Optional(Type.String({ maxLength: 100, description: 'exact, such as user.update' })),
    target: Type.Optional(Type.String({ maxLength: 200, description: 'exact, such as user:12' })),
  }),
  response: LongListOf(
    Type.Object({
      id: Type.Integer(),
      actor_id: Type.Union([Type.Integer(), Type.Null()]),
      organization_id: Type.Union([Type.Integer(), Type.Null()], {
        description: 'The organization acted for or changed; null: none.',
      }),
      organization: Type.String({ description: 'Its slug; empty: none, or it was deleted.' }),
      action: Type.String(),
      target: Type.String(),
      target_name: Type.String({ description: 'Current name of the target; empty if it has none or was deleted.' }),
      before: Type.Unknown(),
      after: Type.Unknown(),
      address: Type.String(),
      request_id: Type.String(),
      created_time: Time,
    }),
  ),
});
