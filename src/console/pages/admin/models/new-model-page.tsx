import { Card } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminCreateModel } from '../../../../contract/models.ts';
import { Page } from '../../../components/page.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useStatus } from '../../../data/self.ts';
import { useVendors } from '../../../data/vendors.ts';
import { ModelForm } from './model-form.tsx';
import { newModelFormValues, toModelBody } from './model-form-values.ts';

/** Adds a model to the catalogue. */
export function NewModelPage() {
  const { t } = useTranslation('admin-models');
  const { data: status } = useStatus();
  const [vendor] = useVendors();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  return (
    <Page title={t('models.make')} subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>} size="sm">
      {status === undefined || vendor === undefined ? null : (
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            initial={newModelFormValues(vendor.name, status.quota_per_unit)}
            isNew
            submitLabel={t('models.make')}
            save={async (draft) => {
              const { id, ...rest } = toModelBody(draft, status.quota_per_unit);
              const { price, ...body } = rest;
              await callApi(adminCreateModel, { body: { id, ...body, price: price ?? undefined } });
              await invalidate();
              toasts.success(t('models.made', { name: id }));
              await navigate({ to: '/admin/models' });
            }}
          />
        </Card>
      )}
    </Page>
  );
}
