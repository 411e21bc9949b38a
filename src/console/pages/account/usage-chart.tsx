import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { useTranslation } from 'react-i18next';
import type { UsageRow } from '../../data/account.ts';
import { useStatus } from '../../data/queries.ts';
import { currentLanguage } from '../../strings/language.ts';
import { toDays } from './usage-series.ts';

const COLORS = ['ember.6', 'blue.5', 'teal.6', 'grape.5', 'yellow.6', 'gray.5'];

/** Bars by day, a colour for each of the dearest models. */
export function UsageChart({ rows, days }: { readonly rows: readonly UsageRow[]; readonly days: number }) {
  const { t } = useTranslation('account');
  const perUnit = useStatus().data?.quota_per_unit ?? 500_000;
  const { series, data } = toDays(rows, days, perUnit);
  const dayOf = new Intl.DateTimeFormat(currentLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
  return (
    <figure aria-label={t('usage.chart')} style={{ margin: 0 }}>
      <BarChart
        h={280}
        data={data.map((entry) => ({ ...entry, day: dayOf.format(new Date(`${entry.day}T00:00:00Z`)) }))}
        dataKey="day"
        type="stacked"
        series={series.map((name, index) => ({
          name,
          label: name === 'others' ? t('usage.others') : name,
          color: COLORS[index] ?? 'gray.5',
        }))}
        withLegend
        legendProps={{ verticalAlign: 'bottom' }}
        valueFormatter={(value) => new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: 2 }).format(value)}
        barProps={{ isAnimationActive: false, maxBarSize: 36 }}
        tickLine="none"
        gridAxis="y"
      />
    </figure>
  );
}
