import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { LongListOf, LongPageQuery, Ok } from './responses.ts';
import { TASK_STATUS } from './task-states.ts';
import { VideoRow } from './video.ts';

const Id = Type.String({ pattern: '^[1-9][0-9]{0,15}$' });
const Seconds = Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds.' });
const Time = Type.Integer();

const row = {
  ...VideoRow.properties,
  user_id: Type.Integer(),
  organization: Type.String({ description: 'Slug, if `user_id` is an organization; else empty.' }),
  submitted_by: Type.String({
    description: 'The member who submitted it for an organization; empty: the account itself.',
  }),
  token_id: Type.Integer(),
  vendor: Type.String(),
  upstream_model: Type.String(),
  channel_id: Type.Union([Type.Integer(), Type.Null()]),
  credential_id: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Which credential of the channel it was submitted with.',
  }),
  attempt: Type.Integer(),
  created_time: Time,
  removed: Type.Boolean({ description: 'Its owner removed it from his list.' }),
};
export const AdminTaskRow = Type.Object(row);

export const AdminTask = Type.Object({
  ...row,
  internal_id: Type.String({ description: 'What the ledger calls it.' }),
  channel: Type.String({ description: 'Name of the channel that holds it; empty once that is removed.' }),
  vendor_handle: Type.Unknown({
    description: "What the vendor's adapter keeps to ask for it: the vendor's id above all.",
  }),
  request: Type.Unknown(),
  data: Type.Unknown({ description: "The vendor's last answer." }),
  next_poll_time: Type.Union([Time, Type.Null()]),
  poll_failures: Type.Integer(),
  timeline: Type.Array(
    Type.Object({
      time: Time,
      event: Type.String({ description: 'created, attempt_failed, submitted, started, succeeded, failed' }),
      attempt: Type.Integer(),
      channel_id: Type.Union([Type.Integer(), Type.Null()]),
      credential_id: Type.Union([Type.Integer(), Type.Null()]),
      reason: Type.String(),
      code: Type.String(),
      message: Type.String(),
    }),
  ),
  money: Type.Array(
    Type.Object({
      time: Time,
      kind: Type.String(),
      amount: Type.Integer({ description: 'Of the wallet.' }),
      plan_amount: Type.Integer({ description: "Of the plan's allowance." }),
      charged: Type.Integer(),
    }),
  ),
});

const admin = { method: 'GET', tag: 'tasks', policy: 'admin', envelope: 'api' } as const;

export const listTasks = endpoint({
  ...admin,
  path: '/api/admin/tasks',
  summary: 'Videos of all accounts, newest first',
  query: Type.Object({
    ...LongPageQuery,
    q: Type.Optional(
      Type.String({ maxLength: 200, description: 'Words of the prompt, of the newest 5,000 videos, or a task id.' }),
    ),
    task_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    status: Type.Optional(Type.Enum(TASK_STATUS)),
    model: Type.Optional(Type.String({ maxLength: 200 })),
    user_id: Type.Optional(Id),
    channel_id: Type.Optional(Id),
    unfinished: Type.Optional(Type.Literal('true')),
    from: Type.Optional(Seconds),
    to: Type.Optional(Seconds),
  }),
  response: LongListOf(AdminTaskRow),
});

export const getTask = endpoint({
  ...admin,
  path: '/api/admin/tasks/:id',
  summary: "One video: its timeline, cost and the vendor's responses",
  params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Ok(AdminTask),
});

export const listWaitingVideos = endpoint({
  ...admin,
  path: '/api/admin/tasks/waiting',
  summary: 'Videos that wait for a slot, by model and limit; the longest wait first',
  response: Ok(
    Type.Array(
      Type.Object({
        model: Type.String(),
        waits_for: Type.Enum(['channel', 'account', 'key'], { description: 'Whose limit is reached.' }),
        channel_ids: Type.Array(Type.Integer(), { description: 'The channels that can serve them.' }),
        count: Type.Integer(),
        oldest_time: Type.Integer({ description: 'Unix seconds: when the oldest was submitted.' }),
      }),
    ),
  ),
});
