import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { UsageChartProps } from './usage-chart.tsx';

const UsageChart = lazy(() => import('./usage-chart.tsx').then((module) => ({ default: module.UsageChart })));

export const CHART_HEIGHT = 260;
const LEGEND_HEIGHT = 32;

/** Usage by day and model. The chart code is loaded lazily, so that the rest of the page is shown first. */
export function LazyUsageChart(props: Omit<UsageChartProps, 'height'>) {
  return (
    <Suspense fallback={<Skeleton h={CHART_HEIGHT + LEGEND_HEIGHT} />}>
      <UsageChart {...props} height={CHART_HEIGHT} />
    </Suspense>
  );
}
