import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** States of a beta application; the same words in database, API, SDK and console. */
export const APPLICATION_STATUS = ['pending', 'approved', 'rejected'] as const;
/** State of a beta application. */
export type ApplicationStatus = (typeof APPLICATION_STATUS)[number];

const Id = Type.Integer();
const row = {
  id: Id,
  feature: Type.String(),
  reason: Type.String(),
  status: Type.Enum([...APPLICATION_STATUS]),
  note: Type.String({ description: 'What the administrator wrote to the decision.' }),
  created_time: Type.Integer({ description: 'Unix seconds.' }),
  decided_time: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds; null: not yet.' }),
};
export const BetaApplication = Type.Object(row);

const Status = Type.Optional(Type.Enum([...APPLICATION_STATUS]));
const line = { tag: 'beta-applications', policy: 'account', envelope: 'api' } as const;

export const applyForBeta = endpoint({
  ...line,
  method: 'POST',
  path: '/api/beta-applications',
  summary: 'Apply for a feature in beta; possible again after a rejection',
  body: Type.Object({
    feature: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
    reason: Type.String({ minLength: 1, maxLength: 2_000, pattern: '\\S' }),
  }),
  response: Ok(Type.Object({ id: Id })),
});
/** A feature that accounts can apply for. */
export const BetaFeature = Type.Object({
  name: Type.String({ description: 'The `feature` of an application.' }),
  description: Type.String({ description: 'Empty if the administrators gave none.' }),
});
export const listBetaFeatures = endpoint({
  ...line,
  method: 'GET',
  path: '/api/beta-applications/features',
  summary: 'Features in beta that accounts can apply for, as the administrators list them',
  response: Ok(Type.Array(BetaFeature)),
});
export const APPLICATION_SORTS = ['created', 'feature'] as const;
const sort = SortBy(APPLICATION_SORTS, 'Default -created: the newest first.');

export const listBetaApplications = endpoint({
  ...line,
  method: 'GET',
  path: '/api/beta-applications',
  summary: 'Applications of the account',
  query: Type.Object({ ...PageQuery, sort, status: Status }),
  response: ListOf(BetaApplication),
});

const admin = { tag: 'beta-applications', policy: 'admin', envelope: 'api' } as const;
const adminRow = {
  ...row,
  user_id: Id,
  decided_by: Type.Union([Id, Type.Null()], { description: 'The administrator.' }),
};
export const AdminBetaApplication = Type.Object(adminRow);
const Note = Type.Object({ note: Type.Optional(Type.String({ maxLength: 2_000 })) });

export const adminListBetaApplications = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/beta-applications',
  summary: 'Applications of all users; the newest 10,000 that match',
  query: Type.Object({
    ...PageQuery,
    sort,
    status: Status,
    feature: Type.Optional(Type.String({ maxLength: 100 })),
    user_id: Type.Optional(IdParam.properties.id),
  }),
  response: ListOf(AdminBetaApplication),
});
export const adminGetBetaApplication = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/beta-applications/:id',
  summary: 'One application',
  params: IdParam,
  response: Ok(AdminBetaApplication),
});
export const adminApproveBetaApplication = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/beta-applications/:id/approve',
  summary: 'Approve a pending application and notify its author',
  params: IdParam,
  body: Note,
  optionalBody: true,
  response: Done,
});
export const adminRejectBetaApplication = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/beta-applications/:id/reject',
  summary: 'Reject a pending application and notify its author',
  params: IdParam,
  body: Note,
  optionalBody: true,
  response: Done,
});
export const adminDeleteBetaApplication = endpoint({
  ...admin,
  method: 'DELETE',
  path: '/api/admin/beta-applications/:id',
  summary: 'Delete an application',
  params: IdParam,
  response: Done,
});
