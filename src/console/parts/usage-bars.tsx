import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { UsageChartProps } from './usage-chart.tsx';

const UsageChart = lazy(() => import('./usage-chart.tsx').then((module) => ({ default: module.UsageChart })));

export const BARS_HEIGHT = 260;
const LEGEND_HEIGHT = 32;

/** What was used by day and model; the code that draws it comes after what the page has to say. */
export function UsageBars(props: Omit<UsageChartProps, 'height'>) {
  return (
    <Suspense fallback={<Skeleton h={BARS_HEIGHT + LEGEND_HEIGHT} />}>
      <UsageChart {...props} height={BARS_HEIGHT} />
    </Suspense>
  );
}
