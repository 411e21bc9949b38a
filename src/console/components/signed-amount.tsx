import { Text } from '@mantine/core';
import { useFormatCredits } from './credit-amount.tsx';

/** Amount of a ledger entry. The sign is always shown, because colour alone would not be accessible. */
export function SignedAmount({ value }: { readonly value: number }) {
  const quota = useFormatCredits();
  return (
    <Text
      component="span"
      inherit
      c={value > 0 ? 'light-dark(var(--mantine-color-teal-9), var(--mantine-color-teal-4))' : undefined}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}
    >
      {value > 0 ? '+' : value < 0 ? '−' : ''}
      {quota(Math.abs(value))}
    </Text>
  );
}
