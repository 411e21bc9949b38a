import { Alert, Anchor, Button, Group, Kbd, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconAlertTriangle, IconPlayerPlayFilled } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useSelf } from '../../data/queries.ts';
import { quote, type VideoBody } from '../../data/videos.ts';
import { Failure } from '../../parts/failure.tsx';
import { useQuota } from '../../parts/quota.tsx';

interface RunBarProps {
  /** Undefined while the form is not complete. */
  readonly body: VideoBody | undefined;
  /** What is missing, in words. */
  readonly missing: string | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onRun: () => void;
}

/** The price before pressing, on the button itself, and what is left afterwards. */
export function RunBar({ body, missing, busy, error, onRun }: RunBarProps) {
  const { t } = useTranslation('studio');
  const money = useQuota();
  const { data: self } = useSelf();
  const [asked] = useDebouncedValue(body, 250);
  const price = useQuery({
    queryKey: ['quote', asked],
    queryFn: ({ signal }) => (asked === undefined ? null : quote(asked, signal)),
    enabled: asked !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const cost = body === undefined ? null : (price.data ?? null);
  const left = self === undefined || cost === null ? undefined : self.quota - cost;
  const short = left !== undefined && left < 0;
  // Where a plan pays, a small wallet is no reason to stop: the service decides then.
  const hint =
    missing ??
    (left === undefined
      ? ''
      : left < 0
        ? t('missing', { amount: money(-left) })
        : t('balanceAfter', { balance: money(left) }));
  return (
    <Stack gap="xs">
      {short && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota; here everything is told in what is shown.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: money(cost), balance: money(self.quota) })}
        </Alert>
      ) : (
        <Failure error={error ?? (body === undefined ? undefined : price.error)} />
      )}
      <Button
        size="md"
        fullWidth
        leftSection={<IconPlayerPlayFilled size={16} />}
        loading={busy}
        disabled={body === undefined}
        onClick={onRun}
      >
        {cost === null ? t('run') : t('runPrice', { price: money(cost) })}
      </Button>
      <Group justify="space-between" mih={24} wrap="nowrap">
        <Text size="xs" c={short ? 'var(--mantine-color-error)' : 'dimmed'}>
          {hint}{' '}
          {short && missing === undefined ? (
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
