import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ListFilters } from '../../components/list/use-list-filters.ts';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import type { DayRange } from '../../data/cost-queries.ts';
import { formatDay, PRESET_DAYS } from './day-range.ts';

/** So many days up to today, or any days between two. */
export function RangePicker({ filters, range }: { readonly filters: ListFilters; readonly range: DayRange }) {
  const { t } = useTranslation('costs');
  const isFree = filters.value.from !== undefined || filters.value.to !== undefined;
  const preset = PRESET_DAYS.find((each) => each === filters.value.days) ?? '30';
  return (
    <>
      <SegmentedControl
        aria-label={t('period')}
        value={isFree ? '' : preset}
        onChange={(value) =>
          filters.setAll({ days: value === '30' ? undefined : value, from: undefined, to: undefined })
        }
        data={PRESET_DAYS.map((value) => ({ value, label: t('days', { count: Number(value) }) }))}
      />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={t(name)}
          w={150}
          value={formatDay(name === 'from' ? range.fromDay : range.toDay)}
          onChange={({ currentTarget: { value } }) =>
            filters.setAll({
              from: formatDay(range.fromDay),
              to: formatDay(range.toDay),
              [name]: value === '' ? undefined : value,
              days: undefined,
            })
          }
        />
      ))}
    </>
  );
}
