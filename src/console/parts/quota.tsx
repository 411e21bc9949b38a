import { Text, type TextProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { toUnits } from '../data/money.ts';
import { useStatus } from '../data/queries.ts';

/** An amount of quota as people read it: in units of the display currency. */
export function Quota({ value, ...text }: { readonly value: number } & TextProps) {
  const format = useQuota();
  return (
    <Text component="span" inherit {...text} style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}>
      {format(value)}
    </Text>
  );
}

export function useQuota(): (quota: number) => string {
  const { t } = useTranslation();
  const perUnit = useStatus().data?.quota_per_unit;
  return (quota) => t('credits', { amount: toUnits(quota, perUnit) });
}
