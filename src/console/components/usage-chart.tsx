import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { Group, Text } from '@mantine/core';
import { memo, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { formatChartDay, formatCount, formatNames } from '../data/format-values.ts';
import { useFormatAmountNumber } from './credit-amount.tsx';
import { evenlySpacedTicks, toChartSeries, type UsageMeasure, type UsagePoint } from './usage-chart-data.ts';

const COLORS = ['accent.6', 'teal.6', 'indigo.5', 'yellow.6', 'grape.5', 'gray.5'] as const;

/** Rows, measure and size of the chart. */
export interface UsageChartProps {
  readonly rows: readonly UsagePoint[];
  readonly measure: UsageMeasure;
  /** Number of days, ending with the day of `nowMs`. */
  readonly days: number;
  readonly nowMs: number;
  /** Height without the legend, in pixels. */
  readonly height: number;
}

/** Bars by day, with a colour for each of the largest models. */
export const UsageChart = memo(function UsageChart({ rows, measure, days, nowMs, height }: UsageChartProps) {
  const { t } = useTranslation('account');
  const formatAmount = useFormatAmountNumber();
  const { models, days: data } = useMemo(
    () => toChartSeries(rows, measure, { days, nowMs, others: t('usage.others') }),
    [rows, measure, days, nowMs, t],
  );
  const formatValue = (value: number): string => (measure === 'quota' ? formatAmount(value) : formatCount(value));
  const labels = data.map((each) => formatChartDay(String(each.day)));
  return (
    <>
      <div role="img" aria-label={t('usage.plotLabel', { days, models: formatNames(models) })}>
        <BarChart
          h={height}
          type="stacked"
          data={data.map((each, index) => ({ ...each, day: labels[index] }))}
          dataKey="day"
          series={models.map((name, index) => ({ name, label: name, color: COLORS[index] ?? 'gray.5' }))}
          valueFormatter={formatValue}
          tickLine="none"
          barProps={{ isAnimationActive: false, maxBarSize: 36 }}
          xAxisProps={{ ticks: evenlySpacedTicks(labels), interval: 'equidistantPreserveStart' }}
          yAxisProps={{ width: 56 }}
          barChartProps={{ accessibilityLayer: false }}
          tooltipAnimationDuration={0}
        />
      </div>
      <Group gap="md" mt="sm" mih={20} aria-hidden>
        {models.map((name, index) => (
          <Group key={name} gap={6} wrap="nowrap">
            <span
              style={{
                width: 10,
                height: 10,
                borderRadius: 3,
                background: `var(--mantine-color-${(COLORS[index] ?? 'gray.5').replace('.', '-')})`,
              }}
            />
            <Text size="xs">{name}</Text>
          </Group>
        ))}
      </Group>
    </>
  );
});
