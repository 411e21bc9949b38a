import { Center, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CHART_HEIGHT, LazyUsageChart } from '../../../components/lazy-usage-chart.tsx';
import { Panel } from '../../../components/panel.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import type { UsageMeasure, UsagePoint } from '../../../components/usage-chart-data.ts';

/** What was used, by day and model. @param rows Undefined while they are fetched. */
export function UsagePanel({
  rows,
  days,
  nowMs,
}: {
  rows: readonly UsagePoint[] | undefined;
  days: number;
  nowMs: number;
}) {
  const { t } = useTranslation('admin');
  const [figure, setFigure] = useState<UsageMeasure>('quota');
  return (
    <Panel
      title={t('overview.usage', { days })}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('overview.figure')}
          value={figure}
          onChange={(value) => setFigure(value as UsageMeasure)}
          data={[
            { value: 'quota', label: t('overview.quota') },
            { value: 'requests', label: t('overview.requests') },
          ]}
        />
      }
    >
      {rows?.length === 0 ? (
        <Center h={CHART_HEIGHT}>
          <Text c="dimmed" size="sm" ta="center" maw={360}>
            {t('overview.noUsage')}
          </Text>
        </Center>
      ) : (
        <LazyUsageChart rows={rows ?? NO_ROWS} measure={figure} days={days} nowMs={nowMs} />
      )}
    </Panel>
  );
}

const NO_ROWS: readonly UsagePoint[] = [];
