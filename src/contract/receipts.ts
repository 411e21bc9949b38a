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
import { REQUEST_KINDS } from './request-kinds.ts';
import { Ok } from './responses.ts';
import { readDefaults, TaskParam } from './video.ts';

const RECEIPT_OUTCOMES = ['open', 'charged', 'refunded'] as const;
/** Outcome of a call as shown on its receipt. */
export type ReceiptOutcome = (typeof RECEIPT_OUTCOMES)[number];

/** Cost of a call or video with its reasons. Later price changes do not alter it. */
export const Receipt = Type.Object({
  object: Type.Literal('receipt'),
  ref: Type.String({ description: 'Task id or request id.' }),
  kind: Type.Enum([...REQUEST_KINDS]),
  model: Type.String(),
  served_model: Type.String({ description: 'The name that was sent to the provider; empty where none was reached.' }),
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
      quota: Type.Integer({ description: 'What it changed in wallet and allowance, with its sign.' }),
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
