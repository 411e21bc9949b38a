import { Text, type TextProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatPrice, formatQuota } from '../data/format-quota.ts';
import { useStatus } from '../data/query-client.ts';

interface CreditAmountProps extends TextProps {
  readonly value: number;
  /** Whether the unit may wrap onto its own line if there is little space. */
  readonly wraps?: boolean;
}

/** An amount of quota, shown in credits. */
export function CreditAmount({ value, wraps = false, ...text }: CreditAmountProps) {
  const format = useFormatCredits();
  return (
    <Text
      component="span"
      inherit
      {...text}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: wraps ? 'normal' : 'nowrap' }}
    >
      {format(value)}
    </Text>
  );
}

export function useFormatCredits(): (quota: number) => string {
  const { t } = useTranslation();
  const perUnit = useStatus().data?.quota_per_unit;
  return (quota) => t('credits', { amount: formatQuota(quota, perUnit) });
}

/** The same for a price per unit, with all its decimals. */
export function useFormatPrice(): (quota: number) => string {
  const { t } = useTranslation();
  const perUnit = useStatus().data?.quota_per_unit;
  return (quota) => t('credits', { amount: formatPrice(quota, perUnit) });
}
