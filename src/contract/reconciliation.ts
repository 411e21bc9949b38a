import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { ListOf, Ok, PageQuery } from './responses.ts';

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

const admin = { tag: 'channels', policy: 'admin', envelope: 'api' } as const;

export const listReconciliations = endpoint({
  ...admin,
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
  ...admin,
  method: 'GET',
  path: '/api/admin/reconciliations/accounts',
  summary: "Channels whose vendor reports its charges: last reading, failures, and whether a day's figures match",
  response: Ok(Type.Array(ReconciledAccount)),
});

export const reconcileChannel = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/channels/:id/reconcile',
  params: Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }),
  summary: "Read the vendor's account now and compare; null where the vendor has no such endpoint",
  response: Ok(Type.Union([Reconciliation, Type.Null()])),
});
