import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ModelKind } from '../../../../contract/model-kinds.ts';
import type { adminCreateModel, OnRetirement } from '../../../../contract/models.ts';
import { defined } from '../../../../contract/objects.ts';
import {
  type ChatPrice,
  type MediaLine,
  type PriceLine,
  priceMedia,
  TOKEN_PARTS,
  type TokenPart,
  UnpricedError,
  type VideoPrice,
} from '../../../../contract/pricing.ts';
import type { Model } from '../../../data/admin.ts';

type ModelBody = EndpointPart<typeof adminCreateModel, 'body'>;

/** Form values of a model. */
export interface ModelFormValues {
  readonly id: string;
  readonly vendor: string;
  readonly kind: ModelKind;
  /** Empty: the upstream knows the model by the same name. */
  readonly aliasOf: string;
  /** An alias can use the price of its target. */
  readonly ownPrice: boolean;
  readonly price: PriceFormValues;
  readonly schema: string;
  readonly onRetirement: OnRetirement;
  readonly enabled: boolean;
}

/** Initial values of a new model. @param perUnit quota per credit */
export const newModelFormValues = (vendor: string, perUnit: number): ModelFormValues => ({
  id: '',
  vendor,
  kind: 'video',
  aliasOf: '',
  ownPrice: true,
  price: toPriceFormValues({ per_second: Math.round(perUnit / 10) }, perUnit),
  schema: '',
  onRetirement: 'refuse',
  enabled: true,
});

/** Form values of an existing model. @param perUnit quota per credit */
export const toModelFormValues = (model: Model, perUnit: number): ModelFormValues => ({
  id: model.id,
  vendor: model.vendor,
  kind: model.kind as ModelKind,
  aliasOf: model.alias_of ?? '',
  ownPrice: model.price !== null,
  price: toPriceFormValues(model.price as AnyPrice | null, perUnit),
  schema: model.input_schema == null ? '' : JSON.stringify(model.input_schema, null, 2),
  onRetirement: model.on_retirement as OnRetirement,
  enabled: model.enabled,
});

/** Converts form values to a request body; requires a schema that has already been parsed without error. */
export function toModelBody(draft: ModelFormValues, perUnit: number) {
  const schema = parseMediaSchema(draft.schema);
  const inherits = draft.aliasOf !== '' && !draft.ownPrice;
  return {
    id: draft.id.trim(),
    vendor: draft.vendor as ModelBody['vendor'],
    kind: draft.kind,
    alias_of: draft.aliasOf,
    price: inherits ? null : { ...toPrice(draft.price, draft.kind, perUnit) },
    input_schema: schema.ok ? schema.schema : null,
    on_retirement: draft.onRetirement,
    enabled: draft.enabled,
  };
}

type ParsedMediaSchema =
  | { readonly ok: true; readonly schema: Record<string, unknown> | null; readonly names: readonly string[] }
  | { readonly ok: false; readonly line: number | undefined; readonly what: string };

/**
 * Parses a schema typed as JSON; empty text means no schema. `line`: line of the syntax error, undefined for valid JSON
 * that is not an object.
 */
export function parseMediaSchema(text: string): ParsedMediaSchema {
  if (text.trim() === '') return { ok: true, schema: null, names: [] };
  try {
    const schema: unknown = JSON.parse(text);
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      return { ok: false, line: undefined, what: '' };
    const { properties } = schema as { readonly properties?: unknown };
    const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
    return { ok: true, schema: schema as Record<string, unknown>, names };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { ok: false, line: findErrorLine(what, text), what };
  }
}

/** Number of characters V8 quotes on each side of an unexpected token. */
const QUOTED_CHARACTERS = 10;

/**
 * Line of a syntax error. JavaScript engines report it differently: a line, a position, an excerpt, or only an
 * unexpected end.
 */
function findErrorLine(what: string, text: string): number {
  const line = /line (\d+)/.exec(what)?.[1];
  if (line !== undefined) return Number(line);
  const position = /position (\d+)/.exec(what)?.[1];
  const piece = /\.\.\."(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(what)?.[1];
  const end =
    position !== undefined
      ? Number(position)
      : piece !== undefined
        ? text.indexOf(piece) + QUOTED_CHARACTERS
        : text.length;
  return text.slice(0, end).split('\n').length;
}

/** Form values of one multiplier. */
export interface MultiplierFormValues {
  readonly key: number;
  readonly factor: string;
  readonly value: string;
  readonly by: number | string;
}
/** Parts of a chat call that can be priced separately. */
export const TOKEN_PART_NAMES = Object.keys(TOKEN_PARTS) as readonly TokenPart[];
/** Names of rates, without `_per_million`. */
export type RateName = TokenPart | 'input' | 'output';
const RATES: readonly RateName[] = ['input', 'output', ...TOKEN_PART_NAMES];
/** Credits per million tokens, by rate; empty: not part of the price. */
export type RateFormValues = Readonly<Record<RateName, number | string>>;
/** Form values of a tier of a chat price. */
export interface TierFormValues extends RateFormValues {
  readonly key: number;
  readonly above: number | string;
}
/** Form values of a price, in credits; quota amounts would be long integers, tedious to type. */
export interface PriceFormValues {
  readonly perCall: number | string;
  readonly perSecond: number | string;
  readonly rates: RateFormValues;
  readonly tiers: readonly TierFormValues[];
  readonly multipliers: readonly MultiplierFormValues[];
  /** Whether the price has lines instead of one rate. */
  readonly isLined: boolean;
  readonly lines: readonly PriceLineFormValues[];
  readonly settleBy: 'request' | 'vendor';
}

/** Combines the contract's price types; every key is optional, as on the wire. */
export type AnyPrice = VideoPrice & ChatPrice;

export const DECIMALS = 6;

/** Form values of a price; null starts an empty one. @param perUnit quota per credit */
export function toPriceFormValues(price: AnyPrice | null, perUnit: number): PriceFormValues {
  const credits = (quota: number | undefined): number => Number(((quota ?? 0) / perUnit).toFixed(DECIMALS + 3));
  const pairs = Object.entries(price?.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => ({ factor, value, by })),
  );
  return {
    perCall: credits(price?.per_call),
    perSecond: credits(price?.per_second),
    rates: {
      ...toRateDrafts(price ?? {}, credits),
      input: credits(price?.input_per_million),
      output: credits(price?.output_per_million),
    },
    tiers: (price?.tiers ?? []).map((tier, key) => ({
      ...toRateDrafts(tier, credits),
      key,
      above: tier.above_input_tokens,
    })),
    multipliers: pairs.map((pair, key) => ({ ...pair, key })),
    isLined: price?.lines !== undefined,
    lines: toPriceLineFormValues(price?.lines, perUnit),
    settleBy: price?.settle_by ?? 'request',
  };
}

/** Converts form values to a price. @param perUnit quota per credit */
export function toPrice(draft: PriceFormValues, kind: ModelKind, perUnit: number): AnyPrice {
  const quota = (credits: number | string): number => Math.round(Number(credits) * perUnit);
  if (kind === 'chat') {
    const tiers = draft.tiers
      .map((tier) => ({ above_input_tokens: Number(tier.above), ...toRates(tier, quota) }))
      .filter((tier) => tier.above_input_tokens > 0 && Object.keys(tier).length > 1);
    return {
      ...toRates(draft.rates, quota),
      ...(Number(draft.perCall) > 0 ? { per_call: quota(draft.perCall) } : {}),
      ...(tiers.length > 0 ? { tiers } : {}),
    };
  }
  const multipliers: Record<string, Record<string, number>> = {};
  for (const { factor, value, by } of draft.multipliers) {
    const name = factor.trim();
    if (name !== '' && value.trim() !== '') multipliers[name] = { ...multipliers[name], [value.trim()]: Number(by) };
  }
  const plain = { per_call: quota(draft.perCall), per_second: quota(draft.perSecond) };
  const settled = draft.settleBy === 'vendor' ? { settle_by: 'vendor' as const } : {};
  const price = draft.isLined ? { lines: toLines(draft.lines, perUnit), ...settled } : { ...plain, ...settled };
  return Object.keys(multipliers).length === 0 ? price : { ...price, multipliers };
}

type Rates = Omit<ChatPrice, 'tiers' | 'per_call'>;

const toRateDrafts = (rates: Rates, credits: (quota: number | undefined) => number): RateFormValues =>
  Object.fromEntries(
    RATES.map((name) => {
      const quota = rates[`${name}_per_million`];
      return [name, quota === undefined ? '' : credits(quota)];
    }),
  ) as RateFormValues;

const toRates = (drafts: RateFormValues, quota: (credits: number | string) => number): Rates =>
  Object.fromEntries(
    RATES.filter((name) => drafts[name] !== '').map((name) => [`${name}_per_million`, quota(drafts[name])]),
  );

/** Amounts of a line, in the order of the form. Those in `CREDITS` are credits in the form and quota in the price. */
export const LINE_AMOUNTS = [
  'per_second',
  'per_call',
  'per_input_image',
  'per_input_second',
  'per_unit',
  'max_units',
  'max_units_per_second',
] as const;
type LineAmount = (typeof LINE_AMOUNTS)[number];
const CREDITS: ReadonlySet<LineAmount> = new Set([
  'per_second',
  'per_call',
  'per_input_image',
  'per_input_second',
  'per_unit',
]);
/** Amounts that can be fractions of a quota. */
const FRACTIONS: ReadonlySet<LineAmount> = new Set(['per_unit', 'max_units', 'max_units_per_second']);

/** Facts of a request that a condition can test. */
export const FACTS = [
  'seconds',
  'resolution',
  'size',
  'ratio',
  'mode',
  'audio',
  'input_images',
  'input_video',
  'input_seconds',
  'frames',
] as const;

/** One condition: a fact has one of the values. */
export interface ConditionFormValues {
  readonly key: number;
  readonly fact: string;
  readonly values: readonly string[];
}

/** Form values of one line of a price; empty amounts are not part of the price. */
export interface PriceLineFormValues {
  readonly key: number;
  /** All must apply; empty: always matches. */
  readonly conditions: readonly ConditionFormValues[];
  readonly amounts: Readonly<Record<LineAmount, number | string>>;
}

const MICRO = 1_000_000;
const LINE_DECIMALS = 12;

/** Numeric facts; all others are text, apart from true and false. */
const NUMBERS: ReadonlySet<string> = new Set(['seconds', 'input_images', 'input_seconds', 'units', 'frames']);

const toValue = (fact: string, text: string): string | number | boolean => {
  if (NUMBERS.has(fact) && /^\d+$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
};

type When = NonNullable<MediaLine['when']>;

const toConditions = (when: MediaLine['when']): readonly ConditionFormValues[] =>
  Object.entries(when ?? {}).map(([fact, values], key) => ({ key, fact, values: values.map(String) }));

const toWhen = (conditions: readonly ConditionFormValues[]): When =>
  Object.fromEntries(conditions.map(({ fact, values }) => [fact, values.map((value) => toValue(fact, value))]));

const toPriceLineFormValues = (lines: VideoPrice['lines'], perUnit: number): readonly PriceLineFormValues[] =>
  (lines ?? []).map((line, key) => ({
    key,
    conditions: toConditions(line.when),
    amounts: Object.fromEntries(
      LINE_AMOUNTS.map((name) => {
        const amount = line[name];
        if (amount === undefined) return [name, ''];
        return [name, CREDITS.has(name) ? Number((amount / perUnit).toFixed(LINE_DECIMALS)) : amount];
      }),
    ) as PriceLineFormValues['amounts'],
  }));

const toLines = (drafts: readonly PriceLineFormValues[], perUnit: number): MediaLine[] =>
  drafts.map(({ conditions, amounts }) => {
    const facts = toWhen(conditions);
    const named = LINE_AMOUNTS.filter((name) => amounts[name] !== '').map((name) => {
      const amount = Number(amounts[name]) * (CREDITS.has(name) ? perUnit : 1);
      return [name, FRACTIONS.has(name) ? Math.round(amount * MICRO) / MICRO : Math.round(amount)];
    });
    const known = Object.keys(facts).length === 0 ? undefined : facts;
    return defined({ when: known, ...Object.fromEntries(named) });
  });

/** Whether every condition has a value; without one it would never apply. */
export const areConditionsComplete = (drafts: readonly PriceLineFormValues[]): boolean =>
  drafts.every(({ conditions }) => conditions.every(({ values }) => values.length > 0));

/** A new, empty line. @param key React key of the line */
export const emptyLine = (key: number): PriceLineFormValues => ({
  key,
  conditions: [],
  amounts: Object.fromEntries(LINE_AMOUNTS.map((name) => [name, ''])) as PriceLineFormValues['amounts'],
});

/** Price of one video, computed by the server's own rule. */
export interface PriceExample {
  readonly quota: number;
  readonly terms: readonly PriceLine[];
  /** Multipliers applied. */
  readonly times: readonly number[];
}

/** Price of an example video. @returns undefined if no line of the price matches; such a call is refused */
export function examplePrice(
  price: AnyPrice,
  seconds: number,
  factors: Readonly<Record<string, string>>,
): PriceExample | undefined {
  // While typing, the duration may not be a whole number yet.
  const whole = Number.isSafeInteger(seconds) && seconds > 0 ? seconds : 0;
  try {
    const { quota, lines, multipliers } = priceMedia(price as VideoPrice, { seconds: whole, factors });
    return { quota, terms: lines, times: multipliers.map(({ by }) => by) };
  } catch (error) {
    if (error instanceof UnpricedError) return undefined;
    throw error;
  }
}
