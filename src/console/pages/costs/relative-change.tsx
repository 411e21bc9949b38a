import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { currentLanguage } from '../../strings/init-and-change-language.ts';

/** A relative change with its sign; neither direction is good or bad by itself, so it has no colour. */
export function RelativeChange({ value }: { readonly value: number | null }) {
  const { t } = useTranslation('costs');
  if (value === null) return null;
  const percent = new Intl.NumberFormat(currentLanguage(), {
    style: 'percent',
    maximumFractionDigits: 0,
    signDisplay: 'exceptZero',
  }).format(value);
  return (
    <Text span inherit fw={600} title={t('changeHint')} style={{ whiteSpace: 'nowrap' }}>
      {percent}
    </Text>
  );
}
