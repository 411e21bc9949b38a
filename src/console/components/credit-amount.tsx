import { Text, type TextProps } from '@mantine/core';
import { useFormatCredits } from './use-format-credits.ts';

interface CreditAmountProps extends TextProps {
  readonly value: number;
  /** Whether the unit may wrap onto its own line if there is little space. */
  readonly wraps?: boolean;
}

/** An amount of quota, in the currency of the site, or in credits where it has none. */
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
