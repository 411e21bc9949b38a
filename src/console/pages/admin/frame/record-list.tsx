import { Button, Text } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ADMIN_PAGE_SIZE } from '../../../data/admin.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { type Column, RecordTable } from '../../../parts/record-table.tsx';
import type { Filters } from './filters.ts';

interface RecordListProps<Row> {
  readonly label: string;
  readonly query: UseQueryResult<{ readonly data: readonly Row[]; readonly total: number }>;
  readonly filters: Filters;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string | number;
  /** Shown where there is nothing at all yet. */
  readonly empty: ReactNode;
}

/** One page of a list: being fetched, failed, empty, empty because of its filters, or there. */
export function RecordList<Row>({ label, query, filters, columns, keyOf, empty }: RecordListProps<Row>) {
  const { t } = useTranslation('admin');
  const { data, error, isPlaceholderData } = query;
  if (error !== null) {
    return (
      <>
        <Failure error={error} retry={() => void query.refetch()} />
        {filters.active ? <ClearFilters filters={filters} /> : null}
      </>
    );
  }
  if (data?.total === 0 && !filters.active && !isPlaceholderData) return empty;
  if (data?.total === 0 && !isPlaceholderData) {
    return (
      <Empty icon={<IconFilterOff size={28} />} title={t('list.noMatch')} action={<ClearFilters filters={filters} />}>
        {t('list.noMatchText')}
      </Empty>
    );
  }
  return (
    <>
      <RecordTable label={label} columns={columns} rows={data?.data} keyOf={keyOf} stale={isPlaceholderData} />
      {data === undefined ? null : (
        <Text size="xs" c="dimmed" mt="xs" role="status">
          {t('list.total', { count: data.total })}
        </Text>
      )}
      <Pager page={filters.page} total={data?.total ?? 0} pageSize={ADMIN_PAGE_SIZE} onChange={filters.setPage} />
    </>
  );
}

function ClearFilters({ filters }: { readonly filters: Filters }) {
  const { t } = useTranslation('admin');
  return (
    <Button variant="default" mt="sm" onClick={filters.clear}>
      {t('list.clear')}
    </Button>
  );
}
