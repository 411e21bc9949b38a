import { useTranslation } from 'react-i18next';
import { ChannelFilter, UserFilter } from '../../components/list/filter-bar.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { useAdminRequestColumns } from './request-columns.tsx';
import { REQUEST_FILTERS, RequestLog, useRequestRows } from './request-log.tsx';

/** Finished calls and videos of all accounts. */
export function AdminRequestsPage() {
  const { t } = useTranslation('requests');
  const filters = useListFilters(REQUEST_FILTERS);
  const rows = useRequestRows('all', filters);
  return (
    <RequestLog
      scope="all"
      filters={filters}
      lead={t('adminIntro')}
      filterFields={
        <>
          <UserFilter filters={filters} />
          <ChannelFilter filters={filters} />
        </>
      }
      columns={useAdminRequestColumns(rows.rows ?? [])}
      rows={rows}
    />
  );
}
