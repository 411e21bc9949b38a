import { Alert, Anchor, Button, Kbd, Loader, Text } from '@mantine/core';
import { IconAlertTriangle, IconSparkles } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { toDisplayedQuota } from '../../../contract/amounts.ts';
import { useAmountUnit, useFormatCredits } from '../../components/credit-amount.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { withMod } from '../../components/shortcut-keys.ts';
import { formatCount } from '../../data/format-text.ts';
import { formatRelativeTime } from '../../data/format-times.ts';
import { useSelf } from '../../data/self.ts';
import type { VideoBody, VideoQuote } from '../../data/videos.ts';
import { useTotalPrice } from './models.ts';
import type { useSubmitVideos } from './submit-videos.ts';

interface GenerateBarProps {
  /** One request per model; undefined while the form is incomplete. */
  readonly bodies: readonly VideoBody[] | undefined;
  /** Text naming the missing input. */
  readonly missing: string | undefined;
  readonly run: Pick<ReturnType<typeof useSubmitVideos>, 'isPending' | 'error'>;
  readonly onRun: () => void;
  /** Beside the button where the page is narrow. */
  readonly mini: ReactNode;
}

/** Submit button with the price, and the balance that remains; where the page is narrow the button is pinned below. */
export function GenerateBar({ bodies, missing, run, onRun, mini }: GenerateBarProps) {
  const { isPending: busy, error } = run;
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const unit = useAmountUnit();
  const { data: self } = useSelf();
  const price = useTotalPrice(bodies);
  const cost = price.quota;
  // For a single video the quote says how much the plan pays; several are counted against the wallet.
  const fromBalance = price.quote === null ? cost : price.quote.from_wallet;
  const left = self === undefined || fromBalance === null ? undefined : self.quota - fromBalance;
  const isShort = left !== undefined && left < 0;
  const count = bodies?.length ?? 1;
  const label = (): string => (cost === null ? t('run') : t('runPrice', { price: formatCredits(cost) }));
  const labelOfMany = (): string =>
    cost === null ? t('runMany', { count }) : t('runManyPrice', { count, price: formatCredits(cost) });
  // With a plan, a low balance does not block submitting; the service decides.
  const hint = missing ?? describeBalance();
  function describeBalance(): string {
    if (left === undefined) return '';
    if (left < 0) return t('missing', { amount: formatCredits(-left) });
    // Of the displayed amounts, so that the balance above minus the price on the button is this one.
    const shown = toDisplayedQuota(self?.quota ?? 0, unit) - toDisplayedQuota(fromBalance ?? 0, unit);
    return t(fromBalance === 0 && cost !== 0 ? 'paidByPlan' : 'balanceAfter', {
      balance: formatCredits(Math.max(0, shown)),
    });
  }
  return (
    <div className="run">
      <div className="run-bar">
        {mini}
        {/* Not disabled while it submits: a disabled button would lose the focus. */}
        <Button
          id="generate"
          size="md"
          variant={isShort ? 'light' : 'filled'}
          leftSection={busy ? <Loader size={16} color="currentColor" /> : <IconSparkles size={17} />}
          rightSection={
            <Kbd size="xs" className="run-keys" aria-hidden>
              {withMod('Enter')}
            </Kbd>
          }
          aria-busy={busy}
          disabled={bodies === undefined}
          onClick={onRun}
        >
          {count > 1 ? labelOfMany() : label()}
        </Button>
      </div>
      {/* Two lines are reserved, so that the arrival of the quote does not move the form. */}
      <div className="run-hints">
        <Text size="xs" {...(isShort ? { className: 'error-text' } : { c: 'dimmed' })} lineClamp={2}>
          {hint}{' '}
          {isShort && missing === undefined ? (
            <Anchor size="xs" renderRoot={(props) => <Link to="/packages" {...props} />}>
              {t('getCredits')}
            </Anchor>
          ) : null}
        </Text>
        {price.quote === null || missing !== undefined ? null : <AffordableVideosHint quote={price.quote} />}
      </div>
      {isShort && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota; the message uses credits, like the rest of the console.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: formatCredits(cost), balance: formatCredits(self.quota) })}
        </Alert>
      ) : (
        <ErrorAlert error={error ?? price.error} />
      )}
    </div>
  );
}

/** How many such videos the account can pay for now and today, and when a used allowance is renewed. */
function AffordableVideosHint({ quote }: { readonly quote: VideoQuote }) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { how_many_now: now, how_many_today: today } = quote;
  const isMoreToday = now !== null && today !== null && today > now;
  const parts = [
    ...(now === null || now === 0
      ? []
      : [t(isMoreToday ? 'enoughToday' : 'enoughNow', { now: formatCount(now), today: formatCount(today ?? 0) })]),
    ...quote.windows
      .filter(({ left, limit }) => left < limit)
      .map(({ kind, left, limit, full_again }) =>
        t('allowanceLeft', {
          name: t(`windows.${kind}`),
          left: formatCredits(left),
          limit: formatCredits(limit),
          when: formatRelativeTime(full_again),
        }),
      ),
  ];
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" data-quote>
      {parts.join(' ')}
    </Text>
  );
}
