import { useTranslation } from 'react-i18next';
import { ApiKeyFilter } from '../../components/list/filter-bar.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { useOwnRequestColumns } from './request-columns.tsx';
import { REQUEST_FILTERS, RequestLog, useRequestRows } from './request-log.tsx';

/** Finished calls and videos of the account. */
export function RequestsPage() {
  const { t } = useTranslation('requests');
  const filters = useListFilters(REQUEST_FILTERS.filter((name) => name !== 'user_id' && name !== 'channel_id'));
  const rows = useRequestRows('own', filters);
  return (
    <RequestLog
      scope="own"
      filters={filters}
      lead={t('intro')}
      filterFields={<ApiKeyFilter filters={filters} />}
      columns={useOwnRequestColumns()}
      rows={rows}
    />
  );
}
