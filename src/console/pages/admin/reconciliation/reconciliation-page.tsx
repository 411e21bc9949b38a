import { Stack } from '@mantine/core';
import { IconScale } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listReconciledAccounts } from '../../../../contract/reconciliation.ts';
import { EmptyState } from '../../../components/empty-state.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { ChoiceFilter, FilterBar } from '../../../components/list/filter-bar-and-fields.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { ChannelFilter } from '../../../components/list/user-channel-key-and-model-filters.tsx';
import { Page } from '../../../components/page.tsx';
import { Panel } from '../../../components/panel.tsx';
import { dataQuery } from '../../../data/query-any-admin-endpoint.ts';
import { SettledAndBilledTable } from './settled-and-billed-table.tsx';
import { VendorAccountTable } from './vendor-account-table.tsx';

/** What was settled against what vendors billed, by channel. */
export function ReconciliationPage() {
  const { t } = useTranslation(['reconciliation', 'app']);
  const filters = useListFilters(['channel_id', 'by']);
  const accounts = useQuery({ ...dataQuery(listReconciledAccounts, {}), refetchInterval: 60_000 });
  return (
    <Page title={t('app:pages.reconciliation')} subtitle={t('lead')} size="xl">
      <Stack gap="lg">
        <Panel title={t('accounts')}>
          <ErrorAlert error={accounts.error} retry={() => void accounts.refetch()} />
          {accounts.data?.length === 0 ? (
            <EmptyState icon={<IconScale size={28} />} title={t('noAccountsTitle')}>
              {t('noAccountsText')}
            </EmptyState>
          ) : (
            <VendorAccountTable accounts={accounts.data} />
          )}
        </Panel>
        <Panel title={t('readings')}>
          <FilterBar filters={filters}>
            <ChannelFilter filters={filters} />
            <ChoiceFilter
              filters={filters}
              name="by"
              label={t('by')}
              choices={[
                { value: 'reading', label: t('byReading') },
                { value: 'day', label: t('byDay') },
              ]}
            />
          </FilterBar>
          <SettledAndBilledTable filters={filters} />
        </Panel>
      </Stack>
    </Page>
  );
}
