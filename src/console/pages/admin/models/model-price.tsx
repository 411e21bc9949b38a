import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { minimumVideoPrice } from '../../../../contract/pricing.ts';
import { useFormatCredits, useFormatPrice } from '../../../components/credit-amount.tsx';
import { formatNames } from '../../../data/format-values.ts';
import type { AnyPrice } from './model-form-values.ts';

/** Duration of the video whose lowest price is shown. */
const USUAL_SECONDS = 5;

interface ModelPriceProps {
  readonly price: unknown;
  /** Renders within a line of text, without the multipliers. */
  readonly isInline?: boolean;
}

/** Short description of a price. */
export function ModelPrice({ price: stored, isInline = false }: ModelPriceProps) {
  const { t } = useTranslation('admin-channels');
  const quota = useFormatPrice();
  const rounded = useFormatCredits();
  const price = stored as AnyPrice | null;
  if (price === null) return <Text size="sm">{t('price.asTarget')}</Text>;
  const lowest = rounded(minimumVideoPrice(price, USUAL_SECONDS));
  const parts = [
    ...(price.lines === undefined
      ? []
      : [
          t('price.lined', {
            count: price.lines.length,
            price: t('price.forSeconds', { price: lowest, seconds: USUAL_SECONDS }),
          }),
        ]),
    ...((price.per_second ?? 0) > 0 ? [t('price.aSecond', { price: quota(price.per_second ?? 0) })] : []),
    ...((price.per_call ?? 0) > 0 ? [t('price.aCall', { price: quota(price.per_call ?? 0) })] : []),
    ...((price.input_per_million ?? 0) > 0 ? [t('price.in', { price: quota(price.input_per_million ?? 0) })] : []),
    ...((price.output_per_million ?? 0) > 0 ? [t('price.out', { price: quota(price.output_per_million ?? 0) })] : []),
  ];
  const summary = parts.length === 0 ? t('price.free') : parts.join(' + ');
  if (isInline) return summary;
  const factors = Object.entries(price.multipliers ?? {}).flatMap(([factor, values]) =>
    Object.entries(values).map(([value, by]) => `${factor} ${value} × ${by}`),
  );
  return (
    <>
      <Text size="sm">{summary}</Text>
      {factors.length === 0 ? null : (
        <Text size="xs" c="dimmed" lineClamp={1} title={formatNames(factors)}>
          {formatNames(factors)}
        </Text>
      )}
    </>
  );
}
