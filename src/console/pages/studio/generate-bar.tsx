import { Alert, Anchor, Box, Button, Group, Kbd, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconPlayerPlayFilled } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { useSelf } from '../../data/signed-in-user-and-site-queries.ts';
import type { VideoBody } from '../../data/video-queries.ts';
import { AffordableVideosHint } from './affordable-videos-hint.tsx';
import { useTotalPrice } from './use-prices.ts';

interface GenerateBarProps {
  /** One for each model; undefined while the form is not complete. */
  readonly bodies: readonly VideoBody[] | undefined;
  /** What is missing, in words. */
  readonly missing: string | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onRun: () => void;
}

/** The price, on the button itself before it is pressed, and the balance that would be left. */
export function GenerateBar({ bodies, missing, busy, error, onRun }: GenerateBarProps) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { data: self } = useSelf();
  const price = useTotalPrice(bodies);
  const cost = price.quota;
  // What a plan pays of a single video is known; of several the service says what each is paid from.
  const fromBalance = price.quote === null ? cost : price.quote.from_wallet;
  const left = self === undefined || fromBalance === null ? undefined : self.quota - fromBalance;
  const isShort = left !== undefined && left < 0;
  const count = bodies?.length ?? 1;
  const label = (): string => (cost === null ? t('run') : t('runPrice', { price: formatCredits(cost) }));
  const labelOfMany = (): string =>
    cost === null ? t('runMany', { count }) : t('runManyPrice', { count, price: formatCredits(cost) });
  // Where a plan pays, a small wallet is no reason to stop: the service decides then.
  const hint = missing ?? describeBalance();
  function describeBalance(): string {
    if (left === undefined) return '';
    if (left < 0) return t('missing', { amount: formatCredits(-left) });
    return t(fromBalance === 0 && cost !== 0 ? 'paidByPlan' : 'balanceAfter', { balance: formatCredits(left) });
  }
  return (
    <Stack gap="xs">
      {isShort && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota units; the message uses credits, like the rest of the console.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: formatCredits(cost), balance: formatCredits(self.quota) })}
        </Alert>
      ) : (
        <ErrorAlert error={error ?? price.error} />
      )}
      <Button
        id="generate"
        size="md"
        fullWidth
        leftSection={<IconPlayerPlayFilled size={16} />}
        loading={busy}
        disabled={bodies === undefined}
        onClick={onRun}
      >
        {count > 1 ? labelOfMany() : label()}
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
      {/* Its line is there before it: the button would move when the quote comes, away from a press under way. */}
      <Box mih="calc(var(--mantine-font-size-xs) * var(--mantine-line-height-xs))">
        {price.quote === null || missing !== undefined ? null : <AffordableVideosHint quote={price.quote} />}
      </Box>
    </Stack>
  );
}
