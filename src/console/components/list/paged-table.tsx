import { Button, Text } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ADMIN_PAGE_SIZE, type ListResponse } from '../../data/admin.ts';
import { formatCount } from '../../data/format-text.ts';
import { type Column, DataTable, type RowSelection } from '../data-table.tsx';
import { ErrorAlert } from '../error-alert.tsx';
import { EmptyState } from '../page.tsx';
import { Pager } from '../pager.tsx';
import type { ListFilters } from './use-list-filters.ts';

interface PagedTableProps<Row> {
  readonly label: string;
  readonly query: UseQueryResult<ListResponse<Row>>;
  readonly filters: ListFilters;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string | number;
  /** Shown if the list is empty without any filter. */
  readonly emptyState: ReactNode;
  /** Makes rows selectable. */
  readonly selection?: RowSelection<Row>;
}

/** One page of a list in each of its states: loading, failed, empty, without a match for the filters, or filled. */
export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { label, query, filters, columns, rowKey, emptyState, selection } = props;
  const { t } = useTranslation('list');
  const { data, error, isPlaceholderData } = query;
  if (error !== null) {
    return (
      <>
        <ErrorAlert error={error} retry={() => void query.refetch()} />
        {filters.active ? <ClearFilters filters={filters} /> : null}
      </>
    );
  }
  if (data?.total === 0 && !filters.active && !isPlaceholderData) return emptyState;
  if (data?.total === 0 && !isPlaceholderData) {
    return (
      <EmptyState icon={<IconFilterOff size={28} />} title={t('noMatch')} action={<ClearFilters filters={filters} />}>
        {t('noMatchText')}
      </EmptyState>
    );
  }
  return (
    <>
      <DataTable
        label={label}
        columns={columns}
        rows={data?.data}
        rowKey={rowKey}
        stale={isPlaceholderData}
        sort={filters.sort}
        onSort={filters.setSort}
        selection={selection}
      />
      {data === undefined ? null : (
        <Text size="xs" c="dimmed" mt="xs" role="status">
          {data.total_is_minimum === true
            ? t('totalIsMinimum', { total: formatCount(data.total) })
            : t('total', { count: data.total })}
        </Text>
      )}
      <Pager
        page={filters.page}
        total={data?.total ?? 0}
        pageSize={ADMIN_PAGE_SIZE}
        next={data?.next}
        onChange={filters.setPage}
      />
    </>
  );
}

function ClearFilters({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('list');
  return (
    <Button variant="default" mt="sm" onClick={filters.clear}>
      {t('clear')}
    </Button>
  );
}
