import { NativeSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatSort, parseSort, type Sort } from '../../../contract/responses.ts';

interface SortSelectProps {
  readonly columns: readonly { readonly label: string; readonly sortKey?: string }[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
}

/** What a list is sorted by where its rows are cards without a head to click on; nothing where no column can be sorted by. */
export function SortSelect({ columns, sort, onSort }: SortSelectProps) {
  const { t } = useTranslation('list');
  const orders = columns.flatMap(({ label: column, sortKey }) =>
    sortKey === undefined
      ? []
      : [
          { value: `-${sortKey}`, label: t('descending', { column }) },
          { value: sortKey, label: t('ascending', { column }) },
        ],
  );
  if (orders.length === 0) return null;
  return (
    <NativeSelect
      mb="xs"
      aria-label={t('sortBy')}
      value={sort === undefined ? '' : formatSort(sort)}
      onChange={({ currentTarget: { value } }) => onSort(parseSort(value))}
      data={[{ value: '', label: t('defaultOrder') }, ...orders]}
    />
  );
}
