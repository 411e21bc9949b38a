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

export const useFormatCredits = (): ((quota: number) => string) => useFormat(formatQuota);

/** The same for a price per unit, with all its decimals. */
export const useFormatPrice = (): ((quota: number) => string) => useFormat(formatPrice);

/** In the currency of the site, or in credits where it has none. */
function useFormat(format: typeof formatQuota): (quota: number) => string {
  const { t } = useTranslation();
  const { quota_per_unit: perUnit, currency = '' } = useStatus().data ?? {};
  return (quota) =>
    currency === '' ? t('credits', { amount: format(quota, perUnit) }) : format(quota, perUnit, currency);
}
