import { Center, Skeleton, Text } from '@mantine/core';
import { lazy, Suspense, useDeferredValue, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Panel } from './panel.tsx';
import { SegmentedControl } from './segmented-control.tsx';
import type { UsageChartProps } from './usage-chart.tsx';
import type { UsageMeasure, UsagePoint } from './usage-chart-data.ts';

/** Usage by day and model. @param rows undefined while loading */
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

const UsageChart = lazy(() => import('./usage-chart.tsx').then((module) => ({ default: module.UsageChart })));

const CHART_HEIGHT = 260;
const LEGEND_HEIGHT = 32;

/**
 * Usage by day and model. The chart code loads lazily, so that the rest of the page appears first, and a new chart is
 * drawn after the frame that answers the click.
 */
export function LazyUsageChart({ rows, measure, days, nowMs }: Omit<UsageChartProps, 'height'>) {
  return (
    <Suspense fallback={<Skeleton h={CHART_HEIGHT + LEGEND_HEIGHT} />}>
      <UsageChart
        rows={useDeferredValue(rows)}
        measure={useDeferredValue(measure)}
        days={useDeferredValue(days)}
        nowMs={useDeferredValue(nowMs)}
        height={CHART_HEIGHT}
      />
    </Suspense>
  );
}
