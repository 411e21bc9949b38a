import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import {
  type CallFacts,
  MAX_MULTIPLIER_DECIMALS,
  type Price,
  type PriceLine,
  planFactorOf,
  priceCall,
  toMillionths,
} from './pricing.ts';
import { REQUEST_KINDS, REQUEST_STATUSES } from './request-kinds.ts';
import { Limit, Ok } from './responses.ts';
import { readDefaults, TaskParam } from './video.ts';

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

export const RECEIPT_OUTCOMES = ['open', 'charged', 'refunded'] as const;
/** Outcome of a call as shown on its receipt. */
export type ReceiptOutcome = (typeof RECEIPT_OUTCOMES)[number];

/** Cost of a call or video with its reasons. Later price changes do not alter it. */
export const Receipt = Type.Object({
  object: Type.Literal('receipt'),
  ref: Type.String({ description: 'Task id or request id.' }),
  kind: Type.Enum([...REQUEST_KINDS]),
  model: Type.String(),
  served_model: Type.String({ description: 'The name that was sent to the vendor; empty where none was reached.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  ended_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds; null while it is open.' }),
  submitted_by: Type.String({ description: 'The member who called for an organization; empty: the account itself.' }),
  organization: Type.String({ description: 'Slug of the organization that paid; empty: an account.' }),
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
      quota: Type.Integer({ description: 'What it changed in balance and allowance, with its sign.' }),
      time: Type.Integer(),
    }),
  ),
});

export const getReceipt = endpoint({
  organization: 'member',
  method: 'GET',
  path: '/api/receipts/:ref',
  summary: 'The receipt of a call or video of the account; administrators can read all',
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
  summary: 'The receipt of a call or video of this key',
  envelope: 'model',
  params: Type.Object({
    ref: Type.String({ minLength: 1, maxLength: 200, description: 'Task id, request id or x-request-id.' }),
  }),
  response: Receipt,
});

export const getVideoReceipt = endpoint({
  ...readDefaults,
  path: '/v1/videos/:task_id/receipt',
  summary: 'The receipt of a video of this key',
  envelope: 'openai-video',
  params: TaskParam,
  response: Receipt,
});

/** One line of a receipt: `quantity × unit_quota × multiplier` is `quota`, to a millionth. */
interface ReceiptLine {
  /**
   * The price's key; `plan_factor`: difference caused by the account's plan; `not_charged`: part not covered by balance
   * or reservation.
   */
  readonly label: string;
  /** Calls, seconds, images or tokens. */
  readonly quantity: number;
  /** Quota per unit of the quantity. */
  readonly unit_quota: number;
  /** Product of all multipliers. */
  readonly multiplier: number;
  readonly quota: number;
}

const PLAN_FACTOR = 'plan_factor';
const MICRO = 1_000_000;
/** Above this a double cannot represent millionths, and lines are in whole quota. */
const MAX_MICRO_QUOTA = 2 ** 30;
const MAX_NUDGES = 100;
/** Multipliers are exact decimals of nine places; see `MAX_MULTIPLIER_DECIMALS` in `pricing.ts`. */
const MULTIPLIER_UNIT = 1_000_000_000;

/**
 * Lines of a charge, computed by the function that charged it. Their sum, rounded up, is `charged`, even when a program
 * adds the numbers in floating point in their order.
 *
 * @param price undefined: no longer known, and the charge is shown as a single line
 */
export function toReceiptLines(price: Price | undefined, facts: CallFacts, charged: number): ReceiptLine[] {
  if (price === undefined) return charged === 0 ? [] : [wholeLine('total', charged)];
  const { lines, multipliers: all, quota } = priceCall(price, facts);
  // The plan's factor is a separate line, so that the other lines show the model's price.
  const multipliers = all.filter(({ factor }) => factor !== PLAN_FACTOR);
  const factor = multipliers.reduce((product, { by }) => product * by, 1);
  const exact: ExactLine[] = lines.map((line) => {
    const applied = line.isPlain === true ? [] : multipliers;
    // In millionths, rounded down: the error is less than a millionth per line.
    let top = toMillionths(line.quantity) * BigInt(line.unitQuota);
    for (const { by } of applied) top *= BigInt(Math.round(by * MULTIPLIER_UNIT));
    return {
      label: line.label,
      quantity: line.quantity,
      unit_quota: line.unitQuota / line.per,
      multiplier: line.isPlain === true ? 1 : factor,
      micro: top / (BigInt(line.per) * BigInt(MULTIPLIER_UNIT) ** BigInt(applied.length)),
    };
  });
  const planFactor = planFactorOf(facts);
  if (planFactor !== 1) exact.push(toPlanLine(exact, lines, planFactor));
  const rest = charged === quota ? [] : [wholeLine('not_charged', charged - quota)];
  const amounts = fitToWhole(
    exact.map(({ micro }) => micro),
    quota,
  );
  return [...exact.map(({ micro: _, ...line }, index) => ({ ...line, quota: amounts[index] ?? 0 })), ...rest];
}

interface ExactLine extends Omit<ReceiptLine, 'quota'> {
  /** Quota in millionths. */
  readonly micro: bigint;
}

/** Line for the difference the account's plan makes to the multiplied amounts. */
function toPlanLine(exact: readonly ExactLine[], lines: readonly PriceLine[], planFactor: number): ExactLine {
  const base = exact.reduce((sum, { micro }, index) => (lines[index]?.isPlain === true ? sum : sum + micro), 0n);
  const scaled = (base * BigInt(Math.round(planFactor * MULTIPLIER_UNIT))) / BigInt(MULTIPLIER_UNIT);
  const multiplier = Number((planFactor - 1).toFixed(MAX_MULTIPLIER_DECIMALS));
  return { label: PLAN_FACTOR, quantity: Number(base) / MICRO, unit_quota: 1, multiplier, micro: scaled - base };
}

const wholeLine = (label: string, quota: number): ReceiptLine => ({
  label,
  quantity: 1,
  unit_quota: quota,
  multiplier: 1,
  quota,
});

/** Sum of the lines in floating point, as a client would add them, rounded up. */
export function sumOfReceipt(lines: readonly Pick<ReceiptLine, 'quota'>[]): number {
  const sum = Math.ceil(lines.reduce((total, { quota }) => total + quota, 0));
  // Math.ceil turns values between -1 and 0 into -0.
  return sum === 0 ? 0 : sum;
}

/**
 * Amounts in millionths as numbers whose floating-point sum rounds up to `total`; in whole quota if millionths do not
 * fit.
 */
function fitToWhole(amounts: readonly bigint[], total: number): number[] {
  const largest = BigInt(MAX_MICRO_QUOTA) * BigInt(MICRO);
  if (total < MAX_MICRO_QUOTA && amounts.every((amount) => amount < largest)) {
    const micro = amounts.map(Number);
    for (let nudges = 0; nudges < MAX_NUDGES; nudges++) {
      const values = micro.map((each) => each / MICRO);
      const off = total - sumOfReceipt(values.map((quota) => ({ quota })));
      if (off === 0) return values;
      // Corrects one line by a millionth: up where rounding down lost it (the whole amount if the call cost less than a
      // millionth), down where floating-point addition exceeded the total.
      const found = micro.findIndex((each) => each > 0);
      const at = found === -1 && off > 0 && micro.length > 0 ? 0 : found;
      if (at === -1) break;
      micro[at] = (micro[at] ?? 0) + Math.sign(off);
    }
  }
  let [sum, taken] = [0n, 0n];
  return amounts.map((amount, index) => {
    sum += amount;
    const whole = index === amounts.length - 1 ? BigInt(total) : (sum + BigInt(MICRO) - 1n) / BigInt(MICRO);
    const own = whole - taken;
    taken = whole;
    return Number(own);
  });
}
