import { Text } from '@mantine/core';
import { useQuota } from '../../../parts/quota.tsx';

/** A change of a wallet with its sign; gains are told by the sign and by colour. */
export function Amount({ value }: { readonly value: number }) {
  const quota = useQuota();
  return (
    <Text
      component="span"
      inherit
      {...(value > 0 ? { c: 'light-dark(var(--mantine-color-teal-9), var(--mantine-color-teal-4))' } : {})}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}
    >
      {value > 0 ? '+' : value < 0 ? '−' : ''}
      {quota(Math.abs(value))}
    </Text>
  );
}
