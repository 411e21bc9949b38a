import { defined } from '../../../../contract/objects.ts';
import type { MediaLine, VideoPrice } from '../../../../contract/pricing.ts';

/** Amounts of a line, in the order of the form. Those of `CREDITS` are credits there and quota in the price. */
export const LINE_AMOUNTS = [
  'per_second',
  'per_call',
  'per_input_image',
  'per_unit',
  'max_units',
  'max_units_per_second',
] as const;
export type LineAmount = (typeof LINE_AMOUNTS)[number];
const CREDITS: ReadonlySet<LineAmount> = new Set(['per_second', 'per_call', 'per_input_image', 'per_unit']);
/** Those that may have decimals of quota. */
const FRACTIONS: ReadonlySet<LineAmount> = new Set(['per_unit', 'max_units', 'max_units_per_second']);

/** One line of a price as its form holds it; empty amounts are not part of the price. */
export interface PriceLineFormValues {
  readonly key: number;
  /** `mode=pro, seconds=5/10`; empty: the line always fits. */
  readonly when: string;
  readonly amounts: Readonly<Record<LineAmount, number | string>>;
}

const MICRO = 1_000_000;
const DECIMALS = 12;

/** Facts that are numbers; others are text, apart from true and false. */
const NUMBERS: ReadonlySet<string> = new Set(['seconds', 'input_images', 'units', 'frames']);

const toValue = (fact: string, text: string): string | number | boolean => {
  if (NUMBERS.has(fact) && /^\d+$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
};

/** Reads `mode=pro, seconds=5/10`. Undefined where it is not of that form. */
export function parseWhen(text: string): NonNullable<MediaLine['when']> | undefined {
  const facts: NonNullable<MediaLine['when']> = {};
  for (const part of text.split(',').map((each) => each.trim())) {
    if (part === '') continue;
    const [, fact, values] = /^([a-z_]{1,32})\s*=\s*(.+)$/.exec(part) ?? [];
    if (fact === undefined || values === undefined) return undefined;
    const listed = values.split('/').map((each) => each.trim());
    if (listed.includes('')) return undefined;
    facts[fact] = listed.map((each) => toValue(fact, each));
  }
  return facts;
}

export const formatWhen = (when: MediaLine['when']): string =>
  Object.entries(when ?? {})
    .map(([fact, values]) => `${fact}=${values.join('/')}`)
    .join(', ');

export const toPriceLineFormValues = (lines: VideoPrice['lines'], perUnit: number): readonly PriceLineFormValues[] =>
  (lines ?? []).map((line, key) => ({
    key,
    when: formatWhen(line.when),
    amounts: Object.fromEntries(
      LINE_AMOUNTS.map((name) => {
        const amount = line[name];
        if (amount === undefined) return [name, ''];
        return [name, CREDITS.has(name) ? Number((amount / perUnit).toFixed(DECIMALS)) : amount];
      }),
    ) as PriceLineFormValues['amounts'],
  }));

/** The lines of a price. A condition that cannot be read is left out of the line only while it is typed: `areLinesReadable`. */
export const toLines = (drafts: readonly PriceLineFormValues[], perUnit: number): MediaLine[] =>
  drafts.map(({ when, amounts }) => {
    const facts = parseWhen(when) ?? {};
    const named = LINE_AMOUNTS.filter((name) => amounts[name] !== '').map((name) => {
      const amount = Number(amounts[name]) * (CREDITS.has(name) ? perUnit : 1);
      return [name, FRACTIONS.has(name) ? Math.round(amount * MICRO) / MICRO : Math.round(amount)];
    });
    const known = Object.keys(facts).length === 0 ? undefined : facts;
    return defined({ when: known, ...Object.fromEntries(named) });
  });

export const areLinesReadable = (drafts: readonly PriceLineFormValues[]): boolean =>
  drafts.every(({ when }) => parseWhen(when) !== undefined);

export const emptyLine = (key: number): PriceLineFormValues => ({
  key,
  when: '',
  amounts: Object.fromEntries(LINE_AMOUNTS.map((name) => [name, ''])) as PriceLineFormValues['amounts'],
});
