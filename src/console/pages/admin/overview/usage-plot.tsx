import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { Center, Group, SegmentedControl, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toUnits } from '../../../data/money.ts';
import { useStatus } from '../../../data/queries.ts';
import { currentLanguage } from '../../../strings/language.ts';
import { Panel } from '../frame/facts.tsx';
import { type Figure, toSeries, type UsageRow } from './usage-series.ts';

const COLORS = ['ember.6', 'teal.6', 'indigo.5', 'yellow.6', 'grape.5', 'gray.5'] as const;
const HEIGHT = 260;

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
  const perUnit = useStatus().data?.quota_per_unit;
  const { models, days: data } = useMemo(
    () => toSeries(rows ?? [], figure, { days, nowMs, others: t('overview.others') }),
    [rows, figure, days, nowMs, t],
  );
  const tell = (value: number): string =>
    figure === 'quota' ? toUnits(value, perUnit) : new Intl.NumberFormat(currentLanguage()).format(value);
  const dayFormat = new Intl.DateTimeFormat(currentLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
  const tellDay = (day: string): string => dayFormat.format(new Date(`${day}T00:00:00Z`));
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
        <Center h={HEIGHT}>
          <Text c="dimmed" size="sm" ta="center" maw={360}>
            {t('overview.noUsage')}
          </Text>
        </Center>
      ) : (
        <div role="img" aria-label={t('overview.plotLabel', { days, models: models.join(', ') })}>
          <BarChart
            h={HEIGHT}
            type="stacked"
            data={data.map((each) => ({ ...each, day: tellDay(String(each.day)) }))}
            dataKey="day"
            series={models.map((name, index) => ({ name, label: name, color: COLORS[index] ?? 'gray.5' }))}
            valueFormatter={tell}
            tickLine="none"
            xAxisProps={{ interval: 'preserveStartEnd', minTickGap: 28 }}
            yAxisProps={{ width: 56 }}
            barChartProps={{ accessibilityLayer: false }}
            tooltipAnimationDuration={0}
          />
        </div>
      )}
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
    </Panel>
  );
}
