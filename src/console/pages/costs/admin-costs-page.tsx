import { useTranslation } from 'react-i18next';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { Page } from '../../components/page.tsx';
import { COST_FILTERS, CostExplorer } from './cost-explorer.tsx';

/** Costs of all accounts. */
export function AdminCostsPage() {
  const { t } = useTranslation(['costs', 'app']);
  return (
    <Page title={t('app:pages.costs')} subtitle={t('adminLead')} size="xl">
      <CostExplorer scope="all" filters={useListFilters(COST_FILTERS)} />
    </Page>
  );
}
