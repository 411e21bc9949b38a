import { Group, NumberInput, Paper, Select, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ModelKind } from '../../../../contract/model-kinds.ts';
import { tokenQuota } from '../../../../contract/pricing.ts';
import { useFormatAmountNumber, useFormatPrice } from '../../../components/use-format-credits.ts';
import { examplePrice, type PriceExample } from './example-price.ts';
import type { AnyPrice } from './price-form-values.ts';

/** Facts that a price asks for and their values; seconds and counts have fields of their own or are 0. */
function choicesOf(price: AnyPrice): Readonly<Record<string, readonly string[]>> {
  const choices = new Map<string, Set<string>>();
  const named = [
    ...Object.entries(price.multipliers ?? {}).map(([factor, values]) => [factor, Object.keys(values)] as const),
    ...(price.lines ?? []).flatMap(({ when }) =>
      Object.entries(when ?? {}).map(([fact, values]) => [fact, values.map(String)] as const),
    ),
  ];
  for (const [fact, values] of named)
    if (fact !== 'seconds' && fact !== 'units' && fact !== 'input_images')
      choices.set(fact, new Set([...(choices.get(fact) ?? []), ...values]));
  return Object.fromEntries([...choices].map(([fact, values]) => [fact, [...values]]));
}

/** A price that depends on facts is shown first for those of its first line. */
const firstLineFacts = ({ lines = [] }: AnyPrice): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(lines[0]?.when ?? {}).flatMap(([fact, [first]]) =>
      first === undefined ? [] : [[fact, String(first)]],
    ),
  );

/** Such as `(0.10 + 0.056 × 5 s) × 2`. */
function toFormula(
  { terms, times }: PriceExample,
  formatRate: (quota: number) => string,
  formatUnits: (count: number) => string,
): string {
  const shown = terms.map(({ label, quantity, unitQuota, per }) => {
    const rate = formatRate(unitQuota / per);
    if (label === 'per_second') return `${rate} × ${quantity} s`;
    return label === 'per_unit' ? `${rate} × ${formatUnits(quantity)}` : rate;
  });
  const sum = shown.length === 0 ? formatRate(0) : shown.join(' + ');
  return [times.length > 0 && shown.length > 1 ? `(${sum})` : sum, ...times].join(' × ');
}

interface PricePreviewProps {
  readonly kind: ModelKind;
  readonly price: AnyPrice;
}

const INPUT_TOKENS = 2_000;
const OUTPUT_TOKENS = 500;

/** The price worked out for one call, so that a zero too many is seen before anybody pays it. */
export function PricePreview({ kind, price }: PricePreviewProps) {
  const { t } = useTranslation('admin-models');
  return (
    <Paper p="sm" bg="var(--mantine-color-default-hover)" radius="md">
      <Text size="xs" c="dimmed" mb={6}>
        {t('price.example')}
      </Text>
      {kind === 'chat' ? <ChatPricePreview price={price} /> : <VideoPricePreview kind={kind} price={price} />}
    </Paper>
  );
}

function ChatPricePreview({ price }: { readonly price: AnyPrice }) {
  const { t } = useTranslation('admin-models');
  const quota = useFormatPrice();
  const tokens = { promptTokens: INPUT_TOKENS, completionTokens: OUTPUT_TOKENS };
  const sum = tokenQuota(price, tokens);
  return (
    <Text size="sm">
      {t('price.chatExample', {
        input: INPUT_TOKENS.toLocaleString(),
        output: OUTPUT_TOKENS.toLocaleString(),
        price: quota(sum),
      })}
    </Text>
  );
}

function VideoPricePreview({ kind, price }: PricePreviewProps) {
  const { t } = useTranslation('admin-models');
  const quota = useFormatPrice();
  const rate = useFormatAmountNumber('exact');
  const [seconds, setSeconds] = useState<number | string>(5);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const length = kind === 'image' ? 0 : Number(seconds);
  const factors = { ...firstLineFacts(price), ...chosen };
  const example = examplePrice(price, length, factors);
  return (
    <>
      <Group gap="xs" align="flex-end">
        {kind === 'image' ? null : (
          <NumberInput
            size="xs"
            w={90}
            label={t('price.seconds')}
            min={1}
            max={3600}
            allowDecimal={false}
            value={seconds}
            onChange={setSeconds}
          />
        )}
        {Object.entries(choicesOf(price)).map(([factor, values]) => (
          <Select
            key={factor}
            size="xs"
            w={120}
            label={factor}
            placeholder={t('price.plain')}
            data={[...values]}
            value={factors[factor] || null}
            onChange={(value) => setChosen((known) => ({ ...known, [factor]: value ?? '' }))}
            clearable
            clearButtonProps={{ 'aria-label': t('price.plain') }}
          />
        ))}
      </Group>
      <Text size="sm" mt="xs" role="status" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {example === undefined ? (
          t('price.noLineFits')
        ) : (
          <>
            {toFormula(example, rate, (count) => t('price.units', { count }))} = <strong>{quota(example.quota)}</strong>
          </>
        )}
      </Text>
    </>
  );
}
