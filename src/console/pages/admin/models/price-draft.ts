import type { ModelKind } from '../../../../contract/models.ts';

/** One multiplier of a price as its form holds it. */
export interface MultiplierDraft {
  readonly key: number;
  readonly factor: string;
  readonly value: string;
  readonly by: number | string;
}
/** A price as its form holds it, in credits; quota is whole and small, which nobody wants to type. */
export interface PriceDraft {
  readonly perCall: number | string;
  readonly perSecond: number | string;
  readonly input: number | string;
  readonly output: number | string;
  readonly multipliers: readonly MultiplierDraft[];
}

/** The shapes of the contract's prices, each key optional as they are sent. */
export interface AnyPrice {
  readonly per_call?: number | undefined;
  readonly per_second?: number | undefined;
  readonly multipliers?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined;
  readonly input_per_million?: number | undefined;
  readonly output_per_million?: number | undefined;
}

export const DECIMALS = 6;

export function toPriceDraft(price: AnyPrice | null, perUnit: number): PriceDraft {
  const credits = (quota: number | undefined): number => Number(((quota ?? 0) / perUnit).toFixed(DECIMALS + 3));
  const pairs = Object.entries(price?.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => ({ factor, value, by })),
  );
  return {
    perCall: credits(price?.per_call),
    perSecond: credits(price?.per_second),
    input: credits(price?.input_per_million),
    output: credits(price?.output_per_million),
    multipliers: pairs.map((pair, key) => ({ ...pair, key })),
  };
}

export function toPrice(draft: PriceDraft, kind: ModelKind, perUnit: number): AnyPrice {
  const quota = (credits: number | string): number => Math.round(Number(credits) * perUnit);
  if (kind === 'chat') return { input_per_million: quota(draft.input), output_per_million: quota(draft.output) };
  const multipliers: Record<string, Record<string, number>> = {};
  for (const { factor, value, by } of draft.multipliers) {
    const name = factor.trim();
    if (name !== '' && value.trim() !== '') multipliers[name] = { ...multipliers[name], [value.trim()]: Number(by) };
  }
  return {
    per_call: quota(draft.perCall),
    per_second: quota(draft.perSecond),
    ...(Object.keys(multipliers).length === 0 ? {} : { multipliers }),
  };
}

export interface Example {
  /** Whole quota. */
  readonly quota: number;
  /** Multipliers that applied. */
  readonly times: readonly number[];
}

/** What one video costs: the service's own rule, for showing only. */
export function toExample(price: AnyPrice, seconds: number, chosen: Readonly<Record<string, string>>): Example {
  const times = Object.entries(price.multipliers ?? {}).flatMap(([factor, values]) => {
    const by = values[chosen[factor] ?? ''];
    return by === undefined ? [] : [by];
  });
  const base = (price.per_call ?? 0) + (price.per_second ?? 0) * seconds;
  const exact = times.reduce((sum, by) => sum * by, base);
  // Floating point leaves dust above whole numbers, which rounding up would turn into one quota more.
  return { quota: Math.ceil(Number(exact.toFixed(6))), times };
}
