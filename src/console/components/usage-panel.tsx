import { Center, Skeleton, Text } from '@mantine/core';
import { lazy, Suspense, useDeferredValue, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useModelTitle } from '../data/self.ts';
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
  const titled = useTitledUsage(rows ?? NO_ROWS);
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
        <LazyUsageChart rows={titled} measure={figure} days={days} nowMs={nowMs} />
      )}
    </Panel>
  );
}

const NO_ROWS: readonly UsagePoint[] = [];

/** Usage with the titles of its models, as charts show them. */
export function useTitledUsage(rows: readonly UsagePoint[]): readonly UsagePoint[] {
  const titleOf = useModelTitle();
  return useMemo(() => rows.map((row) => ({ ...row, model: titleOf(row.model ?? '') })), [rows, titleOf]);
}

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
