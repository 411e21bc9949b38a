import { Alert, Anchor, Button, Group, Kbd, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconAlertTriangle, IconPlayerPlayFilled } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { useSelf } from '../../data/query-client.ts';
import { fetchVideoPrice, type VideoBody } from '../../data/video-queries.ts';

interface GenerateBarProps {
  /** Undefined while the form is not complete. */
  readonly body: VideoBody | undefined;
  /** What is missing, in words. */
  readonly missing: string | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onRun: () => void;
}

/** The price before pressing, on the button itself, and what is left afterwards. */
export function GenerateBar({ body, missing, busy, error, onRun }: GenerateBarProps) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { data: self } = useSelf();
  const [debouncedBody] = useDebouncedValue(body, 250);
  const price = useQuery({
    queryKey: ['quote', debouncedBody],
    queryFn: ({ signal }) => (debouncedBody === undefined ? null : fetchVideoPrice(debouncedBody, signal)),
    enabled: debouncedBody !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const cost = body === undefined ? null : (price.data ?? null);
  const left = self === undefined || cost === null ? undefined : self.quota - cost;
  const isShort = left !== undefined && left < 0;
  // Where a plan pays, a small wallet is no reason to stop: the service decides then.
  const hint =
    missing ??
    (left === undefined
      ? ''
      : left < 0
        ? t('missing', { amount: formatCredits(-left) })
        : t('balanceAfter', { balance: formatCredits(left) }));
  return (
    <Stack gap="xs">
      {isShort && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota units; the message uses credits, like the rest of the console.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: formatCredits(cost), balance: formatCredits(self.quota) })}
        </Alert>
      ) : (
        <ErrorAlert error={error ?? (body === undefined ? undefined : price.error)} />
      )}
      <Button
        size="md"
        fullWidth
        leftSection={<IconPlayerPlayFilled size={16} />}
        loading={busy}
        disabled={body === undefined}
        onClick={onRun}
      >
        {cost === null ? t('run') : t('runPrice', { price: formatCredits(cost) })}
      </Button>
      <Group justify="space-between" mih={24} wrap="nowrap">
        <Text size="xs" c={isShort ? 'var(--mantine-color-error)' : 'dimmed'}>
          {hint}{' '}
          {isShort && missing === undefined ? (
            <Anchor size="xs" renderRoot={(props) => <Link to="/packages" {...props} />}>
              {t('getCredits')}
            </Anchor>
          ) : null}
        </Text>
        <Kbd size="xs" visibleFrom="sm">
          {t('shortcut')}
        </Kbd>
      </Group>
    </Stack>
  );
}
