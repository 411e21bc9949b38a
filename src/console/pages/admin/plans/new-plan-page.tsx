import { Card as Box } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminCreatePackageCard } from '../../../../contract/plans.ts';
import { Page } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useStatus } from '../../../data/self.ts';
import { PlanForm } from './plan-form.tsx';
import { EMPTY_PLAN, toPlanBody } from './plan-form-values.ts';

/** Creates a plan. */
export function NewPlanPage() {
  const { t } = useTranslation('admin-plans');
  const { data: status } = useStatus();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  return (
    <Page title={t('make')} subtitle={<RouteLink to="/admin/packages">{t('all')}</RouteLink>} size="sm">
      {status === undefined ? null : (
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            initial={EMPTY_PLAN}
            isNew
            submitLabel={t('make')}
            save={async (draft) => {
              await callApi(adminCreatePackageCard, { body: toPlanBody(draft, status.quota_per_unit) });
              await invalidate();
              toasts.success(t('made', { name: draft.name.trim() }));
              await navigate({ to: '/admin/packages' });
            }}
          />
        </Box>
      )}
    </Page>
  );
}
