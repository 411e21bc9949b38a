import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { ListOf, Ok, PageQuery } from './schemas.ts';

/** What was settled over a channel between two readings of its account, beside what the vendor took from the account meanwhile. */
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

const admin = { tag: 'channels', policy: 'admin', envelope: 'api' } as const;

export const listReconciliations = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/reconciliations',
  summary: 'What was settled against what vendors billed, by channel and hour, newest first',
  query: Type.Object({
    ...PageQuery,
    channel_id: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' })),
  }),
  response: ListOf(Reconciliation),
});

export const reconcileChannel = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/channels/:id/reconcile',
  params: Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }),
  summary: "Read the vendor's account now and compare; null where the vendor has no such endpoint",
  response: Ok(Type.Union([Reconciliation, Type.Null()])),
});
