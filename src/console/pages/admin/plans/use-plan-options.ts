import { useQuery } from '@tanstack/react-query';
import { adminListPackageCards } from '../../../../contract/plans.ts';
import { listQuery } from '../../../data/query-any-admin-endpoint.ts';

/** The plans an account can be given, as options of a select; undefined while they are being fetched. */
export function usePlanOptions() {
  const plans = useQuery(listQuery(adminListPackageCards, { page_size: '50' }));
  const options = plans.data?.data
    .filter((plan) => !plan.system_builtin)
    .map((plan) => ({ value: plan.package_code, label: plan.name }));
  return { options, error: plans.error };
}
