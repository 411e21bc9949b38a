import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { ListOf, LongListOf, LongPageQuery, Ok, PageQuery } from './responses.ts';
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
      amount: Type.Integer({ description: 'The balance.' }),
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

/**
 * Settled consumption of a channel between two readings of its account, compared with the vendor's charges for the same
 * time.
 */
export const Reconciliation = Type.Object({
  id: Type.Integer(),
  channel_id: Type.Integer(),
  channel_name: Type.String({ description: 'Empty: the channel was deleted.' }),
  vendor: Type.String(),
  unit: Type.String({ description: "The vendor's own: units, credits." }),
  from: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds; null for the first reading.' }),
  to: Type.Integer({ description: 'Unix seconds: when the account was read.' }),
  videos: Type.Integer({ description: 'Finished in that time.' }),
  settled_units: Type.Number({ description: "The sum of what the vendor's answers about these videos say." }),
  settled_quota: Type.Integer({ description: 'What was charged for them.' }),
  billed_units: Type.Union([Type.Number(), Type.Null()], {
    description: 'By how much the account went down; null for the first reading and where it was topped up.',
  }),
  difference: Type.Union([Type.Number(), Type.Null()], { description: 'billed_units − settled_units.' }),
});

/** Allows for rounding and for videos that finish during a reading. */
const TOLERANCE = 0.01;

/** Whether the vendor's charged units differ from the expected ones by more than one unit and by more than 1 %. */
export const exceedsTolerance = (billed: number, expected: number): boolean =>
  Math.abs(billed - expected) > Math.max(1, TOLERANCE * Math.max(billed, expected));

const Units = Type.Number();

/** The account behind a channel whose vendor reports its charges. */
export const ReconciledAccount = Type.Object({
  channel_id: Type.Integer(),
  channel_name: Type.String(),
  vendor: Type.String(),
  unit: Type.String(),
  skew_seconds: Type.Integer({
    description:
      "How far the vendor's count may be ahead of the ends of videos (units taken when a job begins) or behind (counted late).",
  }),
  read_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds of the last reading that worked.' }),
  failed_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds of a failed reading after it.' }),
  error: Type.String({ description: 'Why it failed; empty: it did not.' }),
  judged: Type.Union(
    [
      Type.Object({
        from: Type.Integer(),
        to: Type.Integer(),
        settled_units: Units,
        billed_units: Units,
        unexplained_units: Type.Number({
          description:
            'What the vendor took beyond (below 0: less than) what videos of that time and the skew around it explain; 0: all of it.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'About a day, ending the skew ago; null before there are readings of that time.' },
  ),
});

const reconciliation = { tag: 'channels', policy: 'admin', envelope: 'api' } as const;

export const listReconciliations = endpoint({
  ...reconciliation,
  method: 'GET',
  path: '/api/admin/reconciliations',
  summary: "Settled amounts against the vendors' charges, by channel and hour, newest first",
  query: Type.Object({
    ...PageQuery,
    channel_id: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
    by: Type.Optional(Type.Enum(['reading', 'day'], { description: 'Default: reading. Days are those of UTC.' })),
  }),
  response: ListOf(Reconciliation),
});

export const listReconciledAccounts = endpoint({
  ...reconciliation,
  method: 'GET',
  path: '/api/admin/reconciliations/accounts',
  summary: "Channels whose vendor reports its charges: last reading, failures, and whether a day's figures match",
  response: Ok(Type.Array(ReconciledAccount)),
});

export const reconcileChannel = endpoint({
  ...reconciliation,
  method: 'POST',
  path: '/api/admin/channels/:id/reconcile',
  params: Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }),
  summary: "Read the vendor's account now and compare; null where the vendor has no such endpoint",
  response: Ok(Type.Union([Reconciliation, Type.Null()])),
});
