import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAmountUnitName } from './credit-amount.tsx';

export interface AmountInputProps extends NumberInputProps {
  readonly label: string;
}

/** A field for an amount of credits, which the label names as the site does: `Price per second (CNY)`. */
export function AmountInput({ label, ...input }: AmountInputProps) {
  const { t } = useTranslation();
  const unit = useAmountUnitName();
  return <NumberInput label={t('amountIn', { label, unit })} min={0} decimalScale={4} hideControls {...input} />;
}
