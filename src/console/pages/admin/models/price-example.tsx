import { Group, NumberInput, Paper, Select, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ModelKind } from '../../../../contract/models.ts';
import { toUnits } from '../../../data/money.ts';
import { useQuota } from '../../../parts/quota.tsx';
import { type AnyPrice, toExample } from './price-draft.ts';

interface PriceExampleProps {
  readonly kind: ModelKind;
  readonly price: AnyPrice;
  readonly perUnit: number;
}

const INPUT_TOKENS = 2_000;
const OUTPUT_TOKENS = 500;
const MILLION = 1_000_000;

/** The price worked out for one call, so that a zero too many is seen before anybody pays it. */
export function PriceExample({ kind, price, perUnit }: PriceExampleProps) {
  const { t } = useTranslation('upstreams');
  return (
    <Paper p="sm" bg="var(--mantine-color-default-hover)" radius="md">
      <Text size="xs" c="dimmed" mb={6}>
        {t('price.example')}
      </Text>
      {kind === 'chat' ? <Chat price={price} /> : <Video kind={kind} price={price} perUnit={perUnit} />}
    </Paper>
  );
}

function Chat({ price }: { readonly price: AnyPrice }) {
  const { t } = useTranslation('upstreams');
  const quota = useQuota();
  const { input_per_million: input = 0, output_per_million: output = 0 } = price;
  const sum = Math.ceil((input * INPUT_TOKENS + output * OUTPUT_TOKENS) / MILLION);
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

function Video({ kind, price, perUnit }: PriceExampleProps) {
  const { t } = useTranslation('upstreams');
  const quota = useQuota();
  const [seconds, setSeconds] = useState<number | string>(5);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const length = kind === 'image' ? 0 : Number(seconds);
  const example = toExample(price, length, chosen);
  const units = (value: number): string => toUnits(value, perUnit);
  const terms = [
    ...((price.per_call ?? 0) === 0 ? [] : [units(price.per_call ?? 0)]),
    ...((price.per_second ?? 0) === 0 || length === 0 ? [] : [`${units(price.per_second ?? 0)} × ${length} s`]),
  ];
  const base = terms.length === 0 ? '0' : terms.join(' + ');
  const sum = example.times.length > 0 && terms.length > 1 ? `(${base})` : base;
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
        {Object.entries(price.multipliers ?? {}).map(([factor, values]) => (
          <Select
            key={factor}
            size="xs"
            w={120}
            label={factor}
            placeholder={t('price.plain')}
            data={Object.keys(values)}
            value={chosen[factor] ?? null}
            onChange={(value) => setChosen((known) => ({ ...known, [factor]: value ?? '' }))}
            clearable
            clearButtonProps={{ 'aria-label': t('price.plain') }}
          />
        ))}
      </Group>
      <Text size="sm" mt="xs" role="status" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {[sum, ...example.times].join(' × ')} = <strong>{quota(example.quota)}</strong>
      </Text>
    </>
  );
}
