import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAmountUnitName } from './credit-amount.tsx';

/** A number input whose label is a text. */
export interface AmountInputProps extends NumberInputProps {
  readonly label: string;
}

/** An input for an amount of credits; the label names the site's unit, as in `Price per second (CNY)`. */
export function AmountInput({ label, ...input }: AmountInputProps) {
  const { t } = useTranslation();
  const unit = useAmountUnitName();
  return <NumberInput label={t('amountIn', { label, unit })} min={0} decimalScale={4} hideControls {...input} />;
}
