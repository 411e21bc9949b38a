import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { formatRelativeTime } from '../../data/format-times-and-durations.ts';
import type { VideoQuote } from '../../data/video-queries.ts';

/** How many videos like this the account can generate now and today, and when an allowance that was used begins anew. */
export function AffordableVideosHint({ quote }: { readonly quote: VideoQuote }) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { how_many_now: now, how_many_today: today } = quote;
  const isMoreToday = now !== null && today !== null && today > now;
  const parts = [
    ...(now === null ? [] : [t(isMoreToday ? 'enoughToday' : 'enoughNow', { now, today })]),
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
