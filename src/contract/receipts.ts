import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { REQUEST_KINDS } from './request-kinds-and-statuses.ts';
import { Ok } from './success-bodies-and-pagination.ts';
import { readDefaults, TaskParam } from './video.ts';

export const RECEIPT_OUTCOMES = ['open', 'charged', 'refunded'] as const;
export type ReceiptOutcome = (typeof RECEIPT_OUTCOMES)[number];

/** What a call or video cost and why. It stays the same whatever prices become. */
export const Receipt = Type.Object({
  object: Type.Literal('receipt'),
  ref: Type.String({ description: 'Task id or request id.' }),
  kind: Type.Enum([...REQUEST_KINDS]),
  model: Type.String(),
  served_model: Type.String({ description: 'The name that was sent to the provider; empty where none was reached.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  ended_at: Type.Union([Type.Integer(), Type.Null()], { description: 'null while it is open.' }),
  outcome: Type.Enum([...RECEIPT_OUTCOMES]),
  facts: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
    description: 'What the price was applied to: seconds, tokens by part, mode, resolution, …',
  }),
  price: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description: 'The price as it was; null where nothing was charged, or it is older than the request log.',
  }),
  lines: Type.Array(
    Type.Object({
      label: Type.String(),
      quantity: Type.Number(),
      unit_quota: Type.Number(),
      multiplier: Type.Number(),
      quota: Type.Number(),
    }),
    { description: 'Their quota added and rounded up is `charged`.' },
  ),
  reserved: Type.Integer(),
  charged: Type.Integer(),
  refunded: Type.Integer({ description: 'What of the reservation went back.' }),
  sources: Type.Array(Type.Object({ kind: Type.Enum(['allowance', 'wallet']), quota: Type.Integer() })),
  ledger: Type.Array(
    Type.Object({
      id: Type.Integer(),
      kind: Type.String(),
      quota: Type.Integer({ description: 'What it changed in wallet and allowance, with its sign.' }),
      time: Type.Integer(),
    }),
  ),
});

export const getReceipt = endpoint({
  method: 'GET',
  path: '/api/receipts/:ref',
  summary: 'The receipt of an own call or video; administrators get all',
  tag: 'requests',
  policy: 'account',
  envelope: 'api',
  params: Type.Object({
    ref: Type.String({ minLength: 1, maxLength: 200, description: 'Task id, request id or x-request-id.' }),
  }),
  response: Ok(Receipt),
});

export const getTokenReceipt = endpoint({
  ...readDefaults,
  path: '/v1/receipts/:ref',
  summary: 'The receipt of a call or video of this token',
  envelope: 'model',
  params: Type.Object({
    ref: Type.String({ minLength: 1, maxLength: 200, description: 'Task id, request id or x-request-id.' }),
  }),
  response: Receipt,
});

export const getVideoReceipt = endpoint({
  ...readDefaults,
  path: '/v1/videos/:task_id/receipt',
  summary: 'The receipt of a video of this token',
  envelope: 'openai-video',
  params: TaskParam,
  response: Receipt,
});
