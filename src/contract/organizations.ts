import Type from 'typebox';
import {
  Email,
  NullableSpendState,
  PLAIN_TEXT_PATTERN,
  Quota,
  SpendLimit,
  SpendLimitChange,
  SpendLimitState,
  Status,
  Time,
  TimeOrNull,
} from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { ORGANIZATION_GRACE_DAYS, ORGANIZATION_ROLES, TRANSFERRED_THINGS } from './organization-roles.ts';
import { Done, IdParam, ListOf, Ok, PageQuery } from './responses.ts';

const SLUG_PATTERN = '^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$';
/** Name of an organization in URLs, headers and commands. */
export const Slug = Type.String({ pattern: SLUG_PATTERN, description: '3 to 40 of a-z 0-9 -, not - at the ends' });
export const OrganizationName = Type.String({ minLength: 1, maxLength: 60, pattern: PLAIN_TEXT_PATTERN });
const RoleName = Type.Enum([...ORGANIZATION_ROLES]);
/** Refuses unknown fields by name: a misspelled limit would otherwise not apply. */
const CLOSED = { additionalProperties: false } as const;
const TaskLimit = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]));

const Organization = Type.Object({
  id: Type.Integer({ description: 'The account that owns its balance, keys and videos.' }),
  slug: Type.String(),
  name: Type.String(),
  role: Type.Enum([...ORGANIZATION_ROLES], { description: 'Of the caller.' }),
  prompts_visible_to_admins: Type.Boolean({
    description: 'Whether its owners and admins see the prompts of other members.',
  }),
  created_time: Time,
  deletes_at: {
    ...TimeOrNull,
    description: 'When the closed organization is deleted; Unix seconds, null: it is open.',
  },
});

const Member = Type.Object({
  user_id: Type.Integer(),
  username: Type.String(),
  display_name: Type.String(),
  role: RoleName,
  spend_limit: Type.Union([SpendLimitState, Type.Null()], {
    description: 'Null: none, or another member’s, which only owners and admins see.',
  }),
  joined_time: Time,
});

const Invitation = Type.Object({
  id: Type.Integer(),
  role: RoleName,
  email: Type.String({ description: 'Empty: none was named.' }),
  spend_limit: Type.Union([SpendLimit, Type.Null()]),
  invited_by: Type.String({ description: 'User name; empty once that account is deleted.' }),
  created_time: Time,
  expires_at: Time,
});

const shared = { tag: 'organizations', envelope: 'api' } as const;
const params = Type.Object({ slug: Slug });
const memberParams = Type.Object({ slug: Slug, user_id: IdParam.properties.id });

export const listOrganizations = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/organizations',
  summary: 'Organizations of the caller',
  policy: 'account',
  query: Type.Object(PageQuery),
  response: ListOf(Organization),
});

export const createOrganization = endpoint({
  ...shared,
  method: 'POST',
  path: '/api/organizations',
  summary: 'Create an organization; the caller becomes its owner',
  policy: 'owner',
  body: Type.Object({ slug: Slug, name: OrganizationName }, CLOSED),
  response: Ok(Organization),
});

export const getOrganization = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/organizations/:slug',
  summary: 'One organization of the caller',
  policy: 'account',
  organization: 'member',
  params,
  response: Ok(Organization),
});

export const updateOrganization = endpoint({
  ...shared,
  method: 'PUT',
  path: '/api/organizations/:slug',
  summary: 'Change an organization (admins), or whether admins see the prompts of members (owners)',
  policy: 'owner',
  organization: 'admin',
  params,
  body: Type.Object(
    { name: Type.Optional(OrganizationName), prompts_visible_to_admins: Type.Optional(Type.Boolean()) },
    CLOSED,
  ),
  response: Ok(Organization),
});

export const deleteOrganization = endpoint({
  ...shared,
  method: 'DELETE',
  path: '/api/organizations/:slug',
  summary: `Close an organization (owners): its keys and sign-ins are refused; deleted after ${ORGANIZATION_GRACE_DAYS} days`,
  policy: 'owner',
  organization: 'owner',
  params,
  response: Done,
});

export const restoreOrganization = endpoint({
  ...shared,
  method: 'POST',
  path: '/api/organizations/:slug/restore',
  summary: 'Restore a closed organization (owners); send it without X-Organization',
  policy: 'owner',
  organization: 'owner',
  params,
  optionalBody: true,
  body: Type.Object({}),
  response: Ok(Organization),
});

const Transfer = Type.Object({
  id: Type.Integer(),
  user_id: Type.Integer({ description: 'The account that handed them over.' }),
  username: Type.String(),
  status: Type.Enum(['running', 'finished'], { description: 'Videos and files move while it is running.' }),
  include: Type.Array(Type.Enum([...TRANSFERRED_THINGS])),
  quota: Type.Integer(),
  keys: Type.Integer({ description: 'How many were moved, as below.' }),
  webhooks: Type.Integer(),
  videos: Type.Integer(),
  files: Type.Integer(),
  created_time: Time,
});

export const createTransfer = endpoint({
  ...shared,
  method: 'POST',
  path: '/api/organizations/:slug/transfers',
  summary: 'Transfer content and balance of your own account to an organization (admins)',
  policy: 'owner',
  organization: 'admin',
  params,
  body: Type.Object(
    {
      include: Type.Array(Type.Enum([...TRANSFERRED_THINGS]), { maxItems: 10 }),
      quota: Type.Optional({ ...Quota, description: 'Part of the balance; default 0.' }),
    },
    CLOSED,
  ),
  response: Ok(Transfer),
});

export const listTransfers = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/organizations/:slug/transfers',
  summary: 'Transfers to an organization, newest first (admins)',
  policy: 'owner',
  organization: 'admin',
  params,
  query: Type.Object(PageQuery),
  response: ListOf(Transfer),
});

export const listMembers = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/organizations/:slug/members',
  summary: 'Members of an organization',
  policy: 'account',
  organization: 'member',
  params,
  query: Type.Object(PageQuery),
  response: ListOf(Member),
});

export const updateMember = endpoint({
  ...shared,
  method: 'PUT',
  path: '/api/organizations/:slug/members/:user_id',
  summary: 'Change role or spend limit of a member; admins change members, owners everyone',
  policy: 'owner',
  organization: 'admin',
  params: memberParams,
  body: Type.Object({ role: Type.Optional(RoleName), spend_limit: SpendLimitChange }, CLOSED),
  response: Done,
});

export const removeMember = endpoint({
  ...shared,
  method: 'DELETE',
  path: '/api/organizations/:slug/members/:user_id',
  summary: "Remove a member, or leave; ends the member's keys and sign-ins in the organization",
  policy: 'owner',
  organization: 'member',
  params: memberParams,
  response: Done,
});

export const listInvitations = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/organizations/:slug/invitations',
  summary: 'Open invitations',
  policy: 'owner',
  organization: 'admin',
  params,
  query: Type.Object(PageQuery),
  response: ListOf(Invitation),
});

export const createInvitation = endpoint({
  ...shared,
  method: 'POST',
  path: '/api/organizations/:slug/invitations',
  summary: 'Invite someone by a link that works once; e-mailed if an address is named and the service sends e-mail',
  policy: 'owner',
  organization: 'admin',
  secret: true,
  params,
  body: Type.Object({ role: RoleName, email: Type.Optional(Email), spend_limit: SpendLimitChange }, CLOSED),
  response: Ok(
    Type.Object({
      id: Type.Integer(),
      token: Type.String({ description: 'Shown once.' }),
      url: Type.String(),
      expires_at: Time,
    }),
  ),
});

export const deleteInvitation = endpoint({
  ...shared,
  method: 'DELETE',
  path: '/api/organizations/:slug/invitations/:id',
  summary: 'Revoke an invitation',
  policy: 'owner',
  organization: 'admin',
  params: Type.Object({ slug: Slug, id: IdParam.properties.id }),
  response: Done,
});

export const acceptInvitation = endpoint({
  ...shared,
  method: 'POST',
  path: '/api/organizations/accept',
  summary: 'Join an organization with the token of an invitation',
  policy: 'owner',
  body: Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Ok(Organization),
});

const AdminOrganization = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  status: Type.Integer({ description: '1 enabled, 2 disabled, 3 closed' }),
  deletes_at: {
    ...TimeOrNull,
    description: 'When the closed organization is deleted; Unix seconds, null: it is open.',
  },
  quota: Type.Integer({ description: 'The balance.' }),
  used_quota: Type.Integer(),
  plan: Type.String({ description: 'Code of its plan; `none`: it has none.' }),
  plan_expires_at: Type.Integer({ description: 'End of its plan in Unix seconds; 0: no end, or no plan.' }),
  owners: Type.Array(Type.String({ description: 'User name.' })),
  members: Type.Integer(),
  concurrent_tasks: Type.Union([Type.Integer(), Type.Null()]),
  queued_tasks: Type.Union([Type.Integer(), Type.Null()]),
  spend_limit: NullableSpendState,
  created_time: Time,
});

export const adminListOrganizations = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/admin/organizations',
  summary: 'All organizations, newest first',
  policy: 'admin',
  query: Type.Object({
    ...PageQuery,
    q: Type.Optional(Type.String({ maxLength: 100 })),
    ids: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}(,[0-9]{1,16}){0,49}$', description: 'Up to 50.' })),
  }),
  response: ListOf(AdminOrganization),
});

export const adminListMembers = endpoint({
  ...shared,
  method: 'GET',
  path: '/api/admin/organizations/:id/members',
  summary: 'Members of an organization',
  policy: 'admin',
  params: IdParam,
  query: Type.Object(PageQuery),
  response: ListOf(Member),
});

export const adminUpdateOrganization = endpoint({
  ...shared,
  method: 'PUT',
  path: '/api/admin/organizations/:id',
  summary: 'Change balance, status or limits of an organization; with an Idempotency-Key the balance only once',
  policy: 'admin',
  params: IdParam,
  body: Type.Object(
    {
      quota: Type.Optional(Quota),
      quota_delta: Type.Optional(Type.Integer({ minimum: -1e15, maximum: 1e15 })),
      note: Type.Optional(Type.String({ maxLength: 500, pattern: PLAIN_TEXT_PATTERN })),
      status: Type.Optional(Status),
      concurrent_tasks: TaskLimit,
      queued_tasks: TaskLimit,
      spend_limit: SpendLimitChange,
    },
    CLOSED,
  ),
  response: Done,
});

const closing = { ...shared, method: 'POST', policy: 'admin', params: IdParam, optionalBody: true } as const;

export const adminCloseOrganization = endpoint({
  ...closing,
  path: '/api/admin/organizations/:id/close',
  summary: `Close an organization; it is deleted after ${ORGANIZATION_GRACE_DAYS} days`,
  body: Type.Object({}),
  response: Done,
});

export const adminRestoreOrganization = endpoint({
  ...closing,
  path: '/api/admin/organizations/:id/restore',
  summary: 'Restore a closed organization',
  body: Type.Object({}),
  response: Done,
});
