import { Center, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BARS_HEIGHT, UsageBars } from '../../../parts/usage-bars.tsx';
import type { Figure, UsageRow } from '../../../parts/usage-series.ts';
import { Panel } from '../frame/facts.tsx';

/** What was used, by day and model. @param rows Undefined while they are fetched. */
export function UsagePlot({
  rows,
  days,
  nowMs,
}: {
  rows: readonly UsageRow[] | undefined;
  days: number;
  nowMs: number;
}) {
  const { t } = useTranslation('admin');
  const [figure, setFigure] = useState<Figure>('quota');
  return (
    <Panel
      title={t('overview.usage', { days })}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('overview.figure')}
          value={figure}
          onChange={(value) => setFigure(value as Figure)}
          data={[
            { value: 'quota', label: t('overview.quota') },
            { value: 'requests', label: t('overview.requests') },
          ]}
        />
      }
    >
      {rows?.length === 0 ? (
        <Center h={BARS_HEIGHT}>
          <Text c="dimmed" size="sm" ta="center" maw={360}>
            {t('overview.noUsage')}
          </Text>
        </Center>
      ) : (
        <UsageBars rows={rows ?? NONE} figure={figure} days={days} nowMs={nowMs} />
      )}
    </Panel>
  );
}

const NONE: readonly UsageRow[] = [];
