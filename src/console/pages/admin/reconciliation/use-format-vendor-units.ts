import { useTranslation } from 'react-i18next';

const MOST_DECIMALS = 3;

/** Formats amounts of a vendor's own units, such as `1.5 units`. */
export function useFormatVendorUnits(): (amount: number, unit: string) => string {
  const { t, i18n } = useTranslation('reconciliation');
  return (amount, unit) =>
    t('units', { amount: amount.toLocaleString(i18n.language, { maximumFractionDigits: MOST_DECIMALS }), unit });
}
