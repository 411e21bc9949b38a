import { Card as Box, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminDeletePackageCard, adminGetPackageCard, adminUpdatePackageCard } from '../../../../contract/plans.ts';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { RouteButton, RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { dataQuery, type Plan, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useStatus } from '../../../data/self.ts';
import { PlanForm } from './plan-form.tsx';
import { toBuiltinPlanBody, toPlanBody, toPlanFormValues } from './plan-form-values.ts';

/** Edits one plan. */
export function PlanPage() {
  const { t } = useTranslation('admin-plans');
  const id = useRouteId();
  const { data: status } = useStatus();
  const card = useQuery(dataQuery(adminGetPackageCard, { params: { id } }));
  if (card.data !== undefined && status !== undefined)
    return <PlanDetails card={card.data} perUnit={status.quota_per_unit} />;
  if (card.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('all')} subtitle={<RouteLink to="/admin/packages">{t('all')}</RouteLink>} size="sm">
      <ErrorAlert error={card.error} retry={() => void card.refetch()} />
    </Page>
  );
}

function PlanDetails({ card: plan, perUnit }: { readonly card: Plan; readonly perUnit: number }) {
  const { t } = useTranslation(['admin-plans', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  return (
    <Page
      title={plan.system_builtin ? t('none') : plan.name}
      subtitle={
        <>
          <RouteLink to="/admin/packages" underline="always">
            {t('all')}
          </RouteLink>
          {plan.system_builtin ? ` · ${t('builtin')}` : ''}
        </>
      }
      size="sm"
      actions={
        plan.system_builtin ? undefined : (
          <RouteButton to="/admin/codes" search={{ package_code: plan.package_code }} variant="default">
            {t('app:pages.codes')}
          </RouteButton>
        )
      }
    >
      <Stack>
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            key={plan.id}
            initial={toPlanFormValues(plan, perUnit)}
            isNew={false}
            isBuiltin={plan.system_builtin}
            submitLabel={t('app:save')}
            save={async (draft) => {
              const { package_code: _fixed, ...whole } = toPlanBody(draft, perUnit);
              const body = plan.system_builtin ? toBuiltinPlanBody(draft, perUnit) : whole;
              await callApi(adminUpdatePackageCard, { params: { id: String(plan.id) }, body });
              await invalidate();
              toasts.success(t('app:saved'));
            }}
          />
        </Box>
        {plan.system_builtin ? null : <DeletePlan plan={plan} />}
      </Stack>
    </Page>
  );
}

function DeletePlan({ plan: { id, name } }: { readonly plan: Plan }) {
  const { t } = useTranslation('admin-plans');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { name })}
      text={t('removeText')}
      confirmLabel={t('removeAction', { name })}
      remove={() => callApi(adminDeletePackageCard, { params: { id: String(id) } })}
      message={t('removed', { name })}
      listPage="/admin/packages"
    />
  );
}
